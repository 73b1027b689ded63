"""What is proved of heavy ball on convex functions, and what momentum does where the minimum is flat."""

import numpy as np
from jaxtyping import Float, Int

Steps = int | Int[np.ndarray, "..."] | Float[np.ndarray, "..."]


def heavy_ball_average_bound(
    smoothness: float, distance: float, gap: float, step_size: float, momentum: float, t: Steps
) -> float | Float[np.ndarray, "..."]:
    """l(w̄ᵗ) − l* ≤ [ρ gap₀/(1 − ρ) + (1 − ρ)R²/(2η)]/(t + 1) for the average w̄ᵗ of w⁰ … wᵗ, convex l, η ≤ (1 − ρ)/L.

    Ghadimi, Feyzmahdavian, Johansson (2015), theorem 1. For convex l no faster rate is known for heavy ball.

    >>> heavy_ball_average_bound(1.0, 1.0, 0.5, 0.5, 0.5, 1)
    0.5
    """
    if not 0 <= momentum < 1:
        raise ValueError(f"momentum is {momentum:g}; give 0 <= rho < 1.")
    if not 0 < step_size <= (1 - momentum) / smoothness * (1 + 1e-12):
        raise ValueError(
            f"step is {step_size:g}; the bound needs 0 < step <= (1 - rho)/L = {(1 - momentum) / smoothness:g}."
        )
    return (momentum / (1 - momentum) * gap + (1 - momentum) / (2 * step_size) * distance**2) / (t + 1)


def flat_minimum_exponents(q: float) -> tuple[float, float]:
    """On |w|^q/q, q > 3, the distance falls like t to these powers: −1/(q − 2) for heavy ball with fixed ρ < 1, and
    −2/(q − 2) for Nesterov's method with (t − 1)/(t + 2).

    >>> flat_minimum_exponents(4.0)
    (-0.5, -1.0)
    """
    if not q > 3:
        raise ValueError(f"q is {q:g}; give q > 3 (below, the accelerated path oscillates through the minimum).")
    return -1 / (q - 2), -2 / (q - 2)
