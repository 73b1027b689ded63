"""Singular values of convolutional layers from their kernels: exact where the layer wraps, bounded where it pads."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Complex, Num, Real

from leadline._arrays import namespace
from leadline._checks import require_counts, require_numbers

Kernel = Num[Array | np.ndarray, "out in *taps"]

_POINTS = 4096  # of the first grid over frequencies


def symbol(
    kernel: Kernel, frequencies: Real[Array | np.ndarray, "points axes"]
) -> Complex[Array | np.ndarray, "points out in"]:
    """k̂(ω) = Σ_t k[:, :, t] exp(-2πi ω·t), one matrix of out × in channels at each frequency ω (cycles a position).

    >>> symbol(np.array([[[1.0, 1.0]]]), np.array([[0.0], [0.5]])).real.ravel().round(12).tolist()
    [2.0, 0.0]
    """
    xp, taps = namespace(kernel, frequencies), np.shape(kernel)[2:]
    if np.ndim(frequencies) != 2 or np.shape(frequencies)[1] != len(taps):
        raise ValueError(f"symbol got frequencies of shape {np.shape(frequencies)}; give (points, {len(taps)}).")
    places = np.indices(taps).reshape(len(taps), -1)
    waves = xp.exp(-2j * np.pi * (frequencies @ places))  # (points, taps)
    return xp.einsum("pt,oit->poi", waves, kernel.reshape(*kernel.shape[:2], -1))


def layer_singular_values(
    kernel: Kernel, sides: Sequence[int], *, stride: int = 1
) -> Real[Array | np.ndarray, "frequencies values"]:
    """All singular values of a circular layer on inputs with these `sides`, at each frequency largest first.

    The DFT makes the layer block diagonal: one channel has the values |k̂(ω)|, several have those of the matrices k̂(ω)
    (Sedghi, Gupta & Long 2019). A stride s adds up the sᵈ frequencies that it cannot tell apart: the values are those
    of s^(-d/2) [k̂(ω₁), k̂(ω₂), …] side by side. With JAX arrays it can be differentiated.

    >>> layer_singular_values(np.array([[[1.0, -1.0]]]), (4,)).ravel().round(3).tolist()
    [0.0, 1.414, 2.0, 1.414]
    """
    xp, taps, sides = namespace(kernel), np.shape(kernel)[2:], tuple(sides)
    _check("layer_singular_values", kernel)
    require_counts("layer_singular_values", stride=stride, sides=sides)
    if len(taps) != len(sides) or any(n % stride for n in sides):
        raise ValueError(
            f"layer_singular_values got sides {sides} for a kernel of {len(taps)} axes and stride {stride}; "
            "give as many sides, each a multiple of the stride."
        )
    if any(k > n for k, n in zip(taps, sides, strict=True)):  # taps beyond the side wrap: sampled all the same
        grid = np.stack(np.meshgrid(*(np.arange(n) / n for n in sides), indexing="ij"), -1)
        blocks = xp.moveaxis(symbol(kernel, grid.reshape(-1, len(sides))), 0, -1).reshape(*kernel.shape[:2], *sides)
    else:
        blocks = xp.fft.fftn(kernel, sides, axes=tuple(range(2, kernel.ndim)))
    split = [part for n in sides for part in (stride, n // stride)]
    blocks = blocks.reshape(*kernel.shape[:2], *split)
    coarse, folded = range(3, blocks.ndim, 2), range(2, blocks.ndim, 2)
    blocks = blocks.transpose(*coarse, 0, 1, *folded)  # (coarse frequencies, out, in, folded frequencies)
    blocks = blocks.reshape(-1, kernel.shape[0], kernel.shape[1] * stride ** len(sides))
    return xp.linalg.svd(blocks, compute_uv=False) / stride ** (len(sides) / 2)


class SymbolNorm(NamedTuple):
    """sup over all frequencies of ‖k̂(ω)‖₂, between `lower`, which is attained at `frequency`, and `upper`."""

    lower: float
    upper: float
    frequency: Real[np.ndarray, " axes"]


def layer_norm_bound(kernel: Kernel) -> SymbolNorm:
    """The ℓ₂ norm that a stride-1 layer with this kernel cannot exceed, for inputs of any size, zero-padded or wrapped.

    A zero-padded layer is a part of the infinite one, whose norm is sup_ω ‖k̂(ω)‖₂. On a grid of M frequencies an axis,
    max ≤ sup ≤ max / Π cos(π(k - 1)/(2M)): an exponential sum that stretches over k taps falls from its largest value
    no faster than a cosine (Ehlich & Zeller 1964). `lower` is the grid's maximum, climbed to the top near by.

    >>> bound = layer_norm_bound(np.ones((1, 1, 3, 3)) / 9)
    >>> round(bound.lower, 12), bool(bound.upper < 1.003)
    (1.0, True)
    """
    from scipy.optimize import minimize

    _check("layer_norm_bound", kernel)
    kernel = np.asarray(kernel, float)
    taps = kernel.shape[2:]
    points = max(round(_POINTS ** (1 / len(taps))), 8 * max(taps))
    sides = tuple(points if k > 1 else 1 for k in taps)
    values = layer_singular_values(kernel, sides)[:, 0]
    best = int(np.argmax(values))
    spread = prod(np.cos(np.pi * (k - 1) / (2 * n)) for k, n in zip(taps, sides, strict=True))
    start = np.array(np.unravel_index(best, sides)) / sides

    def height(place: np.ndarray) -> float:
        return -float(np.linalg.norm(symbol(kernel, place[None])[0], 2))

    climbed = minimize(height, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15})
    lower = max(float(values[best]), -float(climbed.fun))
    where = climbed.x if -climbed.fun > values[best] else start
    return SymbolNorm(lower, max(float(values[best]) / spread, lower), where % 1.0)


def _check(function: str, kernel: Kernel) -> None:
    if np.ndim(kernel) < 3 or 0 in np.shape(kernel):
        raise ValueError(f"{function} got a kernel of shape {np.shape(kernel)}; give (out, in, *taps).")
    require_numbers(function, kernel=kernel)
