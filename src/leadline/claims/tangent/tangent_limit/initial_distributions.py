"""How the initial distribution of a network chooses, in the limit of width, among the functions that fit the data."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, infinite_width, tangent
from leadline.evidence import Int, Real, at_least, claim, close, mean
from leadline.presentation import figure

_ANGLES = np.array([0.2, 1.1, 1.9, 2.8, 4.0])
_VALUES = np.array([1.0, -1.0, 0.5, -0.5, 1.0])
_GRID = np.linspace(0, 2 * math.pi, 61)[:-1]
_CHOICES = (("relu", 0.0), ("relu", 0.1), ("relu", 1.0), ("erf", 0.1), ("tanh", 0.1))
_PAIR = math.sqrt(3) * np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])


@claim(sources=("cam",), shows=("tangent.empirical_ntk",))
def limit_kernel_and_initialisation(
    key,
    hidden: Int(1, 3) = 1,
    gain: Real(1.0, 2.0) = 1.4142,
    width: Int(256, 1024, log=True) = 400,
    seeds: Int(10, 24) = 16,
):
    r"""Initialisation decides the limit kernel.

    The limit kernel, and so the interpolant that training finds, depends on the activation, the depth and the scales
    of weights and biases. Of the distribution of the weights after the first layer only the variance matters; the
    distribution of the first layer's weights matters in full.

    $$f_\infty(x) = \Theta(x, X)\, \Theta(X, X)^{-1} y, \qquad \Theta = \Theta[\varphi, L, \sigma_w, \sigma_b]$$

    Assumes: infinite width, or width at least 256 for the comparison of weight distributions; output averaged over
    initialisations.
    """
    angles = np.concatenate([_ANGLES, _GRID])
    x = math.sqrt(2) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    curves, rounding = {}, 0.0
    for activation, bias in _CHOICES:
        stack = infinite_width.dense_stack(hidden, activation, W_std=gain, b_std=bias)
        theta = np.asarray(stack.kernel_fn(x))
        wide = infinite_width.WideTraining(theta[:5, :5], _VALUES)
        name = f"{activation}, σ_b = {bias:g}"
        curves[name] = np.asarray(wide.at(theta[5:, :5]).mean())
        yield close(wide.mean(), _VALUES, f"{name}: values at the five points", atol=1e-9)
        slowest, fastest = np.asarray(wide.eigenvalues)[[0, -1]]
        rounding = max(rounding, np.finfo(float).eps * fastest / slowest)
    gaps = [math.sqrt(np.mean((a - b) ** 2)) for a, b in itertools.combinations(curves.values(), 2)]
    yield at_least(gaps, 10 * rounding, "root mean square gap between any two interpolants, against ten roundings")
    limit = np.asarray(infinite_width.dense_stack(2, "relu", W_std=math.sqrt(2)).kernel_fn(_PAIR))
    rng = data.generator(key)
    for weights in ("gaussian", "signs"):
        entries = [_tangent_kernel(rng, width, weights)[0, 1] for _ in range(seeds)]
        yield mean(entries, limit[0, 1], f"Θ(x, x') with later layers drawn as {weights}, width {width}")
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    units = np.maximum(signs[:, :2], 0)  # at the orthogonal inputs √3 e₁ and √3 e₂, weights over √3
    shallow = infinite_width.dense_stack(1, "relu", W_std=math.sqrt(2), first_W_std=1.0)
    gaussian = np.asarray(shallow.kernel_fn(math.sqrt(3) * np.eye(3), get="nngp"))[0, 1]
    yield close(2 * np.mean(units[:, 0] * units[:, 1]), 0.5, "K(√3 e₁, √3 e₂), first layer of signs: 1/2", atol=1e-14)
    yield close(gaussian, 1 / math.pi, "K(√3 e₁, √3 e₂), first layer Gaussian: 1/π", atol=1e-12)
    title = f"Five initial distributions, one data set: interpolants differ by {min(gaps):.2g} to {max(gaps):.2g} (rms)"
    lines = {name: (_GRID, curve) for name, curve in curves.items()}
    yield figure.curves(title, "angle", "limit of training", lines=lines, points={"data": (_ANGLES, _VALUES)})


def _tangent_kernel(rng, width: int, weights: str) -> np.ndarray:
    """The kernel of a network of two hidden ReLU layers; weights after the first layer are signs or Gaussian."""

    def draw(*shape):
        if weights == "gaussian":
            return jnp.asarray(rng.standard_normal(shape))
        return jnp.asarray(rng.integers(0, 2, shape, dtype=np.int8) * 2.0 - 1)

    params = jnp.asarray(rng.standard_normal((width, 3))), draw(width, width), draw(width)
    return np.asarray(tangent.empirical_ntk(_network, params, _PAIR))


def _network(params, x):
    first, second, last = params
    units = jax.nn.relu(x @ first.T * math.sqrt(2 / 3))
    scale = math.sqrt(2 / last.size)
    return jax.nn.relu(units @ second.T * scale) @ last * scale
