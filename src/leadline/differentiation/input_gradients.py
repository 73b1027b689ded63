"""Gradients with respect to the input: saliency, and perturbations along the sign of the gradient."""

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


def sign_step(
    model: Model,
    x: Batch,
    y: Targets,
    size: float | Float[Array, ""],
    *,
    loss: Loss = "cross_entropy",
    bounds: tuple[float, float] | None = None,
) -> Batch:
    """x + ε sign(∂ℓ/∂x): of all steps of at most ε in every entry the one that raises the linearised loss most.

    Goodfellow, Shlens and Szegedy 2015 (the fast gradient sign method). It gains ε ‖∂ℓ/∂x‖₁ to first order, exactly so
    for a linear score. `bounds` clips the result, to the range of pixels say.

    >>> sign_step(lambda x: jnp.array([[1.0, 0.0], [0.0, 1.0]]) @ x, jnp.zeros((1, 2)), jnp.array([0]), 0.5).tolist()
    [[-0.5, 0.5]]
    """
    moved = x + size * jnp.sign(input_gradient(model, x, y, loss=loss))
    return moved if bounds is None else jnp.clip(moved, *bounds)


def projected_sign_steps(
    model: Model,
    x: Batch,
    y: Targets,
    size: float | Float[Array, ""],
    *,
    num_steps: int = 10,
    step_size: float | None = None,
    loss: Loss = "cross_entropy",
    bounds: tuple[float, float] | None = None,
) -> Batch:
    """Sign steps repeated, each followed by the projection on |x' - x| ≤ ε, that is by clipping (Madry et al. 2018).

    A step is 2.5 ε/steps long unless `step_size` is given, enough to cross the ball.

    >>> weights = jnp.array([[1.0, 0.0], [0.0, 1.0]])
    >>> projected_sign_steps(lambda x: weights @ x, jnp.zeros((1, 2)), jnp.array([0]), 0.5, num_steps=4).tolist()
    [[-0.5, 0.5]]
    """
    if num_steps < 1:
        raise ValueError(f"projected_sign_steps got num_steps = {num_steps}; take at least one.")
    length = 2.5 * size / num_steps if step_size is None else step_size

    def once(moved: Array, _: None) -> tuple[Array, None]:
        moved = sign_step(model, moved, y, length, loss=loss)
        moved = x + jnp.clip(moved - x, -size, size)
        return (moved if bounds is None else jnp.clip(moved, *bounds)), None

    return jax.lax.scan(once, x, None, length=num_steps)[0]
