"""Random changes of the values of pixels: brightness, contrast, thresholds, noise; inside their range."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from leadline.regularisation.noise.injected_noise import noisy_inputs

from .image_moves import Image, require_image
from .pipelines import require_scale

#: least and largest value of a pixel, or None where there are none
Bounds = tuple[float, float] | None


class Brightness(eqx.Module):
    """x + b with b uniform in ±by, cut to `bounds`.

    >>> Brightness(0.0)(jax.random.key(0), jnp.full((1, 1), 0.5)).tolist()
    [[0.5]]
    """

    by: float
    bounds: Bounds

    def __init__(self, by: float, *, bounds: Bounds = (0.0, 1.0)):
        require_scale("Brightness", by=by)
        self.by, self.bounds = by, bounds

    def __call__(self, key: PRNGKeyArray, image: Image) -> Image:
        require_image("Brightness", image)
        return _inside(image + jax.random.uniform(key, (), image.dtype, -1.0, 1.0) * self.by, self.bounds)


class Contrast(eqx.Module):
    """m + c (x − m) about the mean m of the image, with log c uniform in ±log(1 + by), cut to `bounds`.

    >>> Contrast(0.5)(jax.random.key(0), jnp.full((2, 2), 0.25)).tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """

    by: float
    bounds: Bounds

    def __init__(self, by: float, *, bounds: Bounds = (0.0, 1.0)):
        require_scale("Contrast", by=by)
        self.by, self.bounds = by, bounds

    def __call__(self, key: PRNGKeyArray, image: Image) -> Image:
        require_image("Contrast", image)
        factor = jnp.exp(
            jax.random.uniform(key, (), image.dtype, -1.0, 1.0) * jnp.log1p(jnp.asarray(self.by, image.dtype))
        )
        middle = jnp.mean(image)
        return _inside(middle + factor * (image - middle), self.bounds)


class Threshold(eqx.Module):
    """Pixels below a level become 0; every channel has a level of its own, uniform from `low` to `high`.

    >>> Threshold(0.5, 0.5)(jax.random.key(0), jnp.array([[0.25, 0.75]])).tolist()
    [[0.0, 0.75]]
    """

    low: float
    high: float

    def __init__(self, low: float, high: float):
        if not low <= high:
            raise ValueError(f"Threshold got levels from {low} to {high}; give the smaller one first.")
        self.low, self.high = low, high

    def __call__(self, key: PRNGKeyArray, image: Image) -> Image:
        require_image("Threshold", image)
        level = jax.random.uniform(key, (*image.shape[:-2], 1, 1), image.dtype, self.low, self.high)
        return jnp.where(image < level, jnp.zeros((), image.dtype), image)


class Noise(eqx.Module):
    """x + s ξ with ξ ~ N(0, I) (`regularisation.NoiseInjection` in training), cut to `bounds`; any array.

    Without bounds, least squares on so jittered inputs is ridge regression with α = n s²
    (`regularisation.input_noise_ridge`).

    >>> Noise(0.1)(jax.random.key(0), jnp.zeros((2, 2))).shape
    (2, 2)
    """

    scale: float | Float[Array, ""]
    bounds: Bounds

    def __init__(self, scale: float | Float[Array, ""], *, bounds: Bounds = None):
        require_scale("Noise", scale=scale)
        self.scale, self.bounds = scale, bounds

    def __call__(self, key: PRNGKeyArray, example: Array) -> Array:
        if not jnp.issubdtype(example.dtype, jnp.floating):
            raise ValueError(f"Noise got an array of type {example.dtype}; convert it to floating-point numbers first.")
        return _inside(noisy_inputs(example, self.scale, key=key), self.bounds)


def _inside(values: Array, bounds: Bounds) -> Array:
    return values if bounds is None else jnp.clip(values, *bounds)
