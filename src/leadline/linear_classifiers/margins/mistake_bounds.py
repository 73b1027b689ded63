"""What a margin promises about the number of mistakes of the perceptron, in training and on a stream."""

import math

# R and γ come from floating-point solvers: an R²/γ² that is an integer may arrive a hair below it.
ROUNDING = 1e-9


def mistake_bound(radius: float, margin: float, *, bias: float | None = None) -> int:
    """Novikoff's bound: floor(R²/γ²) updates from w = 0, in any order, if ‖x‖ ≤ R and y w*.x ≥ γ.

    γ is the margin of a unit vector w*. With a bias that is learned too (b ← b + y), and the unit vector w*
    with bias b* as reference, the examples are (x, 1) and the bound is floor((R² + 1)(1 + b*²)/γ²).
    A quotient within 1e-9 (relative) below an integer counts as that integer.

    >>> mistake_bound(1.0, 0.1), mistake_bound(1.0, 20**-0.5), mistake_bound(2.0, 1.0, bias=-1.0)
    (100, 20, 10)
    """
    if not (radius > 0 and margin > 0 and math.isfinite(radius) and math.isfinite(margin)):
        raise ValueError(f"The radius is {radius} and the margin {margin}; the bound needs both above 0 and finite.")
    quotient = (radius / margin) ** 2
    if bias is not None:
        quotient = (radius**2 + 1) * (1 + bias**2) / margin**2
    return math.floor(quotient * (1 + ROUNDING))


def online_to_batch_bound(radius: float, margin: float, samples: int) -> float:
    """Expected error of one pass of the perceptron, stopped at random: E[err(w_t)] ≤ (R²/ρ²)/(n + 1).

    Every example of the source has ‖x‖ ≤ R and y w*.x ≥ ρ for a unit vector w*, the n examples are independent,
    and t is uniform on 0..n. The n + 1 expected errors add up to the expected mistakes on n + 1 examples, which
    Novikoff bounds. A value of 1 or more says nothing. So n = R²/(ρ² ε) examples give error ε.

    >>> round(online_to_batch_bound(1.0, 0.1, 999), 6)
    0.1
    """
    if not (radius > 0 and margin > 0 and samples >= 0):
        raise ValueError(
            f"Got radius {radius}, margin {margin}, samples {samples}; expected radius, margin > 0 and samples >= 0."
        )
    return (radius / margin) ** 2 / (samples + 1)
