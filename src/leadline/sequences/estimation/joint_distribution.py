"""All states and observations of a linear-Gaussian model as one normal vector: what the filter must agree with."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Real

from leadline._checks import require_counts

from .state_space import LinearGaussian


class Conditional(NamedTuple):
    """The states given observations: means, the covariance of each, that of all, and ln p of the observations."""

    means: Float[np.ndarray, "T d"]
    covariances: Float[np.ndarray, "T d d"]
    joint: Float[np.ndarray, "n n"]
    log_likelihood: float


class JointDistribution(NamedTuple):
    """The mean and covariance of (h₁, …, h_T) and (x₁, …, x_T), each flattened in time."""

    state_means: Float[np.ndarray, "T d"]
    means: Float[np.ndarray, "T k"]
    state_covariance: Float[np.ndarray, "n n"]
    cross_covariance: Float[np.ndarray, "n m"]  # of states with observations
    covariance: Float[np.ndarray, "m m"]

    def given(self, xs: Real[Array | np.ndarray, "T ..."]) -> Conditional:
        """The states given the observations that are not NaN: E[h] + K(x − E[x]), K = Cov(h, x) Cov(x)⁻¹."""
        from scipy.linalg import cho_factor, cho_solve

        x = np.asarray(xs, float).reshape(self.means.shape).ravel()
        seen = np.flatnonzero(~np.isnan(x))
        T, d = self.state_means.shape
        if not len(seen):
            covariance, mean, log_likelihood = self.state_covariance, self.state_means.ravel(), 0.0
        else:
            factor = cho_factor(self.covariance[np.ix_(seen, seen)], lower=True)
            cross, off = self.cross_covariance[:, seen], x[seen] - self.means.ravel()[seen]
            weighed = cho_solve(factor, off)
            mean = self.state_means.ravel() + cross @ weighed
            covariance = self.state_covariance - cross @ cho_solve(factor, cross.T)
            log_determinant = 2 * np.log(np.diag(factor[0])).sum()
            log_likelihood = -0.5 * (off @ weighed + log_determinant + len(seen) * np.log(2 * np.pi))
        blocks = covariance.reshape(T, d, T, d)
        own = np.stack([blocks[t, :, t] for t in range(T)])
        return Conditional(mean.reshape(T, d), own, covariance, float(log_likelihood))


def joint_distribution(model: LinearGaussian, length: int) -> JointDistribution:
    """h and x over `length` steps: Cov(h_t, h_s) = A^{t−s} Var(h_s), Cov(x) = C Cov(h) Cᵀ + R on the diagonal.

    Its size is that of the whole series, so that conditioning costs T³: the brute-force twin of the Kalman filter.

    >>> from leadline.sequences import linear_gaussian
    >>> joint = joint_distribution(linear_gaussian(0.5, 1.0, 0.75, 1.0), 2)
    >>> joint.state_covariance.tolist(), joint.given(np.array([2.0, np.nan])).means.ravel().round(12).tolist()
    ([[1.0, 0.5], [0.5, 1.0]], [1.0, 0.5])
    """
    require_counts("joint_distribution", length=length)
    A, C, Q, R, mean, V = (
        np.asarray(part, float) for part in (model.A, model.C, model.Q, model.R, model.mean, model.covariance)
    )
    d = len(A)
    blocks, means = np.zeros((length, d, length, d)), np.zeros((length, d))
    for t in range(length):
        mean, V = A @ mean, A @ V @ A.T + Q
        means[t], blocks[t, :, t] = mean, V
        for s in range(t):
            blocks[t, :, s] = A @ blocks[t - 1, :, s]
            blocks[s, :, t] = blocks[t, :, s].T
    states = blocks.reshape(length * d, length * d)
    look = np.kron(np.eye(length), C)
    cross = states @ look.T
    return JointDistribution(means, means @ C.T, states, cross, look @ cross + np.kron(np.eye(length), R))
