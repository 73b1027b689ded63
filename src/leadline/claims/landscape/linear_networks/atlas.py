"""Every critical point of a two-layer linear network: where they are, their loss, their inertia."""

import itertools
from math import comb

import jax
import numpy as np

from leadline import data
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, exactly
from leadline.landscape import deep_linear
from leadline.landscape.deep_linear.critical_atlas import atlas_columns, critical_family, nearest_family
from leadline.presentation import figure

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


@claim(sources=("penn",))
def critical_point_commutation(
    key,
    d: Int(3, 5) = 4,
    extra: Int(0, 2) = 1,
    hidden: Int(1, 2) = 2,
    ratio: Real(1.4, 2.0) = 1.6,
    starts: Int(4, 12) = 6,
):
    r"""Critical projectors commute with Σ.

    At a critical point of a two-layer linear network $AB = P_A L^*$, the best map projected on the range of A, and
    $P_A$ commutes with Σ: the range of A is spanned by eigenvectors of Σ. In training the commutator is small on every
    plateau and large between them.

    $$AB = P_A L^*, \qquad P_A \Sigma = \Sigma P_A$$

    Assumes: A has rank p.

    Check: Descent starts at distance 10⁻⁶ from the family of the p smallest modes.
    """
    problem, rng = _drawn(key, d, extra, ratio), data.generator(jax.random.fold_in(key, 1))

    def commutator(a):
        q = np.linalg.qr(a)[0]
        gap = q @ (q.T @ problem.sigma) - problem.sigma @ q @ q.T
        return np.linalg.norm(gap) / np.linalg.norm(problem.sigma)

    norms, misfits = [], []
    for _ in range(starts):
        start = rng.normal(size=(d, hidden)), rng.normal(size=(hidden, d + extra))
        a, b, steepness = deep_linear.refine_critical(problem, *start)
        if steepness < 1e-12 and np.linalg.svd(a, compute_uv=False)[-1] > 1e-3:
            norms.append(commutator(a))
            projected = a @ np.linalg.lstsq(a, problem.best_map, rcond=None)[0]
            misfits.append(np.linalg.norm(a @ b - projected) / np.linalg.norm(problem.best_map))
    landed = f"{len(norms)} of {starts} searches"
    yield at_most([0.0, *norms], 1e-6, f"‖P_A Σ − Σ P_A‖/‖Σ‖ where {landed} ended")
    yield at_most([0.0, *misfits], 1e-6, f"‖AB − P_A L*‖/‖L*‖ where {landed} ended")
    elsewhere = [commutator(rng.normal(size=(d, hidden))) for _ in range(8)]
    yield at_least(max(elsewhere), 0.01, "largest ‖P_A Σ − Σ P_A‖/‖Σ‖ at 8 random A")
    worst = critical_family(problem, hidden, range(d - hidden, d))
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
    steps = np.arange(1, len(path) + 1)
    points = {"training": (steps, path)}
    along = figure.curves("commutator", "step", "‖P_A Σ − Σ P_A‖/‖Σ‖", points=points, log="xy")
    levels = {"level of the start": worst.level, "level minimum": least.level}
    lines = {name: ([1, len(path)], [level] * 2) for name, level in levels.items()}
    stairs = figure.curves("loss", "step", "loss", log="x", points={"training": (steps, losses)}, lines=lines)
    title = f"The commutator begins at {path[0]:.0e}, rises to {path.max():.2f} between saddles, vanishes at the end"
    yield figure.beside(title, along, stairs)


@claim(sources=("penn", "sheet"))
def critical_point_atlas(
    key,
    d: Int(3, 5) = 4,
    extra: Int(0, 2) = 0,
    hidden: Int(1, 3) = 2,
    ratio: Real(1.3, 2.0) = 1.5,
    starts: Int(4, 24) = 12,
):
    r"""Atlas of critical points of linear networks.

    All critical points of a two-layer linear network are known: their products are $U_I U_I^T L^*$, one for every set
    I of at most p eigenvectors of Σ, with $A = U_I C$ and $B = C^{-1} U_I^T L^*$ for any invertible C, and zero units
    where |I| < p. For d = 4 and p = 2 there are 11 families.

    $$W_I = U_I U_I^T L^*, \quad |I| \le p; \qquad A = U_I C,\; B = C^{-1} U_I^T L^*$$

    Assumes: Σ has full rank $d_y$ and distinct eigenvalues.
    """
    problem, rng = _drawn(key, d, extra, ratio), data.generator(jax.random.fold_in(key, 1))
    families = deep_linear.atlas(problem, hidden)
    full = [family for family in families if len(family.indices) == hidden]
    slopes = [_steepest(problem.factor_gradient(*f.factors(_mixing(rng, len(f.indices))))) for f in families]
    critical = at_most(slopes, 1e-11, "largest derivative at each family, |I| ≤ p, random C")
    yield critical
    count = exactly(len(families), sum(comb(d, r) for r in range(hidden + 1)), "families, against Σ_{r≤p} C(d, r)")
    yield count
    small = exactly([len(families), len(full)], [11, 6], "families for d = 4, p = 2: all, and those of rank 2")
    yield small.given((d, hidden) == (4, 2), "d = 4 and p = 2")
    products = np.array([family.product.ravel() for family in families])
    gaps = np.linalg.norm(products[:, None] - products[None], axis=-1) + 9 * np.eye(len(families))
    yield at_least(gaps.min(), 1e-3, "least distance between two products: they are different")
    distances = []
    for _ in range(starts):
        point = deep_linear.refine_critical(problem, rng.normal(size=(d, hidden)), rng.normal(size=(hidden, d + extra)))
        if point.gradient_norm < 1e-12:
            distances.append(nearest_family(families, point.a @ point.b)[1])
    what = f"distance of {len(distances)} points found by search from the nearest family"
    yield at_most([0.0, *distances], 1e-4, what)
    at_zero = _steepest(problem.factor_gradient(*families[-1].factors()))
    wrong = at_least(at_zero, 1e-6, "largest derivative at A = 0, B = 0, which is not of the form with |I| = p")
    yield erratum(wrong, of=critical, by="penn", prints="(A, B) is critical if and only if A = U_I C with |I| = p")
    wrong = exactly(len(families), comb(d, hidden), "families, against C(d, p)")
    yield erratum(wrong, of=count, by="sheet", prints="there are C(rank, p) fixed points")
    columns = atlas_columns(families)
    sizes, index, levels = columns["size"], columns["index"], columns["level"]
    points = {f"|I| = {r}": (index[sizes == r], levels[sizes == r]) for r in range(hidden, -1, -1)}
    rows = [f"{name}:  {way}" for name, way in zip(columns["set"], columns["escape"], strict=True)]
    table = {"xs": ["loss", "index", "nullity"], "ys": rows, "text": True}
    values = np.column_stack([levels, index, columns["nullity"]])
    left = figure.curves("loss and index", "index: negative curvatures", "loss", points=points)
    right = figure.heatmap("the set I and the steepest way out", "", "lowest loss first", values=values, **table)
    title = f"All {len(families)} families: index 0 at loss {levels[0]:.3g} to index {index.max()} at {levels[-1]:.3g}"
    yield figure.beside(title, left, right)


@claim(sources=("penn",), shows=("landscape.deep_linear.LinearProblem",))
def critical_loss_levels(
    key, d: Int(4, 10) = 10, extra: Int(0, 3) = 1, hidden: Int(1, 5) = 5, ratio: Real(1.1, 2.0) = 1.2
):
    r"""Loss levels at the critical points.

    The loss at the critical product $W_I$ is the energy of Y less the eigenvalues in I, over 2n.

    $$l(W_I) = \frac{1}{2n} \left[ \mathrm{tr}\, \Sigma_{yy} - \sum_{i \in I} \lambda_i \right]$$

    Assumes: $\Sigma_{xx}$ is invertible.
    """
    hidden = min(hidden, d)
    problem = _drawn(key, d, extra, ratio)
    families = deep_linear.atlas(problem, hidden)
    columns = atlas_columns(families)
    measured = [problem.loss(family.product) for family in families]
    sums = np.array([problem.eigenvalues[list(f.indices)].sum() for f in families])
    bracket = np.sum(problem.y**2) - sums
    level = close(measured, bracket / (2 * SAMPLES), f"loss at all {len(families)} critical products", rtol=1e-10)
    yield level
    wrong = close(measured, bracket, "loss at all critical products, against the bracket alone", rtol=1e-3)
    yield erratum(wrong, of=level, by="penn", prints="l(W_I) = tr Σyy − Σ_{i∈I} λ_i, without 1/(2n)")
    yield at_least(np.diff(measured), 0.0, "rise of the loss down the list of the atlas", atol=1e-12)
    edges = np.unique(np.linspace(0, columns["index"].max() + 1, 4).astype(int))
    levels, index = columns["level"], columns["index"]
    groups = {f"index {a} to {b - 1}": levels[(index >= a) & (index < b)] for a, b in itertools.pairwise(edges)}
    low, *_, high = (group.mean() for group in groups.values())
    title = f"{len(families)} critical levels: those of low index lie at {low:.3g} on average, of high at {high:.3g}"
    samples = {name: group for name, group in groups.items() if group.size}
    yield figure.histogram(title, "loss at the critical point", samples=samples, bins=30)


@claim(sources=("penn", "sheet"))
def critical_point_inertia(
    key,
    d: Int(2, 5) = 3,
    extra: Int(0, 2) = 2,
    hidden: Int(1, 4) = 3,
    ratio: Real(1.3, 2.0) = 1.5,
    mixing: OneOf("identity", "random rotation") = "random rotation",
):
    r"""Hessian index of critical families.

    The number of negative curvatures at family I, |I| = r, is the number of pairs (i in I, j missing) with λⱼ > λᵢ,
    plus $(p - r)(d_y - r)$. The number of curvatures that vanish is $r^2 + (p - r)(2r + d_x - d_y)$, which is p² at
    full rank. Only the top p modes have index 0.

    $$n_-(I) = \#\{(i \in I, j \notin I): \lambda_j > \lambda_i\} + (p - r)(d_y - r)$$

    Assumes: $d_x \ge d_y$; distinct positive eigenvalues of Σ; the p − r units not used are zero.

    Check: Dense Hessians are computed at all families of $(d_x, d_y, p)$ = (4, 4, 2), (6, 4, 2), (5, 3, 2), (4, 4, 3)
    and (d + `extra`, d, p).
    """
    rng = data.generator(jax.random.fold_in(key, 1))
    formula, computed = [], []
    shapes = [(4, 4, 2), (6, 4, 2), (5, 3, 2), (4, 4, 3), (d + extra, d, hidden)]
    for number, (d_x, d_y, p) in enumerate(shapes):
        problem = _drawn(jax.random.fold_in(key, number + 2), d_y, d_x - d_y, ratio)
        families = deep_linear.atlas(problem, p)
        for family in families:
            size = len(family.indices)
            turn = np.linalg.qr(rng.normal(size=(size, size)))[0] if mixing == "random rotation" else np.eye(size)
            negative, zero, _ = deep_linear.hessian_inertia(problem.factor_hessian(*family.factors(turn)))
            formula.append((family.index, family.nullity))
            computed.append((negative, zero))
        if number == 0:
            known = {f.indices: c for f, c in zip(families, computed, strict=True)}
            sets = [chosen for r in range(3) for chosen in itertools.combinations(range(4), r)]
            listed = [known[chosen][0] for chosen in sets]
            what = "d = 4, p = 2: negative eigenvalues at ∅, four singles, six pairs"
            yield exactly(listed, [8, 3, 4, 5, 6, 0, 1, 2, 2, 3, 4], what)
            yield exactly([known[chosen][1] for chosen in sets[5:]], 4, "d = 4, p = 2: nullity p² of the six pairs")
        if number == 3:
            yield exactly(len(computed), 44, "families of the four small problems")
    (index, nullity), (negative, zero) = np.transpose(formula), np.transpose(computed)
    yield exactly(negative, index, f"negative eigenvalues at {len(index)} families, counted and by formula")
    yield exactly(zero, nullity, f"zero eigenvalues at {len(index)} families, counted and by formula")
    title = f"Index of all {len(index)} families: formula and dense Hessian agree for each (points slightly shaken)"
    shaken = np.array([index, negative]) + rng.uniform(-0.12, 0.12, size=(2, len(index)))
    lines, points = {"equal": ([0, index.max()], [0, index.max()])}, {"a family": tuple(shaken)}
    yield figure.curves(title, "index by the formula", "negative Hessian eigenvalues", lines=lines, points=points)
