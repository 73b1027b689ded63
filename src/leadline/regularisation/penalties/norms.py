"""Norms of parameters as penalties: their value, the parameters that they leave alone, and their proximal step."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, PyTree

from leadline.learning import soft_threshold

Number = float | Float[Array, ""]


def matrices(params: PyTree) -> PyTree:
    """True for arrays with two axes or more, False for biases, gains of normalisers and whatever else has fewer.

    The usual parameter group of a penalty; also the `mask` of Optax's `add_decayed_weights` and `adamw`.

    >>> matrices({"kernel": jnp.ones((3, 2)), "bias": jnp.ones(2)})
    {'bias': False, 'kernel': True}
    """
    return jax.tree.map(lambda leaf: eqx.is_inexact_array(leaf) and leaf.ndim >= 2, params)


def everything(params: PyTree) -> PyTree:
    """True for every array of floating-point numbers: biases are penalised too.

    >>> everything({"kernel": jnp.ones((3, 2)), "bias": jnp.ones(2), "steps": jnp.array(7)})
    {'bias': True, 'kernel': True, 'steps': False}
    """
    return jax.tree.map(eqx.is_inexact_array, params)


class Penalty(eqx.Module):
    """Ω(θ) over the parameters that `group` marks (a function of the pytree that gives True and False for each leaf).

    A subclass gives the value on one array and its proximal map; the others of the tree are left alone. A penalty of
    your own is a subclass with these two, or any function of the parameters where only gradients are asked for.
    """

    group: Callable[[PyTree], PyTree] = eqx.field(static=True, default=matrices)

    def of_array(self, array: Array) -> Float[Array, ""]:
        raise NotImplementedError

    def prox_array(self, array: Array, strength: Number) -> Array:
        raise NotImplementedError

    def __call__(self, params: PyTree) -> Float[Array, ""]:
        """Ω(θ), summed over the arrays of the group."""
        return sum((self.of_array(array) for array in self.members(params)), jnp.zeros(()))

    def prox(self, params: PyTree, strength: Number) -> PyTree:
        """argmin over z of ½‖z − θ‖² + strength Ω(z)."""
        return jax.tree.map(
            lambda chosen, leaf: self.prox_array(leaf, strength) if chosen else leaf, self.group(params), params
        )

    def members(self, params: PyTree) -> list[Any]:
        """The arrays of the group."""
        marks, leaves = jax.tree.leaves(self.group(params)), jax.tree.leaves(params)
        return [leaf for chosen, leaf in zip(marks, leaves, strict=True) if chosen]


class SquaredNorm(Penalty):
    """½ Σ ‖W‖²_F, whose gradient is W: weight decay, ridge, the Gaussian prior.

    >>> penalty = SquaredNorm()
    >>> float(penalty({"kernel": jnp.full((2, 2), 3.0), "bias": jnp.ones(2)}))
    18.0
    >>> penalty.prox({"kernel": jnp.full((1, 1), 3.0)}, 0.5)["kernel"].tolist()
    [[2.0]]
    """

    def of_array(self, array: Array) -> Float[Array, ""]:
        return jnp.sum(array**2) / 2

    def prox_array(self, array: Array, strength: Number) -> Array:
        return array / (1 + strength)


class AbsoluteNorm(Penalty):
    """Σ |Wᵢⱼ|: the lasso's, whose proximal step thresholds softly.

    >>> AbsoluteNorm(everything).prox(jnp.array([-3.0, 0.5]), 1.0).tolist()
    [-2.0, 0.0]
    """

    def of_array(self, array: Array) -> Float[Array, ""]:
        return jnp.sum(jnp.abs(array))

    def prox_array(self, array: Array, strength: Number) -> Array:
        return soft_threshold(array, strength)


class GroupNorm(Penalty):
    """Σ ‖row‖₂ over the rows (first axis) of each array: it switches whole units off (Yuan and Lin 2006).

    >>> penalty = GroupNorm()
    >>> float(penalty(jnp.array([[3.0, 4.0], [0.0, 0.0]])))
    5.0
    >>> penalty.prox(jnp.array([[6.0, 8.0], [0.3, 0.4]]), 5.0).tolist()
    [[3.0, 4.0], [0.0, 0.0]]
    """

    def of_array(self, array: Array) -> Float[Array, ""]:
        squares = jnp.sum(array.reshape(len(array), -1) ** 2, axis=1)
        seen = squares > 0  # the square root has no derivative at 0; 0 is a subgradient there
        return jnp.sum(jnp.where(seen, jnp.sqrt(jnp.where(seen, squares, 1.0)), 0.0))

    def prox_array(self, array: Array, strength: Number) -> Array:
        lengths = jnp.linalg.norm(array.reshape(len(array), -1), axis=1)
        kept = jnp.maximum(1 - strength / jnp.where(lengths > 0, lengths, 1.0), 0.0)
        return array * kept.reshape(-1, *[1] * (array.ndim - 1))


class NormBall(Penalty):
    """0 where ‖θ‖ ≤ r over the whole group, infinite outside: its proximal step is the projection θ min(1, r/‖θ‖).

    >>> ball = NormBall(everything, radius=5.0)
    >>> ball.prox(jnp.array([6.0, 8.0]), 0.1).tolist(), float(ball(jnp.array([6.0, 8.0])))
    ([3.0, 4.0], inf)
    """

    radius: Number = 1.0

    def __check_init__(self) -> None:
        if not isinstance(self.radius, Tracer) and not self.radius > 0:
            raise ValueError(f"NormBall got radius = {self.radius}; give a number above 0.")

    def length(self, params: PyTree) -> Float[Array, ""]:
        """‖θ‖ over the group."""
        return jnp.sqrt(sum((jnp.sum(array**2) for array in self.members(params)), jnp.zeros(())))

    def __call__(self, params: PyTree) -> Float[Array, ""]:
        return jnp.where(self.length(params) <= self.radius, 0.0, jnp.inf)

    def prox(self, params: PyTree, strength: Number) -> PyTree:
        length = self.length(params)
        outside = length > self.radius
        factor = jnp.where(outside, self.radius / jnp.where(outside, length, 1.0), 1.0)
        return jax.tree.map(
            lambda chosen, leaf: (leaf * factor).astype(leaf.dtype) if chosen else leaf, self.group(params), params
        )
