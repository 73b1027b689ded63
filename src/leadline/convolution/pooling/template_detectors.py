"""Detectors that look for a template everywhere: the largest correlation with it, against a threshold."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

Images = Float[Array | np.ndarray, "n height width"]


class TemplateDetector(eqx.Module):
    """f(x) = 1{max_ij (x ⋆ w)_ij ≥ ε}: is the template w anywhere in the image?

    The correlation map moves with the image and its maximum does not, so that the decision is the same wherever the
    object lies inside the image. `normalised` divides by the norms of window and template, both less their means:
    values in [-1, 1] that brightness and contrast do not change (Lewis 1995).

    >>> cross = jnp.array([[0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    >>> image = jnp.zeros((1, 6, 6)).at[0, 2:5, 1:4].set(cross)
    >>> detector = TemplateDetector(cross, 5.0)
    >>> detector(image).tolist(), detector.peak(image).tolist()
    ([True], [[2, 1]])
    """

    template: Float[Array, "h w"]
    threshold: float
    normalised: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        if jnp.ndim(self.template) != 2:
            raise ValueError(f"The template has shape {jnp.shape(self.template)}; give (height, width).")
        if self.normalised and np.ptp(np.asarray(self.template)) == 0:
            raise ValueError("The template is constant, so that it has no normalised correlation; give another.")

    def response(self, images: Images) -> Float[Array, "n rows columns"]:
        """(x ⋆ w)_ij at every place where the template lies inside the image."""
        template = jnp.asarray(self.template)
        images = jnp.asarray(images, template.dtype)
        if min(a - b for a, b in zip(images.shape[1:], template.shape, strict=True)) < 0:
            raise ValueError(f"A template of {template.shape} does not fit images of {images.shape[1:]}; give larger.")
        if not self.normalised:
            return _slide(images, template)
        centred = template - template.mean()
        # the variance of a window does not see a constant, and is least hurt by rounding without one
        images = images - images.mean((1, 2), keepdims=True)
        ones = jnp.ones_like(template)
        energy = _slide(images**2, ones) - _slide(images, ones) ** 2 / template.size
        floor = 1e3 * jnp.finfo(template.dtype).eps * jnp.max(images**2, (1, 2), keepdims=True) * template.size
        norm = jnp.sqrt(jnp.maximum(energy, 0.0)) * jnp.linalg.norm(centred)
        return jnp.where(energy > floor, _slide(images, centred) / jnp.where(energy > floor, norm, 1.0), 0.0)

    def score(self, images: Images) -> Float[Array, " n"]:
        """The largest response of each image."""
        return self.response(images).max((1, 2))

    def peak(self, images: Images) -> Int[Array, "n 2"]:
        """Row and column of the template's upper left corner at the largest response."""
        response = self.response(images)
        return jnp.stack(jnp.unravel_index(response.reshape(len(response), -1).argmax(1), response.shape[1:]), 1)

    def __call__(self, images: Images) -> Bool[Array, " n"]:
        return self.score(images) >= self.threshold


def _slide(images: Array, template: Array) -> Array:
    return jax.lax.conv_general_dilated(images[:, None], template[None, None], (1, 1), "VALID")[:, 0]
