"""Convolution: a step of Adam on a network of 32 and 64 channels on images of 28 x 28, against PyTorch (oneDNN)."""

import numpy as np

from ..harness.case import LEADLINE, Case, Inputs, Side, Work

RATE, BATCH, SAMPLES, EPOCHS = 1e-3, 128, 1280, 1


def inputs() -> Inputs:
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

CASES = [
    Case(
        "Adam step, 32-64 convolutions on 28 x 28, batch 128",
        (
            Side(LEADLINE, "benchmarks.convolution.leadline_network", "fitted"),
            Side("PyTorch eager", "benchmarks.convolution.torch_network", "eager", "torch"),
            Side("PyTorch compiled", "benchmarks.convolution.torch_network", "compiled", "torch"),
        ),
        inputs,
        {},
        tolerance=1e-3,
        asked=1.2,
        count=_STEPS,
        work=Work(2 * BATCH * _MULTIPLY_ADDS * _STEPS, 0.0),
        reason="not yet measured on a quiet machine.",
    )
]
