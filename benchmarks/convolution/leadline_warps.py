"""Leadline's affine warps of a batch, in one compiled call."""

import jax
import jax.numpy as jnp

from leadline.convolution.augmentation import affine_warp

from ..harness.case import Inputs


def warps(inputs: Inputs):
    images, degrees, zoom, shift = (jnp.asarray(inputs[n]) for n in ("images", "degrees", "zoom", "shift"))

    def one(image, degrees, zoom, shift):
        return affine_warp(image, degrees=degrees, zoom=zoom, shift=(shift[0], shift[1]))

    warped = jax.jit(jax.vmap(one))
    return lambda: warped(images, degrees, zoom, shift)
