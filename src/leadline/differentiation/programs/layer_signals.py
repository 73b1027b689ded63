"""Activations and back-signals of all layers at many examples: one forward pass, one backward pass for each output."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Shaped

from .layer_structure import Structure
from .traced_program import Fixed, Program


class Signals(NamedTuple):
    """For each layer a (n, groups, positions, inputs) and δ (n, C, groups, positions, units); ∂f/∂p (n, C, P) for
    each leaf that is in no layer."""

    activations: tuple[Float[Array, "n groups positions inputs"], ...]
    deltas: tuple[Float[Array, "n c groups positions units"], ...]
    jacobians: tuple[Float[Array, "n c p"], ...]


def layer_signals(
    program: Program, structure: Structure, leaves: list[Array], x: Shaped[Array, "n ..."], together: int
) -> Signals:
    """The signals of every row of x, of at most `together` rows at a time."""

    def one(example: Array) -> Signals:
        return _of_example(program, structure, leaves, example)

    return in_batches(one, x, together)


def in_batches(function: Callable[[Array], Any], x: Shaped[Array, "n ..."], together: int) -> Any:
    """function of every row, with `together` rows at a time; the last batch begins early enough to be a full one."""
    n = x.shape[0]
    if together >= n:
        return jax.vmap(function)(x)
    batches = -(-n // together)
    together = -(-n // batches)

    def fill(index: Any, filled: Any) -> Any:
        start = index * together
        part = jax.vmap(function)(lax.dynamic_slice_in_dim(x, start, together))
        return jax.tree.map(lambda all_, new: lax.dynamic_update_slice_in_dim(all_, new, start, 0), filled, part)

    shapes = jax.eval_shape(lambda one: function(one), jax.ShapeDtypeStruct(x.shape[1:], x.dtype))
    empty = jax.tree.map(lambda s: jnp.zeros((n, *s.shape), s.dtype), shapes)
    return lax.fori_loop(0, batches, fill, empty)


def _of_example(program: Program, structure: Structure, leaves: list[Array], x: Array) -> Signals:
    layers, direct = structure.layers, tuple(structure.others)
    wanted = tuple({layer.activation for layer in layers if not isinstance(layer.activation, Fixed)})
    shapes = program.shapes()
    dtypes = {slot: kind for step in program.steps for slot, kind in zip(step.outputs, step.dtypes, strict=True)}
    zeros = {layer.signal: jnp.zeros(shapes[layer.signal], dtypes[layer.signal]) for layer in layers}

    def output(added: dict[int, Array], parts: list[Array]) -> tuple[Array, dict[int, Array]]:
        filled = list(leaves)
        for leaf, value in zip(direct, parts, strict=True):
            filled[leaf] = value
        out, values = program.run(filled, x, added, wanted)
        return jnp.ravel(out), values

    out, pull, values = jax.vjp(output, zeros, [leaves[leaf] for leaf in direct], has_aux=True)
    if out.size == 1:
        back = jax.tree.map(lambda leaf: leaf[None], pull(jnp.ones_like(out)))
    else:
        back = jax.vmap(pull)(jnp.eye(out.size, dtype=out.dtype))
    at = [
        layer.activation.value if isinstance(layer.activation, Fixed) else values[layer.activation] for layer in layers
    ]
    return Signals(
        tuple(layer.activations(jnp.asarray(a)) for layer, a in zip(layers, at, strict=True)),
        tuple(jax.vmap(layer.signals)(back[0][layer.signal]) for layer in layers),
        tuple(part.reshape(out.size, -1) for part in back[1]),
    )
