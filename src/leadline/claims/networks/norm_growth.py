"""What one rule for the first weights does to the length of a signal, layer after layer."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, networks
from leadline.evidence import Range, claim, close, figure, frequency, mean, printed

_NUMBERS = 4e7  # weights drawn in an ensemble of random networks


def _draws(width: int, depth: int, most: int = 2000) -> int:
    return int(np.clip(_NUMBERS / (depth * width**2), 30, most))


def _nearly_normal(law: networks.NormLaw, draws: int, power: int = 1) -> bool:
    """Whether a mean of so many draws has a skewness below 0.5, so that a normal interval may judge it."""
    return law.skewness(power) < 0.5 * draws**0.5


@claim(
    "uniform-gaussian-variance",
    says=(
        "A uniform law on ±a has variance a²/3: U[±√3 s] has s², U[±√(6/(n+m))] has Glorot's 2/(n+m), and PyTorch's "
        "U[±1/√n] only 1/(3n), which costs a factor 3 per linear layer and 6 per ReLU layer."
    ),
    formula=r"\mathrm{Var}\,U[a,b] = \frac{(b-a)^2}{12}, \qquad \mathrm{Var}\,U[\pm n^{-1/2}] = \frac{1}{3n}",
    sources=("eth", "penn"),
    assumes=("layers of one width n", "no biases"),
)
def uniform_gaussian_variance(
    key,
    width: Annotated[int, Range(100, 300)] = 128,
    depth: Annotated[int, Range(2, 25)] = 20,
    outputs: Annotated[int, Range(16, 1000, log=True)] = 256,
):
    """10⁶ draws a law; then independent networks of the given width and depth."""
    unit = data.generator(key).random(1_000_000) * 2 - 1
    laws = {"√3 s, s = 1": (3**0.5, 1.0), "√(6/(n+m))": ((6 / (width + outputs)) ** 0.5, 2 / (width + outputs)),
            "1/√n": (width**-0.5, 1 / (3 * width))}  # fmt: skip
    for name, (edge, variance) in laws.items():
        yield mean((edge * unit) ** 2, variance, f"variance of U[±{name}]", deviation=variance * 0.8**0.5)

    draws = _draws(width, depth, 400)
    start = np.ones((draws, width))
    gains = {"U[±1/√n], linear": ("identity", 3**-0.5, "uniform"), "U[±1/√n], ReLU": ("relu", 3**-0.5, "uniform"),
             "N(0, 1/n), linear": ("identity", 1.0, "normal")}  # fmt: skip
    lines, points = {}, {}
    for index, (name, (phi, gain, law)) in enumerate(gains.items()):
        found = networks.norm_ensemble(start, depth, phi, gain=gain, law=law, key=jax.random.fold_in(key, index)).post
        ratio = found / found[:, :1]
        # Uniform weights have lighter tails, so that the Gaussian law's deviation is an upper bound.
        exact, layer = networks.NormLaw(width, depth, phi, gain), networks.NormLaw(width, 1, phi, gain)
        yield mean(
            found[:, 1:] / found[:, :-1], layer.moment(1), f"{name}: growth of the second moment per layer",
            deviation=layer.deviation(),
        )  # fmt: skip
        yield mean(
            ratio[:, -1] / exact.moment(1), 1.0, f"{name}: second moment after {depth} layers, relative to prediction",
            deviation=exact.deviation() / exact.moment(1),
        ).given(_nearly_normal(exact, draws), "enough draws for the tail of the norm's law")  # fmt: skip
        levels = np.arange(depth + 1)
        lines[name] = (levels, exact.moment(1) ** (levels / depth))
        points[name] = (levels, ratio.mean(axis=0))
        if phi == "identity" and law == "uniform":
            yield printed(
                mean(ratio[:, -1], 1.0, "variance kept by PyTorch's default", deviation=exact.deviation()),
                "penn", "slightly smaller than the Gaussian rule's 1/n",
            )  # fmt: skip
    yield figure.curves(
        f"PyTorch's uniform default loses a factor {3.0**depth:.2g} of the variance in {depth} linear layers",
        x="layer", y="mean square relative to the input", lines=lines, points=points, log="y",
    )  # fmt: skip


@claim(
    "linear-variance-propagation",
    says=(
        "Each linear layer multiplies the expected squared length by n s², whatever the inputs' mean or correlation: "
        "it is kept iff s² = 1/n. The length still fluctuates, and its logarithm falls by about 1/n a layer: the "
        "typical signal shrinks though the mean does not."
    ),
    formula=(
        r"E z_i^2 = n s^2 g, \quad E\|x_L\|^4 = \|x_0\|^4 (1 + \tfrac2n)^L, \quad E \log\|x_L\|^2 = "
        r"L\left(\log\tfrac2n + \psi(\tfrac n2)\right)"
    ),
    sources=("eth", "penn"),
    assumes=("Gaussian weights, for the fluctuations", "layers of one width n"),
    shows=("networks.NormLaw", "networks.norm_ensemble"),
)
def linear_variance_propagation(
    key,
    width: Annotated[int, Range(8, 160)] = 64,
    depth: Annotated[int, Range(1, 30)] = 20,
    scale: Annotated[float, Range(0.5, 2.0, log=True)] = 1.0,
    moment: Annotated[float, Range(2.0, 10.0)] = 4.0,
    correlation: Annotated[float, Range(0.0, 0.95)] = 0.5,
):
    """`scale` is n s²; inputs have the given mean square g, a common part that correlates them, and a mean."""
    rng = data.generator(key)
    draws = _draws(width, depth)
    common, own = rng.standard_normal((draws, 1)), rng.standard_normal((draws, width))
    start = 1 + correlation**0.5 * common + (1 - correlation) ** 0.5 * own
    start *= (moment / np.mean(start**2, axis=1, keepdims=True)) ** 0.5
    found = networks.norm_ensemble(start, depth, gain=scale**0.5, key=key).post
    first = found[:, 1] / width
    spread = scale * moment * (2 / width) ** 0.5
    yield mean(first, scale * moment, "mean square after one layer, against n s² g", deviation=spread)
    yield printed(
        mean(first, scale * moment**0.5, "mean square after one layer, g a standard deviation", deviation=spread),
        "eth", "inputs of standard deviation g give variance n s² g",
    )  # fmt: skip

    law, layer = networks.NormLaw(width, depth, gain=scale**0.5), networks.NormLaw(width, 1, gain=scale**0.5)
    ratio, growth = found[:, -1] / found[:, 0], found[:, 1:] / found[:, :-1]
    yield mean(growth, scale, "growth of ‖x‖² per layer, against n s²", deviation=layer.deviation())
    yield mean(
        growth**2, scale**2 * (1 + 2 / width), "growth of ‖x‖⁴ per layer, against (n s²)²(1 + 2/n)",
        deviation=layer.deviation(2),
    )  # fmt: skip
    for power, name in ((1, "‖x_L‖²/‖x₀‖²"), (2, "‖x_L‖⁴/‖x₀‖⁴")):
        yield mean(
            ratio**power / law.moment(power), 1.0, f"mean of {name}, relative to prediction",
            deviation=law.deviation(power) / law.moment(power),
        ).given(_nearly_normal(law, draws, power), "enough draws for the heavy tail of this power")  # fmt: skip
    yield mean(np.log(ratio), law.log_mean, "mean of log ‖x_L‖²/‖x₀‖²", deviation=law.log_deviation)
    below = ratio < law.moment(1)
    yield frequency(below.sum(), draws, 0.5, "signals shorter than the mean: more than half", side="at least")

    levels = np.arange(1, depth + 1)
    all_ratios = found[:, 1:] / found[:, :1]
    laws = [networks.NormLaw(width, int(level), gain=scale**0.5) for level in levels]
    low, median, high = np.quantile(all_ratios, [0.1, 0.5, 0.9], axis=0)
    yield figure.curves(
        f"After {depth} layers of width {width} the median squared length is {median[-1] / law.moment(1):.2f} of "
        "the mean",
        x="layer", y="‖x_l‖² / ‖x₀‖²",
        lines={
            "expected mean": (levels, [one.moment(1) for one in laws]),
            "exp E log: typical": (levels, [np.exp(one.log_mean) for one in laws]),
        },
        points={"mean": (levels, all_ratios.mean(axis=0)), "median": (levels, median)},
        bands={f"80% of {draws} networks": (levels, low, high)}, log="y",
    )  # fmt: skip


@claim(
    "relu-second-moment",
    says=(
        "A ReLU keeps half of a symmetric input's second moment, so pre-activations multiply by n s²/2 a layer: kept "
        "iff s² = 2/n. Half of the units are active, and the fourth moment of the length grows like (1 + 5/n)^L."
    ),
    formula=(
        r"E\,\mathrm{relu}(z)^2 = \tfrac12 E z^2, \qquad q_L = \left(\tfrac{n s^2}{2}\right)^{L-1} q_1, \qquad "
        r"E\|x_L\|^4 = \|x_0\|^4 (1 + \tfrac5n)^L"
    ),
    sources=("eth", "penn"),
    assumes=("Gaussian weights, for the fluctuations", "layers of one width n", "no biases"),
    shows=("networks.NormLaw", "networks.norm_ensemble"),
)
def relu_second_moment(
    key,
    width: Annotated[int, Range(32, 512, log=True)] = 128,
    depth: Annotated[int, Range(2, 20)] = 20,
    scale: Annotated[float, Range(0.3, 4.0, log=True)] = 1.0,
):
    """Ensembles at n s² = `scale` (LeCun's rule is 1) and at He's n s² = 2, and PyTorch's rule for the picture."""
    draws = _draws(width, depth, 1000)
    start = np.ones((draws, width))
    levels = np.arange(1, depth + 1)
    rules = {
        f"n s² = {scale:.3g}" + " (LeCun)" * (scale == 1): scale,
        "n s² = 2 (He)": 2.0,
        "n s² = 1/3 (PyTorch)": 1 / 3,
    }
    lines, points = {}, {}
    for index, (name, factor) in enumerate(rules.items()):
        law_kind = "uniform" if index == 2 else "normal"
        used = start[: max(20, draws // 4)] if index == 2 else start
        found = networks.norm_ensemble(
            used, depth, "relu", gain=factor**0.5, law=law_kind, key=jax.random.fold_in(key, index)
        )
        growth = found.pre / found.pre[:, :1]
        lines[name] = (levels, (factor / 2) ** (levels - 1.0))
        points[name] = (levels, growth.mean(axis=0))
        if index == 2:
            continue
        law, layer = (networks.NormLaw(width, height, "relu", gain=factor**0.5) for height in (depth, 1))
        ratio, each = found.post[:, -1] / found.post[:, 0], found.post[:, 1:] / found.post[:, :-1]
        yield mean(each, factor / 2, f"{name}: growth of ‖x‖² per layer, against n s²/2", deviation=layer.deviation())
        enough = _nearly_normal(law, draws)
        yield mean(
            ratio / law.moment(1), 1.0, f"{name}: mean of ‖x_L‖²/‖x₀‖², relative to (n s²/2)^L",
            deviation=law.deviation() / law.moment(1),
        ).given(enough, "enough draws for the tail of the norm's law")  # fmt: skip
        yield mean(np.log(ratio), law.log_mean, f"{name}: mean of log ‖x_L‖²/‖x₀‖²", deviation=law.log_deviation)
        active = round(float(found.active.sum() * width))
        yield frequency(active, found.active.size * width, 0.5, f"{name}: active units")
        if index == 1:
            yield mean(
                each**2, 1 + 5 / width, "He: growth of ‖x‖⁴ per layer, against 1 + 5/n", deviation=layer.deviation(2)
            )
            yield mean(
                ratio**2 / law.moment(2), 1.0, "He: mean of ‖x_L‖⁴/‖x₀‖⁴, relative to (1 + 5/n)^L",
                deviation=law.deviation(2) / law.moment(2),
            ).given(_nearly_normal(law, draws, 2), "enough draws for the heavy tail of this power")  # fmt: skip
            yield close(law.moment(2), (1 + 5 / width) ** depth, "exact fourth moment against (1 + 5/n)^L", rtol=1e-9)
        else:
            yield printed(
                mean(np.log(ratio), law.log_mean - depth * np.log(scale / 2), "mean of log ‖x_L‖²/‖x₀‖²: kept",
                     deviation=law.log_deviation),
                "penn", "n s² = 1 keeps the variance of every layer, whatever the activation",
            ).given(scale == 1, "the printed rule n s² = 1")  # fmt: skip
    z = data.generator(key).standard_normal(200_000)
    yield mean(np.maximum(z, 0) ** 2, 0.5, "E relu(Z)² of a standard normal Z", deviation=1.25**0.5)
    lost = (scale / 2) ** (depth - 1)
    yield figure.curves(
        f"Between pre-activations 1 and {depth} the second moment changes by {lost:.2g} at n s² = {scale:.3g}, by "
        f"{points['n s² = 2 (He)'][1][-1]:.2f} at He's rule",
        x="layer", y="second moment of pre-activations, relative to layer 1", lines=lines, points=points, log="y",
    )  # fmt: skip
