"""What one rule for the first weights does to the length of a signal, layer after layer."""

import jax
import numpy as np

from leadline import data
from leadline.evidence import Int, Real, claim, close, erratum, frequency, mean
from leadline.networks.signal.norm_distributions import NormDistribution
from leadline.networks.signal.signal import norm_ensemble
from leadline.presentation import figure

_NUMBERS = 4e7  # weights drawn in an ensemble of random networks


def _draws(width: int, depth: int, most: int = 2000) -> int:
    return int(np.clip(_NUMBERS / (depth * width**2), 30, most))


def _relative(ratio: np.ndarray, exact: NormDistribution, what: str, power: int = 1):
    """The mean of the ratio to a power, relative to its prediction.

    Given that a mean of so many draws has a skewness below 0.5, so that a normal interval may judge it.
    """
    moment = exact.moment(power)
    found = mean(ratio**power / moment, 1.0, what, deviation=exact.deviation(power) / moment)
    return found.given(exact.skewness(power) < 0.5 * len(ratio) ** 0.5, "enough draws for the heavy tail of the norm")


@claim(sources=("eth", "penn"))
def uniform_gaussian_variance(
    key, width: Int(100, 300) = 128, depth: Int(2, 25) = 20, outputs: Int(16, 1000, log=True) = 256
):
    r"""Variance of uniform initialisation.

    A uniform distribution on ±a has variance a²/3: U[±√3 s] has s², U[±√(6/(n+m))] has Glorot's 2/(n+m), and PyTorch's
    U[±1/√n] only 1/(3n), which costs a factor of 3 per linear layer and 6 per ReLU layer.

    $$\mathrm{Var}\,U[a,b] = \frac{(b-a)^2}{12}, \qquad \mathrm{Var}\,U[\pm n^{-1/2}] = \frac{1}{3n}$$

    Assumes: all layers have the same width n; no biases.

    Check: The variances are estimated from 10⁶ draws of each distribution; then independent networks of the given
    width and depth are run.
    """
    unit = data.generator(key).random(1_000_000) * 2 - 1
    uniforms = {
        "√3 s, s = 1": (3**0.5, 1.0),
        "√(6/(n+m))": ((6 / (width + outputs)) ** 0.5, 2 / (width + outputs)),
        "1/√n": (width**-0.5, 1 / (3 * width)),
    }
    for name, (edge, variance) in uniforms.items():
        yield mean((edge * unit) ** 2, variance, f"variance of U[±{name}]", deviation=variance * 0.8**0.5)
    start = np.ones((_draws(width, depth, 400), width))
    gains = {
        "U[±1/√n], linear": ("identity", 3**-0.5, "uniform"),
        "U[±1/√n], ReLU": ("relu", 3**-0.5, "uniform"),
        "N(0, 1/n), linear": ("identity", 1.0, "normal"),
    }
    lines, points, levels = {}, {}, np.arange(depth + 1)
    for index, (name, (phi, gain, law)) in enumerate(gains.items()):
        found = norm_ensemble(start, depth, phi, gain=gain, law=law, key=jax.random.fold_in(key, index)).post
        ratio, growth = found / found[:, :1], found[:, 1:] / found[:, :-1]
        # Uniform weights have lighter tails, so that the deviation for Gaussian ones is an upper bound.
        exact, layer = (NormDistribution(width, height, phi, gain) for height in (depth, 1))
        what = f"{name}: growth of the second moment per layer"
        yield mean(growth, layer.moment(1), what, deviation=layer.deviation())
        end = _relative(ratio[:, -1], exact, f"{name}: second moment after {depth} layers, relative to prediction")
        yield end
        if phi == "identity" and law == "uniform":
            what = f"second moment after {depth} linear layers from U[±1/√n], relative to the input"
            wrong = mean(ratio[:, -1], 1.0, what, deviation=exact.deviation())
            yield erratum(wrong, of=end, by="penn", prints="its variance is slightly smaller than the Gaussian rule's")
        lines[name] = (levels, exact.moment(1) ** (levels / depth))
        points[name] = (levels, ratio.mean(axis=0))
    title = f"PyTorch's uniform default loses a factor {3.0**depth:.2g} of the variance in {depth} linear layers"
    yield figure.curves(title, "layer", "mean square relative to the input", lines=lines, points=points, log="y")


@claim(sources=("eth", "penn"))
def linear_variance_propagation(
    key,
    width: Int(8, 160) = 64,
    depth: Int(1, 30) = 20,
    scale: Real(0.5, 2.0, log=True) = 1.0,
    moment: Real(2.0, 10.0) = 4.0,
    correlation: Real(0.0, 0.95) = 0.5,
):
    r"""Variance propagation in linear layers.

    Each linear layer multiplies the expected squared length by n s², whatever the inputs' mean or correlation: it is
    preserved if and only if s² = 1/n. It still fluctuates, and then its logarithm falls by about 1/n a layer: the
    typical signal shrinks though the mean does not.

    $$E z_i^2 = n s^2 g; \quad s^2 = \tfrac1n: \; E\|x_L\|^4 = \|x_0\|^4 (1 + \tfrac2n)^L, \; E
    \log\frac{\|x_L\|^2}{\|x_0\|^2} = L\left(\log\tfrac2n + \psi(\tfrac n2)\right)$$

    Assumes: for the fluctuations, Gaussian weights; all layers have the same width n.

    Check: Ensembles of networks are drawn at a chosen n s²; the inputs have a given mean square g, a common part that
    correlates them, and a mean.
    """
    rng = data.generator(key)
    draws = _draws(width, depth)
    common, own = rng.standard_normal((draws, 1)), rng.standard_normal((draws, width))
    start = 1 + correlation**0.5 * common + (1 - correlation) ** 0.5 * own
    start *= (moment / np.mean(start**2, axis=1, keepdims=True)) ** 0.5
    found = norm_ensemble(start, depth, gain=scale**0.5, key=key).post
    first = found[:, 1] / width
    spread = scale * moment * (2 / width) ** 0.5
    yield mean(first, scale * moment, "mean square after one layer, against n s² g", deviation=spread)
    levels = np.arange(1, depth + 1)
    exact = [NormDistribution(width, int(level), gain=scale**0.5) for level in levels]
    layer, whole = exact[0], exact[-1]
    ratios, growth = found[:, 1:] / found[:, :1], found[:, 1:] / found[:, :-1]
    yield mean(growth, scale, "growth of ‖x‖² per layer, against n s²", deviation=layer.deviation())
    what, fourth = "growth of ‖x‖⁴ per layer, against (n s²)²(1 + 2/n)", scale**2 * (1 + 2 / width)
    yield mean(growth**2, fourth, what, deviation=layer.deviation(2))
    for power, name in ((1, "‖x_L‖²/‖x₀‖²"), (2, "‖x_L‖⁴/‖x₀‖⁴")):
        yield _relative(ratios[:, -1], whole, f"mean of {name}, relative to prediction", power)
    yield mean(np.log(ratios[:, -1]), whole.log_mean, "mean of log ‖x_L‖²/‖x₀‖²", deviation=whole.log_deviation)
    below = np.sum(ratios[:, -1] < whole.moment(1))
    yield frequency(below, draws, 0.5, "signals shorter than the mean: more than half", side="at least")
    low, median, high = np.quantile(ratios, [0.1, 0.5, 0.9], axis=0)
    lines = {"expected mean": (levels, [one.moment(1) for one in exact])}
    lines["exp E log: typical"] = (levels, [np.exp(one.log_mean) for one in exact])
    share = median[-1] / whole.moment(1)
    yield figure.curves(
        f"After {depth} layers of width {width} the median squared length is {share:.2f} of the mean",
        "layer",
        "‖x_l‖² / ‖x₀‖²",
        lines=lines,
        points={"mean": (levels, ratios.mean(axis=0)), "median": (levels, median)},
        bands={f"80% of {draws} networks": (levels, low, high)},
        log="y",
    )


@claim(sources=("eth", "penn"))
def relu_second_moment(
    key, width: Int(32, 512, log=True) = 128, depth: Int(2, 20) = 20, scale: Real(0.3, 4.0, log=True) = 1.0
):
    r"""He initialisation: ReLU halves the second moment.

    A ReLU keeps half of a symmetric input's second moment, so the second moment of the pre-activations is multiplied
    by n s²/2 a layer: it is preserved if and only if s² = 2/n. Half of the units are active, and at s² = 2/n the fourth
    moment of the length grows like (1 + 5/n)ᴸ.

    $$E\,\mathrm{relu}(z)^2 = \tfrac12 E z^2, \qquad q_L = \left(\tfrac{n s^2}{2}\right)^{L-1} q_1, \qquad s^2 =
    \tfrac2n: \; E\|x_L\|^4 = \|x_0\|^4 (1 + \tfrac5n)^L$$

    Assumes: for the fluctuations, Gaussian weights; all layers have the same width n; no biases.

    Check: Ensembles are drawn at a chosen n s² (LeCun's rule is 1) and at He's n s² = 2; PyTorch's rule is added for
    the picture.
    """
    draws = _draws(width, depth, 1000)
    levels = np.arange(1, depth + 1)
    he, pytorch = "n s² = 2 (He)", "n s² = 1/3 (PyTorch)"
    rules = {f"n s² = {scale:.3g}" + " (LeCun)" * (scale == 1): scale, he: 2.0, pytorch: 1 / 3}
    lines, points = {}, {}
    for index, (name, factor) in enumerate(rules.items()):
        start = np.ones((max(20, draws // 4) if name == pytorch else draws, width))
        options = {"gain": factor**0.5, "law": "uniform" if name == pytorch else "normal"}
        found = norm_ensemble(start, depth, "relu", key=jax.random.fold_in(key, index), **options)
        growth = found.pre / found.pre[:, :1]
        lines[name] = (levels, (factor / 2) ** (levels - 1.0))
        points[name] = (levels, growth.mean(axis=0))
        if name == pytorch:
            continue
        exact, layer = (NormDistribution(width, height, "relu", gain=factor**0.5) for height in (depth, 1))
        ratio, each = found.post[:, -1] / found.post[:, 0], found.post[:, 1:] / found.post[:, :-1]
        yield mean(each, factor / 2, f"{name}: growth of ‖x‖² per layer, against n s²/2", deviation=layer.deviation())
        yield _relative(ratio, exact, f"{name}: mean of ‖x_L‖²/‖x₀‖², relative to (n s²/2)^L")
        yield mean(np.log(ratio), exact.log_mean, f"{name}: mean of log ‖x_L‖²/‖x₀‖²", deviation=exact.log_deviation)
        active = round(float(found.active.sum() * width))
        yield frequency(active, found.active.size * width, 0.5, f"{name}: active units")
        if name == he:
            what, fourth = "He: growth of ‖x‖⁴ per layer, against 1 + 5/n", 1 + 5 / width
            yield mean(each**2, fourth, what, deviation=layer.deviation(2))
            yield _relative(ratio, exact, "He: mean of ‖x_L‖⁴/‖x₀‖⁴, relative to (1 + 5/n)^L", 2)
            yield close(exact.moment(2), fourth**depth, "He: exact fourth moment, against (1 + 5/n)^L", rtol=1e-9)
    z = data.generator(key).standard_normal(200_000)
    yield mean(np.maximum(z, 0) ** 2, 0.5, "E relu(Z)² of a standard normal Z", deviation=1.25**0.5)
    lost = f"{(scale / 2) ** (depth - 1):.2g} at n s² = {scale:.3g}, by {points[he][1][-1]:.2f} at He's rule"
    title = f"Between pre-activations 1 and {depth} the second moment changes by {lost}"
    moment = "second moment of pre-activations, relative to layer 1"
    yield figure.curves(title, "layer", moment, lines=lines, points=points, log="y")
