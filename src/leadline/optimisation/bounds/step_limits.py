"""Which step sizes are stable, said before a run: the limits of three methods, and the growth beyond them."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Method = str  # one of METHODS
Curvature = float | Float[np.ndarray, "..."]
METHODS = ("gradient descent", "heavy ball", "nesterov")


class StepCheck(NamedTuple):
    """Whether a step is in the stable range, the limit, the factor per step along the top curvature, in words too."""

    stable: bool
    limit: float
    factor: float
    sentence: str


def stable_step_limit(method: Method, smoothness: float, momentum: float = 0.0) -> float:
    """On a quadratic with top curvature L all starts converge iff η is below: 2/L for gradient descent, 2(1 + ρ)/L for
    heavy ball, 2(1 + ρ)/((1 + 2ρ)L) for Nesterov's method.

    >>> stable_step_limit("gradient descent", 4.0), stable_step_limit("heavy ball", 4.0, 0.5)
    (0.5, 0.75)
    """
    _check(method, smoothness, momentum)
    if method == "gradient descent":
        return 2 / smoothness
    if method == "heavy ball":
        return 2 * (1 + momentum) / smoothness
    return 2 * (1 + momentum) / ((1 + 2 * momentum) * smoothness)


def growth_factor(method: Method, step: Curvature, curvature: Curvature, momentum: float = 0.0) -> Curvature:
    """The factor per step along an eigenvector of curvature λ: the larger root, in modulus, of z² − bz + c.

    Heavy ball: b = 1 + ρ − ηλ, c = ρ. Nesterov: b = (1 + ρ)(1 − ηλ), c = ρ(1 − ηλ). Gradient descent: |1 − ηλ|.

    >>> growth_factor("gradient descent", 0.3, 10.0)
    2.0
    """
    _check(method, 1.0, momentum)
    shrink = np.asarray(1 - step * np.asarray(curvature, float))
    if method == "gradient descent":
        factor = np.abs(shrink)
    else:
        linear = shrink + momentum if method == "heavy ball" else (1 + momentum) * shrink
        product = momentum * np.ones_like(shrink) if method == "heavy ball" else momentum * shrink
        root = np.sqrt((linear**2 - 4 * product).astype(complex))
        factor = np.maximum(np.abs(linear + root), np.abs(linear - root)) / 2
    return factor if np.ndim(factor) else float(factor)


def check_step(method: Method, step_size: float, smoothness: float, momentum: float = 0.0) -> StepCheck:
    """Is this step stable where the curvature is L? Said in a sentence, with the growth per step if it is not.

    >>> print(check_step("gradient descent", 0.3, 10.0).sentence)
    gradient descent with step 0.3 breaks step < 2/L = 0.2 (L = 10): errors grow by a factor 2 per step.
    """
    limit, factor = (
        stable_step_limit(method, smoothness, momentum),
        float(growth_factor(method, step_size, smoothness, momentum)),
    )
    formula = {"gradient descent": "2/L", "heavy ball": "2(1 + ρ)/L", "nesterov": "2(1 + ρ)/((1 + 2ρ)L)"}[method]
    where = f"L = {smoothness:.6g}" + ("" if method == "gradient descent" else f", ρ = {momentum:.6g}")
    start = f"{method} with step {step_size:.6g}"
    if not step_size > 0:
        return StepCheck(
            False, limit, factor, f"{start} does not descend: the step must be above 0 and below {limit:.6g}."
        )
    if step_size < limit:
        word = f"{start} keeps step < {formula} = {limit:.6g} ({where}): the factor per step is {factor:.6g}."
        return StepCheck(True, limit, factor, word)
    growth = f"errors grow by a factor {factor:.6g} per step" if factor > 1 + 1e-12 else "errors do not fade"
    return StepCheck(False, limit, factor, f"{start} breaks step < {formula} = {limit:.6g} ({where}): {growth}.")


def _check(method: str, smoothness: float, momentum: float) -> None:
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; give one of {', '.join(METHODS)}.")
    if not smoothness > 0:
        raise ValueError(f"smoothness is {smoothness:g}; give L > 0.")
    if not 0 <= momentum < 1:
        raise ValueError(f"momentum is {momentum:g}; give 0 <= rho < 1.")
