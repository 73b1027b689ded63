"""Losses as pairs: the value, and its derivative with respect to the network's outputs, where adjoints start."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Num

Outputs = Num[Array, "n outputs"]
Targets = Num[Array, "n *outputs"]


class LossPair(NamedTuple):
    """A loss of a batch, ℓ(outputs, targets), and ∂ℓ/∂outputs."""

    name: str
    value: Callable[[Array, Array], Array]
    derivative: Callable[[Array, Array], Array]


def _squared(f: Outputs, y: Targets) -> Array:
    return 0.5 * jnp.sum((f - y.reshape(f.shape)) ** 2) / len(f)


def _squared_derivative(f: Outputs, y: Targets) -> Array:
    return (f - y.reshape(f.shape)) / len(f)


def _cross_entropy(f: Outputs, y: Targets) -> Array:
    """In units of the largest logit; the shift is a constant for the derivative, so complex steps go through."""
    shift = jax.lax.stop_gradient(jnp.max(jnp.real(f), axis=1, keepdims=True))
    chosen = jnp.take_along_axis(f, y[:, None], axis=1)[:, 0]
    return jnp.mean(jnp.log(jnp.sum(jnp.exp(f - shift), axis=1)) + shift[:, 0] - chosen)


def _cross_entropy_derivative(f: Outputs, y: Targets) -> Array:
    return (jax.nn.softmax(f, axis=1) - jax.nn.one_hot(y, f.shape[1], dtype=f.dtype)) / len(f)


#: Means over the batch by name: "squared" is |f - y|²/2 with derivative (f - y)/n, "cross_entropy" takes logits and
#: whole-number labels and has derivative (softmax(f) - e_y)/n.
LOSS_PAIRS: dict[str, LossPair] = {
    "squared": LossPair("squared", _squared, _squared_derivative),
    "cross_entropy": LossPair("cross_entropy", _cross_entropy, _cross_entropy_derivative),
}


def loss_pair(loss: str | LossPair | Callable[[Array, Array], Array]) -> LossPair:
    """The pair of that name; a pair as it is; or any loss(outputs, targets) with its derivative by `jax.grad`.

    >>> pair = loss_pair("cross_entropy")
    >>> pair.derivative(jnp.zeros((1, 2)), jnp.array([0])).tolist()
    [[-0.5, 0.5]]
    """
    if isinstance(loss, LossPair):
        return loss
    if callable(loss):
        return LossPair(getattr(loss, "__name__", "loss"), loss, jax.grad(loss))
    if loss not in LOSS_PAIRS:
        raise ValueError(
            f"There is no loss called {loss!r}; choose one of {', '.join(LOSS_PAIRS)}, or give a function."
        )
    return LOSS_PAIRS[loss]
