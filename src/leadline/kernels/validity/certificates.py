"""What a hunt for a counterexample comes to."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Hunt:
    """What a hunt came to: refuted, with points and c such that c·Gc < 0, or not refuted in so many trials.

    A trial is a set of points whose least Gram eigenvalue was computed; `history` has the trials at which a lower one
    was found, and it. `value` is c·Gc for the unit vector c, or k(x, z) - k(z, x) where that is not 0.
    """

    refuted: bool
    reason: str
    points: tuple[Any, ...]
    coefficients: Float[np.ndarray, " n"]
    value: float
    trials: int
    history: tuple[tuple[int, float], ...] = field(repr=False)

    def __str__(self) -> str:
        if not self.refuted:
            return f"not refuted in {self.trials} trials (least eigenvalue found {self.history[-1][1]:.2g})"
        shown = ", ".join(_show(p) for p in self.points)
        if self.reason == "asymmetric":
            return f"refuted: not symmetric, k(x, z) - k(z, x) = {self.value:.4g} at {shown}"
        weights = ", ".join(f"{c:.3g}" for c in self.coefficients)
        return f"refuted by {len(self.points)} points: c·Gc = {self.value:.4g} at {{{shown}}} with c = ({weights})"


def _show(point: Any) -> str:
    if isinstance(point, np.ndarray):
        return "(" + ", ".join(f"{v:g}" for v in point.ravel()) + ")"
    return f"{point:g}" if isinstance(point, float) else repr(point)
