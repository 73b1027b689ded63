"""Random networks as Gaussian processes: exact for one affine layer, in the limit of width for deep networks."""

import math
from typing import Annotated

import jax
import numpy as np

from leadline import data, infinite_width, networks
from leadline.evidence import (
    Choice,
    Range,
    at_most,
    claim,
    close,
    distributed_as,
    figure,
    mean,
    printed,
    same_distribution,
    smaller,
)  # fmt: skip


@claim(
    "random-affine-layer-is-gp",
    says=(
        "The units of a random affine layer Wx + b with Gaussian weights are independent Gaussian processes over x "
        "with covariance g² x·x'/d + s_b², exactly, at every width."
    ),
    formula=(
        r"W_{ij} \sim N(0, g^2/d),\ b \sim N(0, s_b^2) \ \Rightarrow \ \mathrm{Cov}(z_i(x), z_j(x')) = "
        r"\delta_{ij} \left( g^2\, x \cdot x'/d + s_b^2 \right)"
    ),
    sources=("sheet", "cam"),
    assumes=("weights and biases are independent and Gaussian",),
)
def random_affine_layer(
    key,
    dim: Annotated[int, Range(1, 50)] = 3,
    gain: Annotated[float, Range(0.5, 3.0, log=True)] = 1.4,
    bias: Annotated[float, Range(0.0, 1.2)] = 0.5,
    layers: Annotated[int, Range(10_000, 50_000, log=True)] = 20_000,
):
    """Two units of `layers` independent layers, at two inputs of norm √d."""
    rng = data.generator(key)
    x = rng.standard_normal((2, dim))
    x *= math.sqrt(dim) / np.linalg.norm(x, axis=1, keepdims=True)
    weight = rng.standard_normal((layers, 2, dim)) * gain / math.sqrt(dim)
    z = weight @ x.T + bias * rng.standard_normal((layers, 2, 1))  # (layer, unit, input)
    K = gain**2 * x @ x.T / dim + bias**2
    for i, j in ((0, 0), (0, 1), (1, 1)):
        spread = math.sqrt(K[i, i] * K[j, j] + K[i, j] ** 2)  # of a product of two Gaussian variables
        yield mean(
            z[:, 0, i] * z[:, 0, j], K[i, j], f"covariance of one unit, inputs {i + 1}, {j + 1}", deviation=spread
        )
    across = z[:, 0, 0] * z[:, 1, 1]
    yield mean(across, 0.0, "covariance of two units", deviation=math.sqrt(K[0, 0] * K[1, 1]))
    u = rng.standard_normal(2)
    law = _normal(math.sqrt(u @ K @ u))
    yield distributed_as(z[:, 0] @ u, law, "a random combination of one unit's values, against the normal law")
    standard = z[:, 0, 0] * math.sqrt(dim) / gain  # cam's weights: N(0, 1) entries, bias scaled alike
    ratio = bias * math.sqrt(dim) / gain
    yield printed(
        mean(standard**2, ratio**2, "Var φ(x) for N(0, 1) weights: τ_b²", deviation=math.sqrt(2) * (dim + ratio**2)),
        "cam", "φ(x) ~ N(0, τ_b²)",
    )  # fmt: skip
    grid = np.linspace(-4, 4, 121) * math.sqrt(K[0, 0])
    yield figure.histogram(
        f"One unit over {layers} random layers is Gaussian with variance g²‖x‖²/d + s_b² = {K[0, 0]:.3g}",
        x="z(x)", samples={"drawn": z[:, 0, 0]},
        lines={"N(0, g²‖x‖²/d + s_b²)": (grid, _density(grid, K[0, 0]))}
        | ({"N(0, s_b²), as printed": (grid, _density(grid, bias**2))} if bias > 0.2 else {}),
    )  # fmt: skip


@claim(
    "nngp-limit",
    says=(
        "As all hidden layers grow wider, the outputs of a random network at any fixed inputs converge in "
        "distribution to a centred Gaussian vector whose covariance is the NNGP kernel (a central limit theorem)."
    ),
    formula=(
        r"(f(x_1), \dots, f(x_n)) \to N(0, K^L), \qquad K^{l+1} = \sigma_w^2\, E[\varphi(u)\varphi(v)] + \sigma_b^2, "
        r"\ (u, v) \sim N(0, K^l)"
    ),
    sources=("cam", "eth"),
    assumes=("φ is Lipschitz", "the inputs are fixed while the widths grow"),
    shows=("infinite_width.draw_outputs", "infinite_width.energy_to_gaussian"),
)
def nngp_limit(
    key,
    activation: Annotated[str, Choice("relu", "tanh", "gelu", "absolute")] = "relu",
    hidden: Annotated[int, Range(1, 3)] = 2,
    width: Annotated[int, Range(128, 512, log=True)] = 128,
    bias: Annotated[float, Range(0.0, 1.0)] = 0.5,
    gain: Annotated[float, Range(0.7, 1.5)] = 1.0,
):
    """40 batches of 250 networks of each width, at two inputs of R³."""
    x = math.sqrt(3) * np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    stack = infinite_width.dense_stack(hidden, activation, W_std=gain, b_std=bias)
    K = np.asarray(stack.kernel_fn(x, get="nngp"))
    widths = (2, 6, 18, width)
    keys = jax.random.split(key, 5)
    drawn = {
        m: infinite_width.draw_outputs(x, (m,) * hidden, activation, networks=10_000, W_std=gain, b_std=bias, key=k)
        for m, k in zip(widths, keys[:4], strict=True)
    }
    energies = {m: _batched_energy(f, K) for m, f in drawn.items()}
    wide = drawn[width]
    for i, j in ((0, 0), (0, 1), (1, 1)):
        yield mean(wide[:, i] * wide[:, j], K[i, j], f"covariance at inputs {i + 1}, {j + 1} at width {width}")
    gaussian = data.generator(keys[4]).standard_normal((10_000, 2)) @ np.linalg.cholesky(K).T
    yield same_distribution(
        energies[width],
        _batched_energy(gaussian, K),
        f"energy distance to N(0, K), networks of width {width} and N(0, K)",
    )
    yield smaller(energies[width], energies[2], f"energy distance to N(0, K): width {width} against width 2")
    yield printed(
        at_most(wide[:, 0].var() / drawn[2][:, 0].var(), 0.5, f"Var f at width {width} over Var f at width 2"),
        "cam", "the limit holds in probability, by the law of large numbers",
    )  # fmt: skip
    grid = np.linspace(-4, 4, 121) * math.sqrt(K[0, 0])
    average = np.array([e.mean() for e in energies.values()])
    error = np.array([e.std() / math.sqrt(len(e)) for e in energies.values()])
    low = np.maximum(average - 2 * error, 1e-3 * average[0])  # a logarithmic axis has no 0
    shown = np.array(widths[:3], float)
    inside = np.abs(drawn[2][:, 0]) < grid[-1]
    yield figure.beside(
        f"Outputs of random networks become Gaussian: energy distance {average[0]:.2g} at width 2, "
        f"{max(average[-1], 0):.1g} at width {width}",
        figure.histogram(
            f"output at x, {hidden} hidden layers", x="f(x)",
            samples={"width 2": drawn[2][inside, 0], f"width {width}": wide[np.abs(wide[:, 0]) < grid[-1], 0]},
            lines={"N(0, K)": (grid, _density(grid, K[0, 0]))},
        ),
        figure.curves(
            "distance to the Gaussian law at two inputs", x="width m", y="energy distance", log="xy",
            lines={"∝ 1/m²": (shown, average[0] * (shown[0] / shown) ** 2)},
            points={"networks": (np.array(widths), average, low, average + 2 * error)},
        ),
    )  # fmt: skip


@claim(
    "finite-width-kurtosis",
    says=(
        "At finite width the output of a random two-layer network is not Gaussian, even for linear units: its kurtosis "
        "exceeds 3 by an amount proportional to 1/m, 6/m for linear and 15/m for ReLU units."
    ),
    formula=(r"\frac{E f^4}{(E f^2)^2} = 3 + \frac{3}{m} \left( \frac{E \varphi^4}{(E \varphi^2)^2} - 1 \right)"),
    sources=("sheet", "cam"),
    assumes=("Gaussian output weights", "no output bias", "one fixed input"),
    shows=("infinite_width.output_kurtosis",),
)
def finite_width_kurtosis(
    key,
    activation: Annotated[str, Choice("relu", "identity", "tanh", "absolute", "gelu")] = "relu",
    width: Annotated[int, Range(5, 40)] = 10,
    variance: Annotated[float, Range(0.2, 5.0, log=True)] = 1.0,
    drawn: Annotated[int, Range(50_000, 400_000, log=True)] = 100_000,
):
    """Widths m, 2m and 4m; `variance` is that of the hidden pre-activations."""
    widths = np.array([width, 2 * width, 4 * width])
    phi = networks.activation(activation)
    moments = [float(networks.gaussian_expectation(lambda z, p=p: phi(z) ** (2 * p), variance)) for p in (1, 2, 3, 4)]
    predicted = infinite_width.output_kurtosis(activation, widths, variance)
    x = np.array([[math.sqrt(variance)]])
    measured, errors, samples = [], [], {}
    for m, kurtosis, k in zip(widths, predicted, jax.random.split(key, 3), strict=True):
        f = infinite_width.draw_outputs(x, (int(m),), activation, networks=drawn, key=k)[:, 0] / math.sqrt(moments[0])
        spread = math.sqrt(105 * _fourth_moment_of_mean(moments, int(m)) / moments[0] ** 4 - kurtosis**2)
        yield mean(f**4, kurtosis, f"kurtosis at width {m}", deviation=spread)
        measured.append(float(np.mean(f**4)))
        errors.append(2 * spread / math.sqrt(drawn))
        samples[int(m)] = f
    yield mean(samples[width] ** 4, 3.0, f"kurtosis at width {width}, above a Gaussian's", side="at least")
    if activation in ("relu", "identity", "absolute"):
        excess = {"relu": 15, "identity": 6, "absolute": 6}[activation]
        yield close(predicted, 3 + excess / widths, f"exact kurtosis 3 + {excess}/m", rtol=1e-9)
    ranks = (np.arange(400) + 0.5) / 400
    from scipy.special import ndtri

    normal = ndtri(ranks)
    order = {f"width {m}": (normal, np.quantile(f, ranks)) for m, f in samples.items() if m != 2 * width}
    measured, errors = np.array(measured), np.array(errors)
    yield figure.beside(
        f"Kurtosis {measured[0]:.3f} at width {width} where the formula says {predicted[0]:.3f} and a Gaussian has 3",
        figure.curves(
            "quantiles of f(x)", x="normal quantile", y="quantile of f(x)/sd",
            lines={"Gaussian": (normal, normal)}, points=order,
        ),
        figure.curves(
            "excess kurtosis", x="1/m", y="kurtosis − 3",
            lines={"exact": (np.append(1 / widths, 0), np.append(predicted - 3, 0))},
            points={"networks": (1 / widths, measured - 3, measured - 3 - errors, measured - 3 + errors)},
        ),
    )  # fmt: skip


def _fourth_moment_of_mean(moments: list[float], m: int) -> float:
    """E S̄⁴ of the mean of m independent terms with raw moments E sᵖ, p = 1..4, through cumulants."""
    a, b, c, d = moments
    k1, k2, k3 = a, b - a**2, c - 3 * a * b + 2 * a**3
    k4 = d - 4 * a * c - 3 * b**2 + 12 * a**2 * b - 6 * a**4
    k2, k3, k4 = k2 / m, k3 / m**2, k4 / m**3
    return k4 + 4 * k3 * k1 + 3 * k2**2 + 6 * k2 * k1**2 + k1**4


def _batched_energy(outputs: np.ndarray, covariance: np.ndarray, batches: int = 40) -> np.ndarray:
    return np.array([infinite_width.energy_to_gaussian(b, covariance) for b in np.split(outputs, batches)])


def _density(grid: np.ndarray, variance: float) -> np.ndarray:
    return np.exp(-(grid**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def _normal(deviation: float):
    from scipy.special import ndtr

    return lambda z: ndtr(np.asarray(z) / deviation)
