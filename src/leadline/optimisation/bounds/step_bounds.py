"""How far Adam can move a parameter in one step: Cauchy-Schwarz on its two averages."""

import math

import numpy as np
from jaxtyping import Float


def adam_step_bound(b1: float, b2: float, num_steps: int | None = None, *, corrected: bool = True) -> float:
    """The largest |m̂|/√v̂ that any gradients give at step t, and for `num_steps` = None its limit t → ∞.

    By Cauchy-Schwarz |m|/√v ≤ (1 − β₁)/√(1 − β₂) · √(Σ_{k<t} (β₁²/β₂)ᵏ), times √(1 − β₂ᵗ)/(1 − β₁ᵗ) with the
    corrections; the limit is (1 − β₁)/√((1 − β₂)(1 − β₁²/β₂)) if β₁² < β₂, otherwise there is no bound.

    >>> round(adam_step_bound(0.9, 0.999), 3), round(adam_step_bound(0.9, 0.999, 4000), 3), adam_step_bound(0.9, 0.8)
    (7.27, 7.204, inf)
    """
    _check(b1, b2)
    ratio = b1**2 / b2
    front = (1 - b1) / math.sqrt(1 - b2)
    if num_steps is None:
        return front / math.sqrt(1 - ratio) if ratio < 1 else math.inf
    total = float(num_steps) if ratio == 1 else (1 - ratio**num_steps) / (1 - ratio)
    return front * math.sqrt(total) * (_correction(b1, b2, num_steps) if corrected else 1.0)


def spike_step(b1: float, b2: float) -> float:
    """|m|/√v after one gradient that dwarfs all before it, long after the start: (1 − β₁)/√(1 − β₂).

    >>> round(spike_step(0.9, 0.999), 3)
    3.162
    """
    _check(b1, b2)
    return (1 - b1) / math.sqrt(1 - b2)


def worst_gradients(b1: float, b2: float, num_steps: int) -> Float[np.ndarray, " steps"]:
    """The gradients gₛ = (β₁/β₂)^{t−s} that attain `adam_step_bound` at step t: they grow (β₁ < β₂) as (β₂/β₁)ˢ.

    >>> worst_gradients(0.5, 1.0 - 0.5**2, 3).round(3).tolist()
    [0.444, 0.667, 1.0]
    """
    _check(b1, b2)
    if b1 == 0:
        return np.eye(1, num_steps, num_steps - 1)[0]
    exponent = np.arange(num_steps - 1, -1, -1) * math.log(b1 / b2)
    return np.exp(np.clip(exponent, -690, 690))


def _correction(b1: float, b2: float, num_steps: int) -> float:
    return math.sqrt(1 - b2**num_steps) / (1 - b1**num_steps)


def _check(b1: float, b2: float) -> None:
    if not (0 <= b1 < 1 and 0 < b2 < 1):
        raise ValueError(f"β₁ = {b1:g}, β₂ = {b2:g} do not average; give 0 ≤ β₁ < 1 and 0 < β₂ < 1.")
