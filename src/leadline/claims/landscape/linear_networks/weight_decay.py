"""Weight decay on a linear network: soft thresholds on its singular values, fewer saddles, and a trap at depth 3."""

import jax
import numpy as np

from leadline import data
from leadline.claims.scenarios.landscape.white_problem import white_problem
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, reference
from leadline.landscape import deep_linear
from leadline.landscape.deep_linear.penalised_factors import PenalisedFactors
from leadline.presentation import figure


@claim(sources=("penn",))
def weight_decay_soft_thresholds(
    key,
    d: Int(3, 4) = 3,
    extra: Int(0, 2) = 1,
    hidden: Int(1, 3) = 2,
    ratio: Real(1.3, 2.0) = 1.5,
    runs: Int(3, 40) = 8,
):
    r"""Weight decay soft-thresholds singular values.

    The penalty μ(‖A‖² + ‖B‖²) on the factors is 2μ times the nuclear norm of the product: the optimum has singular
    values (sₖ − 2μ)₊ for k ≤ p and balanced factors, AᵀA = BBᵀ, unique up to a rotation of the hidden units. The old
    minima do not stay: W itself shrinks.

    $$\min_{AB = W} \|A\|^2 + \|B\|^2 = 2 \|W\|_*, \qquad \sigma_k(W^*) = (s_k - 2\mu)_+$$

    Assumes: white inputs, XXᵀ = nI.

    Check: The singular values are s = 1, 1/`ratio`, and so on. BFGS is run from `runs` Gaussian starts for each of
    four values of μ, from 0.02 to beyond s₁/2.
    """
    singular = ratio ** -np.arange(d)
    problem, rng = white_problem(key, d + extra, 40, singular**2), data.generator(jax.random.fold_in(key, 1))
    product = rng.normal(size=(d, hidden)) @ rng.normal(size=(hidden, d + extra))
    u, s, v = np.linalg.svd(product, full_matrices=False)
    root = s[:hidden] ** 0.5
    a, b = u[:, :hidden] * root, root[:, None] * v[:hidden]
    balanced = np.sum(a**2) + np.sum(b**2)
    yield close(balanced, 2 * s.sum(), "‖A‖² + ‖B‖² of balanced factors, against 2‖W‖_*", rtol=1e-10)
    mixings = rng.normal(size=(20, hidden, hidden))
    mixed = [np.sum((a @ c) ** 2) + np.sum(np.linalg.solve(c, b) ** 2) for c in mixings]
    what = "‖A‖² + ‖B‖² of 20 other factors of this product, against the balanced ones"
    yield at_least(mixed, balanced, what, rtol=1e-9)
    penalties = np.array([0.02, 0.15, 0.35, 0.55])
    values, tuned, spread, apart = [], [], [], []
    for penalty in penalties:
        penalised = PenalisedFactors(problem, hidden, float(penalty))
        for _ in range(runs):
            a, b = penalised.minimise(rng.normal(size=(d, hidden)), rng.normal(size=(hidden, d + extra)))
            values.append(penalised.factor_loss(a, b) - penalised.minimum)
            spread.append(np.abs(a.T @ a - b @ b.T).max())
            apart.append(np.abs(a @ b - penalised.optimum).max())
        tuned.append(np.linalg.svd(a @ b, compute_uv=False))
    yield close(values, 0.0, f"last value less the closed form, {runs} BFGS runs for each of 4 μ", atol=1e-6)
    shrunk = close(apart, 0.0, "product at the end less the soft-thresholded L*", atol=1e-3)
    yield shrunk
    yield close(spread, 0.0, "AᵀA − BBᵀ at the end", atol=1e-3)
    turn = np.linalg.qr(rng.normal(size=(hidden, hidden)))[0]
    penalised = PenalisedFactors(problem, hidden, 0.15)
    best = penalised.families()[0]
    turned = penalised.factor_loss(best.a @ turn, turn.T @ best.b)
    yield close(turned, penalised.minimum, "least value after a rotation of the units", rtol=1e-10)
    old = problem.critical_map(range(hidden))
    wrong = close(penalised.optimum, old, "product at the optimum with μ = 0.15, against that without decay", atol=0.01)
    yield erratum(wrong, of=shrunk, by="penn", prints="of the global minima those of least norm remain")
    faint = PenalisedFactors(problem, hidden, 1e-6)
    yield close(faint.optimum, old, "product at the optimum with μ = 10⁻⁶, against that without decay", atol=3e-6)
    grid, shown = np.linspace(0, 0.6, 61), range(min(hidden + 1, d))
    title = f"Singular values of the trained product follow (s_k − 2μ)₊; with p = {hidden} the others are 0"
    lines = {f"mode {k + 1}": (grid, np.maximum(singular[k] - 2 * grid, 0) * (k < hidden)) for k in shown}
    points = {f"mode {k + 1}": (penalties, [t[k] for t in tuned]) for k in shown}
    yield figure.curves(title, "penalty μ", "singular value of W", lines=lines, points=points)


@claim(sources=("penn",))
def weight_decay_and_critical_points(
    key,
    d: Int(3, 4) = 4,
    hidden: Int(1, 3) = 2,
    ratio: Real(1.3, 2.0) = 1.5,
    decay: Real(0.04, 0.15) = 0.05,
    starts: Int(4, 20) = 8,
):
    r"""Critical points under weight decay.

    With decay μ a two-layer linear network keeps $\sum_{r \le p} \binom{m}{r}$ families, where m is the number of sₖ >
    2μ; beyond μ = s₁/2 only 0 is left, now the global minimum. From three layers on, decay makes 0 a strict local
    minimum, with Hessian 2μI, and a bad one while μ is small.

    $$\# = \sum_{r \le p} \binom{m}{r}, \; m = \#\{k : s_k > 2\mu\}; \quad L \ge 3: \; \nabla^2 l(0) = 2 \mu I$$

    Assumes: white inputs for the count; distinct singular values.

    Check: The singular values are s = 1, 1/`ratio`, and so on, and all families are found for values of μ between the
    thresholds. Depth 3 is tested on (1 − abc)²/2 + `decay`·(a² + b² + c²).
    """
    singular = ratio ** -np.arange(d)
    problem, rng = white_problem(key, d, 40, singular**2), data.generator(jax.random.fold_in(key, 1))

    def families_left(penalty):
        return deep_linear.count_families(int(np.sum(singular > 2 * penalty)), hidden)

    thresholds = singular / 2
    between = [0.8 * thresholds[-1], *np.sqrt(thresholds[1:] * thresholds[:-1])[::-1], 1.1 * thresholds[0]]
    counts, steep, formula, counted, strays = [], [], [], [], []
    for penalty in between:
        penalised = PenalisedFactors(problem, hidden, float(penalty))
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
    stairs = [families_left(mu) for mu in between]
    yield exactly(counts, stairs, "families for μ between the thresholds, against Σ_{r≤p} C(m, r)")
    yield at_most(steep, 1e-12, f"largest derivative at the {len(steep)} families with decay")
    yield exactly(counted, formula, "negative curvatures, counted and #{s_j > s_i} + (p − r)(m − r)")
    yield at_most([0.0, *strays], 1e-7, f"distance from a listed level, {len(strays)} searches that ended")
    yield exactly([counts[-1], counted[-1]], [1, 0], "families for μ > s_1/2, and the index of 0: the global minimum")

    def descended(*start):
        w, path = np.array(start), []
        for _ in range(int(60 / decay)):
            path.append((1 - w.prod()) ** 2 / 2 + decay * np.sum(w**2))
            w = w - 0.1 * (-(1 - w.prod()) * w.prod() / w + 2 * decay * w)
        return np.array(path)

    trapped, free = descended(0.05, 0.06, 0.07), descended(0.9, 1.0, 1.1)
    one = deep_linear.LinearProblem(np.ones((1, 1)), np.ones((1, 1)))
    ridge = 2 * decay * np.eye(3)
    curvature = deep_linear.deep_hessian(one, [np.zeros((1, 1))] * 3) + ridge
    yield close(curvature, ridge, "depth 3: Hessian at 0, against 2μI", atol=1e-15)
    yield close(trapped[-1], 0.5, "depth 3: descent from (.05, .06, .07) ends at the loss of 0", atol=1e-6)
    sizes = np.linspace(0.5, 1.0, 50_001)
    optimum = np.min((1 - sizes**3) ** 2 / 2 + 3 * decay * sizes**2)
    yield close(free[-1], optimum, "depth 3: descent from (.9, 1, 1.1), against the best balanced point", atol=1e-6)
    yield reference(optimum, 0.145, "depth 3: the optimum for μ = 0.05", digits=3).given(decay == 0.05, "μ = 0.05")
    grid, steps = np.linspace(0, 0.6, 241), np.arange(1, len(free) + 1)
    lines, points = {"Σ C(m, r)": (grid, [families_left(mu) for mu in grid])}, {"listed and checked": (between, counts)}
    two = figure.curves("two layers", "penalty μ", "families", lines=lines, points=points)
    lines = {"optimum": ([1, len(free)], [optimum] * 2)}
    points = {"from (.05, .06, .07)": (steps, trapped), "from (.9, 1, 1.1)": (steps, free)}
    three = figure.curves("three scalar layers", "step", "penalised loss", log="x", lines=lines, points=points)
    title = f"Decay leaves {', '.join(map(str, counts))} families as μ passes s_k/2; at depth 3 it traps descent"
    yield figure.beside(title, two, three)
