"""What gradient descent does on a parabola, by the product of step size and curvature."""

import numpy as np


def step_regime(step_size: float, curvature: float, *, tolerance: float = 1e-12) -> str:
    """The behaviour of w ← (1 − ηλ) w: monotone, one step, alternating, two-cycle or diverging, as ηλ <, =, > 1 and 2.

    >>> [step_regime(eta, 2.0) for eta in (0.2, 0.5, 0.9, 1.0, 1.1)]
    ['monotone', 'one step', 'alternating', 'two-cycle', 'diverging']
    """
    product = step_size * curvature
    if not (np.isfinite(product) and product > 0):
        raise ValueError(f"step_regime got step × curvature = {product}; both must be positive and finite.")
    if abs(product - 1) <= tolerance:
        return "one step"
    if abs(product - 2) <= 2 * tolerance:
        return "two-cycle"
    return "monotone" if product < 1 else "alternating" if product < 2 else "diverging"


def observed_regime(path: np.ndarray) -> str:
    """The regime that a path of w in one dimension shows, by its signs and sizes.

    >>> observed_regime(np.array([1.0, -0.5, 0.25]))
    'alternating'
    """
    path = np.asarray(path, float)
    if path.size < 3 or path[0] == 0:
        raise ValueError("observed_regime needs at least 3 points that begin away from 0.")
    if abs(path[1]) <= 1e-12 * abs(path[0]):
        return "one step"
    ratio = path[1] / path[0]
    if ratio > 0:
        return "monotone" if ratio < 1 else "diverging"
    size = abs(path[2] / path[0])
    if abs(size - 1) <= 1e-11:
        return "two-cycle"
    return "alternating" if size < 1 else "diverging"
