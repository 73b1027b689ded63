"""Random rotations, zooms and shifts of a batch of images, against a loop of scipy.ndimage over them."""

import numpy as np

from ..harness.case import LEADLINE, Case, Inputs, Side, Work

IMAGES, SIDE = 512, 28


def image_batch() -> Inputs:
    """Images of noise, and an angle, a size and a shift for each."""
    rng = np.random.default_rng(0)
    return {
        "images": rng.uniform(size=(IMAGES, SIDE, SIDE)).astype(np.float32),
        "degrees": rng.uniform(-15, 15, IMAGES).astype(np.float32),
        "zoom": rng.uniform(0.9, 1.1, IMAGES).astype(np.float32),
        "shift": rng.uniform(-2, 2, (IMAGES, 2)).astype(np.float32),
    }


CASES = [
    Case(
        "affine warps of 512 images of 28 x 28, each by its own angle, size and shift",
        (
            Side(LEADLINE, "benchmarks.convolution.leadline_warps", "warps"),
            Side("scipy.ndimage (loop)", "benchmarks.convolution.scipy_warps", "warps"),
        ),
        image_batch,
        # Points near the corners of pixels: single precision of positions up to 28, and slopes up to 1.
        tolerance=2e-4,
        asked=5.0,
        count=IMAGES,
        # Every pixel is written once and read four times, with its two coordinates.
        work=Work(bytes=4.0 * IMAGES * SIDE**2 * 7),
        reason="four gathers of a pixel each, one element at a time; the rival interpolates in double precision and "
        "spends as much again on the checks of every call.",
    )
]
