"""SGD on a one-dimensional quadratic with additive noise, exactly: second moments of the iterate and of the mean.

w⁺ = w − ηₜ(h w + ξ), E ξ = 0, E ξ² = σ², with w* = 0. All moments obey x⁺ = aₜ x + cₜ, which is solved by blocks: no
loop over a million steps.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Series = Float[np.ndarray, "..."]  # time along the last axis
Values = Float[np.ndarray, "..."] | np.floating


def affine_recurrence(factors: Values, terms: Values, start: Values | float = 0.0) -> Series:
    """x₁ … x_T of xₜ₊₁ = aₜ xₜ + cₜ along the last axis, in about 3√T array operations.

    Blocks of √T steps are composed side by side, then chained.

    >>> affine_recurrence(np.full(4, 0.5), np.ones(4), 0.0).tolist()
    [1.0, 1.5, 1.75, 1.875]
    """
    factors, terms = np.broadcast_arrays(np.asarray(factors, float), np.asarray(terms, float))
    length = factors.shape[-1]
    block = int(np.ceil(np.sqrt(length)))
    blocks = -(-length // block)
    padding = [(0, 0)] * (factors.ndim - 1) + [(0, blocks * block - length)]
    shape = (*factors.shape[:-1], blocks, block)
    a = np.moveaxis(np.pad(factors, padding, constant_values=1.0).reshape(shape), -1, 0).copy()  # (block, ..., blocks)
    c = np.moveaxis(np.pad(terms, padding).reshape(shape), -1, 0).copy()
    for k in range(1, block):  # row k becomes the map of steps 0 … k of every block
        c[k] += a[k] * c[k - 1]
        a[k] *= a[k - 1]
    begin = np.empty(shape[:-1])  # the value with which each block begins
    value = np.broadcast_to(np.asarray(start, float), shape[:-2])
    for j in range(blocks):
        begin[..., j] = value
        value = a[-1, ..., j] * value + c[-1, ..., j]
    out = np.moveaxis(a * begin + c, 0, -1)
    return out.reshape(*factors.shape[:-1], blocks * block)[..., :length]


class ScalarMoments(NamedTuple):
    """E(wᵗ)² and E(w̄ᵗ)², w̄ᵗ the mean of the t iterates w⁰ … w^{t−1}, for t = 1 … T along the last axis."""

    last: Series
    mean: Series


def scalar_moments(
    steps: Series,
    *,
    curvature: float = 1.0,
    noise: float = 1.0,
    start: float = 0.0,
    spread: Values | float | None = None,
) -> ScalarMoments:
    """Exact second moments of SGD on (h/2)w² with additive noise of variance σ² (`noise`), from w⁰ = `start`.

    `spread` is E(w⁰)², the square of `start` unless given. `steps` holds η₀ … η_{T−1} along its last axis. The gap is
    h/2 times a second moment.

    >>> moments = scalar_moments(np.array([0.5, 0.5]), start=1.0)
    >>> moments.last.tolist(), moments.mean.tolist()
    ([0.5, 0.375], [1.0, 0.625])
    """
    shrink = 1 - steps * curvature
    first = np.broadcast_to(np.asarray(start**2 if spread is None else spread, float), steps.shape[:-1])
    last = affine_recurrence(shrink**2, steps**2 * noise, first)
    before = np.concatenate([first[..., None], last[..., :-1]], axis=-1)  # E(w^{t−1})²
    # s = w⁰ + … + w^{t−1}: E[s⁺w⁺] = a(E[s w] + E w²) and E(s⁺)² = E s² + 2E[s w] + E w²
    cross = affine_recurrence(shrink, shrink * before)
    crossed = np.concatenate([np.zeros_like(cross[..., :1]), cross[..., :-1]], axis=-1)
    total = np.cumsum(2 * crossed + before, axis=-1)
    return ScalarMoments(last, total / np.arange(1.0, steps.shape[-1] + 1) ** 2)


def suffix_moment(
    steps: Series, skip: int, *, curvature: float = 1.0, noise: float = 1.0, start: float = 0.0
) -> Values:
    """E of the squared mean of w^{skip} … w^{T−1}: the tail average after a burn-in of `skip` steps, exactly.

    >>> float(suffix_moment(np.array([1.0, 1.0]), 1))
    1.0
    """
    if not 0 <= skip < steps.shape[-1]:
        raise ValueError(f"skip = {skip} leaves no iterate of {steps.shape[-1]}; give 0 up to {steps.shape[-1] - 1}.")
    spread = None
    if skip:
        burnt = steps[..., :skip]
        spread = affine_recurrence((1 - burnt * curvature) ** 2, burnt**2 * noise, start**2)[..., -1]
    rest = scalar_moments(steps[..., skip:], curvature=curvature, noise=noise, start=start, spread=spread)
    return rest.mean[..., -1]
