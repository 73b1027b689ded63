"""Convolution: a training step against PyTorch (oneDNN), and warps of a batch of images against scipy.ndimage."""

import numpy as np

from ..harness.case import LEADLINE, Case, Inputs, Side, Work

RATE, BATCH, SAMPLES, EPOCHS = 1e-3, 128, 1280, 1
IMAGES, SIDE = 512, 28


def training_step() -> Inputs:
    """Random images, labels that mean nothing, He weights, and the rows of every batch, which `fit` draws alike."""
    import jax

    from leadline.data import epoch_batches

    rng = np.random.default_rng(0)
    shapes = {"weight0": (32, 1, 3, 3), "weight1": (64, 32, 3, 3), "weight2": (10, 64 * 49)}
    found = {name: rng.normal(size=s) * np.sqrt(2 / np.prod(s[1:])) for name, s in shapes.items()}
    found["x"] = rng.normal(size=(SAMPLES, 1, 28, 28))
    found = {name: value.astype(np.float32) for name, value in found.items()}
    found["y"] = rng.integers(0, 10, SAMPLES).astype(np.int32)
    rows = [epoch_batches(SAMPLES, BATCH, epoch, key=jax.random.key(1)) for epoch in range(EPOCHS)]
    return {**found, "rows": np.asarray(rows)}


_MULTIPLY_ADDS = 784 * 9 * 32 * 2 + 196 * 288 * 64 * 3 + 3136 * 10 * 3  # the first layer has no gradient of inputs
_STEPS = EPOCHS * SAMPLES // BATCH


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
        "Adam step, 32-64 convolutions on 28 x 28, batch 128",
        (
            Side(LEADLINE, "benchmarks.convolution.leadline_network", "fitted"),
            Side("PyTorch eager", "benchmarks.convolution.torch_network", "eager", "torch"),
            Side("PyTorch channels last", "benchmarks.convolution.torch_network", "channels_last", "torch"),
            Side("PyTorch compiled", "benchmarks.convolution.torch_network", "compiled", "torch"),
        ),
        training_step,
        {},
        tolerance=1e-3,
        asked=1.2,
        count=_STEPS,
        work=Work(2 * BATCH * _MULTIPLY_ADDS * _STEPS, 0.0),
        reason="not yet measured on a quiet machine.",
    ),
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
    ),
]
