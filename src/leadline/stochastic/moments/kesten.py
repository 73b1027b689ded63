"""Heavy tails of SGD on least squares with Gaussian features: a Kesten process and its tail index."""

from itertools import pairwise

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline.data import generator


def kesten_moment(alpha: float, eta: float, batch: int = 1) -> float:
    """E|1 − (η/b) Σ x_k²|^α for x_k from N(0, 1), by quadrature over χ²_b.

    >>> round(kesten_moment(2.0, 0.5), 6)  # 1 − 2η + 3η²
    0.75
    """
    from scipy.integrate import quad
    from scipy.special import gammaln

    b, kink = batch, batch / eta  # s = Σx² ~ χ²_b, substituted s = u² against the singularity at 0
    constant = np.log(2) - b / 2 * np.log(2) - gammaln(b / 2)

    def integrand(u: float) -> float:
        if u <= 0:
            return float(np.exp(constant)) if b == 1 else 0.0
        return abs(1 - eta * u * u / b) ** alpha * np.exp(constant + (b - 1) * np.log(u) - u * u / 2)

    edge, far = np.sqrt(kink), np.sqrt(b) + 12 + np.sqrt(alpha)
    cuts = sorted({0.0, float(min(edge, far)), float(far)})
    return float(sum(quad(integrand, *piece, limit=200)[0] for piece in pairwise(cuts)))


def kesten_tail_index(eta: float, batch: int = 1) -> float:
    """α > 0 with E|1 − (η/b)Σx²|^α = 1: P(|w| > s) falls as s^−α (Kesten 1973; Gurbuzbalaban et al. 2021 for SGD).

    With b = 1 the variance is finite exactly for η < 2/3.

    >>> round(kesten_tail_index(2 / 3), 6)
    2.0
    """
    from scipy.optimize import brentq

    if not eta > 0 or batch < 1:
        raise ValueError(f"kesten_tail_index got step {eta} and batch {batch}; give η > 0 and b ≥ 1.")
    slope = (kesten_moment(1e-6, eta, batch) - 1) / 1e-6
    if slope >= 0:
        raise ValueError(
            f"At step {eta:.4g} E log|1 − η x²| = {slope:.4g} ≥ 0: there is no stationary law; lower the step."
        )
    high = 1.0
    while kesten_moment(high, eta, batch) < 1:
        high *= 2
        if high > 512:
            raise ValueError(
                f"The tail index at step {eta:.4g} is above 512: no power tail to be seen; raise the step."
            )
    return float(
        brentq(lambda alpha: kesten_moment(alpha, eta, batch) - 1, max(high / 2, 1e-3) * 0.5, high, xtol=1e-10)
    )


def kesten_chain(
    eta: float, batch: int, chains: int, num_steps: int, *, burn_in: int = 200, key: PRNGKeyArray
) -> Float[np.ndarray, "steps chains"]:
    """w⁺ = (1 − (η/b)Σx²)w + (η/b)Σ x r with x, r from N(0, 1), in many independent chains after a burn-in.

    >>> import jax
    >>> kesten_chain(0.5, 1, 3, 2, key=jax.random.key(0)).shape
    (2, 3)
    """
    rng = generator(key)
    w, path = np.zeros(chains), np.empty((num_steps, chains))
    for t in range(burn_in + num_steps):
        square = rng.standard_normal(chains) ** 2 if batch == 1 else rng.chisquare(batch, chains)
        # given the features, Σ x r is normal with variance Σ x²
        w = (1 - eta / batch * square) * w + eta / batch * np.sqrt(square) * rng.standard_normal(chains)
        if t >= burn_in:
            path[t - burn_in] = w
    return path


def hill_estimate(samples: Float[np.ndarray, "..."], top: int) -> float:
    """1/mean log(X_(i)/X_(top+1)) over the `top` largest |X|: the tail index (Hill 1975).

    >>> hill_estimate(np.array([1.0, np.e, np.e]), 2)
    1.0
    """
    size = np.abs(np.asarray(samples, float).ravel())
    if not 1 <= top < size.size:
        raise ValueError(f"hill_estimate got top {top} of {size.size} samples; give 1 to {size.size - 1}.")
    largest = np.partition(size, size.size - top - 1)[size.size - top - 1 :]
    return float(1 / np.mean(np.log(largest[1:] / largest[0])))
