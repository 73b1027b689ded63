"""Activation functions: what they are, and how to compute their slopes without losing digits."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import networks
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, method, reference
from leadline.networks.activations import sigmoid_derivative, tanh_derivative
from leadline.presentation import figure

EPS = float(np.finfo(np.float64).eps)
SHOWN = ("identity", "heaviside", "sigmoid", "tanh", "relu", "leaky_relu", "absolute", "swish")


def _exact_sigmoid_slope(z):
    """e^{-|z|}/(1 + e^{-|z|})² in extended precision."""
    small = np.exp(-np.abs(np.asarray(z, np.longdouble)))
    return (small / (1 + small) ** 2).astype(float)


_LIBRARY = ("ACTIVATIONS", "heaviside", "leaky_relu")


@method(sources=("eth", "sheet", "penn", "cam"), shows=tuple(f"networks.{name}" for name in _LIBRARY))
def activations(
    key,
    reach: Real(10.0, 40.0) = 40.0,
    points: Int(200, 20_000, log=True) = 2000,
    factor: Real(0.01, 100.0, log=True) = 3.0,
):
    r"""Activation functions and their derivatives.

    Identity, Heaviside (two conventions at 0), sigmoid and its inverse, tanh, ReLU, leaky ReLU, AbsU and swish: each
    with its slope in a form that neither overflows nor cancels, its kinks, its bounds and its symmetries.

    $$\sigma(t) = \frac{1}{1 + e^{-t}}, \quad \sigma^{-1}(p) = \log \frac{p}{1 - p}, \quad \mathrm{swish}(t) =
    t\,\sigma(t), \quad \mathrm{swish}' = \sigma + t\,\sigma (1 - \sigma)$$

    Check: Everything is evaluated on a grid of a symmetric interval that leaves out the kinks, and at 0. Homogeneity
    is tried with a chosen factor.
    """
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
    of = dict(zip(SHOWN, slopes, strict=True))
    yield close(of["sigmoid"], _exact_sigmoid_slope(z), "σ' against extended precision, relative", rtol=1e-12)
    yield close(of["tanh"], 4 * _exact_sigmoid_slope(2 * z), "tanh' against extended precision", rtol=1e-12)
    far = np.stack([everywhere(jnp.array([-1e4, 1e4], dtype)) for dtype in (jnp.float32, jnp.float64)])
    yield exactly((~np.isfinite(far)).sum(), 0, "values and slopes not finite at ±10⁴, float32 and float64")

    close_scaled = np.asarray(everywhere(jnp.asarray(factor * z))[0])
    same = np.all(np.abs(close_scaled - factor * values) <= 1e-12 * (1 + np.abs(close_scaled)), axis=1)
    yield exactly(
        same,
        [f.homogeneous or abs(factor - 1) < 1e-9 for f in facts],
        "activations with φ(a t) = a φ(t), against the table of their facts",
    )
    mirrored = values[:, ::-1]
    yield exactly(
        np.all(np.abs(mirrored + values) < 1e-12, axis=1),
        [f.odd for f in facts],
        "odd activations, against the table of their facts",
    )
    yield exactly(
        np.abs(values).max(axis=1) <= 1,
        [f.bounded for f in facts],
        "bounded activations, against the table of their facts",
    )
    falls = np.diff(values, axis=1).min(axis=1) < -1e-15
    yield exactly(
        falls, [f.monotone == "no" for f in facts], "activations that fall somewhere, against the table of their facts"
    )
    limits = np.all(np.round(values[:, [0, -1]], 3) == [0.0, 1.0], axis=1)
    yield exactly(
        limits, [f.sigmoidal for f in facts], "activations with limits 0 and 1, against the table of their facts"
    )

    from scipy.optimize import minimize_scalar
    from scipy.special import lambertw

    def extreme(function, low, high):
        found = minimize_scalar(lambda t: float(function(jnp.asarray(t))), bounds=(low, high), options={"xatol": 1e-10})
        return found.x, found.fun

    swish = networks.activation_facts("swish")
    at, steepest = extreme(lambda t: -swish.derivative(t), 1.0, 4.0)
    yield reference([at, -steepest], [2.3994, 1.0998], "where swish is steepest, and how steep", digits=5)
    at, lowest = extreme(swish.function, -3.0, 0.0)
    w = lambertw(np.exp(-1)).real
    yield close([at, lowest], [-1 - w, -w], "least point and value of swish: −1 − W(1/e), −W(1/e)", atol=6e-6)
    steep = np.abs(np.diff(values, axis=1) / np.diff(z)).max(axis=1)
    yield at_most(steep, [f.lipschitz for f in facts], "steepest chord, against the Lipschitz constant", atol=1e-10)

    trip = np.array([-30.0, -5.0, 5.0, 20.0, 30.0])
    p, q = jax.nn.sigmoid(jnp.asarray(trip)), jax.nn.sigmoid(-jnp.asarray(trip))
    back, cured = np.asarray(networks.inverse_sigmoid(p)), np.asarray(networks.inverse_sigmoid(p, q))
    room = 2 * EPS * (np.exp(trip) + np.abs(trip) + 1)
    yield at_most(np.abs(back - trip), room, "error of σ⁻¹(σ(z)), against 2ε (e^z + |z| + 1)")
    beyond = networks.inverse_sigmoid(jax.nn.sigmoid(jnp.asarray([37.0, 50.0])))
    yield exactly(np.isinf(beyond).sum(), 2, "σ⁻¹(σ(z)) that are infinite, of z = 37 and 50")
    yield close(cured, trip, "σ⁻¹ with σ(−z) known, z = −30 to 30", rtol=4 * EPS)

    near = np.linspace(-4, 4, 162)
    heights, slopes, _ = (np.asarray(a) for a in everywhere(jnp.asarray(near)))
    panels = []
    for fact, height, slope in zip(facts, heights, slopes, strict=True):
        lines, rules = {f"φ = {fact.name}": (near, height), "φ'": (near, slope)}, {}
        if fact.kinks:
            lines["φ'"] = (np.insert(near, 81, 0.0), np.insert(slope, 81, np.nan))
            rules = {f"kink, φ'(0) = {float(fact.derivative(jnp.asarray(0.0))):g}": ("x", 0.0)}
        steep = "∞ (a jump)" if np.isinf(fact.lipschitz) else f"{fact.lipschitz:.5g}"
        panels.append(figure.curves(f"{fact.name}: steepest slope {steep}", "t", "φ, φ'", lines=lines, rules=rules))
    title = (
        "Eight activations φ and their slopes: the sigmoid is the flattest (1/4), swish alone is steeper than 1 (1.1)"
    )
    yield figure.beside(title, *panels, columns=4)


@claim(sources=("sheet", "penn"))
def sigmoid_tanh_derivatives(
    key, depth: Int(1, 10) = 4, width: Int(1, 64, log=True) = 16, gain: Real(0.1, 10.0, log=True) = 2.0
):
    r"""Slopes of sigmoid and tanh.

    σ' = σ(z)σ(−z) is at most 1/4 and tanh' = 1 − tanh² is at most 1, both attained at 0; L sigmoid layers shrink a
    gradient by a factor of at least 4ᴸ, apart from their weights. Computed as σ(1 − σ), the slope has no correct
    digits left at z = 37; as σ(z)σ(−z) it keeps all of them up to z = 700.

    $$\sigma' = \sigma(1 - \sigma) = \sigma(z)\,\sigma(-z) \le \tfrac14, \quad \tanh' = 1 - \tanh^2 = \mathrm{sech}^2
    \le 1$$

    Check: The bound on a chain is tried at 200 inputs of a deep sigmoid network with random weights.
    """
    z = jnp.arange(-3000, 3001) / 100
    for name, naive in {"sigmoid": lambda s: s * (1 - s), "tanh": lambda t: 1 - t**2}.items():
        phi = networks.activation(name)
        automatic = jax.vmap(jax.grad(phi))(z)
        yield close(naive(phi(z)), automatic, f"{name}' by the identity, against autodiff", atol=1e-14)
        slope = np.asarray(networks.activation_facts(name).derivative(z))
        yield close(slope, automatic, f"{name}', stable form, against autodiff", atol=1e-14)
        yield exactly(z[np.argmax(slope)], 0.0, f"where {name}' is largest")
        yield close(slope.max(), 0.25 if name == "sigmoid" else 1.0, f"largest {name}'", rtol=2 * EPS)
    wide = np.arange(0.5, 700.5, 0.5)
    s, exact = np.asarray(jax.nn.sigmoid(jnp.asarray(wide))), _exact_sigmoid_slope(wide)
    lost = np.abs(s * (1 - s) - exact) / exact
    kept = np.abs(np.asarray(sigmoid_derivative(jnp.asarray(wide))) - exact) / exact
    yield at_least(lost[wide >= 37], 0.999, "relative error of σ(1 − σ) from z = 37 on")
    yield at_most(kept, 1e-14, "relative error of σ(z)σ(−z), z up to 700")
    vanished = wide[(1 - np.tanh(wide) ** 2) == 0.0]
    yield at_most(vanished[0], 20.0, "first z (steps of ½) at which 1 − tanh² is 0.0")
    half = wide[wide < 350]
    sech = 4 * _exact_sigmoid_slope(2 * half)
    stable = np.abs(np.asarray(tanh_derivative(jnp.asarray(half))) - sech) / sech
    yield at_most(stable, 1e-14, "relative error of sech² as 4σ(2z)σ(−2z), z up to 350")
    widths, drawn = (width,) * (depth + 1), {"init": "lecun", "gain": gain, "bias_scale": 1.0}
    net = networks.MLP(widths, "sigmoid", last_activation=True, key=key, **drawn)
    x = jax.random.normal(jax.random.fold_in(key, 1), (200, width))
    norms = np.linalg.norm(jax.jit(jax.vmap(jax.jacobian(net)))(x), ord=2, axis=(1, 2))
    weights = np.prod([np.linalg.norm(layer.weight, ord=2) for layer in net.layers])
    yield at_most(norms, 4.0**-depth * weights, f"‖∂x_L/∂x‖ of {depth} sigmoid layers, against 4^−L Π‖W‖", rtol=1e-12)
    errors = {"σ(1 − σ)": (wide, lost), "σ(z)σ(−z)": (wide, kept)}
    errors |= {"1 − tanh²": (half, np.abs(1 - np.tanh(half) ** 2 - sech) / sech), "4σ(2z)σ(−2z)": (half, stable)}
    title = f"σ(1 − σ) is all error from z = {wide[lost >= 0.5][0]:g}; σ(z)σ(−z) errs by {kept.max():.1g} at most"
    rules = {"rounding": ("y", EPS), "z = 37": ("x", 37.0)}
    yield figure.curves(title, "z", "relative error of the slope", log="xy", points=errors, rules=rules)
