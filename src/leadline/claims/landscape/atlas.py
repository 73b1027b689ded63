"""Every critical point of a two-layer linear network: where they are, their loss, their inertia."""

import itertools
from math import comb
from typing import Annotated

import jax
import numpy as np

from leadline import data, deep_linear
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, printed

SAMPLES = 40


def _drawn(key, d: int, extra: int, ratio: float) -> deep_linear.LinearProblem:
    """d outputs and d + `extra` inputs, Σ/n with the eigenvalues 1, 1/ratio, 1/ratio², ..."""
    return deep_linear.random_problem(d + extra, d, SAMPLES, key=key, spectrum=ratio ** -np.arange(d))


def _mixing(rng, size: int) -> np.ndarray:
    """A random C in GL(size) with condition number at most 4."""
    u, _, v = np.linalg.svd(rng.normal(size=(size, size)))
    return (u * rng.uniform(0.5, 2, size)) @ v


def _steepest(gradient: tuple[np.ndarray, np.ndarray]) -> float:
    return max(float(np.abs(part).max()) for part in gradient)


@claim(
    "critical-point-commutation",
    says=(
        "At a critical point of a two-layer linear network AB = P_A L*, the best map projected on the range of A, and "
        "P_A commutes with Σ: the range of A is spanned by eigenvectors of Σ. In training the commutator is small on "
        "every plateau and large between them."
    ),
    formula=r"AB = P_A L^*, \qquad P_A \Sigma = \Sigma P_A",
    sources=("penn",),
    assumes=("A has rank p",),
    shows=("deep_linear.refine_critical",),
)
def critical_point_commutation(
    key,
    d: Annotated[int, Range(3, 5)] = 4,
    extra: Annotated[int, Range(0, 2)] = 1,
    hidden: Annotated[int, Range(1, 2)] = 2,
    ratio: Annotated[float, Range(1.4, 2.0)] = 1.6,
    starts: Annotated[int, Range(4, 12)] = 6,
):
    """Newton-refined points from random starts, and descent from 1e-6 beside the family of the p least modes."""
    problem, rng = _drawn(key, d, extra, ratio), data.generator(jax.random.fold_in(key, 1))
    scale = np.linalg.norm(problem.sigma)

    def commutator(a):
        q = np.linalg.qr(a)[0]
        return np.linalg.norm(q @ (q.T @ problem.sigma) - problem.sigma @ q @ q.T) / scale

    norms, misfits = [], []
    for _ in range(starts):
        a, b, steepness = deep_linear.refine_critical(
            problem, rng.normal(size=(d, hidden)), rng.normal(size=(hidden, d + extra))
        )
        if steepness < 1e-12 and np.linalg.svd(a, compute_uv=False)[-1] > 1e-3:
            norms.append(commutator(a))
            projected = a @ np.linalg.lstsq(a, problem.best_map, rcond=None)[0]
            misfits.append(np.linalg.norm(a @ b - projected) / np.linalg.norm(problem.best_map))
    landed = f"{len(norms)} of {starts} searches"
    yield at_most(np.array([0.0, *norms]), 1e-6, f"‖P_A Σ − Σ P_A‖/‖Σ‖ where {landed} ended", atol=0)
    yield at_most(np.array([0.0, *misfits]), 1e-6, f"‖AB − P_A L*‖/‖L*‖ where {landed} ended")
    elsewhere = [commutator(rng.normal(size=(d, hidden))) for _ in range(8)]
    yield at_least(max(elsewhere), 0.01, "largest of it at 8 random A")

    worst = deep_linear.critical_family(problem, hidden, range(d - hidden, d))
    a, b = worst.factors()
    a, b = a + 1e-6 * rng.normal(size=a.shape), b + 1e-6 * rng.normal(size=b.shape)
    least = deep_linear.atlas(problem, hidden, most=1)[0]
    step = 1.0 / np.linalg.eigvalsh(problem.factor_hessian(*least.factors()))[-1]
    losses, path = [], []
    for _ in range(1200):
        losses.append(problem.factor_loss(a, b))
        path.append(commutator(a))
        in_a, in_b = problem.factor_gradient(a, b)
        a, b = a - step * in_a, b - step * in_b
    losses, path = np.array(losses), np.array(path)
    a, b, _ = deep_linear.refine_critical(problem, a, b)
    yield at_most(commutator(a), 1e-6, "commutator at the end of training, refined")
    yield at_least(path.max() / path[0], 100.0, "largest commutator on the way over the one at the first saddle")
    shown = np.unique(np.geomspace(1, len(path), 150).astype(int)) - 1
    levels = {f"level {name}": level for name, level in (("of the start", worst.level), ("minimum", least.level))}
    yield figure.beside(
        f"The commutator begins at {path[0]:.0e}, rises to {path.max():.2f} between saddles, and vanishes at the end",
        figure.curves(
            "commutator", x="step", y="‖P_A Σ − Σ P_A‖/‖Σ‖", points={"training": (shown + 1, path[shown])}, log="xy"
        ),
        figure.curves(
            "loss", x="step", y="loss", log="x", points={"training": (shown + 1, losses[shown])},
            lines={name: ([1, len(path)], [level] * 2) for name, level in levels.items()},
        ),
    )  # fmt: skip


@claim(
    "critical-point-atlas",
    says=(
        "All critical points of a two-layer linear network are known: their products are U_I U_Iᵀ L*, one for every "
        "set I of at most p eigenvectors of Σ, with A = U_I C and B = C⁻¹U_IᵀL* for any invertible C, and zero units "
        "where |I| < p. For d = 4, p = 2 there are 11 families."
    ),
    formula=r"W_I = U_I U_I^T L^*, \quad |I| \le p; \qquad A = U_I C,\; B = C^{-1} U_I^T L^*",
    sources=("penn", "sheet"),
    assumes=("Σ has full rank d_y and distinct eigenvalues",),
    shows=("deep_linear.atlas", "deep_linear.atlas_columns", "deep_linear.nearest_family"),
)
def critical_point_atlas(
    key,
    d: Annotated[int, Range(3, 5)] = 4,
    extra: Annotated[int, Range(0, 2)] = 0,
    hidden: Annotated[int, Range(1, 3)] = 2,
    ratio: Annotated[float, Range(1.3, 2.0)] = 1.5,
    starts: Annotated[int, Range(4, 24)] = 12,
):
    """Every set I with a random C; searches for critical points from random starts of scale 1."""
    problem, rng = _drawn(key, d, extra, ratio), data.generator(jax.random.fold_in(key, 1))
    families = deep_linear.atlas(problem, hidden)
    full = [family for family in families if len(family.indices) == hidden]
    slopes = [_steepest(problem.factor_gradient(*f.factors(_mixing(rng, len(f.indices))))) for f in families]
    yield at_most(slopes, 1e-11, "largest derivative at each family, random C")
    yield exactly(len(families), sum(comb(d, r) for r in range(hidden + 1)), "families, Σ_{r≤p} C(d, r)")
    yield exactly([len(families), len(full)], [11, 6], "families for d = 4, p = 2; of rank 2").given(
        (d, hidden) == (4, 2), "d = 4 and p = 2"
    )
    products = np.array([family.product.ravel() for family in families])
    gaps = np.linalg.norm(products[:, None] - products[None], axis=-1) + 9 * np.eye(len(families))
    yield at_least(gaps.min(), 1e-3, "least distance between two products: they are different")

    distances, found = [], set()
    for _ in range(starts):
        point = deep_linear.refine_critical(problem, rng.normal(size=(d, hidden)), rng.normal(size=(hidden, d + extra)))
        if point.gradient_norm < 1e-12:
            family, distance = deep_linear.nearest_family(families, point.a @ point.b)
            distances.append(distance)
            found.add(family.indices)
    yield at_most(
        np.array([0.0, *distances]),
        1e-4,
        f"distance of {len(distances)} points found by search from the nearest family",
    )
    yield printed(
        at_least(_steepest(problem.factor_gradient(*families[-1].factors())), 1e-6, "derivative at A = 0, B = 0"),
        "penn", "(A, B) is critical if and only if A = U_I C with |I| = p",
    )  # fmt: skip
    yield printed(
        exactly(len(families), comb(d, hidden), "families"), "sheet", "there are C(rank, p) fixed points"
    )  # fmt: skip

    columns = deep_linear.atlas_columns(families)
    sizes, index, levels = columns["size"], columns["index"], columns["level"]
    rows = [f"{name}:  {way}" for name, way in zip(columns["set"], columns["escape"], strict=True)]
    yield figure.beside(
        f"All {len(families)} families for d = {d}, p = {hidden}: from index 0 at loss {levels[0]:.3g} to index "
        f"{index.max()} at {levels[-1]:.3g}",
        figure.curves(
            "loss and index", x="index: negative curvatures", y="loss",
            points={f"|I| = {r}": (index[sizes == r], levels[sizes == r]) for r in range(hidden, -1, -1)},
        ),
        figure.heatmap(
            "the set I and the steepest way out", x="", y="lowest loss first", xs=["loss", "index", "nullity"], ys=rows,
            values=np.column_stack([levels, index, columns["nullity"]]), text=True,
        ),
    )  # fmt: skip


@claim(
    "critical-loss-levels",
    says="The loss at the critical product W_I is the energy of Y less the eigenvalues in I, over 2n.",
    formula=r"l(W_I) = \frac{1}{2n} \left[ tr\, \Sigma_{yy} - \sum_{i \in I} \lambda_i \right]",
    sources=("penn",),
    assumes=("Σxx is invertible",),
    shows=("deep_linear.LinearProblem",),
)
def critical_loss_levels(
    key,
    d: Annotated[int, Range(4, 10)] = 10,
    extra: Annotated[int, Range(0, 3)] = 1,
    hidden: Annotated[int, Range(1, 5)] = 5,
    ratio: Annotated[float, Range(1.1, 2.0)] = 1.2,
):
    """Every set I of at most p of d eigenvectors, the loss of its product measured on the data."""
    hidden = min(hidden, d)
    problem = _drawn(key, d, extra, ratio)
    families = deep_linear.atlas(problem, hidden)
    columns = deep_linear.atlas_columns(families)
    measured = [problem.loss(family.product) for family in families]
    sums = np.array([problem.eigenvalues[list(f.indices)].sum() for f in families])
    bracket = np.sum(problem.y**2) - sums
    yield close(measured, bracket / (2 * SAMPLES), f"loss at all {len(families)} products", rtol=1e-10)
    yield printed(
        close(measured, bracket, "loss at all products", rtol=1e-3),
        "penn", "l(W_I) = tr Σyy − Σ_{i∈I} λ_i, without 1/(2n)",
    )  # fmt: skip
    yield at_least(np.diff(measured), 0.0, "rise of the loss down the list of the atlas", atol=1e-12)
    edges = np.unique(np.linspace(0, columns["index"].max() + 1, 4).astype(int))
    groups = {
        f"index {low} to {high - 1}": columns["level"][(columns["index"] >= low) & (columns["index"] < high)]
        for low, high in itertools.pairwise(edges)
    }
    low, high = (group.mean() for group in (next(iter(groups.values())), list(groups.values())[-1]))
    yield figure.histogram(
        f"{len(families)} critical levels from {min(measured):.3g} to {max(measured):.3g}: those of low index lie at "
        f"{low:.3g} on average, those of high index at {high:.3g}",
        x="loss at the critical point",
        samples={name: group for name, group in groups.items() if group.size},
        bins=30,
    )


@claim(
    "critical-point-inertia",
    says=(
        "The number of negative curvatures at family I, |I| = r, is the number of pairs (i in I, j missing) with "
        "λ_j > λ_i, plus (p − r)(d_y − r); r² + (p − r)(2r + d_x − d_y) curvatures vanish, p² at full rank. Only the "
        "top p modes have index 0."
    ),
    formula=r"n_-(I) = \#\{(i \in I, j \notin I): \lambda_j > \lambda_i\} + (p - r)(d_y - r)",
    sources=("penn", "sheet"),
    assumes=("d_x ≥ d_y", "distinct positive eigenvalues of Σ", "the p − r units not used are zero"),
    shows=("deep_linear.atlas", "deep_linear.hessian_inertia"),
)
def critical_point_inertia(
    key,
    d: Annotated[int, Range(2, 5)] = 3,
    extra: Annotated[int, Range(0, 2)] = 2,
    hidden: Annotated[int, Range(1, 4)] = 3,
    ratio: Annotated[float, Range(1.3, 2.0)] = 1.5,
    mixing: Annotated[str, Choice("identity", "random rotation")] = "random rotation",
):
    """All families of (d_x, d_y, p) = (4,4,2), (6,4,2), (5,3,2), (4,4,3) and of (d + extra, d, p), dense Hessians."""
    rng = data.generator(jax.random.fold_in(key, 1))
    formula, computed, nullities, vanished = [], [], [], []
    shapes = [(4, 4, 2), (6, 4, 2), (5, 3, 2), (4, 4, 3), (d + extra, d, hidden)]
    for number, (d_x, d_y, p) in enumerate(shapes):
        problem = _drawn(jax.random.fold_in(key, number + 2), d_y, d_x - d_y, ratio)
        families = deep_linear.atlas(problem, p)
        for family in families:
            size = len(family.indices)
            turn = np.linalg.qr(rng.normal(size=(size, size)))[0] if mixing == "random rotation" else np.eye(size)
            negative, zero, _ = deep_linear.hessian_inertia(problem.factor_hessian(*family.factors(turn)))
            formula.append(family.index)
            nullities.append(family.nullity)
            computed.append(negative)
            vanished.append(zero)
        if number == 0:
            known = {f.indices: c for f, c in zip(families, computed, strict=True)}
            listed = [known[()], *(known[(i,)] for i in range(4))]
            listed += [known[i, j] for i in range(4) for j in range(i + 1, 4)]
            yield exactly(listed, [8, 3, 4, 5, 6, 0, 1, 2, 2, 3, 4], "d = 4, p = 2: ∅, four singles, six pairs")
            yield exactly(
                [v for f, v in zip(families, vanished, strict=True) if len(f.indices) == 2],
                4,
                "nullity p² of the pairs",
            )
        if number == 3:
            yield exactly(len(computed), 44, "families of the four small problems")
    yield exactly(computed, formula, f"negative eigenvalues at {len(formula)} families, counted and by formula")
    yield exactly(vanished, nullities, "zero eigenvalues, counted and by formula")
    line = np.array([0, max(formula)])
    jitter = rng.uniform(-0.12, 0.12, size=(2, len(formula)))
    yield figure.curves(
        f"Index of all {len(formula)} families: formula and dense Hessian agree for every one (points slightly shaken)",
        x="index by the formula",
        y="negative Hessian eigenvalues",
        lines={"equal": (line, line)},
        points={"a family": (np.array(formula) + jitter[0], np.array(computed) + jitter[1])},
    )
