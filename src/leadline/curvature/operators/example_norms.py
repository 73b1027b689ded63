"""The norm of every example's gradient, without the gradients: from activations and back-signals of the layers."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PyTree

from leadline._checks import require_numbers
from leadline.differentiation.programs.canonical_convolutions import with_fast_steps
from leadline.differentiation.programs.layer_geometry import Layer
from leadline.differentiation.programs.layer_signals import in_batches, layer_signals
from leadline.differentiation.programs.layer_structure import Structure, layer_structure
from leadline.differentiation.programs.traced_program import Program, traced_program

from .operator import split_parameters
from .row_losses import batch_shapes, check_batch
from .streaming import StoredRows, rows_in_memory

_BUDGET = 2.0**27  # bytes for what the examples of one batch hold
_STORED_ROWS = 1024  # rows of a file that are read at one time


def example_gradient_norms(
    loss: Callable[..., Any], params: PyTree, *data: PyTree, batch: int | None = None
) -> Float[Array, " n"]:
    """‖∇ℓᵢ‖ of every row of the data, ℓᵢ = loss(params, row i), with respect to all floating-point arrays of `params`.

    One backward pass gives the back-signals δ at every layer. A dense layer with activation a has the gradient δ aᵀ, of
    squared norm ‖δ‖²‖a‖² (Goodfellow 2015); a weight that is shared over positions t (tokens, pixels of a convolution)
    Σ_t δ_t a_tᵀ, of squared norm Σ_{t,s} (a_t·a_s)(δ_t·δ_s), or the sum itself where that is cheaper. The layers are
    found in the traced loss; the gradient is formed, `batch` examples at a time, for arrays that enter otherwise (a
    scale, a bias over positions, a weight used twice). `loss` takes rows (n, ...) and gives one loss per row or their
    mean; it is called on one row at a time, so that a penalty on the parameters counts in every ℓᵢ.

    >>> x, y = jnp.array([[3.0, 4.0], [1.0, 0.0]]), jnp.array([1.0, 2.0])
    >>> half_squares = lambda w, x, y: jnp.mean((x @ w - y) ** 2) / 2
    >>> example_gradient_norms(half_squares, jnp.zeros(2), x, y).tolist()  # |residual|·‖x‖
    [5.0, 2.0]
    """
    require_numbers("example_gradient_norms", params=params)
    check_batch(batch)
    moved, fixed = split_parameters(params)
    held, rows = rows_in_memory(data)
    if not jax.tree.leaves(held, is_leaf=_stored):
        raise ValueError("There are no data; give the rows whose gradients are asked for.")
    _check_one_loss(loss, moved, fixed, held)
    if not any(map(_stored, jax.tree.leaves(held, is_leaf=_stored))):
        return norms_of_rows(loss, moved, fixed, held, batch)
    parts = []
    for first in range(0, rows, _STORED_ROWS):
        part = jax.tree.map(lambda leaf, i=first: _read(leaf, i, _STORED_ROWS), held, is_leaf=_stored)
        parts.append(norms_of_rows(loss, moved, fixed, part, batch))
    return jnp.concatenate(parts)


@eqx.filter_jit
def norms_of_rows(
    loss: Callable[..., Any], params: PyTree, fixed: PyTree, data: tuple, batch: int | None
) -> Float[Array, " n"]:
    """The compiled part: `params` are floating-point arrays, `fixed` the rest of the model, data arrays of n rows."""

    def one_loss(p: PyTree, index: Array) -> Array:
        row = jax.tree.map(lambda a: lax.dynamic_slice_in_dim(a, index, 1), data)
        return jnp.sum(loss(eqx.combine(p, fixed), *row))

    indices = jnp.arange(jax.tree.leaves(data)[0].shape[0])
    leaves = jax.tree.leaves(params)
    program = with_fast_steps(traced_program(one_loss, params, jax.ShapeDtypeStruct((), indices.dtype)))
    structure = layer_structure(program)

    def norm(index: Array) -> Array:
        return jnp.sqrt(_squared_norm(program, structure, leaves, index))

    return in_batches(norm, indices, batch or _together(program, structure, leaves))


def _squared_norm(program: Program, structure: Structure, leaves: list[Array], index: Array) -> Array:
    found = layer_signals(program, structure, leaves, index[None], 1)
    total = jnp.zeros((), jnp.result_type(*leaves))
    for layer, a, d in zip(structure.layers, found.activations, found.deltas, strict=True):
        a, d = a[0], d[0, 0]  # (groups, positions, inputs), (groups, positions, units)
        total += _layer_square(layer, a, d)
    return total + sum(jnp.sum(part**2) for part in found.jacobians)


def _layer_square(layer: Layer, a: Float[Array, "g f k"], d: Float[Array, "g f u"]) -> Array:
    if layer.plain:
        bias = 0.0 if layer.bias is None else jnp.asarray(layer.bias_scale, a.dtype) ** 2
        return (jnp.sum(a**2) + bias) * jnp.sum(d**2)
    if _by_pairs(layer):
        return jnp.sum(jnp.einsum("gfk,gek->gfe", a, a) * jnp.einsum("gfu,geu->gfe", d, d))
    return jnp.sum(jnp.einsum("gfk,gfu->gku", a, d) ** 2)


def _by_pairs(layer: Layer) -> bool:
    """Whether all pairs of positions cost fewer operations than the outer products."""
    return layer.positions * (layer.inputs + layer.units) < layer.inputs * layer.units


def _together(program: Program, structure: Structure, leaves: list[Array]) -> int:
    """How many examples fit the budget, with their intermediate values, signals and what is formed from them."""
    numbers = 2 * sum(math.prod(shape) for step in program.steps for shape in step.shapes)
    numbers += sum(leaves[leaf].size for leaf in structure.others)
    for layer in structure.layers:
        formed = 2 * layer.positions**2 if _by_pairs(layer) else layer.inputs * layer.units
        numbers += layer.groups * (layer.positions * (layer.inputs + layer.units) + formed * (not layer.plain))
    return max(1, int(_BUDGET / jnp.result_type(*leaves).itemsize / numbers))


def _check_one_loss(loss: Callable, params: PyTree, fixed: PyTree, data: tuple) -> None:
    row = batch_shapes(data, 1)
    found = eqx.filter_eval_shape(lambda p, d: loss(eqx.combine(p, fixed), *d), params, row)
    if getattr(found, "shape", None) not in ((), (1,)) or not jnp.issubdtype(found.dtype, jnp.floating):
        shape = getattr(found, "shape", type(found).__name__)
        raise ValueError(f"The loss of one row has shape {shape}; give a loss with one real number per row, or a mean.")


def _stored(leaf: Any) -> bool:
    return isinstance(leaf, StoredRows)


def _read(leaf: Any, first: int, rows: int) -> Array:
    return (
        jnp.asarray(np.asarray(leaf.source.rows[first : first + rows])) if _stored(leaf) else leaf[first : first + rows]
    )
