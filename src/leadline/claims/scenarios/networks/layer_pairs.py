"""Parameters for pairs of forward and backward steps, and the error of one gradient against another."""

import jax
import numpy as np


def pair_parameters(pair, width: int, rng: np.random.Generator):
    """Random parameters of a layer pair that keeps the width."""
    kind = pair.name.removeprefix("residual ")
    if kind == "affine":
        return {"weight": rng.normal(size=(width, width)) / width**0.5, "bias": rng.normal(size=width)}
    if kind == "layer norm":
        return {"gain": 1 + 0.1 * rng.normal(size=width), "shift": rng.normal(size=width)}
    return ()


def relative_error(a, b) -> float:
    """The largest relative error of all leaves, each against its own largest entry."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    arrays = ((np.asarray(u), np.asarray(v)) for u, v in pairs)
    return max(float(np.abs(u - v).max() / max(np.abs(v).max(), 1e-200)) for u, v in arrays)
