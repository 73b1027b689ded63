"""Is a process Markov? The information that the past has on the future when the present is known."""

import numpy as np
from jaxtyping import Float


def conditional_information(
    before: Float[np.ndarray, "paths ..."],
    now: Float[np.ndarray, "paths ..."],
    after: Float[np.ndarray, "paths ..."],
    probabilities: Float[np.ndarray, " paths"],
    *,
    digits: int = 9,
) -> float:
    """I(after; before | now) in nats of a finite law on paths; 0 exactly if the three are a Markov chain.

    States are numbers, or rows of numbers, and are one state if they agree to `digits` decimals.

    >>> coin = np.array([0.0, 0.0, 1.0, 1.0])
    >>> round(conditional_information(coin, np.zeros(4), coin, np.full(4, 0.25)), 6)  # log 2
    0.693147
    """
    from scipy.special import entr

    p = np.asarray(probabilities, float)
    if p.min() < 0 or not np.isclose(p.sum(), 1):
        raise ValueError(f"conditional_information got probabilities with sum {p.sum():.6g}; give a law with sum 1.")
    past, present, future = (_labels(state, digits) for state in (before, now, after))

    def entropy(*labels: np.ndarray) -> float:
        _, joint = np.unique(np.stack(labels), axis=1, return_inverse=True)
        return float(np.sum(entr(np.bincount(joint.ravel(), weights=p))))

    return entropy(past, present) + entropy(present, future) - entropy(present) - entropy(past, present, future)


def _labels(state: np.ndarray, digits: int) -> np.ndarray:
    rows = np.round(np.asarray(state, float).reshape(len(state), -1), digits) + 0.0
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()
