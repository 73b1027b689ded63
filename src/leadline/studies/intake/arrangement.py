"""How a network takes the rows of its data: of one example or a batch, as numbers or integers, its axes rearranged."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, PyTree

from leadline._messages import brief, reason
from leadline.evidence import BadInput
from leadline.frameworks.checks import Refused, is_of
from leadline.frameworks.network import Apply, Network, SeveralOutputs
from leadline.frameworks.opening import as_apply

from .image_layout import COLOURS
from .positions import Positions

Select = Callable[[Any], Array] | int | str | None
TRIED = 3  # rows on which it is tried whether the network takes them


class Arranged(eqx.Module):
    """apply(params, inputs) → (n, k), or (n, T, k) where there are positions, from a network of any shapes.

    `axes` is the order in which the network takes the axes of an example, `shape` the shape, where they are not those
    of the data.
    """

    function: Callable
    axes: tuple[int, ...] | None = eqx.field(static=True, default=None)
    shape: tuple[int, ...] | None = eqx.field(static=True, default=None)
    positions: Positions | None = eqx.field(static=True, default=None)

    def __call__(self, params: PyTree, inputs: Array | np.ndarray) -> Array:
        inputs = self.rearranged(jnp.asarray(inputs))
        outputs, where = self.function(params, inputs), self.positions
        if where is None:
            return outputs.reshape(len(inputs), -1)
        outputs = jnp.moveaxis(outputs, 1, -1) if where.scores_first else outputs
        return outputs.reshape(len(inputs), where.count, -1)

    def rearranged(self, inputs: Any) -> Any:
        """The inputs as the network takes them."""
        if self.axes is not None:
            inputs = inputs.transpose(0, *(axis + 1 for axis in self.axes))
        return inputs if self.shape is None else inputs.reshape(len(inputs), *self.shape)


class Fitted(NamedTuple):
    """A network that takes the rows: its arrangement and parameters, the rows in their type, one row's output shape."""

    arranged: Arranged
    params: PyTree
    dtype: np.dtype
    outputs: tuple[int, ...]


def opened(model: Any, *example: Any, batched: bool | None = None, select: Select = None) -> Network:
    """`as_apply`, whose refusals are told as a user's mistakes; an example is for frameworks that trace with one."""
    try:
        return as_apply(model, *example, batched=batched, select=select)
    except ValueError as mistake:
        raise BadInput(str(mistake)) from None


def needs_example(model: Any) -> bool:
    """Whether the network is traced with an example, as PyTorch's modules are."""
    return is_of(model[0] if type(model) is tuple and model else model, "torch")


def _is_traceable(model: Any) -> bool:
    """Whether the network needs an example; one of PyTorch that cannot be studied on any inputs is told at once."""
    if not needs_example(model):
        return False
    from leadline.frameworks.torch_modules.refusals import check_module

    module = model[0] if type(model) is tuple else model
    try:
        check_module(getattr(module, "_orig_mod", module))
    except ValueError as mistake:
        raise BadInput(str(mistake)) from None
    return True


def fitted(model: Any, inputs: np.ndarray, select: Select) -> Fitted:
    """The network as it takes these rows.

    It is first taken as those of its library are, of one example or of a batch, then as the other; images may be taken
    as they are, as one row of numbers, with a channel axis before or behind, or with their colours at the other end.
    Whole numbers are given as numbers of the network's precision, and as integers where it does not take those.
    """
    network = None if _is_traceable(model) else opened(model, select=select)
    whole = inputs.dtype.kind in "iub"
    precision = np.dtype(np.float32) if network is None else checked_precision(network.params)
    why: list[str] = []
    for dtype in (precision, np.dtype(np.int32)) if whole else (precision,):
        tried = np.asarray(inputs[:TRIED]).astype(dtype)
        first = ""
        for axes, shape in _arrangements(inputs.shape[1:]):
            empty = Arranged(_nothing, axes, shape)
            for candidate in _candidates(model, network, select, empty.rearranged(tried)):
                try:
                    found = candidate() if network is None else Network(candidate, network.params)
                    outputs = _row_of_outputs(found, empty.rearranged(tried))
                except SeveralOutputs as several:
                    raise BadInput(
                        f"The network returns {several.contents}, not one array; choose one by "
                        f"select={several.place!r} (--select {several.place} in a terminal)."
                    ) from None
                except Refused as refusal:
                    raise BadInput(str(refusal)) from None
                except Exception as error:  # whatever a user's network raises on inputs that it does not take
                    own = error.__cause__ if network is None else None  # what PyTorch said to its own network
                    first = first or reason(own or error)
                    continue
                checked_precision(found.params)
                return Fitted(Arranged(found.apply, axes, shape), found.params, dtype, outputs)
        why.append(first)
    told = why[-1] if "nteger" in why[0] else why[0]
    raise BadInput(
        f"The network does not take inputs of shape {inputs.shape[1:]} ({told}); {_weights(model, network)}give inputs "
        "of the shape that it was made for."
    )


def _nothing(params: PyTree, inputs: Array) -> Array:
    return inputs


def _candidates(model: Any, network: Network | None, select: Select, example: np.ndarray) -> Iterator[Callable]:
    """The functions of batches to try; a network that is traced with an example comes as what traces it."""
    if network is None:
        example = example.astype(np.int64) if example.dtype.kind == "i" else example
        yield lambda: as_apply(model, example, select=select)
        return
    yield network.apply
    yield opened(model, batched=getattr(network.apply, "mapped", False), select=select).apply


def _arrangements(given: tuple[int, ...]) -> list[tuple[tuple[int, ...] | None, tuple[int, ...] | None]]:
    """(order of axes, shape) for the examples of a shape, the most likely first."""
    if len(given) < 2:
        return [(None, None)]
    shapes = [None, (math.prod(given),), (1, *given), (*given, 1)]
    turned = [(2, 0, 1)] if len(given) == 3 and given[2] in COLOURS else []
    turned += [(1, 2, 0)] if len(given) == 3 and given[0] in COLOURS else []
    return [(None, None), *((axes, None) for axes in turned), *((None, shape) for shape in shapes[1:])]


def _row_of_outputs(network: Network, rows: np.ndarray) -> tuple[int, ...]:
    """The shape of one row of outputs; they must be real."""
    row = jax.ShapeDtypeStruct(rows.shape, rows.dtype)
    outputs = jax.eval_shape(BatchOutputs(network.apply), network.params, row)
    if not jnp.issubdtype(outputs.dtype, jnp.floating):
        raise Refused(f"The network's outputs have type {outputs.dtype}; a study needs real numbers (floats).")
    return tuple(outputs.shape[1:])


class BatchOutputs(eqx.Module):
    """The outputs of a function of batches, which must have a row for each input."""

    apply: Apply

    def __call__(self, params: PyTree, inputs: Array) -> Array:
        outputs = self.apply(params, inputs)
        if outputs.ndim == 0 or len(outputs) != len(inputs):
            raise ValueError(f"{len(inputs)} inputs give outputs of shape {outputs.shape}, not one row for each")
        return outputs


def _weights(model: Any, network: Network | None) -> str:
    """What the shapes of weights say of the inputs that a network was made for."""
    module = model[0] if type(model) is tuple else model
    leaves = module.parameters() if network is None else jax.tree.leaves(network.params)
    shapes = [tuple(leaf.shape) for leaf in leaves if leaf.ndim > 1]
    return f"its weights have the shapes {brief(', '.join(map(str, shapes)))}: " if shapes else ""


def checked_precision(params: PyTree) -> np.dtype:
    """The precision of the parameters, which must be single or double, on the device that computes."""
    here = jnp.zeros(()).devices()
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        name = jax.tree_util.keystr(path) or "params"
        if leaf.dtype.itemsize < 4:
            raise BadInput(
                f"Parameter {name} has half precision ({leaf.dtype}), which rounds away what a study measures; give "
                "the network in float32."
            )
        if isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer) and leaf.devices() != here:
            there = ", ".join(sorted(map(str, leaf.devices())))
            raise BadInput(
                f"Parameter {name} is on the device {there} and the study computes on {', '.join(map(str, here))}; "
                "move the network there by jax.device_put(model, jax.devices()[0])."
            )
    return np.dtype(jnp.result_type(*jax.tree.leaves(params)))
