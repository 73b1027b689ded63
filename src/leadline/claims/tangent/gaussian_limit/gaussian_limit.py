"""Random networks as Gaussian processes: exact for one affine layer, in the limit of width for deep networks."""

import math

import jax
import numpy as np

from leadline import data, infinite_width, networks
from leadline.evidence import Int, OneOf, Real, claim, erratum
from leadline.evidence.relations import at_most, close, distributed_as, mean, same_distribution, smaller
from leadline.presentation import figure


@claim(sources=("sheet", "cam"))
def random_affine_layer_is_gp(
    key,
    dim: Int(1, 50) = 3,
    gain: Real(0.5, 3.0, log=True) = 1.4,
    bias: Real(0.0, 1.2) = 0.5,
    layers: Int(10_000, 50_000, log=True) = 20_000,
):
    r"""A random affine layer is Gaussian.

    The units of a random affine layer Wx + b with Gaussian weights are independent Gaussian processes over x with
    covariance $g^2\, x \cdot x'/d + s_b^2$, exactly, at every width.

    $$W_{ij} \sim N(0, g^2/d),\ b \sim N(0, s_b^2) \ \Rightarrow \ \mathrm{Cov}(z_i(x), z_j(x')) = \delta_{ij} \left(
    g^2\, x \cdot x'/d + s_b^2 \right)$$

    Assumes: weights and biases are independent and Gaussian.

    Check: Two units of `layers` independent layers are evaluated at two inputs of norm √d.
    """
    rng = data.generator(key)
    x = rng.standard_normal((2, dim))
    x *= math.sqrt(dim) / np.linalg.norm(x, axis=1, keepdims=True)
    weight = rng.standard_normal((layers, 2, dim)) * gain / math.sqrt(dim)
    z = weight @ x.T + bias * rng.standard_normal((layers, 2, 1))  # (layer, unit, input)
    K = gain**2 * x @ x.T / dim + bias**2
    for i, j in ((0, 0), (0, 1), (1, 1)):
        spread = math.sqrt(K[i, i] * K[j, j] + K[i, j] ** 2)  # of a product of two Gaussian variables
        what = f"covariance of one unit, inputs {i + 1}, {j + 1}"
        right = mean(z[:, 0, i] * z[:, 0, j], K[i, j], what, deviation=spread)
        yield right
    across = z[:, 0, 0] * z[:, 1, 1]
    yield mean(across, 0.0, "covariance of two units", deviation=math.sqrt(K[0, 0] * K[1, 1]))
    u = rng.standard_normal(2)
    what = "random combination of one unit's values, against the normal distribution"
    yield distributed_as(z[:, 0] @ u, _normal(math.sqrt(u @ K @ u)), what)
    standard = z[:, 0, 0] * math.sqrt(dim) / gain  # cam's weights: N(0, 1) entries, bias scaled alike
    ratio = bias * math.sqrt(dim) / gain
    deviation = math.sqrt(2) * (dim + ratio**2)
    wrong = mean(standard**2, ratio**2, "Var φ(x) for N(0, 1) weights, against τ_b²", deviation=deviation)
    yield erratum(wrong, of=right, by="cam", prints="φ(x) ~ N(0, τ_b²) (earlier: variance ‖x‖² + τ_b²)")
    grid = np.linspace(-4, 4, 121) * math.sqrt(K[0, 0])
    title = f"One unit over {layers} random layers is Gaussian with variance g²‖x‖²/d + s_b² = {K[0, 0]:.3g}"
    lines = {"N(0, g²‖x‖²/d + s_b²)": (grid, _density(grid, K[0, 0]))}
    if bias > 0.2:
        lines["N(0, s_b²)"] = (grid, _density(grid, bias**2))
    yield figure.histogram(title, "z(x)", samples={"drawn": z[:, 0, 0]}, lines=lines)


@claim(sources=("cam", "eth"), shows=("infinite_width.energy_to_gaussian",))
def nngp_limit(
    key,
    activation: OneOf("relu", "tanh", "gelu", "absolute") = "relu",
    hidden: Int(1, 3) = 2,
    width: Int(128, 512, log=True) = 128,
    bias: Real(0.0, 1.0) = 0.5,
    gain: Real(0.7, 1.5) = 1.0,
):
    r"""Wide random networks are Gaussian processes.

    As all hidden layers grow wider, the outputs of a random network at any fixed inputs converge in distribution to a
    centred Gaussian vector whose covariance is the NNGP kernel (a central limit theorem).

    $$(f(x_1), \dots, f(x_n)) \to N(0, K^L), \qquad K^{l+1} = \sigma_w^2\, E[\varphi(u)\varphi(v)] + \sigma_b^2, \ (u,
    v) \sim N(0, K^l)$$

    Assumes: φ is Lipschitz; the inputs are fixed while the widths grow.

    Check: 40 batches of 250 networks of each width are evaluated at two inputs in ℝ³.
    """
    x = math.sqrt(3) * np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    stack = infinite_width.dense_stack(hidden, activation, W_std=gain, b_std=bias)
    K = np.asarray(stack.kernel_fn(x, get="nngp"))
    widths = (2, 6, 18, width)
    keys = jax.random.split(key, 5)
    drawn, scales = {}, {"W_std": gain, "b_std": bias}
    for m, k in zip(widths, keys[:4], strict=True):
        drawn[m] = infinite_width.draw_outputs(x, (m,) * hidden, activation, networks=10_000, key=k, **scales)
    energies = {m: _batched_energy(f, K) for m, f in drawn.items()}
    wide = drawn[width]
    for i, j in ((0, 0), (0, 1), (1, 1)):
        yield mean(wide[:, i] * wide[:, j], K[i, j], f"covariance at inputs {i + 1}, {j + 1} at width {width}")
    gaussian = data.generator(keys[4]).standard_normal((10_000, 2)) @ np.linalg.cholesky(K).T
    what = f"energy distance to N(0, K), networks of width {width} and N(0, K)"
    alike = same_distribution(energies[width], _batched_energy(gaussian, K), what)
    yield alike
    yield smaller(energies[width], energies[2], f"energy distance to N(0, K): width {width} against width 2")
    wrong = at_most(wide[:, 0].var() / drawn[2][:, 0].var(), 0.5, f"Var f at width {width} over Var f at width 2")
    prints = "for deep nets, the limit in probability, by the law of large numbers"
    yield erratum(wrong, of=alike, by="cam", prints=prints)
    grid = np.linspace(-4, 4, 121) * math.sqrt(K[0, 0])
    average = np.array([e.mean() for e in energies.values()])
    error = np.array([e.std() / math.sqrt(len(e)) for e in energies.values()])
    low = np.maximum(average - 2 * error, 1e-3 * average[0])  # a logarithmic axis has no 0
    few = np.array(widths[:3], float)
    samples = {f"width {m}": f[np.abs(f[:, 0]) < grid[-1], 0] for m, f in drawn.items() if m in (2, width)}
    lines = {"N(0, K)": (grid, _density(grid, K[0, 0]))}
    left = figure.histogram(f"output at x, {hidden} hidden layers", "f(x)", samples=samples, lines=lines)
    lines = {"∝ 1/m²": (few, average[0] * (few[0] / few) ** 2)}
    points = {"networks": (widths, average, low, average + 2 * error)}
    title = "distance to the Gaussian at two inputs"
    right = figure.curves(title, "width m", "energy distance", log="xy", lines=lines, points=points)
    title = f"Energy distance to the Gaussian: {average[0]:.2g} at width 2, {max(average[-1], 0):.1g} at width {width}"
    yield figure.beside(title, left, right)


@claim(sources=("sheet", "cam"))
def finite_width_kurtosis(
    key,
    activation: OneOf("relu", "identity", "tanh", "absolute", "gelu") = "relu",
    width: Int(5, 40) = 10,
    variance: Real(0.2, 5.0, log=True) = 1.0,
    drawn: Int(50_000, 400_000, log=True) = 100_000,
):
    r"""Excess kurtosis at finite width.

    At finite width m the output of a random two-layer network is not Gaussian, even for linear units: its kurtosis
    exceeds 3 by an amount proportional to 1/m, namely 6/m for linear and 15/m for ReLU units.

    $$\frac{E f^4}{(E f^2)^2} = 3 + \frac{3}{m} \left( \frac{E \varphi^4}{(E \varphi^2)^2} - 1 \right)$$

    Assumes: Gaussian output weights; no output bias; one fixed input.

    Check: Widths m, 2m and 4m are compared; the parameter `variance` is that of the hidden pre-activations.
    """
    widths = np.array([width, 2 * width, 4 * width])
    phi = networks.activation(activation)
    moments = [float(networks.gaussian_expectation(lambda z, p=p: phi(z) ** (2 * p), variance)) for p in (1, 2, 3, 4)]
    predicted = infinite_width.output_kurtosis(activation, widths, variance)
    x = np.array([[math.sqrt(variance)]])
    errors, samples = [], {}
    for m, kurtosis, k in zip(widths, predicted, jax.random.split(key, 3), strict=True):
        f = infinite_width.draw_outputs(x, (int(m),), activation, networks=drawn, key=k)[:, 0] / math.sqrt(moments[0])
        spread = math.sqrt(105 * _fourth_moment_of_mean(moments, int(m)) / moments[0] ** 4 - kurtosis**2)
        yield mean(f**4, kurtosis, f"kurtosis at width {m}", deviation=spread)
        errors.append(2 * spread / math.sqrt(drawn))
        samples[int(m)] = f
    yield mean(samples[width] ** 4, 3.0, f"kurtosis at width {width}, above a Gaussian's", side="at least")
    if activation in ("relu", "identity", "absolute"):
        excess = {"relu": 15, "identity": 6, "absolute": 6}[activation]
        yield close(predicted, 3 + excess / widths, f"exact kurtosis 3 + {excess}/m", rtol=1e-9)
    from scipy.special import ndtri

    ranks = (np.arange(400) + 0.5) / 400
    normal = ndtri(ranks)
    excess = np.array([np.mean(f**4) - 3 for f in samples.values()])
    points = {f"width {m}": (normal, np.quantile(f, ranks)) for m, f in samples.items() if m != 2 * width}
    lines, axes = {"Gaussian": (normal, normal)}, ("normal quantile", "quantile of f(x)/sd")
    left = figure.curves("quantiles of f(x)", *axes, lines=lines, points=points)
    lines = {"exact": (np.append(1 / widths, 0), np.append(predicted - 3, 0))}
    points = {"networks": (1 / widths, excess, excess - errors, excess + errors)}
    right = figure.curves("excess kurtosis", "1/m", "kurtosis − 3", lines=lines, points=points)
    title = f"Kurtosis {excess[0] + 3:.3f} at width {width}: the formula says {predicted[0]:.3f}, a Gaussian has 3"
    yield figure.beside(title, left, right)


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
