"""Gradient descent in the space of a kernel: the functional gradient, and its flow in closed form."""

import math

import jax.numpy as jnp
import numpy as np

from leadline import data, infinite_width, kernels, learning, tangent
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, method, slope
from leadline.kernels import machines
from leadline.presentation import figure


def logistic_of_output(output, label):
    return learning.logistic(label * output)


LOSSES = {"squared": learning.squared, "logistic": logistic_of_output}


def spaced_points(rng, count, low=-1.0, high=1.0):
    """Points on a line, near a grid and at least half its spacing apart: kernels of moderate condition."""
    gap = (high - low) / count
    return (low + gap * (np.arange(count) + 0.5 + rng.uniform(-0.25, 0.25, count)))[:, None]


def kernel_called(name, scale):
    return {"gaussian": kernels.Gaussian, "laplace": kernels.Laplace, "matern32": kernels.Matern32}[name](scale)


@claim(sources=("cam",))
def rkhs_functional_gradient(
    key,
    kernel: OneOf("gaussian", "laplace", "ntk") = "ntk",
    loss: OneOf("squared", "logistic") = "logistic",
    samples: Int(2, 40) = 12,
    dim: Int(1, 10) = 3,
    directions: Int(5, 100) = 30,
):
    r"""Functional gradient in an RKHS.

    In the reproducing kernel Hilbert space of a kernel, the gradient of the empirical risk is the sum of the kernel
    functions at the data, weighted by the derivatives of the loss, because evaluation at a point has the kernel at
    that point as its gradient.

    $$\nabla_F \mathcal R(f) = \frac1n \sum_i \partial_1 \ell(f(x_i), y_i)\, k(x_i, \cdot)$$
    """
    rng = data.generator(key)
    if kernel == "ntk":
        network = infinite_width.dense_stack(2, "relu", W_std=2**0.5, b_std=0.3)
        k = lambda x, z: np.asarray(network.kernel_fn(jnp.asarray(x), jnp.asarray(z), get="ntk"))  # noqa: E731
    else:
        k = kernel_called(kernel, 1.0)
    x, z = rng.standard_normal((samples, dim)), rng.standard_normal((15, dim))
    y = rng.choice([-1.0, 1.0], samples)
    f = machines.Expansion(k, z, rng.standard_normal(15) / 4)  # any function of the space
    values = np.asarray(f(x))
    gradient = tangent.functional_gradient(k, x, values, y, LOSSES[loss])
    C, cross = rng.standard_normal((15, directions)), k(x, z)  # h_j = Σ C_ij k(z_i, .)
    h = cross @ C
    predicted = np.asarray(gradient.coefficients) @ cross @ C  # ⟨∇R, h⟩ of two expansions
    size = np.sqrt(np.sum(C * (k(z, z) @ C), axis=0)) * float(gradient.norm())

    def risk(values):
        return np.asarray(jnp.mean(LOSSES[loss](jnp.asarray(values), y[:, None]), axis=0))

    eps = 1e-4 / np.abs(h).max()
    measured = (risk(values[:, None] + eps * h) - risk(values[:, None] - eps * h)) / (2 * eps)
    yield close(measured / size, predicted / size, f"dR along {directions} functions h, against ⟨∇R, h⟩", atol=1e-6)
    yield at_most(np.abs(measured), size, "slope along h, against ‖∇R‖ ‖h‖", rtol=1e-6)
    steepest = np.asarray(gradient(x))[:, None]
    eps = 1e-4 / np.abs(steepest).max()
    rise = (risk(values[:, None] + eps * steepest) - risk(values[:, None] - eps * steepest)) / (2 * eps)
    yield close(rise, gradient.squared_norm(), "slope along ∇R itself, against ‖∇R‖²", rtol=1e-6)
    reach = np.array([predicted.min(), predicted.max()])
    title = f"The slope of the risk along {directions} functions is one inner product with {samples} kernels"
    lines, points = {"equal": (reach, reach)}, {"random functions": (predicted, measured)}
    yield figure.curves(title, "⟨∇R, h⟩", "slope of R along h", lines=lines, points=points)


@method(sources=("cam",))
def kernel_gradient_flow(
    key,
    samples: Int(3, 30) = 10,
    kernel: OneOf("gaussian", "laplace", "matern32") = "gaussian",
    scale: Real(0.05, 0.5) = 0.2,
    horizon: Real(1.0, 8.0) = 4.0,
):
    r"""Kernel gradient flow in closed form.

    Gradient flow of the mean squared risk in the space of a kernel has a closed form, on the data and off them.
    Euler's method follows it with an error of O(η) and is stable iff η < n/λₘₐₓ.

    $$r(t) = e^{-2Kt/n} r(0), \quad f(x,t) = f_0(x) - k_x^\top K^{+} (I - e^{-2Kt/n})\, r(0)$$

    Check: Points on a line with targets sin 3x + noise; the start is not 0.
    """
    from scipy.linalg import expm

    rng = data.generator(key)
    x, k = spaced_points(rng, samples), kernel_called(kernel, scale)
    y, z = np.sin(3 * x[:, 0]) + 0.3 * rng.standard_normal(samples), np.linspace(-1.2, 1.2, 121)[:, None]
    before = lambda p: 0.5 * np.cos(2 * p[:, 0])  # noqa: E731
    K, cross, r0 = k(x, x), k(z, x), before(x) - y
    flow = tangent.KernelFlow(k, x, y, start=before(x))
    limit = flow.largest_step
    t, size = horizon * limit, float(np.linalg.norm(r0))
    exact = np.asarray(flow.values(t)) - y
    yield close(exact, expm(-2 * K * t / samples) @ r0, "r(t), against the exponential of -2Kt/n", atol=1e-11 * size)

    def euler(step, count):
        """The coefficients after `count` steps, and the residual."""
        alpha, r = np.zeros(samples), r0
        for _ in range(count):
            alpha = alpha - step * 2 / samples * r
            r = before(x) + K @ alpha - y
        return alpha, r

    counts = (horizon * np.array([10, 30, 100, 300])).astype(int)
    runs = [euler(t / c, c) for c in counts]
    stepwise = tangent.KernelFlow(k, x, y, start=before(x), step_size=t / counts[0])
    left = np.asarray(stepwise.values(float(counts[0]))) - y
    yield close(runs[0][1], left, "residual after steps of Euler's rule, against (I - 2ηK/n)ᵏ r(0)", atol=1e-11 * size)
    off = np.asarray(flow.at(z, t, start=before(z)))
    errors = [np.linalg.norm(r - exact) for _, r in runs]
    away = [np.linalg.norm(before(z) + cross @ alpha - off) for alpha, _ in runs]
    yield slope(1 / counts, errors, 1.0, "error of Euler's rule on the data against η, slope", within=0.1)
    yield slope(1 / counts, away, 1.0, "error of Euler's rule off the data against η, slope", within=0.1)
    spectrum, vectors = np.linalg.eigh(K)
    first, calm, wild = (abs(vectors[:, -1] @ r) for r in (r0, *(euler(c * limit, 300)[1] for c in (0.99, 1.01))))
    yield at_most(calm, first, "fastest mode after 300 steps of 0.99 n/λ_max, against its start", strict=True)
    yield at_least(wild, first, "fastest mode after 300 steps of 1.01 n/λ_max, against its start", strict=True)
    times = {"t = 0": 0.0, "t = n/2λ_max": limit / 2, "t = 10 n/λ_max": 10 * limit, "t = ∞": math.inf}
    title = f"Fast modes first: rates spread over λ_max/λ_min = {spectrum[-1] / max(spectrum[0], 1e-300):.1e}"
    lines = {name: (z[:, 0], np.asarray(flow.at(z, t, start=before(z)))) for name, t in times.items()}
    yield figure.curves(title, "x", "f(x, t)", lines=lines, points={"data": (x[:, 0], y)})
