"""The same warps by scipy.ndimage.affine_transform, image by image."""

import numpy as np

from ..harness.case import Inputs


def warps(inputs: Inputs):
    from scipy.ndimage import affine_transform

    images, degrees, zoom, shift = (inputs[n] for n in ("images", "degrees", "zoom", "shift"))
    centre = (np.array(images.shape[1:]) - 1) / 2

    def one(image, degrees, zoom, shift):
        angle = np.radians(degrees)
        back = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) / zoom
        return affine_transform(image, back, centre - back @ (centre + shift), order=1, mode="grid-constant")

    return lambda: np.stack([one(*rest) for rest in zip(images, degrees, zoom, shift, strict=True)])
