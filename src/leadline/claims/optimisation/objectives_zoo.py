"""The test objectives with what is certain of them, and two facts about vectors and least squares."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, mean, model, printed


@model(
    "test-objectives",
    says=(
        "Objectives with value, gradient, Hessian and, where they are known, certified L, m, μ, w* and l*: quadratics, "
        "regressions, Huber, powers, log-sum-exp, Nesterov's chain, Lessard's function, double well, Rosenbrock, "
        "Himmelblau, or your own."
    ),
    formula=r"m \|dw\|^2 \le \langle dg, dw \rangle \le L \|dw\|^2, \qquad g(w^*) = 0, \quad l(w^*) = l^*",
    sources=("penn", "sheet"),
    shows=(
        "optimisation.Quadratic", "optimisation.LeastSquares", "optimisation.LogisticRidge", "optimisation.Huber",
        "optimisation.PowerFunction", "optimisation.LogSumExp", "optimisation.SineParabola", "optimisation.WorstChain",
        "optimisation.Lessard", "optimisation.DoubleWell", "optimisation.Rosenbrock", "optimisation.Himmelblau",
        "optimisation.UserFunction", "optimisation.pair_table", "optimisation.inequality_table",
    ),
)  # fmt: skip
def objectives_to_test(
    key,
    family: Annotated[str, Choice("regression", "convex", "non-convex")] = "regression",
    condition: Annotated[float, Range(1.0, 1e6, log=True)] = 100.0,
    dimension: Annotated[int, Range(2, 1000, log=True)] = 10,
    angle: Annotated[float, Range(0.0, 3.14)] = 0.5,
    step: Annotated[float, Range(0.05, 1.95)] = 1.8,
    penalty: Annotated[float, Range(1e-3, 1.0, log=True)] = 0.05,
):
    """`dimension` is that of the quadratic, `penalty` that of the regressions.

    `step` is ηL of the path in the figure, `angle` turns the quadratic there.
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
    zoo = {name: objective for name, (objective, _) in families[family].items()}
    sizes = {name: size for name, (_, size) in families[family].items()}
    pairs = 1000 if dimension <= 100 else 200
    for name, objective in zoo.items():
        pts, c = rng.uniform(-3, 3, (2 * pairs, sizes[name])), objective.constants()
        best = None if c.minimiser is None else jnp.asarray(c.minimiser)
        result = jax.tree.map(np.asarray, _derivatives(objective, jnp.asarray(pts), best))
        values, slopes, closed, curved, exact, at_best = result
        size, bend = float(np.abs(slopes).max()), float(np.abs(exact).max())
        yield close(slopes, closed, f"{name}: automatic gradient against the formula", atol=1e-10 * (1 + size))
        yield close(curved, exact, f"{name}: automatic Hessian against the formula", atol=1e-10 * (1 + bend))
        table = optimisation.tabulate_pairs(
            pts[:pairs], pts[pairs:], values.reshape(2, pairs), slopes.reshape(2, pairs, -1)
        )
        rounding = 1e-12 + 100 * float(table.rounding.max()) / table.squared_distance.min()
        if c.smoothness is not None:
            yield at_most(table.secant_ratios, c.smoothness, f"{name}: ‖dg‖/‖dw‖ against L", atol=rounding)
        if c.strong_convexity is not None:
            yield at_least(table.curvature_ratios, c.strong_convexity, f"{name}: curvature against m", atol=rounding)
        if c.minimum is not None:
            reach = 1 + (c.smoothness or 100.0) * (1 + float(np.abs(c.minimiser).sum()))
            yield close(at_best[0], c.minimum, f"{name}: l(w*)", atol=1e-12 * reach)
            yield at_most(np.linalg.norm(at_best[1]), 1e-10, f"{name}: ‖g(w*)‖", atol=1e-14 * reach)
            yield at_least(values, c.minimum, f"{name}: l against l*", atol=1e-12 * reach)
        if c.pl is not None:
            pl = 0.5 * np.sum(np.square(slopes), axis=1) - c.pl * (values - c.minimum)
            yield at_least(pl, 0.0, f"{name}: ½‖g‖² − μ(l − l*)", atol=1e-12 * (1 + size) ** 2)
    v, matrix = rng.normal(size=dimension), np.asarray(spread.matrix)
    product = eqx.filter_jit(spread.hessian_product)(linear, jnp.asarray(v))
    yield close(product, matrix @ v, "Hessian times a vector", atol=1e-10 * condition * np.abs(v).sum())
    top = float(np.linalg.eigvalsh(matrix)[-1])
    doubled = optimisation.Quadratic(jnp.asarray(2 * matrix), linear).constants()
    yield close(doubled.smoothness, 2 * top, "L of the form wᵀAw: 2λ_max", rtol=1e-12)

    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = turn * np.array([1.0, condition]) @ turn.T
    path = [turn @ np.array([1.6, 0.9])]
    for _ in range(40):
        path.append(path[-1] - step / condition * matrix @ path[-1])
    path = np.array(path)
    grid = np.linspace(-2, 2, 60)
    w = np.stack(np.meshgrid(grid, grid), axis=-1)
    height = np.log10(np.einsum("ijk,kl,ijl->ij", w, matrix, w) / 2 + 1e-3)
    left = float(path[-1] @ matrix @ path[-1] / (path[0] @ matrix @ path[0]))
    yield figure.plane(
        f"Gradient descent with ηL = {step:g} on a quadratic with κ = {condition:g}: {left:.2g} of the gap is left "
        "after 40 steps",
        x="w₁", y="w₂", regions=(grid, grid, height), lines={"path": (path[:, 0], path[:, 1])},
        points={"steps": path, "minimiser": np.zeros((1, 2))}, domain=((-2, 2), (-2, 2)),
    )  # fmt: skip


@eqx.filter_jit
def _derivatives(objective, w, best):
    """Values, gradients and Hessians, automatic and by formula; l and g at w*."""
    few = w[:1]
    automatic, closed = jax.vmap(jax.hessian(objective))(few), jax.vmap(objective.hessian)(few)
    there = None if best is None else (objective(best), objective.gradient(best))
    values, gradients = jax.vmap(jax.value_and_grad(objective))(w)
    return values, gradients, jax.vmap(objective.gradient)(w), automatic, closed, there


@claim(
    "vector-inequalities",
    says=(
        "Hölder: Σ|aᵢbᵢ| is at most ‖a‖_p‖b‖_q for p, q ≥ 1 with 1/p + 1/q = 1, with equality iff |a|^p and |b|^q are "
        "proportional. Cauchy-Schwarz is p = 2; between random vectors its ratio is about 1/√d."
    ),
    formula=r"\sum_i |a_i b_i| \le \|a\|_p \|b\|_q, \qquad \tfrac1p + \tfrac1q = 1, \quad p, q \ge 1",
    sources=("penn",),
    assumes=("p, q ∈ [1, ∞] are conjugate",),
)
def vector_inequalities(
    key,
    dimension: Annotated[int, Range(2, 10_000, log=True)] = 100,
    exponent: Annotated[float, Range(1.0, 20.0)] = 3.0,
    pairs: Annotated[int, Range(100, 10_000, log=True)] = 10_000,
):
    """At most 2e6 numbers are drawn for each side, so that large dimensions have fewer pairs."""
    rng = data.generator(key)
    n = min(pairs, max(50, 2_000_000 // dimension))
    a, b = rng.normal(size=(2, n, dimension))
    for p in (1.0, 1.1, 2.0, 5.0, np.inf, exponent):
        q = np.inf if p == 1 else p / (p - 1) if np.isfinite(p) else 1.0
        ratio = np.sum(np.abs(a * b), axis=1) / (_norm(a, p) * _norm(b, q))
        yield at_most(ratio, 1.0, f"Hölder's ratio, p = {p:g}, {n} pairs", rtol=1e-12)
        other = _equality_partner(a[:50], p)
        tight = np.sum(np.abs(a[:50] * other), axis=1) / (_norm(a[:50], p) * _norm(other, q))
        yield close(tight, 1.0, f"Hölder's ratio where |a|^p ∝ |b|^q, p = {p:g}", rtol=1e-12)
    cosine = np.sum(a * b, axis=1) / (_norm(a, 2.0) * _norm(b, 2.0))
    yield at_most(cosine**2, 1.0, "Cauchy-Schwarz ratio (a·b)²/‖a‖²‖b‖²", rtol=1e-12)
    deviation = np.sqrt(2 * (dimension - 1) / (dimension**2 * (dimension + 2)))
    yield mean(cosine**2, 1 / dimension, "mean squared cosine of Gaussian vectors: 1/d", deviation=deviation)

    u, v = np.abs(a[:100]) + 0.01, np.abs(b[:100]) + 0.01
    low = _norm(u, 0.5) * np.sum(1 / v, axis=1) ** -1
    yield at_least(np.sum(u * v, axis=1), low, "p = ½, q = −1: the inequality is reversed", rtol=1e-12)
    yield printed(
        at_most(np.sum(u * v, axis=1), low, "Σab against ‖a‖_½‖b‖₋₁, a, b > 0"), "penn",
        "Hölder for any p, q with 1/p + 1/q = 1",
    )  # fmt: skip
    two, signed = np.array([2.0, 1.0]), np.array([1.0, -1.0])
    without = np.sum(two**1.5) ** (2 / 3) * np.cbrt(np.sum(signed**3))
    yield printed(
        at_most(two @ signed, without, "Σab against (Σa^1.5)^⅔ (Σb³)^⅓"), "penn", "Hölder without absolute values"
    )

    from scipy.special import beta

    shown, lines = {}, {}
    t = np.linspace(-0.99, 0.99, 199)
    for d in (3, 10, 100):
        c, e = rng.normal(size=(2, 3000, d))
        shown[f"d = {d}"] = np.sum(c * e, axis=1) / (_norm(c, 2.0) * _norm(e, 2.0))
        lines[f"d = {d}"] = (t, (1 - t**2) ** ((d - 3) / 2) / beta(0.5, (d - 1) / 2))
    yield figure.histogram(
        "The cosine of two random vectors never exceeds 1 and concentrates at 0 as 1/√d: its deviation is "
        f"{shown['d = 3'].std():.2g}, {shown['d = 10'].std():.2g}, {shown['d = 100'].std():.2g}",
        x="a·b / ‖a‖‖b‖", samples=shown, lines=lines,
    )  # fmt: skip


def _norm(a: np.ndarray, p: float) -> np.ndarray:
    size = np.max(np.abs(a), axis=1)
    if not np.isfinite(p):
        return size
    return size * np.sum((np.abs(a) / size[:, None]) ** p, axis=1) ** (1 / p)


def _equality_partner(a: np.ndarray, p: float) -> np.ndarray:
    """b with |b|^q ∝ |a|^p: b = |a|^(p−1); for p = ∞ all weight on the largest coordinate, for p = 1 constant."""
    if not np.isfinite(p):
        return (np.abs(a) == np.max(np.abs(a), axis=1, keepdims=True)).astype(float)
    return (np.abs(a) / np.max(np.abs(a), axis=1, keepdims=True)) ** (p - 1)


@claim(
    "least-squares-curvature",
    says=(
        "½‖y − Xw‖² has the constant Hessian XᵀX, so it is convex whatever X is: L is the largest squared singular "
        "value, m the smallest (0 if the rank is below p), and μ of PL the smallest that is not zero."
    ),
    formula=r"\nabla^2 l = X^\top X, \qquad L = s_{\max}^2, \quad m = s_{\min}^2, \quad \mu = \min_{s_i > 0} s_i^2",
    sources=("penn",),
)
def least_squares_curvature(
    key,
    samples: Annotated[int, Range(2, 100)] = 30,
    features: Annotated[int, Range(1, 40)] = 12,
    rank: Annotated[int, Range(1, 40)] = 8,
    condition: Annotated[float, Range(1.0, 1e4, log=True)] = 30.0,
    form: Annotated[str, Choice("mean", "sum")] = "mean",
):
    """`condition` is that of the non-zero singular values; `form` says whether 1/n stands in front."""
    rng = data.generator(key)
    r = min(samples, features, rank)
    left, right = (np.linalg.qr(rng.normal(size=(n, r)))[0] for n in (samples, features))
    singular = np.geomspace(condition, 1.0, r) if r > 1 else np.ones(1)
    x, y = left * singular @ right.T, rng.normal(size=samples)
    scale = 1.0 if form == "sum" else 1 / samples
    loss = optimisation.LeastSquares(x, y)
    w = rng.normal(size=features)
    hessian = np.asarray(jax.jit(jax.hessian(lambda v: scale * samples * loss(v)))(jnp.asarray(w)))
    top = singular[0] ** 2 * scale
    yield close(hessian, scale * x.T @ x, "automatic Hessian against XᵀX", atol=1e-10 * top)
    squares = np.concatenate([np.zeros(features - r), np.sort(singular**2)]) * scale
    eigenvalues = np.linalg.eigvalsh(hessian)
    yield close(eigenvalues, squares, "eigenvalues against squared singular values", atol=1e-12 * top)
    yield at_least(eigenvalues, 0.0, "eigenvalues are not negative", atol=1e-12 * top)
    known = loss.constants()
    factor = samples * scale
    yield close(known.smoothness * factor, squares[-1], "L", rtol=1e-10)
    yield close(known.strong_convexity * factor, squares[0], "m", rtol=1e-6)
    yield close(known.pl * factor, scale, "μ: the least non-zero squared singular value", rtol=1e-6)

    points = known.minimiser + rng.normal(size=(1000, features))
    residual = points @ x.T - y
    gap = 0.5 * np.sum((points - known.minimiser) @ x.T * ((points - known.minimiser) @ x.T), axis=1) * scale
    slope2 = np.sum((residual @ x * scale) ** 2, axis=1)
    yield at_least(0.5 * slope2, scale * gap, "½‖g‖² against μ(l − l*)", rtol=1e-8, atol=1e-10 * top)
    if r < features:
        flat = rng.normal(size=features)
        flat -= right @ (right.T @ flat)
        yield close(
            flat @ hessian @ flat, 0.0, "curvature along the null space: m = 0", atol=1e-10 * top * (flat @ flat)
        )
    order = np.arange(1, features + 1)
    shown = np.maximum(squares[::-1], 1e-18 * top)
    yield figure.curves(
        f"The {features} Hessian eigenvalues are the squared singular values of X: L = {squares[-1]:.3g}, "
        f"m = {squares[0]:.3g}, μ = {scale:.3g}",
        x="order", y="eigenvalue (zero: not shown)", log="y",
        lines={"s²": (order[:r], shown[:r])}, points={"λ of the Hessian": (order[:r], eigenvalues[::-1][:r])},
    )  # fmt: skip
