"""How much of a filter a Gabor filter explains: the best one over place, wavelength, direction and window."""

from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import least_squares

from leadline._checks import require

_CELLS = 2**12  # of the grid at a time, so that it needs little memory


class GaborFit(NamedTuple):
    """The share of each filter's variance that the best Gabor filter explains, and what that filter is.

    A row of `parameters` is (column and row of the centre from the middle, wavelength, orientation, width, aspect).
    """

    explained: Float[np.ndarray, " n"]
    fitted: Float[np.ndarray, "n s s"]
    parameters: Float[np.ndarray, "n 6"]


def fit_gabor(filters: Float[Array | np.ndarray, "n s _"]) -> GaborFit:
    """The largest R² of c + α exp(-(a² + γ² b²)/(2σ²)) cos(2π a/λ + ψ) to each filter, least squares.

    Amplitude α, phase ψ and offset c are linear, (cos, sin, 1), and solved for. Centre (within a quarter of the side),
    wavelength λ (2.5 pixels to twice the side), orientation, width σ (0.8 pixels to half the side) and aspect γ (½ to
    1) come from a grid, and from its best cell by least squares with the linear ones solved for at every step (variable
    projection). (a, b) are as in `gabor_filter`.

    >>> from leadline.kernels.features import gabor_filter
    >>> fit = fit_gabor(gabor_filter(7, 5.3, 0.7, width=1.9, phase=1.0)[None])
    >>> bool(fit.explained[0] > 0.9999), fit.parameters[0, 2:4].round(2).tolist()
    (True, [5.3, 0.7])
    """
    filters = np.asarray(filters, float)
    require("fit_gabor", axes=3, filters=filters)
    if filters.shape[1] != filters.shape[2] or filters.shape[1] < 3:
        raise ValueError(f"fit_gabor got filters of shape {filters.shape}; give (n, s, s) with a side of 3 or more.")
    n, size, _ = filters.shape
    rows = filters.reshape(n, -1) - filters.reshape(n, -1).mean(1, keepdims=True)
    norms = np.linalg.norm(rows, axis=1)
    if not (norms > 0).all():
        raise ValueError("fit_gabor got a constant filter, which has no variance to explain; leave it out.")
    rows /= norms[:, None]
    bounds = _bounds(size)
    best, cells = np.full(n, -1.0), np.zeros((n, 6))
    grid = _grid(size, bounds)
    for part in np.array_split(grid, -(-len(grid) // _CELLS)):
        explained = ((_waves(part, size) @ rows.T) ** 2).sum(1)  # (cells, n)
        first = explained.argmax(0)
        better = explained[first, np.arange(n)] > best
        best = np.where(better, explained[first, np.arange(n)], best)
        cells[better] = part[first[better]]
    ends = np.array([_refined(cell, row, bounds, size) for cell, row in zip(cells, rows, strict=True)])
    waves = _waves(ends, size)
    amplitudes = np.einsum("nkp,np->nk", waves, rows)
    fitted = np.einsum("nk,nkp->np", amplitudes, waves) * norms[:, None]
    means = filters.mean((1, 2), keepdims=True)
    return GaborFit((amplitudes**2).sum(1), fitted.reshape(filters.shape) + means, ends)


def _bounds(size: int) -> np.ndarray:
    """Of centre (two), wavelength, orientation, width and aspect."""
    reach = size / 4
    return np.array([(-reach, reach), (-reach, reach), (2.5, 2 * size), (-np.pi, 2 * np.pi), (0.8, size / 2), (0.5, 1)])


def _grid(size: int, bounds: np.ndarray) -> np.ndarray:
    low, high = bounds.T
    places = np.linspace(low[0], high[0], 5)
    waves, widths = np.geomspace(low[2], high[2], 7), np.geomspace(low[4], high[4], 4)
    return np.array(list(product(places, places, waves, np.arange(12) * np.pi / 12, widths, (0.5, 1.0))))


def _waves(cells: np.ndarray, size: int) -> np.ndarray:
    """An orthonormal basis (cells, 2, size²) of the cosine and sine under each window, means removed."""
    x, y, wavelength, angle, width, aspect = (column[:, None, None] for column in cells.T)
    v, u = np.mgrid[:size, :size] - (size - 1) / 2
    u, v = u - x, v - y
    a, b = u * np.cos(angle) + v * np.sin(angle), v * np.cos(angle) - u * np.sin(angle)
    wave = np.exp(-(a**2 + aspect**2 * b**2) / (2 * width**2) + 2j * np.pi * a / wavelength)
    wave = wave - wave.mean((1, 2), keepdims=True)
    pair = np.stack([wave.real, wave.imag], axis=1).reshape(len(cells), 2, -1)
    first = pair[:, 0] / np.linalg.norm(pair[:, 0], axis=1, keepdims=True)
    second = pair[:, 1] - (pair[:, 1] * first).sum(1, keepdims=True) * first
    return np.stack([first, second / np.linalg.norm(second, axis=1, keepdims=True)], axis=1)


def _refined(cell: np.ndarray, row: np.ndarray, bounds: np.ndarray, size: int) -> np.ndarray:
    """From a cell of the grid down the residual ‖r - P r‖², P the projection on the waves (Golub and Pereyra 1973)."""

    def residual(cell: np.ndarray) -> np.ndarray:
        (waves,) = _waves(cell[None], size)
        return row - (waves @ row) @ waves

    return least_squares(residual, cell, bounds=bounds.T, x_scale=np.ptp(bounds, axis=1)).x
