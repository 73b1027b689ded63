"""Log-polar images, in which a rotation about the centre is a circular shift and a change of scale a shift."""

import jax
import jax.numpy as jnp
from jax.scipy.ndimage import map_coordinates
from jaxtyping import Array, Float


def log_polar(
    images: Float[Array, "n h w"], angles: int = 32, radii: int = 16, *, least: float = 0.5
) -> Float[Array, "n radii angles"]:
    """Images sampled at radii spaced evenly in the logarithm, from `least` pixels to the border, and at even angles.

    Linear interpolation, zeros outside. A rotation of the image by 360k/angles degrees anticlockwise is a circular
    shift by k along the last axis, exactly for quarter turns and within the interpolation error otherwise.

    >>> image = jax.random.normal(jax.random.key(0), (1, 9, 9))
    >>> turned = log_polar(jnp.rot90(image, axes=(1, 2)), 8)
    >>> bool(jnp.allclose(turned, jnp.roll(log_polar(image, 8), 2, axis=2), atol=1e-4))
    True
    """
    if angles < 1 or radii < 2:
        raise ValueError(f"log_polar needs 1 angle or more and 2 radii or more; got {angles} and {radii}.")
    h, w = images.shape[1:]
    reach = (min(h, w) - 1) / 2
    if not 0 < least < reach:
        raise ValueError(f"The least radius lies between 0 and {reach} pixels for {h}x{w} images; got {least}.")
    radius = jnp.geomspace(least, reach, radii)[:, None]
    angle = 2 * jnp.pi * jnp.arange(angles) / angles
    at = jnp.stack([(h - 1) / 2 - radius * jnp.sin(angle), (w - 1) / 2 + radius * jnp.cos(angle)]).astype(images.dtype)
    return jax.vmap(lambda image: map_coordinates(image, list(at), order=1, mode="constant"))(images)
