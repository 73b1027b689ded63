"""Convex, strictly convex, strongly convex: what each is equivalent to, and which implies which."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_regressions import FEATURES, logistic_problem, random_pairs
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly
from leadline.optimisation.bounds.pair_inequalities import tabulate_pairs
from leadline.optimisation.instruments.convexity_tests import convexity_violation
from leadline.presentation import figure

_TESTS = ("chord", "midpoint", "bregman", "monotonicity")


class _Smooth(eqx.Module):
    """One of seven smooth functions of two variables, chosen by number: all of them are one program."""

    number: jax.Array
    matrix: jax.Array

    def __call__(self, w: jax.Array) -> jax.Array:
        branches = [
            lambda w: w @ (self.matrix @ w) / 2,
            lambda w: jnp.sum(jnp.exp(w)),
            lambda w: jnp.log1p(jnp.sum(jnp.exp(w))),
            lambda w: jnp.sum(w**4),
            lambda w: jnp.sum(w**2 + 3 * jnp.sin(w) ** 2),
            lambda w: jnp.sum((w**2 - 1) ** 2 / 4 + 0.1 * w),
            lambda w: (w[0] ** 2 + w[1] - 2) ** 2 + (w[0] + w[1] ** 2 - 1) ** 2,
        ]
        return jax.lax.switch(self.number, branches, w)


@claim(sources=("penn", "sheet"))
def convexity_equivalences(
    key,
    radius: Real(1.5, 4.0) = 2.0,
    pairs: Int(1000, 10_000, log=True) = 3000,
    least: Real(-2.0, -0.2) = -1.0,
    distance: Real(0.1, 2.0) = 1.0,
):
    r"""Equivalent definitions of convexity.

    For smooth functions these are equivalent: chords lie above, tangents lie below, the gradient is monotone, the
    restriction to every line is convex, the Hessian is positive semidefinite. A positive definite Hessian implies
    strict convexity; w⁴ refutes the converse.

    $$l(w') - l(w) = \int_0^1 \langle g(w + t v), v \rangle\, dt, \quad v = w' - w, \qquad \text{convex} \iff \langle
    dg, dw \rangle \ge 0 \iff H \succeq 0$$

    Assumes: l is C¹ (C² for the Hessian) on a convex domain.

    Check: The parameter `least` is the negative eigenvalue of the indefinite quadratic; `distance` is that of the
    pairs of points for w⁴.
    """
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    zoo = {
        "psd quadratic": (0, 0.0, True),
        "Σ exp": (1, 0.0, True),
        "log(1 + Σ exp)": (2, 0.0, True),
        "Σ w⁴": (3, 0.0, True),
        "indefinite": (0, least, False),
        "w² + 3 sin² w": (4, 0.0, False),
        "double well": (5, 0.0, False),
        "Himmelblau-like": (6, 0.0, False),
    }
    first, second = rng.uniform(-radius, radius, (2, pairs, 2))
    t = rng.uniform(0.05, 0.95, pairs)
    refuted = []
    for name, (number, eigenvalue, convex) in zoo.items():
        function = _Smooth(jnp.asarray(number), jnp.asarray(basis * [eigenvalue, 2.0] @ basis.T))
        by_pair, line = _violations(function, first, second, t)
        hessian = _hessians(function, first, t)
        size = 1e-12 * (1 + np.abs(hessian).max()) * (1 + radius) ** 2
        worst = np.array([*by_pair.max(axis=0), line.max(), -np.linalg.eigvalsh(hessian).min()])
        what = f"{name}: violation of chord, midpoint, tangent, monotonicity, line and Hessian"
        yield at_most(worst, 0.0, what, atol=size) if convex else at_least(worst, size, what, strict=True)
        refuted.append(np.where(worst > size, 1, 0))
        if number == 3:
            flat = np.abs(_hessians(function, 0 * first, t)[0]).max()
    nodes, weights = np.polynomial.legendre.leggauss(32)
    a, b = rng.uniform(-1, 1, (2, 200, 3))
    path = a[:, None] + (nodes[:, None] + 1) / 2 * (b - a)[:, None]
    share = np.exp(path) / (1 + np.sum(np.exp(path), axis=-1, keepdims=True))
    integral = np.einsum("k,nkp,np->n", weights / 2, share, b - a)
    rise = np.log1p(np.sum(np.exp(b), axis=1)) - np.log1p(np.sum(np.exp(a), axis=1))
    yield close(integral, rise, "∫⟨g, v⟩dt against l(w′) − l(w), 32 nodes", atol=1e-12)
    centre = np.linspace(-3, 3, 601)
    low, high = centre - distance / 2, centre + distance / 2
    gap = (low**4 + high**4) / 2 - centre**4
    yield close(gap.min(), distance**4 / 16, "w⁴: least midpoint gap of pairs at one distance: δ⁴/16", rtol=1e-9)
    yield at_least(gap, 0.0, "w⁴: midpoint gap of pairs at one distance", strict=True)
    curvature = exactly(flat, 0.0, "w⁴: second derivative at 0")
    yield curvature
    wrong = at_least(flat, 0.0, "second derivative of the strictly convex w⁴ at 0", strict=True)
    yield erratum(
        wrong, of=curvature, by="penn", prints="the Hessian of a strictly convex function is positive definite"
    )
    agree = np.sum(np.ptp(refuted, axis=1) == 0)
    title = f"Six tests of convexity agree on {agree} of {len(zoo)} functions (1: refuted)"
    tests = ["chord", "mid", "tan", "mono", "line", "H"]
    yield figure.heatmap(title, "test", "function", values=refuted, xs=tests, ys=list(zoo), colour="refuted", text=True)


def _hessians(function, points: np.ndarray, t: np.ndarray) -> np.ndarray:
    """2 × 2 Hessians from the curvatures along e₁, e₂ and e₁ + e₂."""
    directions = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    across, up, both = (-np.asarray(_violations(function, points, points + step, t)[1]) for step in directions)
    mixed = both - (across + up) / 2
    return np.stack([across, mixed, mixed, up], axis=1).reshape(-1, 2, 2)


@eqx.filter_jit
def _violations(function, first, second, t):
    """The violations of the four tests of pairs, and of convexity at w on the line to w′."""

    def one(a, b, s):
        def violation(test):
            return convexity_violation(function, a, b, 0.5 if test == "midpoint" else s, test)[0]

        return jnp.stack([violation(test) for test in _TESTS]), violation("hessian")

    return jax.vmap(one)(first, second, t)


@claim(sources=("penn",))
def convexity_hierarchy(
    key, penalty: Real(1e-3, 1.0, log=True) = 0.1, dimension: Int(1, 100) = 10, radius: Real(0.5, 5.0) = 2.0
):
    r"""Strong, strict and plain convexity.

    Strong convexity implies strict convexity, which implies convexity. An m-strongly convex function lies at least
    (m/2) t(1 − t)‖w − w′‖² below its chords; w⁴ is strictly but not strongly convex, and |w| and linear functions are
    not strictly convex.

    $$t\|w\|^2 + (1-t)\|w'\|^2 - \|t w + (1-t) w'\|^2 = t(1-t)\|w - w'\|^2$$

    Check: The parameter `penalty` is m of the ridge problems, and `dimension` is that of the identity.
    """
    rng = data.generator(key)
    w, z = rng.normal(size=(2, 1000, dimension))
    t = rng.uniform(0.01, 0.99, (1000, 1))
    deficit = np.sum(t * w**2 + (1 - t) * z**2 - (t * w + (1 - t) * z) ** 2, axis=1)
    yield close(deficit, np.sum(t * (1 - t) * (w - z) ** 2, axis=1), "deficit of ‖·‖²", rtol=1e-11, atol=1e-12)
    logistic = logistic_problem(rng, penalty)
    ridge = optimisation.LeastSquares(logistic.x, logistic.y, penalty)
    first, second = rng.uniform(-radius, radius, (2, 1000, FEATURES))
    allowed = np.ravel(t * (1 - t)) * np.sum((first - second) ** 2, axis=1)
    points = jnp.asarray(np.concatenate([first, second, t * first + (1 - t) * second]))
    gaps = {}
    for name, objective in {"ridge": ridge, "logistic + ridge": logistic}.items():
        a, b, middle = np.asarray(_values(objective, points)).reshape(3, 1000)
        gaps[name] = t[:, 0] * a + (1 - t[:, 0]) * b - middle
        m = objective.constants().strong_convexity
        yield at_least(m, penalty, f"{name}: m against the penalty", rtol=1e-12)
        yield at_least(gaps[name], m / 2 * allowed, f"{name}: gap below the chord", rtol=1e-9, atol=1e-12)
    kinds = [_kind(function) for function in (np.square, lambda u: u**4, np.abs, lambda u: 2 * u + 1)]
    yield exactly(kinds, ["strong", "strict", "convex", "convex"], "class of w², w⁴, |w|, 2w + 1")
    gap, line = gaps["logistic + ridge"], np.linspace(0, allowed.max(), 20)
    least = np.min(gap / allowed)
    title = f"Least chord gap over t(1−t)‖dw‖² of logistic + ridge: {least:.3g}; (m/2) is {penalty / 2:.3g}"
    lines, points = {"(m/2) t(1−t)‖dw‖²": (line, penalty / 2 * line)}, {"logistic + ridge": (allowed[:300], gap[:300])}
    yield figure.curves(title, "t(1−t)‖dw‖²", "chord − l", lines=lines, points=points)


@eqx.filter_jit
def _values(objective, points):
    return jax.vmap(objective)(points)


def _kind(function) -> str:
    """The class of a function of one variable from its chord gaps, normalised by t(1−t)δ²/2, at shrinking δ."""
    centre, least = np.linspace(-1, 1, 401), []
    for distance in (1.0, 0.1, 0.01):
        low, high = centre - distance / 2, centre + distance / 2
        gap = (function(low) + function(high)) / 2 - function(centre)
        least.append(gap.min() / (distance**2 / 8))
    if min(least) < -1e-9:
        return "not convex"
    if least[0] < 1e-9:
        return "convex"
    return "strong" if least[-1] > 0.5 * least[0] else "strict"


@claim(sources=("penn", "sheet"))
def strong_convexity_equivalences(
    key,
    penalty: Real(1e-4, 1.0, log=True) = 0.05,
    radius: Real(0.5, 5.0) = 3.0,
    condition: Real(1.0, 1e4, log=True) = 50.0,
):
    r"""Equivalent definitions of strong convexity.

    These are equivalent: l − (m/2)‖·‖² is convex; D(w′, w) ≥ (m/2)‖dw‖²; ⟨dg, dw⟩ ≥ m‖dw‖²; H ⪰ mI. The link between
    them is the identity D(w′, w) + D(w, w′) = ⟨dg, dw⟩; with smoothness, mI ⪯ H ⪯ LI.

    $$D(w', w) + D(w, w') = \langle dg, dw \rangle, \qquad D(w', w) \ge \tfrac m2 \|w' - w\|^2$$

    Assumes: l is C¹ (C² for the Hessian).

    Check: Logistic regression with a ridge has m = a, the penalty. The parameter `condition` is the condition number
    of the quadratic.
    """
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    known = logistic.constants()
    table = optimisation.pair_table(logistic, *random_pairs(rng, radius))
    slacks = optimisation.inequality_table(table, smoothness=known.smoothness, strong_convexity=penalty)
    for name in ("parabola below", "curvature at least m", "curvature at most L"):
        yield at_least(slacks[name].slack + table.rounding, 0.0, f"logistic + ridge, slack: {name}", atol=1e-12)
    rough = optimisation.pair_table(optimisation.SineParabola(FEATURES), *random_pairs(rng, radius))
    for name, pairs in {"logistic": table, "w² + 3 sin² w": rough}.items():
        what = f"{name}: D(w′, w) + D(w, w′) against ⟨dg, dw⟩"
        yield close(pairs.forward + pairs.backward, pairs.inner, what, atol=pairs.rounding.max())
    basis = np.linalg.qr(rng.normal(size=(FEATURES, FEATURES)))[0]
    matrix = basis * np.geomspace(1.0, condition, FEATURES) @ basis.T
    a, b = random_pairs(rng, radius)
    b[:10] = a[:10] + np.outer(rng.uniform(0.5, 2.0, 10), basis[:, 0])  # along the lowest eigenvector
    value, slope = lambda w: np.einsum("ni,ij,nj->n", w, matrix, w) / 2, lambda w: w @ matrix
    quadratic = tabulate_pairs(a, b, np.stack([value(a), value(b)]), np.stack([slope(a), slope(b)]))
    clear, ratios = quadratic.squared_distance > 1e-2 * radius**2, 2 * quadratic.forward / quadratic.squared_distance
    estimates = {
        "2D/‖dw‖²": np.min(ratios[clear]),
        "⟨dg, dw⟩/‖dw‖²": np.min(quadratic.curvature_ratios[clear]),
        "λ_min(H)": np.linalg.eigvalsh(matrix)[0],
        "largest m with l − (m/2)‖·‖² convex": 1 + np.linalg.eigvalsh(matrix - np.eye(FEATURES))[0],
    }
    for name, estimate in estimates.items():
        yield close(estimate, 1.0, f"quadratic with κ = {condition:g}: m by {name}", atol=1e-11 * condition)
    yield close(ratios[:10], 1.0, "2D/‖dw‖² along the lowest eigenvector: equality", atol=1e-11 * condition)
    direction = rng.normal(size=FEATURES)
    direction /= np.linalg.norm(direction)
    s = np.linspace(-radius, radius, 81)
    w = jnp.asarray(known.minimiser + (0.4 * radius + s[:, None]) * direction)
    graph = np.asarray(_values(logistic, w))
    tangent = graph[40] + s * float(logistic.gradient(w[40]) @ direction)
    lower, upper = tangent + penalty / 2 * s**2, tangent + known.smoothness / 2 * s**2
    near = upper <= lower.min() + 4 * (graph.max() - graph.min() + 1e-3)
    title = f"Two parabolas through one point enclose the loss: m = {penalty:.3g}, L = {known.smoothness:.3g}"
    lines = {"m parabola": (s, lower), "L parabola": (s[near], upper[near])}
    yield figure.curves(title, "distance along a line", "loss", lines=lines, points={"loss": (s[::4], graph[::4])})
