"""Dissecting a network given as a function: its layers and their costs, its chain, the values and gradients inside."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PyTree

from leadline.differentiation.programs.traced_program import Step

from .chain import Chain
from .chain_finding import find_chain
from .elementwise import ELEMENTWISE, ScalarFunction
from .layer_facts import LayerFacts, find_layers, meets_weight
from .traced_network import TracedNetwork, trace_network

Apply = Callable[[PyTree, Array], Array]


class LayerSignals(NamedTuple):
    """For every layer, on a batch: its pre-activations and the gradient of each row's loss by them, flattened."""

    values: tuple[Float[Array, "n size"], ...]
    gradients: tuple[Float[Array, "n size"], ...]


@dataclass(frozen=True, eq=False)
class Dissection:
    """A network taken apart.

    `layers` are its dense layers and convolutions in order. `chain` is the network as a chain of maps, None where it is
    none and `why_no_chain` says why. `flops` are operations of one example, forwards: 2 for every multiply-add of the
    layers, and `other_flops` for all else, one for each number computed (roughly). `others` are
    parameters in no layer.
    """

    layers: tuple[LayerFacts, ...]
    chain: Chain | None
    why_no_chain: str
    other_flops: int
    parameters: int  #: stored
    in_layers: int  #: parameters that belong to a layer
    others: tuple[str, ...]
    in_others: int  #: parameters that enter in another way
    unused: tuple[str, ...]  #: parameters on which the output does not depend
    network: TracedNetwork
    kept: Any = field(repr=False)

    @property
    def layer_flops(self) -> int:
        return sum(layer.flops for layer in self.layers)

    @property
    def flops(self) -> int:
        """Operations of one example, forwards."""
        return self.layer_flops + self.other_flops

    def chain_at(self, params: PyTree) -> Chain | None:
        """The chain with other parameters, such as those before training."""
        if self.chain is None:
            return None
        return find_chain(self.network, self.layers, params, self.kept.recognised)[0]

    def values(self, params: PyTree, inputs: Num[Array | np.ndarray, "n ..."]) -> tuple[Float[Array, "n size"], ...]:
        """The pre-activations of every layer (after scale and bias), flattened, for a batch."""
        return _values(self.kept, params, jnp.asarray(inputs))

    def signals(
        self, params: PyTree, inputs: Any, targets: Any, criterion: Callable[[Array, Array], Array]
    ) -> LayerSignals:
        """Pre-activations of every layer, and the gradient by them of every row's own loss, criterion(f(x), y)."""
        return _signals(self.kept, params, jnp.asarray(inputs), jnp.asarray(targets), criterion)


def dissect(apply: Apply, params: PyTree, inputs: Any) -> Dissection:
    """Take the network apply(params, inputs), a function of batches, apart; only the shape of `inputs` matters.

    >>> def apply(p, x):
    ...     return jax.nn.relu(x @ p["first"]) @ p["second"] + p["bias"]
    >>> params = {"first": jnp.ones((3, 4)), "second": jnp.ones((4, 2)), "bias": jnp.zeros(2)}
    >>> found = dissect(apply, params, jnp.ones((5, 3)))
    >>> [(layer.name, layer.fan_in, layer.fan_out, layer.flops) for layer in found.layers]
    [('first', 3, 4, 24), ('second', 4, 2, 16)]
    >>> [step.kind for step in found.chain], found.chain.affine[1].weight.shape
    (['reshape', 'affine', 'activation', 'affine'], (2, 4))
    """
    net = trace_network(apply, params, inputs)
    layers = find_layers(net)
    recognised: dict[Any, ScalarFunction] = {}
    chain, why = find_chain(net, layers, params, recognised)
    if chain is not None and not layers:
        chain, why = None, "no parameter meets the input in a matrix product or a convolution"
    mine = {name for layer in layers for name in layer.leaves}
    read = {i for step in net.data_steps for i in step.inputs if isinstance(i, int) and i not in net.data}
    used = {origin for slot in read for origin in net.origins[slot]}
    leaves = jax.tree.leaves(params)
    touched = {origin.leaf for origin in used}
    others = [origin for origin in used if net.named(origin) not in mine]
    return Dissection(
        layers,
        chain,
        why,
        sum(_operations(net, step) for step in net.data_steps if meets_weight(net, step) is None),
        sum(math.prod(leaf.shape) for leaf in leaves),
        sum(origin.size for origin in used if net.named(origin) in mine),
        tuple(sorted(net.named(origin) for origin in others)),
        sum(origin.size for origin in others),
        tuple(name for number, name in enumerate(net.names) if number not in touched),
        net,
        _Kept(net, tuple(layer.output_slots or (layer.output_slot,) for layer in layers), recognised),
    )


class _Kept:
    """The program and the slots of the layers, equal to itself alone, so that jit compiles once for each dissection.

    A layer has several slots where a loop uses it at several steps.
    """

    def __init__(self, net: TracedNetwork, layers: tuple[tuple[int, ...], ...], recognised: dict[Any, ScalarFunction]):
        self.net, self.layers, self.recognised = net, layers, recognised
        self.slots = tuple(slot for slots in layers for slot in slots)

    def by_layer(self, values: Mapping[int, Array]) -> tuple[Array, ...]:
        """What was found in the slots of each layer, flattened, one after the other."""
        return tuple(jnp.concatenate([values[slot].ravel() for slot in slots]) for slots in self.layers)


def _operations(net: TracedNetwork, step: Step) -> int:
    """About how many operations a step takes that is no layer."""
    return _cost(step.primitive, step.settings, [_shape(net, i) for i in step.inputs], step.shapes)


def _shape(net: TracedNetwork, i: Any) -> tuple[int, ...]:
    return net.shapes[i] if isinstance(i, int) else tuple(np.shape(i.value))


def _cost(name: str, settings: Any, inputs: Any, outputs: Any) -> int:
    size = math.prod(outputs[0])
    if name == "dot_general":
        return 2 * size * math.prod(inputs[0][d] for d in settings["dimension_numbers"][0][0])
    if name == "conv_general_dilated":
        return 2 * size * math.prod(inputs[1]) // inputs[1][settings["dimension_numbers"].rhs_spec[0]]
    if name in ("convert_element_type", "copy", "copy_p", "name", "stop_gradient"):
        return 0
    if name in ELEMENTWISE:
        return size
    if name.startswith("reduce_window"):
        return size * (math.prod(settings["window_dimensions"]) - 1)
    if name.startswith("reduce") or name.startswith("cum") or name in ("argmax", "argmin", "sort"):
        return math.prod(inputs[0]) - (size if name.startswith("reduce") else 0)
    times = settings.get("length", 1) if name == "scan" else 1
    jaxprs = [getattr(v, "jaxpr", v) for v in settings.values() if hasattr(getattr(v, "jaxpr", v), "eqns")]
    return times * sum(
        _cost(e.primitive.name, e.params, [v.aval.shape for v in e.invars], [v.aval.shape for v in e.outvars])
        for jaxpr in jaxprs
        for e in jaxpr.eqns
    )


@eqx.filter_jit
def _values(kept: _Kept, params: PyTree, inputs: Array) -> tuple[Array, ...]:
    leaves = jax.tree.leaves(params)

    def one(x: Array) -> tuple[Array, ...]:
        _, found = kept.net.program.run(leaves, x, {}, kept.slots)
        return kept.by_layer(found)

    return jax.vmap(one)(jnp.asarray(inputs))


@eqx.filter_jit
def _signals(kept: _Kept, params: PyTree, inputs: Array, targets: Array, criterion: Callable) -> LayerSignals:
    leaves, shapes = jax.tree.leaves(params), kept.net.shapes
    dtype = jnp.result_type(*leaves)

    def total(added: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
        def one(x: Array, taps: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
            out, found = kept.net.program.run(leaves, x, dict(zip(kept.slots, taps, strict=True)), kept.slots)
            return out, kept.by_layer(found)

        outputs, values = jax.vmap(one)(inputs, added)
        return jnp.sum(criterion(outputs, targets)), values

    zeros = tuple(jnp.zeros((len(inputs), *shapes[slot]), dtype) for slot in kept.slots)
    gradients, values = jax.grad(total, has_aux=True)(zeros)
    return LayerSignals(values, jax.vmap(kept.by_layer)(dict(zip(kept.slots, gradients, strict=True))))
