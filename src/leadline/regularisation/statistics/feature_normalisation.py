"""Standardised features, their gradient, and the moments that ReLU and dropout make of them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from leadline._checks import require

Axes = int | tuple[int, ...]
Number = float | Float[Array, "..."] | Float[np.ndarray, "..."]


def normalise_features(h: Float[Array, "..."], axes: Axes = 0, *, epsilon: float = 1e-5) -> Float[Array, "..."]:
    """ĥ = (h − μ)/√(σ² + ε), the mean μ and the biased variance σ² taken over `axes`.

    Over the rows it is batch normalisation, over the features of a row layer normalisation, over rows and positions
    that of a convolution (Ioffe and Szegedy 2015; Ba, Kiros and Hinton 2016); what has one element alone becomes 0.
    The variance of the result is σ²/(σ² + ε). With ε = 0 features that do not vary are refused.

    >>> normalise_features(jnp.array([[1.0, 0.0], [3.0, 8.0]]), epsilon=0.0).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """
    centred, scale = _centred("normalise_features", h, axes, epsilon)
    return centred * scale


def normalise_features_gradient(
    h: Float[Array, "..."], dy: Float[Array, "..."], axes: Axes = 0, *, epsilon: float = 1e-5
) -> Float[Array, "..."]:
    """∂l/∂h = (dy − mean(dy) − ĥ mean(dy ĥ))/√(σ² + ε), from dy = ∂l/∂ĥ, the means over `axes`.

    The two means are what flows through μ and σ² (Ioffe and Szegedy 2015): dy loses its part along 1 and along ĥ. For
    the output γĥ + β of a layer put γ ∂l/∂output in place of dy.

    >>> h, dy = jnp.array([[0.0], [1.0], [5.0]]), jnp.array([[1.0], [0.0], [0.0]])
    >>> by_hand = normalise_features_gradient(h, dy)
    >>> by_jax = jax.vjp(normalise_features, h)[1](dy)[0]
    >>> bool(jnp.allclose(by_hand, by_jax, atol=1e-6))
    True
    """
    require("normalise_features_gradient", dy=dy)
    if h.shape != dy.shape:
        raise ValueError(
            f"normalise_features_gradient got h of shape {h.shape} and dy of shape {dy.shape}; give them alike."
        )
    centred, scale = _centred("normalise_features_gradient", h, axes, epsilon)
    hhat = centred * scale
    return scale * (dy - jnp.mean(dy, axes, keepdims=True) - hhat * jnp.mean(dy * hhat, axes, keepdims=True))


def _centred(function: str, h: Array, axes: Axes, epsilon: float) -> tuple[Array, Array]:
    """h − μ and 1/√(σ² + ε); ValueError where that is no number."""
    require(function, h=h)
    centred = h - jnp.mean(h, axes, keepdims=True)
    variance = jnp.mean(centred**2, axes, keepdims=True)
    if not isinstance(variance, Tracer) and not bool(jnp.all(variance + epsilon > 0)):
        raise ValueError(
            f"{function} got epsilon = {epsilon} and features whose variance is {float(jnp.min(variance)):g}, which "
            "cannot be divided by; give an epsilon above 0, or features that vary."
        )
    return centred, jax.lax.rsqrt(variance + epsilon)


def rectified_moments(shift: Number = 0.0, scale: Number = 1.0) -> tuple[Number, Number]:
    """Mean and variance of ReLU(a z + b) for a standard normal z, shift b and scale a > 0.

    With t = b/a: mean = a(φ(t) + tΦ(t)), second moment a²((1 + t²)Φ(t) + tφ(t)). At b = 0: a/√(2π), a²(½ − 1/(2π)).

    >>> [round(float(v), 5) for v in rectified_moments()]
    [0.39894, 0.34085]
    """
    if not isinstance(scale, Tracer) and not np.all(np.asarray(scale) > 0):
        raise ValueError(f"rectified_moments got scale = {np.min(np.asarray(scale)):g}; give a number above 0.")
    t = shift / scale
    density, below = jax.scipy.stats.norm.pdf(t), jax.scipy.stats.norm.cdf(t)
    mean = density + t * below
    second = (1 + t**2) * below + t * density
    return scale * mean, scale**2 * (second - mean**2)


def dropout_variance(mean: Number, variance: Number, drop: Number) -> Number:
    """The variance of inverted dropout's output m x/(1 − p) while it is on: (σ² + μ²)/(1 − p) − μ².

    Off, the variance is σ² again, while the buffers of a batch normalisation behind it have learnt the larger one (Li
    et al. 2019, variance shift).

    >>> float(dropout_variance(0.0, 1.0, 0.5)), round(float(dropout_variance(*rectified_moments(), 0.5)), 3)
    (2.0, 0.841)
    """
    if not isinstance(drop, Tracer) and not np.all((np.asarray(drop) >= 0) & (np.asarray(drop) < 1)):
        raise ValueError(f"dropout_variance got drop = {drop}; give a probability from 0 to below 1.")
    return (variance + mean**2) / (1 - drop) - mean**2
