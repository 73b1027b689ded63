"""One-step integrators of the gradient flow as optimisers: gradient descent, the proximal step, Runge-Kutta."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

Vector = Float[np.ndarray, " p"]
Field = Callable[[Vector], Vector]
Scheme = str  # one of SCHEMES
SCHEMES = ("euler", "implicit euler", "midpoint", "rk4")


def flow_step(
    scheme: Scheme,
    gradient: Field,
    w: Vector,
    step_size: float,
    *,
    hessian: Callable[[Vector], np.ndarray] | None = None,
) -> Vector:
    """One step of size η of dW/dτ = −∇l(W).

    "euler": w − ηg(w), gradient descent. "implicit euler": the w⁺ with w⁺ + ηg(w⁺) = w, which is the proximal point
    argmin l(v) + ‖v − w‖²/(2η), found by Newton's method with `hessian`. "midpoint" and "rk4" are of order 2 and 4.

    >>> parabola = (lambda w: 4 * w, lambda w: 4 * np.eye(1))
    >>> [flow_step(s, parabola[0], np.ones(1), 0.25, hessian=parabola[1]).round(4).tolist() for s in SCHEMES]
    [[0.0], [0.5], [0.5], [0.375]]
    """
    if scheme == "euler":
        return w - step_size * gradient(w)
    if scheme == "implicit euler":
        if hessian is None:
            raise ValueError("implicit euler solves an equation by Newton's method: give the hessian as well.")
        return _implicit(gradient, hessian, w, step_size)
    if scheme == "midpoint":
        return w - step_size * gradient(w - step_size / 2 * gradient(w))
    if scheme == "rk4":
        a = gradient(w)
        b = gradient(w - step_size / 2 * a)
        c = gradient(w - step_size / 2 * b)
        return w - step_size / 6 * (a + 2 * b + 2 * c + gradient(w - step_size * c))
    raise ValueError(f"scheme is {scheme!r}; give one of {', '.join(SCHEMES)}.")


def stability_factor(scheme: Scheme, scaled_step: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """What one step multiplies w by on (λ/2)w², from z = ηλ: 1 − z, 1/(1 + z), 1 − z + z²/2, …: e^(−z) to its order.

    >>> stability_factor("implicit euler", np.array([1.0, 3.0])).tolist()
    [0.5, 0.25]
    """
    z = np.asarray(scaled_step, float)
    if scheme not in SCHEMES:
        raise ValueError(f"scheme is {scheme!r}; give one of {', '.join(SCHEMES)}.")
    return {
        "euler": 1 - z,
        "implicit euler": 1 / (1 + z),
        "midpoint": 1 - z + z**2 / 2,
        "rk4": 1 - z + z**2 / 2 - z**3 / 6 + z**4 / 24,
    }[scheme]


def _implicit(gradient: Field, hessian: Callable[[Vector], np.ndarray], w: Vector, step_size: float) -> Vector:
    """Newton on F(v) = v − w + ηg(v), halving where ‖F‖ does not fall."""
    v = w.copy()
    residual = step_size * gradient(v)
    for _ in range(100):
        if np.linalg.norm(residual) <= 1e-14 * (1 + np.linalg.norm(w)):
            return v
        change = np.linalg.solve(np.eye(len(v)) + step_size * hessian(v), residual)
        scale = 1.0
        while scale > 1e-10:
            after = v - scale * change
            left = after - w + step_size * gradient(after)
            if np.linalg.norm(left) < np.linalg.norm(residual):
                break
            scale /= 2
        else:
            return v  # no further digit to gain
        v, residual = after, left
    return v
