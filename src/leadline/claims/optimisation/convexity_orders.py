"""Convex, strictly convex, strongly convex: what each is equivalent to, and which implies which."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation.small_regressions import FEATURES, logistic_problem, random_pairs
from leadline.evidence import Range, at_least, claim, close, exactly, figure, printed

_TESTS = ("chord", "midpoint", "bregman", "monotonicity")


class _Smooth(eqx.Module):
    """One of eight smooth functions of two variables, chosen by number: all of them are one program."""

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


@claim(
    "convexity-equivalences",
    says=(
        "For smooth functions these say the same: chords lie above, tangents lie below, the gradient is monotone, "
        "every line is convex, the Hessian is psd. A positive definite Hessian implies strict convexity; w⁴ refutes "
        "the converse."
    ),
    formula=(
        r"l(w') - l(w) = \int_0^1 \langle g(w + t v), v \rangle\, dt, \quad v = w' - w, \qquad \text{convex} \iff "
        r"\langle dg, dw \rangle \ge 0 \iff H \succeq 0"
    ),
    sources=("penn", "sheet"),
    assumes=("l is C¹ (C² for the Hessian) on a convex domain",),
)
def convexity_equivalences(
    key,
    radius: Annotated[float, Range(1.5, 4.0)] = 2.0,
    pairs: Annotated[int, Range(1000, 10_000, log=True)] = 3000,
    least: Annotated[float, Range(-2.0, -0.2)] = -1.0,
    distance: Annotated[float, Range(0.1, 2.0)] = 1.0,
):
    """`least` is the negative eigenvalue of the indefinite quadratic; `distance` that of the pairs for w⁴."""
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    zoo = {
        "psd quadratic": (0, 0.0, True), "Σ exp": (1, 0.0, True), "log(1 + Σ exp)": (2, 0.0, True),
        "Σ w⁴": (3, 0.0, True), "indefinite": (0, least, False), "w² + 3 sin² w": (4, 0.0, False),
        "double well": (5, 0.0, False), "Himmelblau-like": (6, 0.0, False),
    }  # fmt: skip
    first, second = rng.uniform(-radius, radius, (2, pairs, 2))
    t = rng.uniform(0.05, 0.95, pairs)
    verdicts = []
    for number, eigenvalue, _ in zoo.values():
        function = _Smooth(jnp.asarray(number), jnp.asarray(basis * [eigenvalue, 2.0] @ basis.T))
        by_pair, line = _all_tests(function, first, second, t)
        hessian = _hessians(function, first, t)
        size = 1e-12 * (1 + np.abs(hessian).max()) * (1 + radius) ** 2
        spectrum = np.linalg.eigvalsh(hessian)
        verdicts.append([*(np.max(by_pair, axis=0) > size), bool(np.max(line) > size), bool(spectrum.min() < -size)])
        if number == 3:
            flat = float(np.abs(_hessians(function, 0 * first, t)[0]).max())
    verdicts = np.array(verdicts)
    for name, row, (*_, convex) in zip(zoo, verdicts, zoo.values(), strict=True):
        yield exactly(row, not convex, f"{name}: refuted by chord, midpoint, tangent, monotonicity, line and Hessian")

    from numpy.polynomial.legendre import leggauss

    nodes, weights = leggauss(32)
    s = (nodes + 1) / 2
    a, b = rng.uniform(-1, 1, (2, 200, 3))
    path = a[:, None] + s[:, None] * (b - a)[:, None]
    share = np.exp(path) / (1 + np.sum(np.exp(path), axis=-1, keepdims=True))
    integral = np.einsum("k,nkp,np->n", weights / 2, share, b - a)
    rise = np.log1p(np.sum(np.exp(b), axis=1)) - np.log1p(np.sum(np.exp(a), axis=1))
    yield close(integral, rise, "∫⟨g, v⟩dt against l(w′) − l(w), 32 nodes", atol=1e-12)

    centre = np.linspace(-3, 3, 601)
    low, high = centre - distance / 2, centre + distance / 2
    gap = (low**4 + high**4) / 2 - centre**4
    yield close(gap.min(), distance**4 / 16, "w⁴: least midpoint gap of pairs at one distance: δ⁴/16", rtol=1e-9)
    yield at_least(gap, 0.0, "w⁴: midpoint gap of pairs at one distance", strict=True)
    yield exactly(flat, 0.0, "w⁴: second derivative at 0")
    yield printed(
        at_least(flat, 0.0, "second derivative of the strictly convex w⁴ at 0", strict=True), "penn",
        "strictly convex iff H is positive definite",
    )  # fmt: skip
    agree = int(np.sum(np.all(verdicts == verdicts[:, :1], axis=1)))
    yield figure.heatmap(
        f"Six tests of convexity agree on {agree} of {len(zoo)} functions (1: refuted)",
        x="test", y="function", values=verdicts.astype(float), xs=["chord", "mid", "tan", "mono", "line", "H"],
        ys=list(zoo), colour="refuted", text=True,
    )  # fmt: skip


def _all_tests(function, first, second, t) -> tuple[np.ndarray, np.ndarray]:
    """The violations of the four tests of pairs, and of convexity at w on the line to w′."""
    return tuple(np.asarray(part) for part in _violations(function, *map(jnp.asarray, (first, second, t))))


def _hessians(function, points: np.ndarray, t: np.ndarray) -> np.ndarray:
    """2 × 2 Hessians from the curvatures along e₁, e₂ and e₁ + e₂."""
    across, up, both = (
        -_all_tests(function, points, points + np.array(direction), t)[1]
        for direction in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
    )
    mixed = both - (across + up) / 2
    return np.stack([across, mixed, mixed, up], axis=1).reshape(-1, 2, 2)


@eqx.filter_jit
def _violations(function, first, second, t):
    def one(a, b, s):
        def violation(test):
            return optimisation.convexity_violation(function, a, b, 0.5 if test == "midpoint" else s, test)[0]

        return jnp.stack([violation(test) for test in _TESTS]), violation("hessian")

    return jax.vmap(one)(first, second, t)


@claim(
    "convexity-hierarchy",
    says=(
        "Strongly convex implies strictly convex implies convex. An m-strongly convex function lies at least "
        "(m/2)t(1−t)‖w − w′‖² below its chords; w⁴ is strict but not strong, |w| and linear functions are not strict."
    ),
    formula=(
        r"t\|w\|^2 + (1-t)\|w'\|^2 - \|t w + (1-t) w'\|^2 = t(1-t)\|w - w'\|^2"
    ),
    sources=("penn",),
)  # fmt: skip
def convexity_hierarchy(
    key,
    penalty: Annotated[float, Range(1e-3, 1.0, log=True)] = 0.1,
    dimension: Annotated[int, Range(1, 100)] = 10,
    radius: Annotated[float, Range(0.5, 5.0)] = 2.0,
):
    """`penalty` is m of the ridge problems, `dimension` that of the identity."""
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
    kinds = {name: _kind(function) for name, function in
             {"w²": np.square, "w⁴": lambda u: u**4, "|w|": np.abs, "2w + 1": lambda u: 2 * u + 1}.items()}  # fmt: skip
    yield exactly(list(kinds.values()), ["strong", "strict", "convex", "convex"], f"class of {', '.join(kinds)}")

    shown = slice(0, 300)
    line = np.linspace(0, allowed.max(), 20)
    least = float(np.min(gaps["logistic + ridge"] / allowed))
    yield figure.curves(
        f"Every chord gap is above (m/2) t(1−t)‖dw‖²: the least ratio of logistic + ridge is {least:.3g}, m/2 = "
        f"{penalty / 2:.3g}",
        x="t(1−t)‖dw‖²", y="chord − l", lines={"(m/2) t(1−t)‖dw‖²": (line, penalty / 2 * line)},
        points={"logistic + ridge": (allowed[shown], gaps["logistic + ridge"][shown])},
    )  # fmt: skip


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


@claim(
    "strong-convexity-equivalences",
    says=(
        "Equivalent: l − (m/2)‖·‖² is convex; D(w′, w) ≥ (m/2)‖dw‖²; ⟨dg, dw⟩ ≥ m‖dw‖²; H ⪰ mI. The step between them "
        "is the identity D(w′, w) + D(w, w′) = ⟨dg, dw⟩; with smoothness mI ⪯ H ⪯ LI."
    ),
    formula=r"D(w', w) + D(w, w') = \langle dg, dw \rangle, \qquad D(w', w) \ge \tfrac m2 \|w' - w\|^2",
    sources=("penn", "sheet"),
    assumes=("l is C¹ (C² for the Hessian)",),
)
def strong_convexity_equivalences(
    key,
    penalty: Annotated[float, Range(1e-4, 1.0, log=True)] = 0.05,
    radius: Annotated[float, Range(0.5, 5.0)] = 3.0,
    condition: Annotated[float, Range(1.0, 1e4, log=True)] = 50.0,
):
    """Logistic regression with a ridge has m = a, the penalty. `condition` is that of the quadratic."""
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    known = logistic.constants()
    table = optimisation.pair_table(logistic, *random_pairs(rng, radius))
    slacks = optimisation.inequality_table(table, smoothness=known.smoothness, strong_convexity=penalty)
    for name in ("parabola below", "curvature at least m", "curvature at most L"):
        yield at_least(slacks[name].slack + table.rounding, 0.0, f"logistic + ridge, slack: {name}", atol=1e-12)
    yield close(
        table.forward + table.backward,
        table.inner,
        "logistic: D + D′ against ⟨dg, dw⟩",
        atol=float(table.rounding.max()),
    )
    rough = optimisation.pair_table(optimisation.SineParabola(FEATURES), *random_pairs(rng, radius))
    yield close(
        rough.forward + rough.backward, rough.inner, "w² + 3 sin² w: D + D′ against ⟨dg, dw⟩",
        atol=float(rough.rounding.max()),
    )  # fmt: skip

    basis = np.linalg.qr(rng.normal(size=(FEATURES, FEATURES)))[0]
    matrix = basis * np.geomspace(1.0, condition, FEATURES) @ basis.T
    a, b = random_pairs(rng, radius)
    b[:10] = a[:10] + np.outer(rng.uniform(0.5, 2.0, 10), basis[:, 0])  # along the lowest eigenvector
    value, slope = lambda w: np.einsum("ni,ij,nj->n", w, matrix, w) / 2, lambda w: w @ matrix
    quadratic = optimisation.tabulate_pairs(a, b, np.stack([value(a), value(b)]), np.stack([slope(a), slope(b)]))
    clear = quadratic.squared_distance > 1e-2 * radius**2
    estimates = {
        "2D/‖dw‖²": np.min((2 * quadratic.forward / quadratic.squared_distance)[clear]),
        "⟨dg, dw⟩/‖dw‖²": np.min(quadratic.curvature_ratios[clear]),
        "λ_min(H)": np.linalg.eigvalsh(matrix)[0],
        "largest m with l − (m/2)‖·‖² convex": 1 + np.linalg.eigvalsh(matrix - np.eye(FEATURES))[0],
    }
    for name, estimate in estimates.items():
        yield close(estimate, 1.0, f"quadratic with κ = {condition:g}: m by {name}", atol=1e-11 * condition)
    along = slice(0, 10)
    yield close(
        2 * quadratic.forward[along] / quadratic.squared_distance[along], 1.0, "equality along the lowest eigenvector",
        atol=1e-11 * condition,
    )  # fmt: skip

    centre, direction = known.minimiser, rng.normal(size=FEATURES)
    direction /= np.linalg.norm(direction)
    s = np.linspace(-radius, radius, 81)
    w = centre + 0.4 * radius * direction + s[:, None] * direction
    x, y = np.asarray(logistic.x), np.asarray(logistic.y)
    graph = np.mean(np.logaddexp(0, -y * (w @ x.T)), axis=1) + penalty / 2 * np.sum(w**2, axis=1)
    middle = w[40]
    g = -x.T @ (y / (1 + np.exp(y * (x @ middle)))) / len(y) + penalty * middle
    tangent = graph[40] + s * (g @ direction)
    lower, upper = tangent + penalty / 2 * s**2, tangent + known.smoothness / 2 * s**2
    shown = upper <= lower.min() + 4 * (graph.max() - graph.min() + 1e-3)
    yield figure.curves(
        f"Two parabolas through one point enclose the loss: m = {penalty:.3g}, L = {known.smoothness:.3g}",
        x="distance along a line", y="loss",
        lines={"m parabola": (s, lower), "L parabola": (s[shown], upper[shown])},
        points={"loss": (s[::4], graph[::4])},
    )  # fmt: skip
