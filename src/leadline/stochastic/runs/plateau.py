"""Dropping the step when the loss has settled: a test for a plateau, and a run that goes down in stairs."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float


def fall_p_value(losses: Float[np.ndarray, " T"], *, blocks: int = 10) -> float:
    """How easily chance alone would make the losses fall as they do: the one-sided p-value of a negative slope.

    The losses are cut into `blocks` stretches, whose means (nearly independent if a stretch is longer than the
    correlation of the losses) are fitted by a line.

    >>> fall_p_value(np.linspace(2.0, 1.0, 100)) < 1e-6
    True
    """
    from scipy.special import stdtr

    length = len(losses) // blocks
    if blocks < 3 or length < 1:
        raise ValueError(f"{len(losses)} losses in {blocks} blocks: give at least 3 blocks and a loss for each.")
    means = np.asarray(losses)[-blocks * length :].reshape(blocks, length).mean(axis=1)
    time = np.arange(blocks) - (blocks - 1) / 2
    slope = time @ means / (time @ time)
    error = np.sqrt(np.sum((means - means.mean() - slope * time) ** 2) / (blocks - 2) / (time @ time))
    if error == 0:
        return 0.0 if slope < 0 else 1.0
    return float(stdtr(blocks - 2, slope / error))


class Staircase(NamedTuple):
    """A run in stairs: the loss after each step, the step size of each, and where (in steps) each stair ended."""

    losses: Float[np.ndarray, " T"]
    steps: Float[np.ndarray, " T"]
    ends: tuple[int, ...]
    state: Any


def drop_on_plateau(
    advance: Callable[[Any, float, int], tuple[Any, Float[np.ndarray, " window"]]],
    state: Any,
    step_size: float,
    *,
    factor: float = 10.0,
    window: int = 100,
    drops: int = 2,
    level: float = 0.05,
    confirm: int = 2,
    max_steps: int = 100,
) -> Staircase:
    """Run until the loss no longer falls significantly, divide the step by `factor`, and so on, `drops` times.

    `advance(state, step, count)` makes `count` steps and returns the state and the loss after each. A stair ends when
    `confirm` windows in a row fail to fall (p > `level`), or after `max_steps` windows. A step smaller by `factor`
    needs `factor` times as long, so the window is stretched by as much.

    >>> def fall(w, step, count):
    ...     return w * (1 - step) ** count, w**2 * (1 - step) ** (2 * np.arange(1, count + 1)) + step
    >>> stairs = drop_on_plateau(fall, 1.0, 0.5, factor=5.0, drops=1)
    >>> bool(stairs.losses[-1] < 0.11), len(stairs.ends)
    (True, 2)
    """
    if factor <= 1 or window < 10 or confirm < 1:
        raise ValueError(f"factor = {factor:g}, window = {window}: give factor > 1, window ≥ 10 and confirm ≥ 1.")
    losses, sizes, ends = [], [], []
    for stair in range(drops + 1):
        eta, count = step_size / factor**stair, round(window * factor**stair)
        settled = 0
        for _ in range(max_steps):
            state, seen = advance(state, eta, count)
            losses.append(np.asarray(seen))
            sizes.append(np.full(count, eta))
            settled = settled + 1 if fall_p_value(losses[-1]) > level else 0
            if settled == confirm:
                break
        ends.append(sum(map(len, losses)))
    return Staircase(np.concatenate(losses), np.concatenate(sizes), tuple(ends), state)
