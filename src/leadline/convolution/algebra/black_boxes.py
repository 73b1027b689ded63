"""Is this black box a convolution? Linear and shift-equivariant maps are; others are told why they are not."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline._checks import require_counts

Operator = Callable[[Any], Any]


class BlackBox(NamedTuple):
    """What was found out about an operator on arrays of one shape.

    `verdict` is "convolution", "convolution inside a border", "linear, not shift-equivariant", "shift-equivariant, not
    linear", "neither" or "not a map of this space", and `reason` says why in a sentence. Defects are relative:
    `linearity` ‖T(ax + by) - aTx - bTy‖/‖Tx‖ (T0 included), `equivariance` ‖T(Sx) - S(Tx)‖/‖Tx‖, the largest over
    shifts S by one; `prediction` is that of f * h against T on new signals. `kernel` is h = Tδ (index 0 is no shift,
    negative shifts come last), `border` the width of the band at the border outside which the shifts commute.
    """

    verdict: str
    reason: str
    linearity: float
    equivariance: float
    kernel: Float[np.ndarray, "..."] | None = None
    prediction: float | None = None
    border: int = 0


def identify_convolution(
    operator: Operator,
    shape: int | Sequence[int],
    *,
    key: PRNGKeyArray,
    tolerance: float = 1e-10,
    trials: int = 4,
    predictions: int = 20,
) -> BlackBox:
    """Tests whether Tf = f * h (circular) for an operator on real arrays of `shape`, and recovers h from an impulse.

    T is linear and commutes with all shifts if and only if it is the convolution with h = Tδ. Both properties are
    measured on random signals; if both hold, the kernel must predict T on new ones. A layer that pads with zeros is a
    convolution inside a border only, and is told so, with the kernel taken from an impulse in the middle. Single
    precision needs a `tolerance` of about 1e-4.

    >>> import jax
    >>> blur = lambda x: (np.roll(x, 1) + 2 * x + np.roll(x, -1)) / 4
    >>> found = identify_convolution(blur, 8, key=jax.random.key(0))
    >>> found.verdict, found.kernel.tolist()
    ('convolution', [0.5, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25])
    >>> identify_convolution(np.abs, 8, key=jax.random.key(0)).verdict
    'shift-equivariant, not linear'
    """
    from leadline.data import generator

    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    require_counts("identify_convolution", shape=shape, trials=trials, predictions=predictions)
    rng, axes = generator(key), tuple(range(len(shape)))

    def apply(x: np.ndarray) -> np.ndarray:
        return np.asarray(operator(x), float)

    probe = rng.normal(size=shape)
    first = apply(probe)
    if first.shape != shape:
        reason = f"it gives arrays of shape {first.shape} on arrays of shape {shape} (a stride or a crop?)"
        return BlackBox("not a map of this space", reason, np.nan, np.nan)
    if not np.isfinite(first).all():
        return BlackBox("not a map of this space", "it gives numbers that are not finite", np.nan, np.nan)
    if not np.array_equal(first, apply(probe)):
        return BlackBox("not a map of this space", "it gives another result when called again", np.nan, np.nan)
    linear, moved = [float(np.linalg.norm(apply(np.zeros(shape)))) / _size(first)], []
    apart = np.zeros(shape)
    for _ in range(trials):
        x, y, (a, b) = rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=2)
        tx, ty = apply(x), apply(y)
        linear.append(float(np.linalg.norm(apply(a * x + b * y) - a * tx - b * ty)) / _size(tx))
        for axis in axes:
            gap = np.abs(apply(np.roll(x, 1, axis)) - np.roll(tx, 1, axis)) / _size(tx)
            apart = np.maximum(apart, gap)
            moved.append(float(np.linalg.norm(gap)))
    linearity, equivariance = max(linear), max(moved)
    border = 0 if equivariance <= tolerance else _border(apart > tolerance)
    if linearity > tolerance:
        shifts = "it commutes with shifts" if equivariance <= tolerance else "shifts change it too"
        verdict = "shift-equivariant, not linear" if equivariance <= tolerance else "neither"
        return BlackBox(
            verdict, f"T(ax + by) is off by {linearity:.2g}; {shifts}", linearity, equivariance, border=border or 0
        )
    if border is None:
        reason = f"it is linear, but T(Sx) and S(Tx) differ by {equivariance:.2g}, also far from the border"
        return BlackBox("linear, not shift-equivariant", reason, linearity, equivariance)
    middle = tuple(n // 2 for n in shape) if border else (0,) * len(shape)
    impulse = np.zeros(shape)
    impulse[middle] = 1.0
    kernel = np.roll(apply(impulse), [-m for m in middle], axes)
    inside = tuple(slice(border, n - border) for n in shape)
    wrong = []
    for _ in range(predictions):
        x = rng.normal(size=shape)
        tx = apply(x)
        circular = np.fft.ifftn(np.fft.fftn(x) * np.fft.fftn(kernel)).real
        wrong.append(float(np.linalg.norm((circular - tx)[inside])) / _size(tx))
    verdict = "convolution inside a border" if border else "convolution"
    reason = (
        f"shifts fail within {border} of the border (padding?)" if border else "it is linear and commutes with shifts"
    )
    return BlackBox(verdict, reason, linearity, equivariance, kernel, max(wrong), border)


def _size(output: np.ndarray) -> float:
    return float(np.linalg.norm(output)) or 1.0


def _border(differs: np.ndarray) -> int | None:
    """The least band at all borders that holds every difference; None if that leaves less than half of an axis."""
    places = np.argwhere(differs)
    depth = np.minimum(places, np.array(differs.shape) - 1 - places).min(1)
    width = int(depth.max()) + 1
    return width if 4 * width <= min(differs.shape) else None
