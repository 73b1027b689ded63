"""Signals through depth: predicted and measured growth of values and gradients."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import networks
from leadline.evidence import Int, OneOf, Real, at_most, claim, close, instrument, mean
from leadline.networks.signal.mean_field import limiting_gradient_factor
from leadline.networks.signal.signal import gradient_slopes
from leadline.presentation import figure


@instrument(sources=("penn",))
def signal_propagation(key, width: Int(200, 400) = 256, depth: Int(10, 40) = 20, gain: Real(4.0, 16.0, log=True) = 8.0):
    r"""Signal propagation through depth.

    For each layer of any feed-forward network: second moment, variance and gradient norm, their slopes, the first
    layer outside the range of float32, and beside them what mean-field theory predicts before the network is run.

    $$\log\|z_l\| \approx \log\|z_1\| + (l-1)\log g, \qquad \log\|\partial_{z_l} f\| \approx (L-l) \log g \quad
    \text{(linear units)}$$

    Check: Linear networks with planted gains ½, 1 and 2 are measured first; then the given gain and its inverse are
    run until float32 overflows or underflows.
    """
    from scipy.special import digamma, polygamma

    keys = jax.random.split(key, 5)
    drift = 0.5 * (np.log(2 / width) + digamma(width / 2))  # E log of the growth of a length, beyond log g
    spread = 0.5 * polygamma(1, width / 2) ** 0.5
    x = np.asarray(jax.random.normal(keys[0], (1, width)), np.float32)
    unit = networks.MLP((width,) * (depth + 1), "identity", init="lecun", bias=False, dtype=jnp.float32, key=keys[1])
    lines, points, layers = {}, {}, np.arange(1, depth + 1)
    for planted in (0.5, 1.0, 2.0):
        net = jax.tree.map(lambda w, g=planted: g * w, unit)
        found, told = networks.measure_signal(net, x), networks.predict_signal(net, float(np.mean(x**2)))
        growth = {
            "forward": np.diff(np.log(found.second_moment)) / 2,
            "backward": -np.diff(np.log(found.gradient_norm)),
        }
        for name, slopes in growth.items():
            yield mean(slopes, np.log(planted) + drift, f"{name} slope at gain {planted}", deviation=spread)
        lines[f"g = {planted}"] = (layers, told.gradient_norm)
        points[f"g = {planted}"] = (layers, found.gradient_norm)
    # The logarithm of the largest float32 is 88.7, that of the smallest normal one -87.3.
    deep = int(np.ceil(92 / np.log(gain))) + 3
    stack = networks.MLP((width,) * (deep + 1), "identity", init="lecun", bias=False, dtype=jnp.float32, key=keys[2])
    for name, planted in {"overflow": gain, "underflow": 1 / gain}.items():
        net = jax.tree.map(lambda w, g=planted: jnp.float32(g) * w, stack)
        found, told = networks.measure_signal(net, x), networks.predict_signal(net, float(np.mean(x**2)))
        for label, field in {"values": name, "gradients": f"gradient_{name}"}.items():
            seen, expected = getattr(found, field), getattr(told, field)
            what = f"layers between {name} of {label} ({seen}) and prediction ({expected})"
            yield at_most(abs(seen - expected), 1, what)
    functions = [lambda v: jnp.tanh(2 * v), lambda v: jnp.concatenate([v, -v]), lambda v: v[:3] ** 2]
    found = networks.measure_signal(functions, x[:, :2]).second_moment
    value = np.tanh(2 * x[0, :2])
    values = [value, np.append(value, -value), np.append(value, -value)[:3] ** 2]
    expected = [np.mean(v**2) for v in values]
    yield close(found, expected, "second moments of a network given as three functions", rtol=1e-5)
    gains = np.geomspace(0.5, 3.0, 9)
    tall = np.arange(2, depth + 1, max(1, depth // 10))
    lengths = np.array([min(max(networks.length_fixed_point("tanh", g), 1e-6), 1e6) for g in gains])
    slopes = gradient_slopes(gains, "tanh", width=100, depth=depth, lengths=lengths, nets=2, key=keys[3])
    decades = slopes.mean(axis=0) * (tall[:, None] - 1) / np.log(10)
    linear, tanh = "linear network: the gradient norm by layer", "tanh network: log₁₀ of the gradient's growth"
    axes = {"xs": [f"{g:.2f}" for g in gains], "ys": list(tall)}
    yield figure.beside(
        f"Through {depth} linear layers a gain of 2 or ½ changes the gradient {2.0 ** (depth - 1):.2g}-fold",
        figure.curves(linear, "layer", "gradient norm", lines=lines, points=points, log="y"),
        figure.heatmap(tanh, "gain g", "depth", values=decades, colour="log₁₀", diverging=True, **axes),
    )


@claim(sources=("penn",))
def mean_field_gradient_slope(
    key,
    gain: Real(0.6, 2.5) = 1.5,
    bias: Real(0.0, 0.5) = 0.0,
    activation: OneOf("tanh", "relu", "identity", "sin", "sigmoid") = "tanh",
    width: Int(200, 400) = 256,
    depth: Int(20, 50) = 40,
):
    r"""Mean-field theory of gradient growth.

    In a wide random network the gradient's norm grows by √χ a layer towards the input, with χ = g² E[φ'(√q* Z)²] at
    the fixed point q* of the lengths. The critical value is χ = 1: g = 1 for linear and tanh units, √2 for ReLU.

    $$q' = g^2\, E\,\varphi(\sqrt{q} Z)^2 + s_b^2, \qquad \chi = g^2\, E\,\varphi'(\sqrt{q^*} Z)^2, \qquad \text{slope}
    = \tfrac12 \log \chi$$

    Assumes: wide layers, so that the exponent is right up to terms of order 1/n.

    Check: Six networks are started at the fixed point of their lengths; the picture also shows other gains around the
    given one.
    """
    from scipy.special import stdtrit

    nets = 6
    gains = np.concatenate([[gain], np.linspace(0.6, 2.5, 11)])
    fixed = np.array([networks.length_fixed_point(activation, g, bias) for g in gains])
    chi = np.array([limiting_gradient_factor(activation, g, bias) for g in gains])
    # Lengths that decay to 0 or grow without end start at a small or a moderate value: χ is that of the limit then.
    lengths = np.where(fixed == 0, 1e-8, np.where(np.isinf(fixed), 1.0, fixed))
    slopes = gradient_slopes(
        gains, activation, width=width, depth=depth, lengths=lengths, bias_scale=bias, nets=nets, key=key
    )
    predicted, measured = 0.5 * np.log(chi), slopes.mean(axis=0)
    error = slopes.std(axis=0, ddof=1) / nets**0.5
    reach = stdtrit(nets - 1, 0.9995) * error + 2.5 / width
    what = f"growth of log gradient norm per layer, {activation}, g = {gain:.3g}"
    yield close(measured[0], predicted[0], what, atol=reach[0])
    for phi, critical in (("identity", 1.0), ("relu", 2**0.5), ("tanh", 1.0)):
        yield close(networks.critical_gain(phi), critical, f"gain with χ = 1, {phi}", atol=1e-6)
    q = lengths[0]
    rise = (1 - networks.correlation_map(1 - 1e-6, q, activation, gain, bias)) / 1e-6
    rise *= networks.length_map(q, activation, gain, bias) / q / networks.gradient_factor(q, activation, gain)
    yield close(rise, 1.0, "slope of the correlation map at c = 1, relative to χ", rtol=5e-3)
    grid = np.linspace(0.6, 2.5, 60)
    lines = {"½ log χ": (grid, [0.5 * np.log(limiting_gradient_factor(activation, g, bias)) for g in grid])}
    points = {f"width {width}, {nets} networks": (gains, measured, measured - reach, measured + reach)}
    growth = f"{measured[0]:+.4f} a layer in its logarithm; predicted {predicted[0]:+.4f}"
    title = f"At g = {gain:.3g} the gradient of {activation} networks grows by {growth}"
    rules = {"critical: χ = 1": ("y", 0.0)}
    yield figure.curves(title, "gain g", "slope of log gradient norm", lines=lines, points=points, rules=rules)
