"""A network's size and work beside a human brain's: units, weights, weighted sums per second, silence."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jaxtyping import Array, PyTree

from leadline.frameworks.network import Apply


class Brain(NamedTuple):
    """Round figures for a human brain."""

    neurons: float = 8.6e10  #: Azevedo et al. 2009; textbooks round to 1e11
    synapses: float = 1e14  #: about 1000 for each neuron
    wiring_km_per_mm3: float = 4.0
    mean_rate: float = 4.0  #: spikes per second and neuron

    @property
    def events_per_second(self) -> float:
        """Synaptic events: synapses times mean rate, 4e14 per second."""
        return self.synapses * self.mean_rate


BRAIN = Brain()


class Budget(NamedTuple):
    """What a network holds and does for one input.

    `units` are weighted sums formed, `weights` are stored parameters, `multiply_adds` the products in those sums (the
    counterpart of synapses: a convolution reuses its weights), `silence` the share of exact zeros among the hidden
    activations that later weighted sums read (nan if there are none).
    """

    units: int
    weights: int
    multiply_adds: int
    silence: float

    @property
    def fan_in(self) -> float:
        """Mean number of inputs of a unit."""
        return self.multiply_adds / max(self.units, 1)

    def events_per_second(self, inputs_per_second: float) -> float:
        """Multiply-adds per second at a given throughput."""
        return self.multiply_adds * inputs_per_second


def budget(apply: Apply, params: PyTree, batch: Array) -> Budget:
    """Count a network's units, weights and multiply-adds per input, and measure how silent its hidden units are.

    The program that JAX traces is run once on the batch: every matrix product and convolution that depends on the input
    counts, wherever it stands (loops of known length included), and parameters-only products do not.

    >>> import equinox as eqx
    >>> from leadline import as_apply
    >>> mlp = eqx.nn.MLP(4, 3, width_size=8, depth=1, key=jax.random.key(0))
    >>> found = budget(*as_apply(mlp), jnp.ones((2, 4)))
    >>> found.units, found.weights, found.multiply_adds
    (11, 67, 56)
    """
    if np.ndim(batch) < 1 or np.shape(batch)[0] == 0:
        raise ValueError(f"The batch has shape {np.shape(batch)}; inputs must lie along a non-empty axis 0.")
    leaves = jax.tree.leaves(params)
    closed = jax.make_jaxpr(apply)(params, jnp.asarray(batch))
    tally = _Tally()

    @jax.jit
    def silent(leaves, batch):
        values = [*(_Value(leaf, 0) for leaf in leaves), _Value(batch, 1)]
        _interpret(closed.jaxpr, closed.consts, values, tally)  # sizes are counted while JAX traces this
        return tally.zeros

    zeros = int(silent(leaves, jnp.asarray(batch)))
    examples = np.shape(batch)[0]
    return Budget(
        units=tally.units // examples,
        weights=sum(leaf.size for leaf in leaves),
        multiply_adds=tally.multiply_adds // examples,
        silence=zeros / tally.read if tally.read else math.nan,
    )


class _Value(NamedTuple):
    array: Array
    depth: int  # 0: parameters only; 1: depends on the input; 2: depends on it through a weighted sum


class _Tally:
    def __init__(self):
        self.units = self.multiply_adds = self.read = 0
        self.zeros: int | Array = 0


def _interpret(jaxpr, consts, arguments: list[_Value], tally: _Tally) -> list[_Value]:
    """Run a traced program equation by equation, counting weighted sums on the way."""
    known = dict(zip(jaxpr.constvars, (_Value(c, 0) for c in consts), strict=True))
    known |= dict(zip(jaxpr.invars, arguments, strict=True))

    def read(atom) -> _Value:
        if isinstance(atom, core.Literal):
            return _Value(jnp.asarray(atom.val, getattr(atom.aval, "dtype", None)), 0)
        return known[atom]

    for equation in jaxpr.eqns:
        inputs = [read(atom) for atom in equation.invars]
        outputs = _apply(equation, inputs, tally)
        known |= dict(zip(equation.outvars, outputs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _apply(equation, inputs: list[_Value], tally: _Tally) -> list[_Value]:
    name, params = equation.primitive.name, equation.params
    depth = max((value.depth for value in inputs), default=0)
    if name == "scan":
        return _scan(params, inputs, tally)
    if name in ("while", "cond"):
        raise ValueError(f"The model contains a `{name}` whose work depends on values; count its branches one by one.")
    inner = params.get("jaxpr", params.get("call_jaxpr", params.get("fun_jaxpr")))
    if inner is not None:  # jit, custom derivatives, checkpoint: look inside
        if isinstance(inner, core.ClosedJaxpr):
            return _interpret(inner.jaxpr, inner.consts, inputs, tally)
        return _interpret(inner, (), inputs, tally)
    arrays = equation.primitive.bind(*(value.array for value in inputs), **params)
    arrays = arrays if equation.primitive.multiple_results else [arrays]
    if name in ("dot_general", "conv_general_dilated") and depth > 0:
        tally.units += arrays[0].size
        tally.multiply_adds += arrays[0].size * _summed(name, params, inputs)
        for value in inputs[:2]:
            if value.depth == 2:
                tally.zeros += jnp.sum(value.array == 0)
                tally.read += value.array.size
        depth = 2
    return [_Value(array, depth) for array in arrays]


def _summed(name: str, params: dict, inputs: list[_Value]) -> int:
    """How many products one output entry adds up."""
    if name == "dot_general":
        (contracted, _), _ = params["dimension_numbers"]
        return math.prod(inputs[0].array.shape[axis] for axis in contracted)
    kernel = inputs[1].array
    return kernel.size // kernel.shape[params["dimension_numbers"].rhs_spec[0]]


def _scan(params: dict, inputs: list[_Value], tally: _Tally) -> list[_Value]:
    fixed, carried = params["num_consts"], params["num_carry"]
    constants, carry, rows = inputs[:fixed], inputs[fixed : fixed + carried], inputs[fixed + carried :]
    # The first state is often a constant: it still takes part in a sum over the input, as all later states do.
    depth = max((value.depth for value in inputs), default=0)
    carry = [_Value(value.array, max(value.depth, min(depth, 1))) for value in carry]
    body, order = params["jaxpr"], range(params["length"])
    outputs = []
    for i in reversed(order) if params["reverse"] else order:
        row = [_Value(value.array[i], value.depth) for value in rows]
        result = _interpret(body.jaxpr, body.consts, [*constants, *carry, *row], tally)
        carry = result[:carried]
        outputs.append(result[carried:])
    if params["reverse"]:
        outputs.reverse()
    columns = zip(*outputs, strict=True)
    stacked = [_Value(jnp.stack([v.array for v in c]), max(v.depth for v in c)) for c in columns]
    return [*carry, *stacked]
