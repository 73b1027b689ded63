"""Step sizes in advance: η_t for every update of a run."""

from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

Shape = Literal["constant", "harmonic", "power", "cosine", "drops", "warm-up"]
STEP_SHAPES: tuple[str, ...] = get_args(Shape)


def step_sizes(
    shape: str, eta: float, num_steps: int, *, delay: float = 1.0, power: float = 0.5, drops: int = 3, warm: float = 0.1
) -> Float[np.ndarray, " steps"]:
    """η_t, t = 0 … T−1: constant η; harmonic η d/(t + d) with delay d; power η (t+1)^−a; cosine η (1 + cos πt/T)/2;
    `drops` halvings at equal distances; warm-up from 0 over the share `warm` of the run, then constant.

    >>> step_sizes("harmonic", 1.0, 3).round(3).tolist(), step_sizes("drops", 1.0, 4).tolist()
    ([1.0, 0.5, 0.333], [1.0, 0.5, 0.25, 0.125])
    """
    if shape not in STEP_SHAPES:
        raise ValueError(f"step_sizes got '{shape}'; choose one of {', '.join(STEP_SHAPES)}.")
    t = np.arange(num_steps)
    if shape == "harmonic":
        return eta * delay / (t + delay)
    if shape == "power":
        return eta * (t + 1.0) ** -power
    if shape == "cosine":
        return eta * (1 + np.cos(np.pi * t / max(num_steps, 1))) / 2
    if shape == "drops":
        return eta * 0.5 ** (t * (drops + 1) // max(num_steps, 1))
    if shape == "warm-up":
        return eta * np.minimum(1.0, (t + 1) / max(warm * num_steps, 1))
    return np.full(num_steps, float(eta))
