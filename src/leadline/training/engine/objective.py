"""What an objective gives back: a loss for each row, token or whatever it likes, and which of them count."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

#: objective(model, batch, key, state) -> (row losses, state)
Objective = Callable[..., tuple[Any, PyTree]]


class RowLosses(NamedTuple):
    """Losses of any shape; weights of the same shape, or a mask, where not all count alike; what else was measured.

    The loss of a batch is Σ wᵢ lᵢ / Σ wᵢ: with a mask, the mean over what it keeps. `aux` is a dictionary of arrays
    whose means go into the history of `fit` under their names.

    >>> tokens = RowLosses(jnp.array([[1.0, 3.0], [5.0, 9.0]]), jnp.array([[True, True], [True, False]]))
    >>> float(mean_loss(tokens))
    3.0
    """

    losses: Float[Array, "..."]
    weights: Float[Array, "..."] | Bool[Array, "..."] | None = None
    aux: PyTree = None


def as_row_losses(found: Float[Array, "..."] | RowLosses) -> RowLosses:
    """An array of losses as `RowLosses` of equal weight; `RowLosses` as they are."""
    return found if isinstance(found, RowLosses) else RowLosses(jnp.asarray(found))


def mean_loss(rows: RowLosses) -> Float[Array, ""]:
    """Σ wᵢ lᵢ / Σ wᵢ; 0 where no weight is above 0."""
    if rows.weights is None:
        return jnp.mean(rows.losses)
    total, weight = weighed(rows)
    return total / nonzero(weight)


def weighed(rows: RowLosses) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Σ wᵢ lᵢ and Σ wᵢ, of which sums over parts of a batch can be made; a loss of weight 0 may be infinite.

    >>> [float(part) for part in weighed(RowLosses(jnp.array([2.0, jnp.inf]), jnp.array([0.5, 0.0])))]
    [1.0, 0.5]
    """
    losses = rows.losses
    if rows.weights is None:
        return jnp.sum(losses), jnp.asarray(losses.size, losses.dtype)
    weights = jnp.broadcast_to(rows.weights.astype(losses.dtype), losses.shape)
    return jnp.sum(weights * jnp.where(weights == 0, 0, losses)), jnp.sum(weights)


def nonzero(weight: Float[Array, ""]) -> Float[Array, ""]:
    """A total weight to divide by: 1 instead of 0."""
    return jnp.where(weight == 0, 1, weight)
