"""The test objectives with what is certain of them, and two facts about vectors and least squares."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, mean, model
from leadline.optimisation.bounds.pair_inequalities import tabulate_pairs
from leadline.presentation import figure


@model(
    sources=("penn", "sheet"),
    shows=("optimisation.UserFunction", "optimisation.pair_table", "optimisation.inequality_table"),
)
def test_objectives(
    key,
    family: OneOf("regression", "convex", "non-convex") = "regression",
    condition: Real(1.0, 1e6, log=True) = 100.0,
    dimension: Int(2, 1000, log=True) = 10,
    angle: Real(0.0, 3.14) = 0.5,
    step_size: Real(0.05, 1.95) = 1.8,
    penalty: Real(1e-3, 1.0, log=True) = 0.05,
):
    r"""Test objectives with known constants.

    Objectives with value, gradient, Hessian and, where they are known, certified L, m, μ, w* and l*: quadratics,
    regressions, Huber functions, powers, log-sum-exp, Nesterov's chain, Lessard's function, the double well,
    Rosenbrock's and Himmelblau's functions, or your own.

    $$m \|dw\|^2 \le \langle dg, dw \rangle \le L \|dw\|^2, \qquad g(w^*) = 0, \quad l(w^*) = l^*$$

    Check: `dimension` is that of the quadratic and `penalty` that of the regressions; `step_size` is ηL of
    the path in the figure, and `angle` turns the quadratic there.
    """
    rng = data.generator(key)
    spread = optimisation.spread_quadratic(dimension, condition)
    linear = jnp.asarray(rng.normal(size=dimension))
    x, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    families = {
        "regression": {
            "quadratic": (optimisation.Quadratic(spread.matrix, linear), dimension),
            "least squares": (optimisation.LeastSquares(x, y), 4),
            "ridge": (optimisation.LeastSquares(x, y, penalty), 4),
            "logistic + ridge": (optimisation.LogisticRidge(x, np.where(y > 0, 1.0, -1.0), penalty), 4),
        },
        "convex": {
            "Huber": (optimisation.Huber(0.5, 4), 4),
            "|w|⁴": (optimisation.PowerFunction(4.0, 4), 4),
            "log-sum-exp": (optimisation.LogSumExp(), 4),
            "chain": (optimisation.WorstChain(4, 2.0), 4),
            "Lessard": (optimisation.Lessard(), 1),
        },
        "non-convex": {
            "w² + 3 sin² w": (optimisation.SineParabola(4), 4),
            "double well": (optimisation.DoubleWell(), 1),
            "Rosenbrock": (optimisation.Rosenbrock(), 2),
            "Himmelblau": (optimisation.Himmelblau(), 2),
        },
    }
    pairs = 1000 if dimension <= 100 else 200
    for name, (objective, variables) in families[family].items():
        w, c = rng.uniform(-3, 3, (2 * pairs, variables)), objective.constants()
        best = None if c.minimiser is None else jnp.asarray(c.minimiser)
        found = jax.tree.map(np.asarray, _derivatives(objective, jnp.asarray(w), best))
        values, slopes, closed, curved, exact, at_best = found
        size, bend = np.abs(slopes).max(), np.abs(exact).max()
        yield close(slopes, closed, f"{name}: automatic gradient against the formula", atol=1e-10 * (1 + size))
        yield close(curved, exact, f"{name}: automatic Hessian against the formula", atol=1e-10 * (1 + bend))
        both = values.reshape(2, pairs), slopes.reshape(2, pairs, -1)
        table = tabulate_pairs(w[:pairs], w[pairs:], *both)
        rounding = 1e-12 + 100 * table.rounding.max() / table.squared_distance.min()
        if c.smoothness is not None:
            yield at_most(table.secant_ratios, c.smoothness, f"{name}: ‖dg‖/‖dw‖ against L", atol=rounding)
        if c.strong_convexity is not None:
            yield at_least(table.curvature_ratios, c.strong_convexity, f"{name}: curvature against m", atol=rounding)
        if c.minimum is not None:
            reach = 1 + (c.smoothness or 100.0) * (1 + np.abs(c.minimiser).sum())
            yield close(at_best[0], c.minimum, f"{name}: l(w*)", atol=1e-12 * reach)
            yield at_most(np.linalg.norm(at_best[1]), 1e-10, f"{name}: ‖g(w*)‖", atol=1e-14 * reach)
            yield at_least(values, c.minimum, f"{name}: l against l*", atol=1e-12 * reach)
        if c.pl is not None:
            pl = 0.5 * np.sum(np.square(slopes), axis=1) - c.pl * (values - c.minimum)
            yield at_least(pl, 0.0, f"{name}: ½‖g‖² − μ(l − l*)", atol=1e-12 * (1 + size) ** 2)
    v, matrix = rng.normal(size=dimension), np.asarray(spread.matrix)
    product = eqx.filter_jit(spread.hessian_product)(linear, jnp.asarray(v))
    yield close(product, matrix @ v, "Hessian times a vector", atol=1e-10 * condition * np.abs(v).sum())
    doubled = optimisation.Quadratic(jnp.asarray(2 * matrix), linear).constants()
    top = np.linalg.eigvalsh(matrix)[-1]
    yield close(doubled.smoothness, 2 * top, "L of the form wᵀAw: 2λ_max", rtol=1e-12)

    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = turn * np.array([1.0, condition]) @ turn.T
    path = [turn @ np.array([1.6, 0.9])]
    for _ in range(40):
        path.append(path[-1] - step_size / condition * matrix @ path[-1])
    path = np.array(path)
    grid = np.linspace(-2, 2, 60)
    w = np.stack(np.meshgrid(grid, grid), axis=-1)
    height = np.log10(np.einsum("ijk,kl,ijl->ij", w, matrix, w) / 2 + 1e-3)
    left = path[-1] @ matrix @ path[-1] / (path[0] @ matrix @ path[0])
    title = f"Descent with ηL = {step_size:g} at κ = {condition:g}: {left:.2g} of the gap is left after 40 steps"
    lines, points = {"path": (path[:, 0], path[:, 1])}, {"steps": path, "minimiser": np.zeros((1, 2))}
    around = {"regions": (grid, grid, height), "domain": ((-2, 2), (-2, 2))}
    yield figure.plane(title, "w₁", "w₂", lines=lines, points=points, **around)


@eqx.filter_jit
def _derivatives(objective, w, best):
    """Values, gradients and Hessians, automatic and by formula; l and g at w*."""
    few = w[:1]
    automatic, closed = jax.vmap(jax.hessian(objective))(few), jax.vmap(objective.hessian)(few)
    there = None if best is None else (objective(best), objective.gradient(best))
    values, gradients = jax.vmap(jax.value_and_grad(objective))(w)
    return values, gradients, jax.vmap(objective.gradient)(w), automatic, closed, there


@claim(sources=("penn",))
def vector_inequalities(
    key,
    dimension: Int(2, 10_000, log=True) = 100,
    exponent: Real(1.0, 20.0) = 3.0,
    pairs: Int(100, 10_000, log=True) = 10_000,
):
    r"""Hölder and Cauchy–Schwarz inequalities.

    Hölder: ∑|aᵢbᵢ| is at most $\|a\|_p \|b\|_q$ for p, q ≥ 1 with 1/p + 1/q = 1; for 1 < p < ∞ equality holds if and
    only if $|a|^p$ and $|b|^q$ are proportional, for p = ∞ if |a| is largest wherever b is not 0. Cauchy–Schwarz is
    p = 2; between random vectors its ratio |⟨a, b⟩|/(‖a‖‖b‖) is about 1/√d.

    $$\sum_i |a_i b_i| \le \|a\|_p \|b\|_q, \qquad \tfrac1p + \tfrac1q = 1, \quad p, q \ge 1$$

    Assumes: p, q ∈ [1, ∞] are conjugate.

    Check: At most 2·10⁶ numbers are drawn for each side, so large dimensions have fewer pairs.
    """
    rng = data.generator(key)
    n = min(pairs, max(50, 2_000_000 // dimension))
    a, b = rng.normal(size=(2, n, dimension))
    for p in (1.0, 1.1, 2.0, 5.0, np.inf, exponent):
        q = np.inf if p == 1 else p / (p - 1) if np.isfinite(p) else 1.0
        ratio = np.sum(np.abs(a * b), axis=1) / (_norm(a, p) * _norm(b, q))
        holder = at_most(ratio, 1.0, f"Hölder's ratio Σ|ab|/(‖a‖_p ‖b‖_q), p = {p:g}, {n} pairs", rtol=1e-12)
        yield holder
        other = _equality_partner(a[:50], p)
        tight = np.sum(np.abs(a[:50] * other), axis=1) / (_norm(a[:50], p) * _norm(other, q))
        yield close(tight, 1.0, f"Hölder's ratio of the pairs with equality, p = {p:g}", rtol=1e-12)
    signed, ones = np.array([1.0, -1.0]), np.ones(2)
    without = np.cbrt(np.sum(signed**3)) * np.sum(ones**1.5) ** (2 / 3)
    wrong = at_most(np.abs(signed) @ ones, without, "Σ|ab| against (Σa³)^⅓ (Σb^1.5)^⅔, a = (1, −1), b = (1, 1)")
    yield erratum(wrong, of=holder, by="penn", prints="Hölder's inequality with (Σaᵖ)^{1/p}, without absolute values")
    cosine = np.sum(a * b, axis=1) / (_norm(a, 2.0) * _norm(b, 2.0))
    yield at_most(cosine**2, 1.0, "Cauchy-Schwarz ratio (a·b)²/‖a‖²‖b‖²", rtol=1e-12)
    deviation = np.sqrt(2 * (dimension - 1) / (dimension**2 * (dimension + 2)))
    yield mean(cosine**2, 1 / dimension, "mean squared cosine of Gaussian vectors: 1/d", deviation=deviation)
    u, v = np.abs(a[:100]) + 0.01, np.abs(b[:100]) + 0.01
    low = _norm(u, 0.5) * np.sum(1 / v, axis=1) ** -1
    reverse = at_least(np.sum(u * v, axis=1), low, "Σab at p = ½, q = −1, a, b > 0: Hölder is reversed", rtol=1e-12)
    yield reverse
    wrong = at_most(np.sum(u * v, axis=1), low, "Σab against ‖a‖_½‖b‖₋₁, a, b > 0")
    yield erratum(wrong, of=reverse, by="penn", prints="Hölder for p, q with 1/p + 1/q = 1, without p, q ≥ 1")
    from scipy.special import beta

    t, samples, lines = np.linspace(-0.99, 0.99, 199), {}, {}
    for d in (3, 10, 100):
        c, e = rng.normal(size=(2, 3000, d))
        samples[f"d = {d}"] = np.sum(c * e, axis=1) / (_norm(c, 2.0) * _norm(e, 2.0))
        lines[f"d = {d}"] = (t, (1 - t**2) ** ((d - 3) / 2) / beta(0.5, (d - 1) / 2))
    spread = ", ".join(f"{sample.std():.2g}" for sample in samples.values())
    title = f"The cosine of two random vectors concentrates at 0 as 1/√d: its deviation is {spread}"
    yield figure.histogram(title, "a·b / ‖a‖‖b‖", samples=samples, lines=lines)


def _norm(a: np.ndarray, p: float) -> np.ndarray:
    size = np.max(np.abs(a), axis=1)
    if not np.isfinite(p):
        return size
    return size * np.sum((np.abs(a) / size[:, None]) ** p, axis=1) ** (1 / p)


def _equality_partner(a: np.ndarray, p: float) -> np.ndarray:
    """b with |b|^q ∝ |a|^p: b = |a|^(p−1); for p = ∞ all weight on the largest coordinate, for p = 1 constant."""
    share = np.abs(a) / np.max(np.abs(a), axis=1, keepdims=True)
    return share ** (p - 1) if np.isfinite(p) else (share == 1).astype(float)


@claim(sources=("penn",))
def least_squares_curvature(
    key,
    samples: Int(2, 100) = 30,
    features: Int(1, 40) = 12,
    rank: Int(1, 40) = 8,
    condition: Real(1.0, 1e4, log=True) = 30.0,
    form: OneOf("mean", "sum") = "mean",
):
    r"""Curvature of least squares.

    ½‖y − Xw‖² has the constant Hessian XᵀX, so it is convex whatever X is: L is the largest squared singular value, m
    the smallest (0 if the rank is below p), and the PL constant μ the smallest that is not zero.

    $$\nabla^2 l = X^\top X, \qquad L = s_{\max}^2, \quad m = s_{\min}^2, \quad \mu = \min_{s_i > 0} s_i^2$$

    Check: The parameter `condition` is that of the non-zero singular values; `form` says whether 1/n stands in front.
    """
    rng = data.generator(key)
    r = min(samples, features, rank)
    left, right = (np.linalg.qr(rng.normal(size=(n, r)))[0] for n in (samples, features))
    singular = np.geomspace(condition, 1.0, r) if r > 1 else np.ones(1)
    x, y = left * singular @ right.T, rng.normal(size=samples)
    scale = 1.0 if form == "sum" else 1 / samples
    loss, factor = optimisation.LeastSquares(x, y), samples * scale
    w = rng.normal(size=features)
    hessian = np.asarray(jax.jit(jax.hessian(lambda v: factor * loss(v)))(jnp.asarray(w)))
    top = singular[0] ** 2 * scale
    yield close(hessian, scale * x.T @ x, "automatic Hessian against XᵀX", atol=1e-10 * top)
    squares = np.concatenate([np.zeros(features - r), np.sort(singular**2)]) * scale
    eigenvalues = np.linalg.eigvalsh(hessian)
    yield close(eigenvalues, squares, "eigenvalues of the Hessian against squared singular values", atol=1e-12 * top)
    yield at_least(eigenvalues, 0.0, "eigenvalues of the Hessian are not negative", atol=1e-12 * top)
    known = loss.constants()
    yield close(known.smoothness * factor, squares[-1], "L: the largest squared singular value", rtol=1e-10)
    yield close(known.strong_convexity * factor, squares[0], "m: the smallest squared singular value", rtol=1e-6)
    yield close(known.pl * factor, scale, "μ: the least non-zero squared singular value", rtol=1e-6)
    points = known.minimiser + rng.normal(size=(1000, features))
    gap = 0.5 * np.sum(((points - known.minimiser) @ x.T) ** 2, axis=1) * scale
    slope2 = np.sum(((points @ x.T - y) @ x * scale) ** 2, axis=1)
    yield at_least(0.5 * slope2, scale * gap, "½‖g‖² against μ(l − l*)", rtol=1e-8, atol=1e-10 * top)
    if r < features:
        flat = rng.normal(size=features)
        flat -= right @ (right.T @ flat)
        bend = flat @ hessian @ flat
        yield close(bend, 0.0, "curvature along the null space: m = 0", atol=1e-10 * top * (flat @ flat))
    order = np.arange(1, r + 1)
    lines, points = {"s²": (order, squares[: -r - 1 : -1])}, {"λ of the Hessian": (order, eigenvalues[: -r - 1 : -1])}
    constants = f"L = {squares[-1]:.3g}, m = {squares[0]:.3g}, μ = {scale:.3g}"
    title = f"The {features} Hessian eigenvalues are the squared singular values of X: {constants}"
    yield figure.curves(title, "order", "eigenvalue (zero: not shown)", lines=lines, points=points, log="y")
