"""Weight decay on two factors of a linear network: a nuclear norm on the product, and what is left of the atlas."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float

from .linear_problem import LinearProblem

A = Float[np.ndarray, "d_y p"]
B = Float[np.ndarray, "p d_x"]


@dataclass(frozen=True, eq=False)
class PenalisedFamily:
    """The critical points with modes I = `indices` on, mode i with the singular value s_i − 2μ; `index` counts negative
    Hessian eigenvalues; a, b is the representative with balanced factors in the singular basis."""

    indices: tuple[int, ...]
    level: float
    index: int
    a: A
    b: B


@dataclass(frozen=True, eq=False)
class PenalisedFactors:
    """l(A, B) + μ(‖A‖² + ‖B‖²) on whitened inputs, XXᵀ = nI, with p = `hidden` units.

    min over AB = W of the penalty is 2μ‖W‖_* (Srebro, Rennie and Jaakkola 2004): with s the singular values of L*, the
    optimum keeps the singular vectors and has (s_k − 2μ)₊ for k ≤ p. Every critical point is balanced, AᵀA = BBᵀ.

    >>> whitened = LinearProblem(2**0.5 * np.eye(2), 2**0.5 * np.diag([3.0, 1.0]))
    >>> penalised = PenalisedFactors(whitened, hidden=2, penalty=0.6)
    >>> np.linalg.svd(penalised.optimum, compute_uv=False).round(6).tolist(), len(penalised.families())
    ([1.8, 0.0], 2)
    """

    problem: LinearProblem
    hidden: int
    penalty: float

    def __post_init__(self):
        if self.hidden < 1 or self.penalty < 0:
            raise ValueError(
                f"PenalisedFactors got {self.hidden} hidden units and penalty {self.penalty}; give at least one unit "
                "and a penalty of 0 or more."
            )
        covariance = self.problem.sigma_xx / self.problem.samples
        if not np.allclose(covariance, np.eye(self.problem.inputs), atol=1e-8):
            raise ValueError("PenalisedFactors needs whitened inputs, XXᵀ = nI; whiten them first.")

    @property
    def singular_values(self) -> Float[np.ndarray, " k"]:
        """s of L*, the largest first."""
        return np.linalg.svd(self.problem.best_map, compute_uv=False)

    @property
    def optimum(self) -> Float[np.ndarray, "d_y d_x"]:
        """The best product: singular values (s_k − 2μ)₊ for k ≤ p."""
        u, s, v = np.linalg.svd(self.problem.best_map, full_matrices=False)
        kept = np.where(np.arange(len(s)) < self.hidden, np.maximum(s - 2 * self.penalty, 0), 0)
        return (u * kept) @ v

    @property
    def minimum(self) -> float:
        """The least value of the penalised loss."""
        s = self.singular_values
        on = np.arange(len(s)) < self.hidden
        return self._level(np.flatnonzero(on & (s > 2 * self.penalty)))

    def families(self) -> list[PenalisedFamily]:
        """All Σ_{r≤p} C(m, r) families of critical points, m = #{s_k > 2μ}, lowest first (distinct s, μ > 0).

        Index: #{(i ∈ I, j ∉ I): s_j > s_i} + (p − r)(m − r).
        """
        u, s, v = np.linalg.svd(self.problem.best_map, full_matrices=False)
        alive = int(np.sum(s > 2 * self.penalty))
        found = []
        for r in range(min(alive, self.hidden) + 1):
            for chosen in combinations(range(alive), r):
                root = np.sqrt(s[list(chosen)] - 2 * self.penalty)
                a, b = np.zeros((len(u), self.hidden)), np.zeros((self.hidden, v.shape[1]))
                a[:, :r], b[:r] = u[:, list(chosen)] * root, root[:, None] * v[list(chosen)]
                swaps = sum(1 for i in chosen for j in range(alive) if j not in chosen and s[j] > s[i])
                index = swaps + (self.hidden - r) * (alive - r)
                found.append(PenalisedFamily(chosen, self._level(np.array(chosen, int)), index, a, b))
        return sorted(found, key=lambda family: family.level)

    def factor_loss(self, a: A, b: B) -> float:
        return self.problem.factor_loss(a, b) + self.penalty * float(np.sum(a**2) + np.sum(b**2))

    def factor_gradient(self, a: A, b: B) -> tuple[A, B]:
        in_a, in_b = self.problem.factor_gradient(a, b)
        return in_a + 2 * self.penalty * a, in_b + 2 * self.penalty * b

    def factor_hessian(self, a: A, b: B) -> Float[np.ndarray, "weights weights"]:
        return self.problem.factor_hessian(a, b) + 2 * self.penalty * np.eye(a.size + b.size)

    def minimise(self, a: A, b: B) -> tuple[A, B]:
        """A local minimum near (A, B) by the BFGS method."""
        from scipy.optimize import minimize

        cut = a.size

        def split(w):
            return w[:cut].reshape(a.shape), w[cut:].reshape(b.shape)

        def value_and_gradient(w):
            at = split(w)
            return self.factor_loss(*at), np.concatenate([part.ravel() for part in self.factor_gradient(*at)])

        start = np.concatenate([a.ravel(), b.ravel()])
        return split(minimize(value_and_gradient, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x)

    def _level(self, chosen: np.ndarray) -> float:
        """Residual and penalty: ‖Y‖²/2n − Σ_{i∈I} (s_i − 2μ)²/2."""
        kept = self.singular_values[chosen] - 2 * self.penalty
        return self.problem.energy / (2 * self.problem.samples) - 0.5 * float(np.sum(kept**2))
