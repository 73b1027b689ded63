"""Five distributions with density, sampler, moments and maximum-likelihood fit."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, xlog1py, xlogy
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline.data import generator


class Normal(eqx.Module):
    """N(μ, Σ) in d dimensions, through the Cholesky factor of Σ; a singular Σ is refused.

    >>> law = Normal(jnp.zeros(2), jnp.eye(2))
    >>> round(float(law.log_density(jnp.zeros(2))), 5)  # -log 2π
    -1.83788
    """

    mean: Float[Array, " d"]
    covariance: Float[Array, "d d"]
    factor: Float[Array, "d d"]

    def __init__(self, mean: Num[Array | np.ndarray, " d"], covariance: Num[Array | np.ndarray, "d d"]):
        covariance = np.asarray(covariance, float)
        eigenvalues = np.linalg.eigvalsh(covariance)
        if not np.allclose(covariance, covariance.T) or eigenvalues[0] <= 1e-12 * max(eigenvalues[-1], 1e-300):
            raise ValueError(
                f"Normal got a covariance with least eigenvalue {eigenvalues[0]:.3g}; it must be symmetric and "
                "positive definite: drop the directions without spread."
            )
        self.mean, self.covariance = jnp.asarray(mean, float), jnp.asarray(covariance)
        self.factor = jnp.linalg.cholesky(self.covariance)

    def log_density(self, x: Num[Array, "*batch d"]) -> Float[Array, "*batch"]:
        """-½(x-μ)ᵀΣ⁻¹(x-μ) - ½ log|Σ| - (d/2) log 2π, by a triangular solve."""
        offset = (x - self.mean).reshape(-1, len(self.mean)).T
        white = jax.scipy.linalg.solve_triangular(self.factor, offset, lower=True)
        scale = jnp.sum(jnp.log(jnp.diagonal(self.factor))) + 0.5 * len(self.mean) * np.log(2 * np.pi)
        return (-0.5 * jnp.sum(white**2, axis=0) - scale).reshape(x.shape[:-1])

    def sample(self, n: int, *, key: PRNGKeyArray) -> Float[Array, "n d"]:
        """μ + L g with standard normal g."""
        return self.mean + jax.random.normal(key, (n, len(self.mean)), self.mean.dtype) @ self.factor.T

    @classmethod
    def fit(cls, x: Num[Array | np.ndarray, "n d"]) -> "Normal":
        """Maximum likelihood: the sample mean and the covariance with divisor n."""
        x = np.asarray(x, float)
        return cls(x.mean(axis=0), np.cov(x.T, bias=True).reshape(x.shape[1], x.shape[1]))

    def contour_axes(self) -> Float[Array, "d d"]:
        """The half axes √λ_i u_i of the ellipsoid (x-μ)ᵀΣ⁻¹(x-μ) = 1, as rows."""
        eigenvalues, vectors = jnp.linalg.eigh(self.covariance)
        return (vectors * jnp.sqrt(eigenvalues)).T


class Exponential(eqx.Module):
    """Density λ e^{-λx} on x ≥ 0; mean 1/λ, variance 1/λ².

    >>> float(Exponential(2.0).mean), float(Exponential.fit(jnp.array([1.0, 3.0])).rate)
    (0.5, 0.5)
    """

    rate: float | Float[Array, ""]

    def log_density(self, x: Num[Array, "..."]) -> Float[Array, "..."]:
        """log λ - λx, and -∞ below 0."""
        return jnp.where(x >= 0, jnp.log(self.rate) - self.rate * x, -jnp.inf)

    def sample(self, n: int, *, key: PRNGKeyArray) -> Float[Array, " n"]:
        """-log(U)/λ with U uniform on (0, 1]."""
        return -jnp.log1p(-jax.random.uniform(key, (n,))) / self.rate

    @property
    def mean(self) -> float | Float[Array, ""]:
        """1/λ."""
        return 1 / self.rate

    @property
    def variance(self) -> float | Float[Array, ""]:
        """1/λ²."""
        return 1 / self.rate**2

    @classmethod
    def fit(cls, x: Num[Array | np.ndarray, " n"]) -> "Exponential":
        """Maximum likelihood: one over the sample mean."""
        x = np.asarray(x, float)
        if x.min() < 0 or x.mean() == 0:
            raise ValueError("Exponential.fit needs samples that are not negative and not all 0; check the data.")
        return cls(float(1 / x.mean()))


class Binomial(eqx.Module):
    """The number of successes in n independent trials of probability p; n = 1 is the Bernoulli distribution.

    >>> round(float(jnp.exp(Binomial(4, 0.5).log_density(jnp.array(2)))), 5)
    0.375
    """

    trials: int = eqx.field(static=True)
    probability: float | Float[Array, ""]

    def log_density(self, k: Num[Array, "..."]) -> Float[Array, "..."]:
        """log C(n,k) + k log p + (n-k) log(1-p), with 0 log 0 = 0."""
        n, p = self.trials, self.probability
        inside = (k >= 0) & (k <= n)
        k = jnp.where(inside, k, 0)
        choose = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
        return jnp.where(inside, choose + xlogy(k, p) + xlog1py(n - k, -p), -jnp.inf)

    def sample(self, n: int, *, key: PRNGKeyArray) -> Float[Array, " n"]:
        """Independent draws, by NumPy: JAX's rejection sampler takes seconds to compile."""
        return jnp.asarray(generator(key).binomial(self.trials, float(self.probability), n), float)

    @property
    def mean(self) -> float | Float[Array, ""]:
        """np."""
        return self.trials * self.probability

    @property
    def variance(self) -> float | Float[Array, ""]:
        """np(1-p)."""
        return self.trials * self.probability * (1 - self.probability)

    @classmethod
    def fit(cls, k: Num[Array | np.ndarray, " n"], trials: int) -> "Binomial":
        """Maximum likelihood: the share of successes."""
        return cls(trials, float(np.mean(np.asarray(k)) / trials))


def bernoulli(probability: float) -> Binomial:
    """The Bernoulli distribution; its negative log-likelihood is the binary cross-entropy.

    >>> round(float(-bernoulli(0.25).log_density(jnp.array(1))), 5)  # log 4
    1.38629
    """
    return Binomial(1, probability)


class Poisson(eqx.Module):
    """P(k) = λᵏ e^{-λ} / k!; mean and variance λ.

    >>> round(float(jnp.exp(Poisson(2.0).log_density(jnp.array(0)))), 5)  # e^-2
    0.13534
    """

    rate: float | Float[Array, ""]

    def log_density(self, k: Num[Array, "..."]) -> Float[Array, "..."]:
        """k log λ - λ - log k!."""
        inside = k >= 0
        k = jnp.where(inside, k, 0)
        return jnp.where(inside, xlogy(k, self.rate) - self.rate - gammaln(k + 1.0), -jnp.inf)

    def sample(self, n: int, *, key: PRNGKeyArray) -> Float[Array, " n"]:
        """Independent draws, by NumPy: JAX's rejection sampler takes seconds to compile."""
        return jnp.asarray(generator(key).poisson(float(self.rate), n), float)

    @property
    def mean(self) -> float | Float[Array, ""]:
        """λ."""
        return self.rate

    @property
    def variance(self) -> float | Float[Array, ""]:
        """λ."""
        return self.rate

    @classmethod
    def fit(cls, k: Num[Array | np.ndarray, " n"]) -> "Poisson":
        """Maximum likelihood: the sample mean."""
        return cls(float(np.mean(np.asarray(k))))
