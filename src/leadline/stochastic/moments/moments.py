"""The mean and the second moment of SGD on least squares, exactly: no sampling, only linear maps."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num

from .batch_rules import noise_share

_DENSE = 12  # up to this dimension the maps are kept as matrices, of p + p² + 1 rows


class MomentPath(NamedTuple):
    """E v and E vvᵀ of v = w − w* at t = 0 … T, the expected gap tr(HS)/2 and the expected square distance tr S."""

    means: Float[np.ndarray, "steps+1 p"]
    seconds: Float[np.ndarray, "steps+1 p p"]
    gaps: Float[np.ndarray, " steps+1"]
    distances: Float[np.ndarray, " steps+1"]


class LeastSquaresMoments:
    """Exact moments of w⁺ = w − (η/b) Σ_k x_k (x_k·w − y_k) on (1/2n) Σ (xᵢ·w − yᵢ)².

    With v = w − w*, μ = E v, S = E vvᵀ and residuals r = y − Xw*:
    μ⁺ = (I − ηH)μ and S⁺ = S − η(HS + SH) + η²[HSH + c(G − HSH)],
    G = E[xxᵀSxxᵀ] − 2 E[r (x·μ) xxᵀ] + E[r² xxᵀ]; c = 1/b for a batch drawn with replacement and
    (n − b)/(b(n − 1)) without. A batch of np.inf is gradient descent.

    >>> six = LeastSquaresMoments(np.array([.6, .8, 1, 1.2, .5, 1.1]), np.array([1, -.3, .4, .9, -.6, .2]))
    >>> six.minimiser.round(6).tolist(), six.stationary(0.9 / 1.44).round(7).tolist()
    ([0.359184], [[0.0909549]])
    """

    def __init__(self, x: Num[Array | np.ndarray, "n ..."], y: Num[Array | np.ndarray, " n"]):
        self.x, self.y = np.asarray(x, float).reshape(len(x), -1), np.asarray(y, float)
        if len(self.x) != len(self.y) or not np.isfinite(self.x).all() or not np.isfinite(self.y).all():
            raise ValueError(
                f"LeastSquaresMoments got x {self.x.shape} and y {self.y.shape}; give finite numbers, a row for each y."
            )
        self.samples, self.dimension = self.x.shape
        self.hessian = self.x.T @ self.x / self.samples
        self.minimiser = np.linalg.pinv(self.x) @ self.y  # the least one, where there are many
        self.residuals = self.y - self.x @ self.minimiser
        self.minimum = float(self.residuals @ self.residuals) / (2 * self.samples)

    def step(
        self,
        mean: Float[np.ndarray, " p"],
        second: Float[np.ndarray, "p p"],
        eta: float,
        batch: float = 1,
        *,
        replacement: bool = True,
    ) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "p p"]]:
        """(μ, S) one step later."""
        x, r, h = self.x, self.residuals, self.hessian
        share = noise_share(self.samples, batch, replacement=replacement)
        weight = np.einsum("ni,ij,nj->n", x, second, x) - 2 * r * (x @ mean) + r**2
        single = (x.T * weight) @ x / self.samples  # E gᵢgᵢᵀ
        full = h @ second @ h
        after = second - eta * (h @ second + second @ h) + eta**2 * (full + share * (single - full))
        return mean - eta * (h @ mean), after

    def path(
        self,
        start: Num[Array | np.ndarray, " p"],
        steps: Num[Array | np.ndarray, " steps"],
        batch: float = 1,
        *,
        replacement: bool = True,
        spread: Float[np.ndarray, "p p"] | None = None,
    ) -> MomentPath:
        """The moments along a run from w⁰ = `start` with step η_t at update t; `spread` is the covariance of w⁰.

        >>> coin = LeastSquaresMoments(np.ones(2), np.array([1.0, -1.0]))
        >>> coin.path(np.zeros(1), np.full(2, 0.5)).distances.round(6).tolist()
        [0.0, 0.25, 0.3125]
        """
        p, etas = self.dimension, np.asarray(steps, float)
        mean = np.asarray(start, float).reshape(p) - self.minimiser
        second = np.outer(mean, mean) + (0.0 if spread is None else np.asarray(spread, float))
        if p > _DENSE:
            means, seconds = [mean], [second]
            for eta in etas:
                mean, second = self.step(mean, second, eta, batch, replacement=replacement)
                means.append(mean)
                seconds.append(second)
            return self._record(np.array(means), np.array(seconds))
        share = noise_share(self.samples, batch, replacement=replacement)
        drift, full, single = self._maps
        kick = full + share * (single - full)
        states = np.empty((len(etas) + 1, p + p * p + 1))
        states[0] = np.concatenate([mean, second.ravel(), [1.0]])
        if len(etas) and np.all(etas == etas[0]):
            whole = np.eye(len(drift)) + etas[0] * drift + etas[0] ** 2 * kick
            for t in range(len(etas)):
                np.matmul(whole, states[t], out=states[t + 1])
        else:
            for t, eta in enumerate(etas):
                states[t + 1] = states[t] + eta * (drift @ states[t]) + eta**2 * (kick @ states[t])
        return self._record(states[:, :p], states[:, p:-1].reshape(-1, p, p))

    def stationary(self, eta: float, batch: float = 1, *, replacement: bool = True) -> Float[np.ndarray, "p p"]:
        """S of the invariant law at constant η: η(HS + SH) = η²[HSH + c(G − HSH)], by a linear solve; μ = 0."""
        limit = self.largest_step(batch, replacement=replacement)
        if not 0 < eta < limit:
            raise ValueError(f"SGD has no finite stationary variance at step {eta:.6g}; give 0 < η < {limit:.6g}.")
        lyapunov, kick = self._second_maps(batch, replacement)
        source = noise_share(self.samples, batch, replacement=replacement) * (self.x.T * self.residuals**2) @ self.x
        second = np.linalg.solve(lyapunov - eta * kick, eta * source.ravel() / self.samples)
        return second.reshape(self.dimension, self.dimension)

    def largest_step(self, batch: float = 1, *, replacement: bool = True) -> float:
        """The step below which the second moment stays finite: 1/ρ(T₁⁻¹T₂), T₁S = HS + SH, T₂S = HSH + c(G₀ − HSH).

        In one dimension it is 2E[x²]/(E[x²]² + c(E[x⁴] − E[x²]²)) (Défossez and Bach 2015 for b = 1).
        """
        lyapunov, kick = self._second_maps(batch, replacement)
        if np.linalg.eigvalsh(self.hessian)[0] <= 1e-13 * np.trace(self.hessian):
            raise ValueError("H = XᵀX/n is singular, so w* is not unique; leave out dependent features.")
        return float(1 / np.abs(np.linalg.eigvals(np.linalg.solve(lyapunov, kick))).max())

    def contraction(self, eta: float, batch: float = 1, *, replacement: bool = True) -> float:
        """ρ of the map S → S⁺ at zero residuals: E‖v‖² − its limit falls by this factor a step in the end."""
        lyapunov, kick = self._second_maps(batch, replacement)
        return float(np.abs(np.linalg.eigvals(np.eye(len(kick)) - eta * lyapunov + eta**2 * kick)).max())

    def expected_gap(self, second: Float[np.ndarray, "*t p p"]) -> Float[np.ndarray, "*t"]:
        """tr(HS)/2."""
        return np.einsum("ij,...ji->...", self.hessian, second) / 2

    @cached_property
    def _fourth(self) -> Float[np.ndarray, "q q"]:
        """S → E[xxᵀSxxᵀ] as a matrix on vec S, q = p²."""
        outer = np.einsum("ni,nj->nij", self.x, self.x).reshape(self.samples, -1)
        return outer.T @ outer / self.samples

    def _second_maps(self, batch: float, replacement: bool) -> tuple[np.ndarray, np.ndarray]:
        h, one, share = self.hessian, np.eye(self.dimension), noise_share(self.samples, batch, replacement=replacement)
        full = np.kron(h, h)
        return np.kron(h, one) + np.kron(one, h), full + share * (self._fourth - full)

    @cached_property
    def _maps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The linear maps on (μ, vec S, 1): the drift, HSH, and G."""
        p, x, r, h = self.dimension, self.x, self.residuals, self.hessian
        size, one = p + p * p + 1, np.eye(p)
        drift, full, single = (np.zeros((size, size)) for _ in range(3))
        drift[:p, :p] = -h
        drift[p:-1, p:-1] = -(np.kron(h, one) + np.kron(one, h))
        full[p:-1, p:-1] = np.kron(h, h)
        outer = np.einsum("ni,nj->nij", x, x).reshape(self.samples, -1)
        single[p:-1, p:-1] = self._fourth
        single[p:-1, :p] = -2 * (outer.T * r) @ x / self.samples
        single[p:-1, -1] = outer.T @ r**2 / self.samples
        return drift, full, single

    def _record(self, means: np.ndarray, seconds: np.ndarray) -> MomentPath:
        return MomentPath(means, seconds, self.expected_gap(seconds), np.trace(seconds, axis1=1, axis2=2))
