"""Averages of the weights of several checkpoints: all of them, one after the other, or only those that help.

A network with batch normalisation has running statistics beside its parameters; those of an average are not the average
of those. Whatever is averaged here, the caller must compute such statistics anew on training data before using it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from leadline.stochastic import AverageWeight

from .paths.mode_connectors import check_alike, is_parameter


def uniform_average(checkpoints: Sequence[PyTree]) -> PyTree:
    """θ̄ = (1/k) Σ θᵢ, leaf by leaf; leaves that are not floating-point numbers are those of the first checkpoint.

    >>> uniform_average([{"w": np.array([0.0, 1.0])}, {"w": np.array([2.0, 2.0])}])["w"].tolist()
    [1.0, 1.5]
    """
    if not checkpoints:
        raise ValueError("uniform_average got no checkpoints; give at least one.")
    for other in checkpoints[1:]:
        check_alike(checkpoints[0], other)

    def average(first: Any, *others: Any) -> Any:
        return sum(others, first) / len(checkpoints) if is_parameter(first) else first

    return jax.tree.map(average, *checkpoints)


class RunningAverage(eqx.Module):
    """Stochastic weight averaging with the memory of one model: u ← u + γₖ(θ − u) as the k-th checkpoint comes in.

    γₖ = 1/k (the plain mean of all) unless another `stochastic.AverageWeight` is given, for example `DecayWeight` for
    the exponential average. Pure: `add` returns the new average. Izmailov et al. 2018; inside an optimiser:
    `stochastic.with_average`.

    >>> swa = RunningAverage.of(np.array([4.0])).add(np.array([0.0])).add(np.array([2.0]))
    >>> swa.average.tolist(), int(swa.count)
    ([2.0], 3)
    """

    average: PyTree
    count: int | Int[Array, ""]
    weight: AverageWeight

    @classmethod
    def of(cls, first: PyTree, weight: AverageWeight | None = None) -> "RunningAverage":
        """The average of one checkpoint."""
        return cls(first, 1, AverageWeight() if weight is None else weight)

    def add(self, checkpoint: PyTree) -> "RunningAverage":
        """The average with one more checkpoint."""
        check_alike(self.average, checkpoint)
        count = self.count + 1
        gamma = self.weight(count)

        def moved(u: Any, w: Any) -> Any:
            if not is_parameter(u):
                return u
            new = u + gamma * (w - u)
            return new.astype(u.dtype) if hasattr(u, "dtype") else new

        return RunningAverage(jax.tree.map(moved, self.average, checkpoint), count, self.weight)


class Averaged(NamedTuple):
    """An average of checkpoints: its parameters, its loss, the losses of all checkpoints, and which are in it."""

    parameters: PyTree
    loss: float
    losses: Float[np.ndarray, " checkpoints"]
    members: tuple[int, ...]

    @property
    def gain(self) -> float:
        """The mean loss of the members less the loss of their average: at least 0 where the loss is convex (Jensen).

        Networks of different basins make it negative: the average lies on the barrier between them.
        """
        return float(np.mean(self.losses[list(self.members)]) - self.loss)


def averaged_loss(loss: Callable[..., Any], checkpoints: Sequence[PyTree], *arrays: PyTree) -> Averaged:
    """The uniform average of all checkpoints, and what averaging did to loss(parameters, *arrays).

    >>> bowl = lambda w: float((w - 1.0) ** 2)
    >>> found = averaged_loss(bowl, [0.0, 2.5])
    >>> found.parameters, found.loss, found.gain
    (1.25, 0.0625, 1.5625)
    """
    average = uniform_average(checkpoints)
    losses = np.array([float(loss(c, *arrays)) for c in checkpoints])
    return Averaged(average, float(loss(average, *arrays)), losses, tuple(range(len(checkpoints))))


def greedy_soup(loss: Callable[..., Any], checkpoints: Sequence[PyTree], *arrays: PyTree) -> Averaged:
    """The average of a subset chosen by validation loss: best first, each kept only if the average gets no worse.

    Never worse than the best checkpoint on the loss it is chosen by; report its loss on other data. Wortsman et al.
    2022. A loss that is not finite never enters.

    >>> soup = greedy_soup(lambda w: float((w - 1.0) ** 2), [9.0, 0.0, 1.5])
    >>> soup.members, soup.parameters, soup.loss
    ((2, 1), 0.75, 0.0625)
    """
    if not checkpoints:
        raise ValueError("greedy_soup got no checkpoints; give at least one.")
    for other in checkpoints[1:]:
        check_alike(checkpoints[0], other)
    losses = np.array([float(loss(c, *arrays)) for c in checkpoints])
    if not np.isfinite(losses).any():
        raise ValueError("None of the checkpoints has a finite loss; a soup needs at least one that has.")
    order = [int(i) for i in np.argsort(np.where(np.isfinite(losses), losses, np.inf), kind="stable")]
    soup, members, best = RunningAverage.of(checkpoints[order[0]]), [order[0]], float(losses[order[0]])
    for index in order[1:]:
        if not np.isfinite(losses[index]):
            break
        tried = soup.add(checkpoints[index])
        value = float(loss(tried.average, *arrays))
        if value <= best:
            soup, best = tried, value
            members.append(index)
    return Averaged(soup.average, best, losses, tuple(members))
