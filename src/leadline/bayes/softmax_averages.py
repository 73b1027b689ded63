"""The mean of a softmax over Gaussian scores: a closed approximation, and by sampling."""

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline.data import generator

Means = Float[np.ndarray, "m k"]
Covariances = Float[np.ndarray, "m k k"]


def probit_average(means: Means, covariances: Covariances) -> Float[np.ndarray, "m k"]:
    """p_c ∝ 1/Σ_b exp(−κ_cb (s_c − s_b)), κ_cb = (1 + π var(s_c − s_b)/8)^{−1/2}; normalised.

    For two classes MacKay's σ(κs) (1992), within 0.02 of the integral; for more the mean-field form of Lu, Ie and Sha
    (2020), which, like the softmax, does not see a common shift of the scores.

    >>> probit_average(np.array([[0.0, 2.0]]), np.zeros((1, 2, 2))).round(4).tolist()  # no spread: the softmax
    [[0.1192, 0.8808]]
    """
    from scipy.special import softmax

    means, covariances = _checked(means, covariances)
    variances = np.einsum("mcc->mc", covariances)
    spread = variances[:, :, None] + variances[:, None, :] - 2 * covariances
    gaps = (means[:, :, None] - means[:, None, :]) / np.sqrt(1 + np.pi / 8 * np.maximum(spread, 0))
    lowest = gaps.min(2, keepdims=True)
    log_p = lowest[:, :, 0] - np.log(np.exp(lowest - gaps).sum(2))
    return softmax(log_p, axis=1)


def sampled_average(
    means: Means, covariances: Covariances, *, draws: int = 400, key: PRNGKeyArray
) -> tuple[Float[np.ndarray, "m k"], Float[np.ndarray, "m k"]]:
    """The mean of softmax(s) over `draws` of s ~ N(means, covariances), and the standard error of each probability.

    >>> import jax
    >>> p, error = sampled_average(np.zeros((1, 2)), np.eye(2)[None], draws=100, key=jax.random.key(0))
    >>> bool(np.all(np.abs(p - 0.5) < 5 * error))
    True
    """
    means, covariances = _checked(means, covariances)
    if draws < 2:
        raise ValueError(f"sampled_average got {draws} draws; give 2 or more for a standard error.")
    rng = generator(key)
    p, error = np.empty_like(means), np.empty_like(means)
    for i in range(0, len(means), 512):
        values, vectors = np.linalg.eigh(covariances[i : i + 512])
        root = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
        noise = rng.standard_normal((len(root), means.shape[1], draws))
        scores = means[i : i + 512, :, None] + root @ noise
        scores -= scores.max(1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(1, keepdims=True)
        p[i : i + 512], error[i : i + 512] = scores.mean(2), scores.std(2, ddof=1) / np.sqrt(draws)
    return p, error


def _checked(means: np.ndarray, covariances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    means, covariances = np.asarray(means, float), np.asarray(covariances, float)
    if covariances.shape != (*means.shape, means.shape[1]):
        raise ValueError(
            f"Scores {means.shape} and covariances {covariances.shape} do not fit; give (m, k) and (m, k, k)."
        )
    return means, covariances
