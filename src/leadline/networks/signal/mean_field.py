"""Mean-field theory of wide random networks: how lengths, slopes and correlations change from layer to layer.

Weights N(0, g²/n), biases N(0, s²): in the limit of infinite width the pre-activations of a layer are Gaussian with
variance q, and everything below is an integral over Gaussian variables. Poole et al. 2016, Schoenholz et al. 2017.
"""

from collections.abc import Callable
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..activations import activation

_LENGTHS = np.geomspace(1e-12, 1e12, 121)


@lru_cache
def _line_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the standard normal distribution: the trapezoidal rule in log|z|, on both sides of 0.

    Its error is exponentially small for functions that are smooth on either side of 0 at whatever scale, where
    Gauss-Hermite nodes, 0.14 apart, miss a step or a tanh(√q z) of large q.
    """
    t = np.arange(-39.0, np.log(12.0), 0.12)
    half, weight = np.exp(t), 0.12 * np.exp(t - np.exp(2 * t) / 2) / np.sqrt(2 * np.pi)
    return np.concatenate([-half[::-1], half]), np.concatenate([weight[::-1], weight])


def gaussian_expectation(f: Callable, variance: float | np.ndarray) -> Float[np.ndarray, "..."]:
    """E f(√q Z) for Z ~ N(0, 1) and every q in `variance`, to about 12 digits.

    f may have a kink or a jump at 0. An oscillating f (sin) is resolved up to q = 25 or so.

    >>> round(float(gaussian_expectation(lambda z: z**4, 2.0)), 6)
    12.0
    """
    q = np.asarray(variance, float)
    if np.any(q < 0):
        raise ValueError(f"gaussian_expectation got the variance {q.min():g}; variances are not negative.")
    z, w = _line_nodes()
    return np.asarray(np.asarray(f(jnp.asarray(np.sqrt(q)[..., None] * z)), float) @ w)


@lru_cache
def _squared(phi: str) -> Callable:
    return jax.jit(lambda z: activation(phi)(z) ** 2)


@lru_cache
def _squared_slope(phi: str) -> Callable:
    return jax.jit(lambda z: jax.jvp(activation(phi), (z,), (jnp.ones_like(z),))[1] ** 2)


def length_map(
    variance: float | np.ndarray, phi: str, gain: float, bias_scale: float = 0.0
) -> Float[np.ndarray, "..."]:
    """The next layer's pre-activation variance, q' = g² E φ(√q Z)² + s².

    >>> round(float(length_map(3.0, "relu", 2**0.5)), 6)
    3.0
    """
    return np.asarray(gain**2 * gaussian_expectation(_squared(phi), variance) + bias_scale**2)


def gradient_factor(variance: float | np.ndarray, phi: str, gain: float) -> Float[np.ndarray, "..."]:
    """χ = g² E φ'(√q Z)²: the factor by which the expected squared gradient grows per layer, backwards.

    It is also the slope of the correlation map at c = 1. Gradients vanish for χ < 1 and explode for χ > 1.

    >>> round(float(gradient_factor(5.0, "relu", 1.2)), 4)
    0.72
    """
    return np.asarray(gain**2 * gaussian_expectation(_squared_slope(phi), variance))


def length_fixed_point(phi: str, gain: float, bias_scale: float = 0.0, start: float = 1.0) -> float:
    """The fixed point q* of the length map next to `start` on the side to which the map moves it.

    0 and infinity are answers too: lengths that decay or grow without end. Where every q is fixed (ReLU at g = √2
    without bias), `start` itself. For maps that increase in q, as those of all usual activations, this is the limit
    of the iteration.

    >>> round(length_fixed_point("tanh", 1.5), 4), length_fixed_point("tanh", 0.8), length_fixed_point("relu", 2.0)
    (0.7934, 0.0, inf)
    """
    from scipy.optimize import brentq

    def excess(q):
        return length_map(q, phi, gain, bias_scale) / q - 1

    first = float(excess(start))
    if abs(first) < 1e-12:
        return float(start)
    higher = _LENGTHS > start  # noqa: SIM300
    grid = _LENGTHS[higher] if first > 0 else _LENGTHS[~higher][::-1]
    crossed = np.flatnonzero(excess(grid) * first <= 0)
    if not crossed.size:
        return np.inf if first > 0 else 0.0
    near = start if crossed[0] == 0 else grid[crossed[0] - 1]
    return float(brentq(excess, near, grid[crossed[0]], xtol=1e-15, rtol=1e-13))


def limiting_gradient_factor(phi: str, gain: float, bias_scale: float = 0.0, start: float = 1.0) -> float:
    """χ at the fixed point of the lengths: (1/2) log χ is the slope of the log gradient norm per layer, backwards.

    >>> round(float(0.5 * np.log(limiting_gradient_factor("tanh", 1.5))), 4)
    0.0652
    """
    q = length_fixed_point(phi, gain, bias_scale, start)
    # Lengths that vanish or grow without end approach 0 and infinity; at 0 itself a kink has another slope.
    return float(gradient_factor(np.clip(q, _LENGTHS[0], _LENGTHS[-1]), phi, gain))


def critical_gain(phi: str, bias_scale: float = 0.0, *, low: float = 0.05, high: float = 20.0) -> float:
    """The gain g at which χ crosses 1, where gradients neither vanish nor explode: the edge of chaos.

    1 for linear and tanh units without bias, √2 for ReLU. Where lengths jump from decay to growth (gelu), χ jumps too
    and the gain is that of the jump.

    >>> [round(critical_gain(phi), 4) for phi in ("identity", "tanh", "relu")]
    [1.0, 1.0, 1.4142]
    """
    from scipy.optimize import brentq

    def excess(log_gain: float) -> float:
        return limiting_gradient_factor(phi, float(np.exp(log_gain)), bias_scale) - 1

    ends = np.log(low), np.log(high)
    if excess(ends[0]) > 0 or excess(ends[1]) < 0:
        raise ValueError(f"χ of {phi} does not cross 1 for gains from {low:g} to {high:g}; widen low and high.")
    return float(np.exp(brentq(excess, *ends, xtol=1e-10)))


def correlation_map(
    correlation: float | np.ndarray, variance: float, phi: str, gain: float, bias_scale: float = 0.0
) -> Float[np.ndarray, "..."]:
    """The correlation of two inputs' pre-activations one layer on, at equal variances q:

    c' = (g² E φ(√q U) φ(√q V) + s²) / q', (U, V) standard normal with correlation c = cos α. In polar coordinates
    U = r cos θ, V = r cos(θ - α); the integral over θ is split where U or V changes its sign, so that activations
    with a kink at 0 are integrated as precisely as smooth ones.

    >>> round(float(correlation_map(0.0, 1.0, "relu", 2**0.5)), 6), round(1 / np.pi, 6)
    (0.31831, 0.31831)
    """
    c = np.asarray(correlation, float)
    if np.any(np.abs(c) > 1):
        raise ValueError("correlation_map got a correlation outside [-1, 1]; give cosines of angles.")
    f = activation(phi)
    t = np.arange(-20.0, np.log(12.0), 0.15)
    r, radial = np.exp(t), 0.15 * np.exp(2 * t - np.exp(2 * t) / 2)
    x, w = np.polynomial.legendre.leggauss(48)
    alpha = np.arccos(c)[..., None]
    fixed = np.zeros_like(alpha) - np.pi / 2
    cuts = np.concatenate([fixed, fixed + alpha, fixed + np.pi, fixed + alpha + np.pi, fixed + 2 * np.pi], axis=-1)
    half = np.diff(cuts, axis=-1)[..., None] / 2
    theta = (cuts[..., :-1, None] + half * (1 + x)).reshape(*c.shape, -1)
    angular = (half * w).reshape(*c.shape, -1) / (2 * np.pi)
    u, v = (np.sqrt(variance) * r * np.cos(angle)[..., None] for angle in (theta, theta - alpha))
    product = np.asarray(f(jnp.asarray(u)) * f(jnp.asarray(v)), float)
    mean = np.sum((product @ radial) * angular, axis=-1)
    return np.asarray((gain**2 * mean + bias_scale**2) / length_map(variance, phi, gain, bias_scale))
