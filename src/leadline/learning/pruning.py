"""Pruning: a fixed random mask, the smallest weights after training, and a new mask at every step."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline._checks import require_numbers
from leadline.training import minimise, scan_steps

Model = TypeVar("Model", bound=PyTree)


def random_mask(model: Model, share: float | Float[Array, ""], *, key: PRNGKeyArray) -> Model:
    """A mask that removes every weight with probability `share`, independently; vectors (biases) are kept whole.

    The same key gives nested masks: what is removed at a share is removed at every larger one.

    >>> mask = random_mask({"w": jnp.ones((50, 40)), "b": jnp.ones(50)}, 0.25, key=jax.random.key(0))
    >>> abs(float(mask["w"].mean()) - 0.75) < 0.05, float(mask["b"].mean())
    (True, 1.0)
    """
    leaves, tree = jax.tree.flatten(eqx.filter(model, eqx.is_inexact_array))
    keys = jax.random.split(key, len(leaves))
    masks = [
        (jax.random.uniform(k, leaf.shape) >= share).astype(leaf.dtype) if leaf.ndim > 1 else jnp.ones_like(leaf)
        for k, leaf in zip(keys, leaves, strict=True)
    ]
    return jax.tree.unflatten(tree, masks)


def magnitude_mask(model: Model, share: float | Float[Array, ""]) -> Model:
    """A mask that removes the given share of all weights, those of least absolute value; vectors are kept whole.

    >>> magnitude_mask({"w": jnp.array([[3.0, -0.1], [0.2, -4.0]])}, 0.5)["w"].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    weights = eqx.filter(model, eqx.is_inexact_array)
    matrices = [leaf for leaf in jax.tree.leaves(weights) if leaf.ndim > 1]
    if not matrices:
        raise ValueError("magnitude_mask got a model without matrices; there is nothing to remove.")
    sizes = jnp.concatenate([jnp.abs(leaf).ravel() for leaf in matrices])
    ranks = jnp.argsort(jnp.argsort(sizes))
    kept = ranks >= jnp.round(share * sizes.size)
    masks, start = [], 0
    for leaf in matrices:
        masks.append(kept[start : start + leaf.size].reshape(leaf.shape).astype(leaf.dtype))
        start += leaf.size
    remaining = iter(masks)
    return jax.tree.map(lambda leaf: next(remaining) if leaf.ndim > 1 else jnp.ones_like(leaf), weights)


def apply_mask(model: Model, mask: Model) -> Model:
    """The model with every weight multiplied by its entry of the mask.

    >>> apply_mask({"w": jnp.array([[2.0, 3.0]])}, {"w": jnp.array([[1.0, 0.0]])})["w"].tolist()
    [[2.0, 0.0]]
    """
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    return eqx.combine(jax.tree.map(jnp.multiply, weights, mask), rest)


def train_masked(
    objective: Callable[..., Float[Array, ""]],
    start: Model,
    mask: Model,
    optimiser: optax.GradientTransformation,
    num_steps: int,
    *arrays: PyTree,
) -> tuple[Model, Float[Array, " steps"]]:
    """Train only the weights that the mask keeps: the others are 0 at the start and their gradient is 0.

    >>> target = jnp.array([[1.0, 1.0]])
    >>> fit = lambda model, y: jnp.sum((model["w"] - y) ** 2)
    >>> end, _ = train_masked(fit, {"w": 0 * target}, {"w": jnp.array([[1.0, 0.0]])}, optax.sgd(0.25), 40, target)
    >>> end["w"].round(3).tolist()
    [[1.0, 0.0]]
    """
    require_numbers("train_masked", start=start, arrays=arrays)
    return minimise(_Masked(objective), apply_mask(start, mask), optimiser, num_steps, mask, *arrays)


class _Masked(eqx.Module):
    """The objective of the masked model; equal for equal objectives, so that a second training compiles nothing."""

    objective: Callable[..., Float[Array, ""]] = eqx.field(static=True)

    def __call__(self, model: PyTree, mask: PyTree, *rows: PyTree) -> Float[Array, ""]:
        return self.objective(apply_mask(model, mask), *rows)


def train_with_fresh_masks(
    objective: Callable[..., Float[Array, ""]],
    start: Model,
    share: float | Float[Array, ""],
    optimiser: optax.GradientTransformation,
    num_steps: int,
    *arrays: PyTree,
    key: PRNGKeyArray,
) -> tuple[Model, Float[Array, " steps"]]:
    """Train with a new random mask at every step: dropout, on weights (Wan et al. 2013).

    In each step the weights that are kept are divided by 1 - share, so that their sum has the right mean; the model
    that is returned is used whole. `share` must be below 1.

    >>> fit = lambda model, y: jnp.sum((model["w"] - y) ** 2)
    >>> end, losses = train_with_fresh_masks(
    ...     fit, {"w": jnp.zeros((1, 2))}, 0.0, optax.sgd(0.25), 40, jnp.ones((1, 2)), key=jax.random.key(0))
    >>> end["w"].round(3).tolist(), losses.shape
    ([[1.0, 1.0]], (40,))
    """

    def masked(model: Model, key: PRNGKeyArray, _: None, state: None) -> tuple[Float[Array, ""], None]:
        mask = random_mask(model, share, key=key)
        scale = jax.tree.map(lambda m: m / (1 - share) if m.ndim > 1 else m, mask)
        return objective(apply_mask(model, scale), *arrays), None

    ran = scan_steps(masked, start, optimiser, jax.random.split(key, num_steps))
    return ran.model, ran.measured
