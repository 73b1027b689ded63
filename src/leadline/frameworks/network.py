"""The one form of a network: apply(params, inputs) -> outputs on a batch, with its parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .checks import Refused, kind_of

Apply = Callable[[PyTree, Array], Array]  # (params, inputs of a batch) -> outputs, one row for each input
ExampleFunction = Callable[[PyTree, Array], Array]  # (params, one input) -> its outputs


class Network(NamedTuple):
    """A network as `apply(params, inputs)` and its `params`; it unpacks into the two: `pgd(*as_apply(net), x, y)`."""

    apply: Apply
    params: PyTree


class BatchFunction(eqx.Module):
    """apply(params, inputs) of a batch, from function(params, x) of one example (`mapped`) or of a batch.

    Equal for equal networks, so that what is compiled for one serves the next.
    """

    function: Callable
    mapped: bool = eqx.field(static=True)
    select: Callable | None = eqx.field(static=True, default=None)

    def __call__(self, params: PyTree, inputs: Array | np.ndarray) -> Array:
        inputs = jnp.asarray(inputs)
        if inputs.ndim == 0:
            raise ValueError("The inputs are a single number; give a batch, with one example per row.")
        outputs = jax.vmap(lambda x: self.of_example(params, x))(inputs) if self.mapped else self._run(params, inputs)
        if outputs.ndim == 0 or len(outputs) != len(inputs):
            raise ValueError(
                f"{len(inputs)} inputs give outputs of shape {outputs.shape}, not one row for each; say batched=False "
                "if the network takes one example."
            )
        return outputs

    def of_example(self, params: PyTree, x: Array) -> Array:
        """The outputs of one example."""
        return self._run(params, x) if self.mapped else self._run(params, x[None])[0]

    def _run(self, params: PyTree, x: Array) -> Array:
        outputs = self.function(params, x)
        outputs = outputs if self.select is None else self.select(outputs)
        return _one_array(outputs)


class OneOfBatch(eqx.Module):
    """f(params, x) for one input x, from a function of batches that treats its rows alike."""

    apply: Callable

    def __call__(self, params: PyTree, x: Array) -> Array:
        return _one_array(self.apply(params, x[None]))[0]


def of_example(apply: Apply) -> ExampleFunction:
    """f(params, x) of one example: the network's own where it was written so, else the only row of a batch."""
    return apply.of_example if isinstance(apply, BatchFunction) and apply.mapped else OneOfBatch(apply)


@dataclass(frozen=True)
class Choice:
    """One of several outputs: by its place, its key or its name."""

    name: int | str

    def __call__(self, outputs: Any) -> Any:
        named = isinstance(self.name, str) and not isinstance(outputs, dict)
        try:
            return getattr(outputs, str(self.name)) if named else outputs[self.name]
        except (AttributeError, KeyError, IndexError, TypeError):
            raise Refused(
                f"The network returns {_contents(outputs)}, which has no {self.name!r}; choose one by select=, as in "
                f"select={_place(outputs)!r}."
            ) from None


def chosen_output(select: Callable[[Any], Array] | int | str | None) -> Callable[[Any], Array] | None:
    """`select` as a function of the outputs."""
    return Choice(select) if isinstance(select, int | str) else select


class SeveralOutputs(Refused):
    """A network returns several things; `place` is one that could be chosen."""

    def __init__(self, outputs: Any):
        self.contents, self.place = _contents(outputs), _place(outputs)
        super().__init__(
            f"The network returns {self.contents}, not one array; choose one by select=, as in "
            f"select={self.place!r} or select=lambda out: {_choice(outputs)}."
        )


def _one_array(outputs: Any) -> Array:
    if not hasattr(outputs, "shape"):
        raise SeveralOutputs(outputs)
    return jnp.asarray(outputs)


def _contents(outputs: Any) -> str:
    if hasattr(outputs, "shape"):
        return f"one array of shape {tuple(outputs.shape)}"
    if isinstance(outputs, dict):
        return f"a dict with {', '.join(map(repr, outputs))}"
    return f"{kind_of(outputs)} of {len(outputs)}" if isinstance(outputs, tuple | list) else kind_of(outputs)


def _place(outputs: Any) -> int | str:
    if isinstance(outputs, dict) and outputs:
        return next(iter(outputs))
    fields = getattr(outputs, "_fields", None)
    return fields[0] if fields else 0


def _choice(outputs: Any) -> str:
    place = _place(outputs)
    return f"out.{place}" if isinstance(place, str) and not isinstance(outputs, dict) else f"out[{place!r}]"
