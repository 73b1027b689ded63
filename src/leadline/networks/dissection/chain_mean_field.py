"""Mean-field theory of a dense chain with the weights it has: sizes of values and gradients, and how they scatter."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from .. import gaussian_expectation
from .chain import Chain
from .layer_moments import LayerMoments, direction_concentration


class MomentPrediction(NamedTuple):
    """By layer: mean z² and the root mean square norm of the gradient, and the relative variances of their squares
    over independent draws of the weights at this width."""

    second: Float[np.ndarray, " layers"]
    gradient: Float[np.ndarray, " layers"]
    second_spread: Float[np.ndarray, " layers"]
    gradient_spread: Float[np.ndarray, " layers"]


def why_no_mean_field(chain: Chain | None, why: str = "") -> str:
    """Empty, or why a network has no mean-field prediction here."""
    if chain is None:
        return why or "the network is a chain"
    if not chain.dense:
        return "every layer is dense"
    kinds = [s.kind for s in chain if s.kind != "reshape"]
    expected = ["affine", "activation"] * len(kinds)
    if kinds != expected[: len(kinds)] or kinds[-1] != "affine" or any(s.layer is None for s in chain.affine):
        return "dense layers and activations alternate and a dense layer is the last"
    return ""


def predict_moments(
    chain: Chain, inputs: Float[Array | np.ndarray, "n ..."], measured: tuple[LayerMoments, ...]
) -> MomentPrediction:
    """q₁(x) = s₁² ‖x‖² + E b₁², q_{l+1}(x) = N_l s² E φ(√q_l(x) Z)² + E b², averaged over the inputs; gradients
    backwards from the measured ones at the output by N_l s_{l+1}² E φ'(√q_l Z)². s_l² is the mean square of W_l.

    For weights that are independent of the data and of each other the measured moments scatter about this with relative
    variance Σ_k (scatter of the squares between the units of layer k)/N_k: units are independent given the layer
    before. The scatter between units is the measured one; at the layer itself that of a Gaussian, 2 tr C²/(tr C)².

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from leadline.networks.dissection import dissect, measure_moments
    >>> apply, w, x = (lambda w, x: x @ w), jax.random.normal(jax.random.key(0), (50, 40)), jnp.ones((4, 50))
    >>> found = dissect(apply, w, x)
    >>> moments = measure_moments(found, w, x, jnp.zeros((4, 40)), lambda f, y: jnp.sum((f - y) ** 2, 1))
    >>> bool(abs(predict_moments(found.chain, x, moments).second[0] / (50 * jnp.mean(w**2)) - 1) < 1e-5)
    True
    """
    affine, activations = chain.affine, chain.activations
    x = np.asarray(inputs, np.float64).reshape(len(inputs), -1)
    squares = [float(np.mean(np.asarray(s.weight, np.float64) ** 2)) for s in affine]
    shifts = [0.0 if s.bias is None else float(np.mean(np.asarray(s.bias, np.float64) ** 2)) for s in affine]
    widths = [math.prod(s.out_shape) for s in affine]
    q = squares[0] * np.sum(x**2, axis=1) + shifts[0]
    rows, slopes, elasticities = [q], [], []
    for number, step in enumerate(activations):
        phi = step.function
        assert phi is not None  # every activation says which
        size = gaussian_expectation(lambda z, phi=phi: phi(z) ** 2, q)
        larger = gaussian_expectation(lambda z, phi=phi: phi(z) ** 2, 1.1 * q)
        slopes.append(gaussian_expectation(lambda z, phi=phi: phi.slope(z) ** 2, q))
        with np.errstate(divide="ignore", invalid="ignore"):
            growth = np.log(np.mean(larger) / np.mean(size)) / math.log(1.1)
        elasticities.append(float(growth) if np.isfinite(growth) else 1.0)
        q = widths[number] * squares[number + 1] * size + shifts[number + 1]
        rows.append(q)
    gradients = [measured[-1].row_gradient]
    for number in range(len(activations) - 1, -1, -1):
        gradients.append(gradients[-1] * widths[number] * squares[number + 1] * slopes[number])
    forward, backward = _spreads(x, elasticities, measured)
    return MomentPrediction(
        np.array([float(np.mean(row)) for row in rows]),
        np.sqrt([float(np.mean(g)) for g in gradients[::-1]]),
        forward,
        backward,
    )


def _spreads(x: np.ndarray, elasticities: list[float], measured: tuple[LayerMoments, ...]) -> tuple:
    """Relative variances of the mean squares of values and of gradients, layer by layer."""
    carried, forward, own = 0.0, [], 2 * direction_concentration(x)
    for number, moments in enumerate(measured):
        forward.append(own / len(moments.unit_second) + carried)
        if number + 1 < len(measured):
            carried = _scatter(moments.unit_output) + elasticities[number] ** 2 * carried
            own = 2 * (1.0 if moments.concentration is None else moments.concentration)
    backward = [0.0]
    for moments in measured[-2::-1]:
        backward.append(backward[-1] + _scatter(moments.unit_gradient))
    return np.array(forward), np.array(backward[::-1])


def _scatter(unit: np.ndarray | None) -> float:
    """The relative variance of the mean over units, from the variance between them."""
    if unit is None or len(unit) < 2 or not np.mean(unit) > 0:
        return 0.0
    return float(np.var(unit, ddof=1) / np.mean(unit) ** 2 / len(unit))
