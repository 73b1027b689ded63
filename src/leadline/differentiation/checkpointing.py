"""Gradient checkpointing: keep every k-th activation, compute the others again on the way back."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jaxtyping import Array, Num, PyTree

from .layer_pairs import LayerPair


class CheckpointedGradient(NamedTuple):
    """The gradients, and what they cost."""

    loss: Array
    input_adjoint: Array
    gradients: tuple[PyTree, ...]
    peak_stored: int  # most checkpoints and caches held at one time, each the size of one activation
    evaluations: tuple[int, ...]  # forward evaluations of each layer


def checkpointed_gradient(
    pairs: Sequence[LayerPair],
    parameters: Sequence[PyTree],
    h: Num[Array, "..."],
    head: Callable[[Array], tuple[Array, Array]],
    *,
    every: int,
) -> CheckpointedGradient:
    """Backpropagation through a chain of L layers that stores only every `every`-th activation, k for short.

    On the way up ⌈L/k⌉ inputs of segments of k layers are kept (the first segment may be shorter); on the way back each
    segment is run again with its k caches. So at most ⌈L/k⌉ + k are held at a time, least near k = √L, and no layer is
    evaluated more than twice; the last segment's caches are kept at once (Griewank 1992; Chen et al. 2016). `head`
    takes the last output to the loss and its adjoint. k = L is plain backpropagation. Compiled code gets the same from
    `jax.checkpoint`.

    >>> import jax.numpy as jnp
    >>> from leadline.differentiation import pointwise_pair
    >>> chain = [pointwise_pair("tanh")] * 9
    >>> found = checkpointed_gradient(chain, [()] * 9, jnp.ones((1, 2)), lambda h: (h.sum(), jnp.ones_like(h)), every=3)
    >>> found.peak_stored, max(found.evaluations)
    (6, 2)
    """
    count = len(pairs)
    if not 1 <= every <= count:
        raise ValueError(
            f"Every {every}-th activation of {count} layers cannot be kept; choose every from 1 to {count}."
        )
    if len(parameters) != count:
        raise ValueError(f"{count} layers got parameters for {len(parameters)}; give one pytree each, () for none.")
    starts = sorted(range(count - every, -every, -every))
    bounds = [(max(start, 0), start + every) for start in starts]
    evaluations, store = [0] * count, _Store()

    def run(number: int, h: Any) -> tuple[Any, Any]:
        evaluations[number] += 1
        return pairs[number].forward(h, parameters[number])

    for first, end in bounds:
        store.keep(("checkpoint", first), h)
        for number in range(first, end):
            h, cache = run(number, h)
            if end == count:
                store.keep(("cache", number), cache)
    loss, delta = head(h)
    gradients: list[PyTree] = [None] * count
    for first, end in reversed(bounds):
        if end < count:
            h = store.held["checkpoint", first]
            for number in range(first, end):
                h, cache = run(number, h)
                store.keep(("cache", number), cache)
        for number in reversed(range(first, end)):
            delta, gradients[number] = pairs[number].backward(delta, store.drop(("cache", number)))
        store.drop(("checkpoint", first))
    return CheckpointedGradient(loss, delta, tuple(gradients), store.peak, tuple(evaluations))


class _Store:
    """What is held for the backward pass, with the largest number of things ever held."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, int], Any] = {}
        self.peak = 0

    def keep(self, name: tuple[str, int], thing: Any) -> None:
        self.held[name] = thing
        self.peak = max(self.peak, len(self.held))

    def drop(self, name: tuple[str, int]) -> Any:
        return self.held.pop(name)
