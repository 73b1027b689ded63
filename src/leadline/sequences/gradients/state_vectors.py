"""States of any recurrence z_t = F(z_{t-1}, x_t) as real vectors, and the trajectory that they run through."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Num, PyTree

Step = Callable[[Any, Any], Any]  # F: the state and one input to the next state


class OnVectors(eqx.Module):
    """F with its state flattened to a real vector; a pytree of F's arrays, so that what is compiled of it is reused."""

    step: Any
    start: PyTree

    @property
    def vector(self) -> Num[Array, " m"]:
        return ravel_pytree(_apart(self.start))[0]

    def state(self, z: Float[Array, " m"]) -> PyTree:
        """The state that a vector stands for."""
        return _together(ravel_pytree(_apart(self.start))[1](z), self.start)

    def __call__(self, z: Float[Array, " m"], x: Any) -> Float[Array, " m"]:
        moved = self.step(self.state(z), x)
        shapes, after = (jax.tree.map(jnp.shape, tree) for tree in (self.start, moved))
        if jax.tree.structure(moved) != jax.tree.structure(self.start) or shapes != after:
            raise ValueError(
                f"The step turns a state of shapes {shapes} into one of {after}; it must keep them, so that it can be "
                "repeated."
            )
        return ravel_pytree(_apart(moved))[0].astype(z.dtype)


def state_vectors(step: Step, start: PyTree) -> tuple[OnVectors, Float[Array, " m"]]:
    """The recurrence on real vectors: F with its state flattened, and z_0; complex numbers become two real ones each.

    >>> step, z = state_vectors(lambda z, x: {"h": z["h"] + x, "c": 1j * z["c"]}, {"h": jnp.zeros(2), "c": 1 + 0j})
    >>> step(z, 3.0).tolist()  # the leaf c first: its real and its imaginary part, then h
    [0.0, 1.0, 3.0, 3.0]
    """
    on_vectors = OnVectors(step, jax.tree.map(jnp.asarray, start))
    z = on_vectors.vector
    if not z.size or not jnp.issubdtype(z.dtype, jnp.floating):
        raise ValueError(f"The state has {z.size} numbers of type {z.dtype}; give floating-point or complex ones.")
    return on_vectors, z


def trajectory(step: Step, start: PyTree, inputs: PyTree) -> Float[Array, "steps_and_start m"]:
    """The states z_0, z_1, ..., z_T of a recurrence as vectors; the leaves of `inputs` have time as their first axis.

    >>> trajectory(lambda z, x: 0.5 * z + x, jnp.zeros(1), jnp.ones((3, 1)))[:, 0].tolist()
    [0.0, 1.0, 1.5, 1.75]
    """
    on_vectors, z = state_vectors(step, start)
    return _trajectory(on_vectors, z, inputs)


@eqx.filter_jit
def _trajectory(on_vectors: OnVectors, z: Array, inputs: PyTree) -> Float[Array, "steps_and_start m"]:
    def move(z: Array, x: Any) -> tuple[Array, Array]:
        moved = on_vectors(z, x)
        return moved, moved

    return jnp.concatenate([z[None], jax.lax.scan(move, z, inputs)[1]])


def overflow_step(states: Float[Array | np.ndarray, "*rows times m"]) -> int | None:
    """The first position along time where a state is not finite, None where all are.

    Of a trajectory z_0, z_1, ... this is the step t itself, since z_0 is the start.

    >>> overflow_step(np.array([[0.0], [1e300], [np.inf], [np.nan]]))
    2
    """
    lost = ~np.all(np.isfinite(np.asarray(states)), axis=-1)
    lost = lost.reshape(-1, lost.shape[-1]).any(axis=0)
    return int(np.argmax(lost)) if lost.any() else None


def finite_trajectory(step: Step, start: PyTree, inputs: PyTree) -> Float[Array, "steps_and_start m"]:
    """`trajectory`, refused where it leaves the range of its numbers; the step at which it does is named."""
    states = trajectory(step, start, inputs)
    lost = overflow_step(states)
    if lost is not None:
        steps = len(states) - 1
        raise ValueError(
            f"The state is no longer finite from step {lost} of {steps} on; give at most {lost - 1} steps, or weights "
            "that do not let it grow."
            if lost
            else "The state that the recurrence starts from is not finite; give finite numbers."
        )
    return states


def _apart(tree: PyTree) -> PyTree:
    """Every complex leaf as its real and its imaginary part."""
    return jax.tree.map(lambda leaf: (leaf.real, leaf.imag) if jnp.iscomplexobj(leaf) else leaf, tree)


def _together(parts: PyTree, like: PyTree) -> PyTree:
    def one(leaf: Array, part: Any) -> Array:
        return jax.lax.complex(*part) if jnp.iscomplexobj(leaf) else part

    return jax.tree.map(one, like, parts)
