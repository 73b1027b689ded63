"""Weight decay on a linear network: soft thresholds on its singular values, fewer saddles, and a trap at depth 3."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, deep_linear
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed


def _white(key, singular: np.ndarray, extra: int, n: int = 40) -> deep_linear.LinearProblem:
    """XXᵀ = nI and L* with these singular values."""
    d = len(singular)
    drawn = deep_linear.random_problem(d + extra, d, n, key=key, spectrum=singular**2)
    white = np.linalg.solve(np.linalg.cholesky(drawn.sigma_xx / n), drawn.x)
    return deep_linear.LinearProblem(white, drawn.y)


@claim(
    "weight-decay-soft-thresholds",
    says=(
        "The penalty μ(‖A‖² + ‖B‖²) on the factors is 2μ times the nuclear norm of the product: the optimum has "
        "singular values (s_k − 2μ)₊ for k ≤ p and balanced factors, AᵀA = BBᵀ, unique up to a rotation of the hidden "
        "units. The old minima do not stay: W itself shrinks."
    ),
    formula=r"\min_{AB = W} \|A\|^2 + \|B\|^2 = 2 \|W\|_*, \qquad \sigma_k(W^*) = (s_k - 2\mu)_+",
    sources=("penn",),
    assumes=("white inputs, XXᵀ = nI",),
    shows=("deep_linear.PenalisedFactors",),
)
def weight_decay_soft_thresholds(
    key,
    d: Annotated[int, Range(3, 4)] = 3,
    extra: Annotated[int, Range(0, 2)] = 1,
    hidden: Annotated[int, Range(1, 3)] = 2,
    ratio: Annotated[float, Range(1.3, 2.0)] = 1.5,
    runs: Annotated[int, Range(3, 40)] = 8,
):
    """s = 1, 1/ratio, ...; BFGS from `runs` Gaussian starts for each of four μ, from 0.02 to beyond s_1/2."""
    singular = ratio ** -np.arange(d)
    problem, rng = _white(key, singular, extra), data.generator(jax.random.fold_in(key, 1))
    product = rng.normal(size=(d, hidden)) @ rng.normal(size=(hidden, d + extra))
    u, s, v = np.linalg.svd(product, full_matrices=False)
    root = s[:hidden] ** 0.5
    balanced = np.sum((u[:, :hidden] * root) ** 2) + np.sum((root[:, None] * v[:hidden]) ** 2)
    yield close(balanced, 2 * s.sum(), "‖A‖² + ‖B‖² of balanced factors, against 2‖W‖_*", rtol=1e-10)
    mixed = []
    for _ in range(20):
        mixing = rng.normal(size=(hidden, hidden))
        a, b = u[:, :hidden] * root @ mixing, np.linalg.solve(mixing, root[:, None] * v[:hidden])
        mixed.append(np.sum(a**2) + np.sum(b**2))
    yield at_least(mixed, balanced, "the same for 20 other factors of this product", rtol=1e-9)

    penalties = np.array([0.02, 0.15, 0.35, 0.55])
    values, tuned, spread, apart = [], [], [], []
    for penalty in penalties:
        penalised = deep_linear.PenalisedFactors(problem, hidden, float(penalty))
        for _ in range(runs):
            a, b = penalised.minimise(rng.normal(size=(d, hidden)), rng.normal(size=(hidden, d + extra)))
            values.append(penalised.factor_loss(a, b) - penalised.minimum)
            spread.append(np.abs(a.T @ a - b @ b.T).max())
            apart.append(np.abs(a @ b - penalised.optimum).max())
        tuned.append(np.linalg.svd(a @ b, compute_uv=False))
    yield close(values, 0.0, f"last value less the closed form, {runs} BFGS runs for each of 4 μ", atol=1e-6)
    yield close(apart, 0.0, "product at the end less the soft-thresholded L*", atol=1e-3)
    yield close(spread, 0.0, "AᵀA − BBᵀ at the end", atol=1e-3)
    turn = np.linalg.qr(rng.normal(size=(hidden, hidden)))[0]
    penalised = deep_linear.PenalisedFactors(problem, hidden, 0.15)
    best = penalised.families()[0]
    yield close(
        penalised.factor_loss(best.a @ turn, turn.T @ best.b),
        penalised.minimum,
        "value after a rotation of the units",
        rtol=1e-10,
    )
    old = problem.critical_map(range(hidden))
    yield printed(
        close(penalised.optimum, old, "product at the optimum with μ = 0.15, without decay", atol=0.01),
        "penn", "of the global minima those of least norm remain",
    )  # fmt: skip
    faint = deep_linear.PenalisedFactors(problem, hidden, 1e-6)
    yield close(faint.optimum, old, "as μ → 0 (10⁻⁶): product, against that without decay", atol=3e-6)
    grid = np.linspace(0, 0.6, 61)
    shown = range(min(hidden + 1, d))
    yield figure.curves(
        f"Singular values of the trained product follow (s_k − 2μ)₊; with p = {hidden} the others are 0",
        x="penalty μ",
        y="singular value of W",
        lines={f"mode {k + 1}": (grid, np.maximum(singular[k] - 2 * grid, 0) * (k < hidden)) for k in shown},
        points={f"mode {k + 1}": (penalties, [t[k] for t in tuned]) for k in shown},
    )


@claim(
    "weight-decay-and-critical-points",
    says=(
        "With decay μ a two-layer linear network keeps Σ_{r≤p} C(m, r) families, m = #{s_k > 2μ}; beyond s_1/2 only 0 "
        "is left, now the global minimum. From three layers on decay makes 0 a strict local minimum, with Hessian 2μI, "
        "and a bad one while μ is small."
    ),
    formula=r"\# = \sum_{r \le p} \binom{m}{r}, \; m = \#\{k : s_k > 2\mu\}; \quad L \ge 3: \; \nabla^2 l(0) = 2 \mu I",
    sources=("penn",),
    assumes=("white inputs for the count", "distinct singular values"),
    shows=("deep_linear.PenalisedFactors", "deep_linear.refine_critical"),
)
def weight_decay_and_critical_points(
    key,
    d: Annotated[int, Range(3, 4)] = 4,
    hidden: Annotated[int, Range(1, 3)] = 2,
    ratio: Annotated[float, Range(1.3, 2.0)] = 1.5,
    decay: Annotated[float, Range(0.04, 0.15)] = 0.05,
    starts: Annotated[int, Range(4, 20)] = 8,
):
    """s = 1, 1/ratio, ...; all families for μ between the thresholds; depth 3: (1 − abc)²/2 + `decay`(a² + b² + c²)."""
    singular = ratio ** -np.arange(d)
    problem, rng = _white(key, singular, 0), data.generator(jax.random.fold_in(key, 1))
    thresholds = singular / 2
    between = [0.8 * thresholds[-1], *np.sqrt(thresholds[1:] * thresholds[:-1])[::-1], 1.1 * thresholds[0]]
    counts, steep, formula, counted, strays = [], [], [], [], []
    for penalty in between:
        penalised = deep_linear.PenalisedFactors(problem, hidden, float(penalty))
        families = penalised.families()
        counts.append(len(families))
        for family in families:
            steep.append(max(np.abs(part).max() for part in penalised.factor_gradient(family.a, family.b)))
            formula.append(family.index)
            counted.append(deep_linear.hessian_inertia(penalised.factor_hessian(family.a, family.b))[0])
        levels = np.array([family.level for family in families])
        for _ in range(starts):
            point = deep_linear.refine_critical(penalised, rng.normal(size=(d, hidden)), rng.normal(size=(hidden, d)))
            if point.gradient_norm < 1e-12:
                strays.append(np.abs(penalised.factor_loss(point.a, point.b) - levels).min())
    alive = [int(np.sum(singular > 2 * penalty)) for penalty in between]
    yield exactly(
        counts, [deep_linear.count_families(m, hidden) for m in alive], "families for μ between the thresholds"
    )
    yield at_most(steep, 1e-12, f"largest derivative at these {len(steep)} families")
    yield exactly(counted, formula, "negative curvatures, counted and #{s_j > s_i} + (p − r)(m − r)")
    yield at_most(np.array([0.0, *strays]), 1e-7, f"distance from a listed level, {len(strays)} searches that ended")
    yield exactly([counts[-1], counted[-1]], [1, 0], "families for μ > s_1/2, and the index of 0: the global minimum")

    def trap(w):
        return (1 - w.prod()) ** 2 / 2 + decay * np.sum(w**2)

    def descended(w):
        path = []
        for _ in range(int(60 / decay)):
            path.append(trap(w))
            others = w.prod() / w
            w = w - 0.1 * (-(1 - w.prod()) * others + 2 * decay * w)
        return np.array(path)

    trapped, free = descended(np.array([0.05, 0.06, 0.07])), descended(np.array([0.9, 1.0, 1.1]))
    one = deep_linear.LinearProblem(np.ones((1, 1)), np.ones((1, 1)))
    bare = deep_linear.deep_hessian(one, [np.zeros((1, 1))] * 3)
    curvature = bare + 2 * decay * np.eye(3)
    yield close(curvature, 2 * decay * np.eye(3), "depth 3: Hessian at 0, against 2μI", atol=1e-15)
    yield close(trapped[-1], 0.5, "depth 3: descent from (.05, .06, .07) ends at the loss of 0", atol=1e-6)
    sizes = np.linspace(0.5, 1.0, 50_001)
    optimum = np.min((1 - sizes**3) ** 2 / 2 + 3 * decay * sizes**2)
    yield close(free[-1], optimum, "depth 3: descent from (.9, 1, 1.1), against the best balanced point", atol=1e-6)
    yield close(optimum, 0.145, "the optimum for μ = 0.05", atol=5e-4).given(decay == 0.05, "μ = 0.05")
    yield printed(
        at_most(trapped[-1], optimum, "loss where descent ends that begins near 0, optimum", rtol=0.01),
        "penn", "weight decay removes saddles (and nothing else)",
    )  # fmt: skip
    grid = np.linspace(0, 0.6, 241)
    stairs = [deep_linear.count_families(int(np.sum(singular > 2 * penalty)), hidden) for penalty in grid]
    shown = np.unique(np.geomspace(1, len(free), 60).astype(int)) - 1
    yield figure.beside(
        f"Decay leaves {', '.join(map(str, counts))} families as μ passes s_k/2; at depth 3 it traps descent at 0.5 "
        f"(optimum {optimum:.3f})",
        figure.curves(
            "two layers", x="penalty μ", y="families", lines={"Σ C(m, r)": (grid, stairs)},
            points={"listed and checked": (between, counts)},
        ),
        figure.curves(
            "three scalar layers", x="step", y="penalised loss", log="x",
            lines={"optimum": ([1, len(free)], [optimum] * 2)},
            points={"from (.05, .06, .07)": (shown + 1, trapped[shown]), "from (.9, 1, 1.1)": (shown + 1, free[shown])},
        ),
    )  # fmt: skip
