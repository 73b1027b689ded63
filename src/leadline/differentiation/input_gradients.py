"""Gradients with respect to the input: of the loss, and of a score (saliency)."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .loss_pairs import LossPair, Targets, loss_pair

Batch = Float[Array, "n *shape"]
Model = Callable[[Any], Any]
Loss = str | LossPair | Callable[[Array, Array], Array]


def input_gradient(model: Model, x: Batch, y: Targets, *, loss: Loss = "cross_entropy") -> Batch:
    """∂ℓ/∂x for each example on its own, by backpropagation one layer further down than the weights need.

    >>> x = jnp.zeros((1, 2))
    >>> input_gradient(lambda x: jnp.array([[1.0, 0.0], [0.0, 1.0]]) @ x, x, jnp.array([0])).tolist()
    [[-0.5, 0.5]]
    """
    value = loss_pair(loss).value

    def of_one(row: Array, target: Array) -> Array:
        return value(model(row)[None], target[None])

    return jax.vmap(jax.grad(of_one))(x, y)


def saliency(model: Model, x: Batch, classes: Int[Array, " n"] | int | None = None) -> Batch:
    """|∂ score_c/∂x|, how much each input moves the score of a class: the predicted one unless `classes` says else.

    Simonyan, Vedaldi and Zisserman 2014. For a linear score it is the absolute value of the weight row.

    >>> weights = jnp.array([[1.0, -2.0], [0.0, 3.0]])
    >>> saliency(lambda x: weights @ x, jnp.ones((1, 2)), 0).tolist()
    [[1.0, 2.0]]
    """
    scores = jax.vmap(model)(x)
    if scores.ndim != 2:
        raise ValueError(f"The model gives shape {scores.shape[1:]} for one input; saliency needs a vector of scores.")
    chosen = jnp.argmax(scores, axis=1) if classes is None else jnp.broadcast_to(jnp.asarray(classes), (len(x),))
    return jnp.abs(jax.vmap(jax.grad(lambda row, c: model(row)[c]))(x, chosen))
