"""Activation functions: what they are, and how to compute their slopes without losing digits."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import networks
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, method, printed

EPS = float(np.finfo(np.float64).eps)
SHOWN = ("identity", "heaviside", "sigmoid", "tanh", "relu", "leaky_relu", "absolute", "swish")


def _exact_sigmoid_slope(z):
    """e^{-|z|}/(1 + e^{-|z|})² in extended precision."""
    small = np.exp(-np.abs(np.asarray(z, np.longdouble)))
    return (small / (1 + small) ** 2).astype(float)


@method(
    "activations",
    says="Identity, Heaviside (two conventions at 0), sigmoid and its inverse, tanh, ReLU, leaky ReLU, AbsU, swish: "
    "each with its slope in a form that neither overflows nor cancels, its kinks, its bounds and its symmetries.",
    formula=r"\sigma(t) = \frac{1}{1 + e^{-t}}, \quad \sigma^{-1}(p) = \log \frac{p}{1 - p}, \quad "
    r"\mathrm{swish}(t) = t\,\sigma(t), \quad \mathrm{swish}' = \sigma + t\,\sigma (1 - \sigma)",
    sources=("eth", "sheet", "penn", "cam"),
    shows=(
        "networks.Activation",
        "networks.activation_facts",
        "networks.ACTIVATIONS",
        "networks.heaviside",
        "networks.inverse_sigmoid",
        "networks.leaky_relu",
        "networks.sigmoid_derivative",
        "networks.swish_derivative",
        "networks.tanh_derivative",
    ),
)
def activations(
    key,
    reach: Annotated[float, Range(10.0, 40.0)] = 40.0,
    points: Annotated[int, Range(200, 20_000, log=True)] = 2000,
    factor: Annotated[float, Range(0.01, 100.0, log=True)] = 3.0,
):
    """On a grid of [-reach, reach] that leaves out the kinks, all at 0; `factor` tries homogeneity."""
    z = np.linspace(-reach, reach, 2 * (points // 2))
    facts = [networks.activation_facts(name) for name in SHOWN]

    @jax.jit
    def everywhere(z):
        values = jnp.stack([f.function(z) for f in facts])
        slopes = jnp.stack([f.derivative(z) for f in facts])
        return values, slopes, jnp.stack([jax.vmap(jax.grad(f.function))(z) for f in facts])

    values, slopes, automatic = (np.asarray(a) for a in everywhere(jnp.asarray(z)))
    largest = np.array([min(f.lipschitz, 1.1) for f in facts])[:, None]
    yield close(slopes / largest, automatic / largest, "φ' in closed form, in units of its largest value", atol=1e-12)
    names = list(SHOWN)
    exact = _exact_sigmoid_slope(z)
    yield close(slopes[names.index("sigmoid")], exact, "σ' against extended precision, relative", rtol=1e-12)
    yield close(
        slopes[names.index("tanh")], 4 * _exact_sigmoid_slope(2 * z), "tanh' against extended precision", rtol=1e-12
    )
    far = np.concatenate(
        [
            np.asarray(part, float).ravel()
            for dtype in (jnp.float32, jnp.float64)
            for part in everywhere(jnp.array([-1e4, 1e4], dtype))
        ]
    )
    yield exactly(int(np.sum(~np.isfinite(far))), 0, "values and slopes not finite at ±10⁴, float32 and float64")

    close_scaled = np.asarray(everywhere(jnp.asarray(factor * z))[0])
    same = np.all(np.abs(close_scaled - factor * values) <= 1e-12 * (1 + np.abs(close_scaled)), axis=1)
    yield exactly(same, [f.homogeneous or abs(factor - 1) < 1e-9 for f in facts], "φ(a t) = a φ(t), by name")
    mirrored = values[:, ::-1]
    yield exactly(np.all(np.abs(mirrored + values) < 1e-12, axis=1), [f.odd for f in facts], "odd, by name")
    yield exactly(np.abs(values).max(axis=1) <= 1, [f.bounded for f in facts], "bounded, by name")
    falls = np.diff(values, axis=1).min(axis=1) < -1e-15
    yield exactly(falls, [f.monotone == "no" for f in facts], "falls somewhere, by name")
    ends = np.round(values[:, [0, -1]], 3)
    yield exactly(
        np.all(ends == [0.0, 1.0], axis=1), [f.sigmoidal for f in facts], "sigmoidal: limits 0 and 1, by name"
    )

    from scipy.optimize import minimize_scalar

    def extreme(function, low, high):
        found = minimize_scalar(lambda t: float(function(jnp.asarray(t))), bounds=(low, high), options={"xatol": 1e-10})
        return found.x, found.fun

    swish = networks.activation_facts("swish")
    at, steepest = extreme(lambda t: -swish.derivative(t), 1.0, 4.0)
    yield close([at, -steepest], [2.3994, 1.0998], "where swish is steepest, and how steep", atol=5e-5)
    at, lowest = extreme(swish.function, -3.0, 0.0)
    yield close([at, lowest], [-1.27846, -0.27846], "where swish is least, and its least value", atol=6e-6)
    steep = np.abs(np.diff(values, axis=1) / np.diff(z)).max(axis=1)
    yield at_most(steep, [f.lipschitz for f in facts], "steepest chord, against the Lipschitz constant", atol=1e-10)

    trip = np.array([-30.0, -5.0, 5.0, 20.0, 30.0])
    p, q = jax.nn.sigmoid(jnp.asarray(trip)), jax.nn.sigmoid(-jnp.asarray(trip))
    back, cured = np.asarray(networks.inverse_sigmoid(p)), np.asarray(networks.inverse_sigmoid(p, q))
    yield at_most(
        np.abs(back - trip),
        2 * EPS * (np.exp(trip) + np.abs(trip) + 1),
        "error of σ⁻¹(σ(z)), against 2ε (e^z + |z| + 1)",
    )
    beyond = networks.inverse_sigmoid(jax.nn.sigmoid(jnp.asarray([37.0, 50.0])))
    yield exactly(np.isinf(np.asarray(beyond)), [True, True], "σ⁻¹(σ(z)) is infinite at z = 37 and 50")
    yield close(cured, trip, "σ⁻¹ with σ(−z) known, z = −30 to 30", rtol=4 * EPS)

    rising = np.diff(values[names.index("relu")]), np.diff(values[names.index("swish")])
    words = "an activation is continuously increasing"
    yield printed(at_least(rising[0].min(), 0.0, "least step of ReLU on the grid", strict=True), "cam", words)
    yield printed(at_least(rising[1].min(), 0.0, "least step of swish on the grid", strict=True), "cam", words)
    with np.errstate(all="ignore"):
        up, down = np.exp(710.0), np.exp(-710.0)
        literal = (up - down) / (up + down)
    yield printed(close(literal, 1.0, "tanh 710 as written"), "penn", "(eᵗ − e⁻ᵗ)/(eᵗ + e⁻ᵗ), evaluated as it stands")
    slope = float(jax.grad(lambda t: 1 / (1 + jnp.exp(-t)))(-710.0))
    yield printed(close(slope, 0.0, "slope of σ at −710, automatic", atol=1e-12), "penn", "1/(1 + e⁻ᵗ), as it stands")

    near = np.linspace(-4, 4, 162)
    drawn = [np.asarray(a) for a in everywhere(jnp.asarray(near))]
    panels = []
    for i, fact in enumerate(facts):
        left, right = near < 0, near > 0
        pieces = {f"φ = {fact.name}": (near, drawn[0][i])}
        if fact.name == "heaviside":
            pieces = {"φ = heaviside": (np.append(near[left], near[right]), drawn[0][i])}
        slope = drawn[1][i].copy()
        rules = {f"kink, φ'(0) = {float(fact.derivative(jnp.asarray(0.0))):g}": ("x", 0.0)} if fact.kinks else {}
        kinked = (
            {"φ'": (np.insert(near, 81, 0.0), np.insert(slope, 81, np.nan))} if fact.kinks else {"φ'": (near, slope)}
        )
        steep = "∞ (a jump)" if np.isinf(fact.lipschitz) else f"{fact.lipschitz:.5g}"
        panels.append(
            figure.curves(f"{fact.name}: steepest slope {steep}", x="t", y="φ, φ'", lines=pieces | kinked, rules=rules)
        )
    yield figure.beside(
        "Eight activations φ and their slopes: the sigmoid is the flattest (1/4), swish alone is steeper than 1 (1.1)",
        *panels,
        columns=4,
    )


@claim(
    "sigmoid-tanh-derivatives",
    says="σ' = σ(z)σ(−z) is at most 1/4 and tanh' = 1 − tanh² at most 1, both at 0; L sigmoid layers shrink a gradient "
    "by at least 4^L beside their weights. σ(1 − σ) has no digits left at z = 37, σ(z)σ(−z) has all to 700.",
    formula=r"\sigma' = \sigma(1 - \sigma) = \sigma(z)\,\sigma(-z) \le \tfrac14, \quad \tanh' = 1 - \tanh^2 = "
    r"\mathrm{sech}^2 \le 1",
    sources=("sheet", "penn"),
)
def sigmoid_tanh_derivatives(
    key,
    depth: Annotated[int, Range(1, 10)] = 4,
    width: Annotated[int, Range(1, 64, log=True)] = 16,
    gain: Annotated[float, Range(0.1, 10.0, log=True)] = 2.0,
):
    """The bound on a chain is tried at 200 inputs of a sigmoid network with `depth` layers of random weights."""
    z = jnp.arange(-3000, 3001) / 100
    for name, naive in {"sigmoid": lambda s: s * (1 - s), "tanh": lambda t: 1 - t**2}.items():
        phi = networks.activation(name)
        automatic = jax.vmap(jax.grad(phi))(z)
        yield close(naive(phi(z)), automatic, f"{name}' by the identity, against autodiff", atol=1e-14)
        slope = np.asarray(networks.activation_facts(name).derivative(z))
        yield close(slope, automatic, f"{name}', stable form, against autodiff", atol=1e-14)
        yield exactly(float(z[np.argmax(slope)]), 0.0, f"where {name}' is largest")
        yield close(slope.max(), 0.25 if name == "sigmoid" else 1.0, f"largest {name}'", rtol=2 * EPS)

    wide = np.arange(0.5, 700.5, 0.5)
    s, exact = np.asarray(jax.nn.sigmoid(jnp.asarray(wide))), _exact_sigmoid_slope(wide)
    lost = np.abs(s * (1 - s) - exact) / exact
    kept = np.abs(np.asarray(networks.sigmoid_derivative(jnp.asarray(wide))) - exact) / exact
    yield at_least(lost[wide >= 37], 0.999, "relative error of σ(1 − σ) from z = 37 on")
    yield at_most(kept, 1e-14, "relative error of σ(z)σ(−z), z up to 700")
    t = np.tanh(wide)
    vanished = wide[(1 - t * t) == 0.0]
    yield at_most(vanished[0], 20.0, "first z (steps of ½) at which 1 − tanh² is 0.0")
    half = wide[wide < 350]
    sech = 4 * _exact_sigmoid_slope(2 * half)
    stable = np.abs(np.asarray(networks.tanh_derivative(jnp.asarray(half))) - sech) / sech
    yield at_most(stable, 1e-14, "relative error of sech² as 4σ(2z)σ(−2z), z up to 350")

    net = networks.MLP(
        (width,) * (depth + 1), "sigmoid", init="lecun", gain=gain, bias_scale=1.0, last_activation=True, key=key
    )
    x = jax.random.normal(jax.random.fold_in(key, 1), (200, width))
    jacobians = jax.jit(jax.vmap(jax.jacobian(net)))(x)
    norms = np.linalg.norm(np.asarray(jacobians), ord=2, axis=(1, 2))
    weights = np.prod([np.linalg.norm(np.asarray(layer.weight), ord=2) for layer in net.layers])
    yield at_most(norms, 4.0**-depth * weights, f"‖∂x_L/∂x‖ of {depth} sigmoid layers, against 4^−L Π‖W‖", rtol=1e-12)

    floor = 1e-17
    yield figure.curves(
        f"σ(1 − σ) is all error from z = {wide[lost >= 0.5][0]:g}; σ(z)σ(−z) errs by {kept.max():.1g} at most",
        x="z",
        y="relative error of the slope",
        log="xy",
        points={
            "σ(1 − σ)": (wide, np.maximum(lost, floor)),
            "σ(z)σ(−z)": (wide, np.maximum(kept, floor)),
            "1 − tanh²": (half, np.maximum(np.abs(1 - np.tanh(half) ** 2 - sech) / sech, floor)),
            "4σ(2z)σ(−2z)": (half, np.maximum(stable, floor)),
        },
        rules={"rounding": ("y", EPS), "z = 37": ("x", 37.0)},
    )
