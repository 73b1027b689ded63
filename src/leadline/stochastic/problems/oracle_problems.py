"""Stochastic problems min_w E ℓ(w, ξ) of which only draws of ξ are seen, with known answers, and their solution."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline.data import generator


@runtime_checkable
class StochasticProblem(Protocol):
    """What a solver sees: draws, gradients of one draw's loss, the set of allowed w, and the answer of an average.

    Arrays have leading axes for independent repetitions: w is (…, p), one draw (…, q), a sample (…, N, q).
    """

    start: Float[np.ndarray, " p"]

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Float[np.ndarray, "..."]: ...
    def gradient(self, w: Float[np.ndarray, "..."], xi: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]: ...
    def project(self, w: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]: ...
    def average_answer(self, sample: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]: ...


@dataclass(frozen=True)
class Newsvendor:
    """Order w before the demand ξ is known: ℓ = cost · w − price · min(w, ξ). The best order is the demand's quantile
    at (price − cost)/price; a subgradient is cost − price · 1[ξ > w].

    `demand` is a frozen SciPy law.

    >>> from scipy.stats import expon
    >>> round(float(Newsvendor(2.0, 1.0, expon()).optimum[0]), 6)
    0.693147
    """

    price: float
    cost: float
    demand: Any

    def __post_init__(self):
        if not 0 < self.cost < self.price:
            raise ValueError(f"Newsvendor got cost {self.cost} and price {self.price}; give 0 < cost < price.")

    @property
    def level(self) -> float:
        return (self.price - self.cost) / self.price

    @property
    def optimum(self) -> Float[np.ndarray, " 1"]:
        return np.array([self.demand.ppf(self.level)])

    @property
    def start(self) -> Float[np.ndarray, " 1"]:
        return np.array([self.demand.mean()])

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
        return np.asarray(self.demand.rvs(size=(*shape, 1), random_state=rng))

    def gradient(self, w: Float[np.ndarray, "..."], xi: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        return self.cost - self.price * (xi > w)

    def project(self, w: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        return np.maximum(w, 0.0)

    def rank(self, samples: int) -> int:
        """k: the sample average is least at the k-th smallest of N draws."""
        return int(np.ceil(self.level * samples - 1e-9))

    def average_answer(self, sample: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        place = self.rank(sample.shape[-2]) - 1
        return np.partition(sample, place, axis=-2)[..., place, :]


@dataclass(frozen=True)
class MeanEstimation:
    """ℓ = ½‖w − ξ‖², ξ from N(mean, I): the best w is the mean, and the sample average's answer the average."""

    mean: Float[np.ndarray, " p"]

    @property
    def optimum(self) -> Float[np.ndarray, " p"]:
        return self.mean

    @property
    def start(self) -> Float[np.ndarray, " p"]:
        return np.zeros_like(self.mean)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
        return self.mean + rng.standard_normal((*shape, len(self.mean)))

    def gradient(self, w: Float[np.ndarray, "..."], xi: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        return w - xi

    def project(self, w: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        return w

    def average_answer(self, sample: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        return sample.mean(axis=-2)


class NoisyShortestPath:
    """Ways right and down through a k × k grid whose edges cost mean · Exp(1): w is a mixture of paths, ℓ its cost.

    The gradient is the observed cost of every path; the best w is the path of least mean cost.

    >>> import jax
    >>> NoisyShortestPath(3, key=jax.random.key(0)).incidence.shape  # 6 paths of 4 among 12 edges
    (6, 12)
    """

    def __init__(self, side: int, *, key: PRNGKeyArray):
        if not 2 <= side <= 6:
            raise ValueError(f"NoisyShortestPath got side {side}; give 2 to 6 (the paths are enumerated).")
        moves = 2 * (side - 1)
        edges: dict[tuple[int, int, bool], int] = {}
        paths = []
        for rights in combinations(range(moves), side - 1):
            row = column = 0
            path = []
            for move in range(moves):
                path.append(edges.setdefault((row, column, move in rights), len(edges)))
                row, column = row + (move not in rights), column + (move in rights)
            paths.append(path)
        self.incidence = np.zeros((len(paths), len(edges)))
        for i, path in enumerate(paths):
            self.incidence[i, path] = 1.0
        self.means = generator(key).uniform(0.5, 1.5, len(edges))
        self.costs = self.incidence @ self.means
        self.start = np.full(len(paths), 1 / len(paths))
        self.optimum = np.eye(len(paths))[np.argmin(self.costs)]

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
        return self.means * rng.standard_exponential((*shape, len(self.means)))

    def gradient(self, w: Float[np.ndarray, "..."], xi: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        return xi @ self.incidence.T

    def project(self, w: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """The nearest mixture: max(w − τ, 0) with τ such that it sums to 1."""
        falling = -np.sort(-w, axis=-1)
        excess = (np.cumsum(falling, axis=-1) - 1) / np.arange(1, w.shape[-1] + 1)
        count = np.sum(falling > excess, axis=-1, keepdims=True)
        return np.maximum(w - np.take_along_axis(excess, count - 1, axis=-1), 0.0)

    def average_answer(self, sample: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        costs = sample.mean(axis=-2) @ self.incidence.T
        return np.eye(costs.shape[-1])[np.argmin(costs, axis=-1)]


def solve_by_sgd(
    problem: StochasticProblem,
    sample: Float[np.ndarray, "repeats N q"],
    steps: Float[np.ndarray, " N"],
    *,
    tail: float = 0.5,
) -> Float[np.ndarray, "repeats p"]:
    """w ← project(w − η_t ∇ℓ(w, ξ_t)) once through the sample, from the problem's start.

    The answer is the mean of the points at which the last `tail` share of the gradients were taken; with tail = 0, the
    last iterate.

    >>> mean = MeanEstimation(np.ones(1))
    >>> solve_by_sgd(mean, np.array([[[1.0], [3.0]]]), np.array([1.0, 0.5]), tail=0).tolist()
    [[2.0]]
    """
    repeats, length = sample.shape[:2]
    w = np.broadcast_to(problem.start, (repeats, len(problem.start)))
    total, kept = np.zeros(w.shape), int(tail * length)
    for t in range(length):
        if t >= length - kept:
            total += w
        w = problem.project(w - steps[t] * problem.gradient(w, sample[:, t]))
    return total / kept if kept else w
