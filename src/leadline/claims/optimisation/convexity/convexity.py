"""Convexity as something that can be refuted: the falsifier, and lines through a loss."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, optimisation
from leadline.claims.scenarios.optimisation.small_networks import network_loss, two_trained_networks
from leadline.evidence import Int, OneOf, Real, at_least, at_most, close, exactly, instrument
from leadline.optimisation.objectives.any_loss import FlatLoss
from leadline.presentation import figure


@instrument(sources=("sheet", "penn"))
def convexity_falsifier(
    key,
    test: OneOf("chord", "midpoint", "bregman", "monotonicity", "hessian") = "chord",
    pairs: Int(1000, 10_000, log=True) = 10_000,
    radius: Real(2.0, 6.0) = 2.0,
    width: Int(4, 16) = 8,
):
    r"""Convexity falsifier.

    Searches a region or a trajectory for two points that violate one of five convexity inequalities, at random and
    then by ascent on the violation. It returns the worst witness, or none: sampling can refute convexity but never
    prove it.

    $$l(t w + (1-t) w') \le t\, l(w) + (1-t)\, l(w'), \quad D(w', w) \ge 0, \quad \langle dg, dw \rangle \ge 0, \quad
    \lambda_{\min}(H) \ge 0$$

    Check: The region is a box of half-width `radius`; the network has `width` hidden units.
    """
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    psd = optimisation.Quadratic(jnp.asarray(basis * [0.0, 1.0, 5.0] @ basis.T), jnp.zeros(3))
    indefinite = optimisation.Quadratic(jnp.asarray(basis * [-1.0, 1.0, 2.0] @ basis.T), jnp.zeros(3))
    sine, tried = optimisation.SineParabola(), {"key": key, "test": test, "pairs": pairs}

    def search(objective, dimension, **options):
        return optimisation.refute_convexity(objective, -radius, radius, dimension=dimension, **tried, **options)

    convex = {"log-sum-exp": optimisation.LogSumExp(), "psd quadratic": psd, "‖w‖₃": _three_norm}
    searches = [search(objective, 3, climb_steps=0) for objective in convex.values()]
    violations = [found.witness.violation if found.refuted else 0.0 for found in searches]
    yield at_most(violations, 0.0, f"violations in {pairs} pairs of {', '.join(convex)}")
    plain, climbed = search(sine, 1, climb_steps=0), search(sine, 1)
    others = {
        "|w|^½": search(optimisation.PowerFunction(0.5), 1, climb_steps=0),
        "indefinite quadratic": search(indefinite, 3, climb_steps=0),
        "w² + 3 sin² w": climbed,
    }
    loss, first, second = two_trained_networks(rng, width)
    segment = first + np.linspace(0, 1, 21)[:, None] * (second - first)
    others["a network, between two solutions"] = optimisation.refute_convexity_along(loss, segment, test=test)
    violations = [found.witness.violation if found.refuted else 0.0 for found in others.values()]
    yield at_least(violations, 0.0, f"violations of {', '.join(others)}", strict=True)
    yield at_least(climbed.witness.violation, plain.witness.violation, "violation after the ascent against before it")
    if test == "hessian":
        yield close(climbed.witness.violation, 4.0, "most negative curvature of w² + 3 sin² w: −4", rtol=1e-3)
    a, b, place = climbed.witness.first[0], climbed.witness.second[0], climbed.witness.t
    yield close(_recomputed(test, a, b, place), climbed.witness.violation, "violation, recomputed by hand", rtol=1e-6)
    try:
        optimisation.certify_convex(sine, -radius, radius, key=key, tests=(test,), pairs=pairs)
        message = "certified"
    except optimisation.NotConvex as error:
        message = f"refused with {len(error.search.witness.first) + len(error.search.witness.second)} coordinates"
    yield exactly(message, "refused with 2 coordinates", "a certificate asked for w² + 3 sin² w")
    x = np.linspace(-radius - 0.3, radius + 0.3, 241)
    f = x**2 + 3 * np.sin(x) ** 2
    ends = np.array([a, b] if test != "hessian" else [a])
    heights = ends**2 + 3 * np.sin(ends) ** 2
    kind = "chord" if test in ("chord", "midpoint") else "tangent"
    line = (ends, heights) if kind == "chord" else (x, heights[0] + (2 * a + 3 * np.sin(2 * a)) * (x - a))
    keep = (line[1] <= f.max()) & (line[1] >= f.min() - 1)
    lines = {"w² + 3 sin² w": (x, f), kind: (line[0][keep], line[1][keep])}
    title = f"A {kind} refutes the convexity of w² + 3 sin² w: {test} test violated by {climbed.witness.violation:.3g}"
    yield figure.curves(title, "w", "loss", lines=lines, points={"witness": (ends, heights)})


def _three_norm(w: jax.Array) -> jax.Array:
    return jnp.sum(jnp.abs(w) ** 3) ** (1 / 3)


def _recomputed(test: str, a: float, b: float, t: float) -> float:
    """The violation of w² + 3 sin² w at one pair, with derivatives by hand."""
    f, slope = lambda w: w**2 + 3 * np.sin(w) ** 2, lambda w: 2 * w + 3 * np.sin(2 * w)
    return {
        "chord": f(t * a + (1 - t) * b) - t * f(a) - (1 - t) * f(b),
        "midpoint": f((a + b) / 2) - (f(a) + f(b)) / 2,
        "bregman": f(a) + slope(a) * (b - a) - f(b),
        "monotonicity": (slope(a) - slope(b)) * (b - a),
        "hessian": -(2 + 6 * np.cos(2 * a)),
    }[test]


@instrument(sources=("penn",), shows=("optimisation.flat_objective",))
def loss_line_slice(
    key,
    points: Int(11, 401) = 51,
    beyond: Real(0.0, 1.0) = 0.5,
    width: Int(4, 16) = 8,
    penalty: Real(1e-3, 1.0, log=True) = 0.01,
):
    r"""Loss along a line.

    The loss on the line through two weight vectors, with the barrier above the chord, its location and the curvature.
    A convex loss has no barrier on any line; one line without a barrier proves nothing.

    $$\varphi(t) = l(w + t (w' - w)), \qquad \max_{0<t<1} \varphi(t) - (1-t)\varphi(0) - t \varphi(1)$$

    Check: The position t runs from −`beyond` to 1 + `beyond`; `penalty` is the ridge penalty of the convex loss, a
    logistic regression.
    """
    rng = data.generator(key)
    x = rng.normal(size=(30, 4))
    logistic = optimisation.LogisticRidge(x, np.where(rng.random(30) < 0.5, 1.0, -1.0), penalty)
    starts, ends = rng.normal(scale=3.0, size=(2, 100, 4))
    options = {"points": points, "low": -beyond, "high": 1 + beyond}
    slices = [optimisation.slice_loss(logistic, a, b, **options) for a, b in zip(starts, ends, strict=True)]
    yield at_most([found.barrier for found in slices], 0.0, "barrier on 100 lines of a convex loss", atol=1e-10)
    lengths = np.sum((ends - starts) ** 2, axis=1)
    bends = np.array([found.curvature.min() for found in slices])
    yield at_least(bends / lengths, penalty, "curvature φ″/‖dw‖² of the convex loss against m", rtol=1e-9)
    step = ends[0] - starts[0]
    s = 1 / (1 + np.exp(-(starts[0] + slices[0].t[:, None] * step) @ x.T))
    exact = np.mean(s * (1 - s) * (x @ step) ** 2, axis=1) + penalty * lengths[0]
    yield close(slices[0].curvature, exact, "φ″ of the logistic loss against its formula", rtol=1e-9)
    loss, a, b = two_trained_networks(rng, width)
    found = optimisation.slice_loss(loss, a, b, **options)
    apart = _network_line(loss, a, b, found.t)
    yield close(found.values, apart, "loss of the interpolated network", rtol=1e-9, atol=1e-14)
    yield at_least(found.barrier, 0.0, "barrier between two trained networks", strict=True)
    yield at_most(found.curvature.min(), 0.0, "least curvature between two trained networks", strict=True)
    saddle = optimisation.slice_loss(_saddle, np.array([-1.0, 0.0]), np.array([1.0, 0.0]), points=points)
    yield at_most(saddle.barrier, 0.0, "barrier of w₁² − w₂² on a line where it is convex", atol=1e-12)
    inside = (found.t >= 0) & (found.t <= 1)
    t, chord, above = found.t[inside], found.chord[inside], np.maximum(found.values, found.chord)[inside]
    title = (
        f"Between two trained networks the loss rises {found.barrier:.3g} above the chord at t = {found.location:.2g}"
    )
    lines, bands = {"loss": (found.t, found.values), "chord": (t, chord)}, {"barrier": (t, chord, above)}
    solutions = {"solutions": ([0, 1], _network_line(loss, a, b, [0.0, 1.0]))}
    yield figure.curves(title, "t", "loss", lines=lines, bands=bands, points=solutions)


def _network_line(loss: FlatLoss, a: np.ndarray, b: np.ndarray, t) -> np.ndarray:
    """The losses of the interpolated networks, one after the other."""
    ends = [loss.parameters(jnp.asarray(w)) for w in (a, b)]
    return np.array([network_loss(networks.interpolate(*ends, s), *loss.data) for s in t])


def _saddle(w: jax.Array) -> jax.Array:
    return w[0] ** 2 - w[1] ** 2
