"""Finding the chain in a traced network: its pieces, joined where they belong together, as maps."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from leadline.differentiation.programs.traced_program import Fixed, Step

from .affine_maps import dense_affine
from .chain import LARGEST_MATRIX, Chain, ChainStep, affine_matrix
from .chain_pieces import NoChain, Piece, classified, cuts_of, value_of
from .elementwise import ScalarFunction, scalar_function
from .layer_facts import LayerFacts, meets_weight
from .traced_network import TracedNetwork

_SMALL_MATRIX = 2**20


def find_chain(
    net: TracedNetwork, layers: tuple[LayerFacts, ...], params: Any, recognised: dict[Any, ScalarFunction]
) -> tuple[Chain | None, str]:
    """The chain, or None and a reason in words; `recognised` keeps the activations by what they do."""
    try:
        if not isinstance(net.program.output, int) or net.program.output not in net.data:
            raise NoChain("the output does not depend on the input")
        _check_once(net)
        read = {i for step in net.data_steps for i in step.inputs if isinstance(i, int) and i not in net.data}
        constants = net.constants(params, tuple(sorted(read)))
        pieces = [classified(net, constants, *cut) for cut in cuts_of(net)]
        return Chain(tuple(_chain_steps(net, layers, constants, _joined(pieces), recognised))), ""
    except NoChain as reason:
        return None, str(reason)


def _check_once(net: TracedNetwork) -> None:
    """Every weight meets the input once."""
    met: set = set()
    for step in net.data_steps:
        side = meets_weight(net, step)
        for origin in net.source(step.inputs[side]) if side is not None else ():
            if origin in met:
                raise NoChain(f"the parameter {net.named(origin)} is used twice")
            met.add(origin)


def _joined(pieces: list[Piece]) -> list[tuple[str, list[Piece]]]:
    """Pieces in groups: a layer with its scales and bias, an activation with its constant factors, a pooling."""
    groups: list[tuple[str, list[Piece]]] = []
    for number, piece in enumerate(pieces):
        kind, members = groups[-1] if groups else ("", [])
        tag = piece.tag
        if tag in ("layer", "affine", "scalar", "neg", "shape") and kind == "affine":
            full = any(p.tag == "layer" for p in members)
            to_activation = tag == "neg" and number + 1 < len(pieces) and pieces[number + 1].tag == "act"
            if not (tag == "layer" and full) and not to_activation:
                members.append(piece)
                continue
        goes_on = {
            "activation": tag in ("act", "scalar", "neg"),
            "pool": tag == "scalar" and bool(members) and members[-1].tag in ("sum", "scalar"),
            "reshape": tag == "shape",
        }
        if goes_on.get(kind, False):
            members.append(piece)
        elif tag == "neg" and number + 1 < len(pieces) and pieces[number + 1].tag == "act":
            groups.append(("activation", [piece]))
        else:
            named = {"act": "activation", "max": "pool", "sum": "pool", "shape": "reshape"}
            groups.append((named.get(tag, "affine"), [piece]))
    return groups


def _chain_steps(
    net: TracedNetwork, layers: tuple[LayerFacts, ...], constants: dict, groups: list, recognised: dict
) -> Iterator[ChainStep]:
    by_weight = {layer.weight_slot: number for number, layer in enumerate(layers)}
    dtypes = {slot: kind for s in net.program.steps for slot, kind in zip(s.outputs, s.dtypes, strict=True)}
    for kind, members in groups:
        steps = tuple(s for piece in members for s in piece.steps)
        start, end = members[0].start, members[-1].end
        mine = {i: constants[i] for s in steps for i in s.inputs if isinstance(i, int) and i in constants}
        more: dict[str, Any] = {"dtype": dtypes.get(start, dtypes[end])}
        bare = ChainStep(kind, net.shapes[start], net.shapes[end], steps, start, end, mine, **more)
        if kind == "affine":
            weights = [by_weight[i] for s in steps for i in s.inputs if isinstance(i, int) and i in by_weight]
            more["layer"] = weights[0] if weights else None
            more["weight"], more["bias"] = _weight_and_bias(bare)
        elif kind == "activation":
            mark = _signature(steps, constants)
            if mark not in recognised:
                recognised[mark] = scalar_function(_tiled(bare), more["dtype"])
            more |= {"function": recognised[mark], "lipschitz": recognised[mark].lipschitz}
        elif kind == "pool":
            first = members[0]
            factor = math.prod(_factor(p.steps[0], constants) for p in members[1:])
            more |= {"pool": "max" if first.tag == "max" else "mean", "lipschitz": first.lipschitz * factor}
            more |= {"window": first.window, "stride": first.stride}
        else:
            more["lipschitz"] = 1.0
        yield ChainStep(kind, net.shapes[start], net.shapes[end], steps, start, end, mine, **more)


def _factor(step: Step, constants: dict) -> float:
    """|the number| by which a step multiplies; adding a number changes no distance."""
    if step.primitive not in ("mul", "div"):
        return 1.0
    number = next(value_of(constants, i) for i in step.inputs if isinstance(i, Fixed) or i in constants)
    number = abs(float(np.ravel(np.asarray(number))[0]))
    return number if step.primitive == "mul" else 1 / number


def _weight_and_bias(step: ChainStep) -> tuple[np.ndarray | None, np.ndarray | None]:
    adds = any(s.primitive in ("add", "add_any", "sub", "pad", "concatenate") for s in step.steps)
    found = dense_affine(step)
    if found is not None:
        return found.weight, found.bias if adds else None
    entries = math.prod(step.out_shape) * math.prod(step.in_shape)
    dense = not step.is_convolution and any(s.primitive == "dot_general" for s in step.steps)
    small = entries <= (LARGEST_MATRIX if dense else _SMALL_MATRIX) and not step.is_convolution
    return affine_matrix(step) if small else None, _at_zero(step) if adds else None


def _at_zero(step: ChainStep) -> np.ndarray:
    return np.asarray(jax.jit(lambda z: step(z))(jnp.zeros(step.in_shape, step.dtype))).ravel()


def _tiled(step: ChainStep) -> Callable[[Array], Array]:
    """An activation step as a function of arrays of any shape."""
    size = math.prod(step.in_shape)

    def function(z: Array) -> Array:
        flat = jnp.ravel(jnp.asarray(z, step.dtype))
        tiles = -(-flat.size // size)
        padded = jnp.pad(flat, (0, tiles * size - flat.size)).reshape(tiles, *step.in_shape)
        return jax.vmap(step)(padded).ravel()[: flat.size].reshape(jnp.shape(z))

    return jax.jit(function)


def _signature(steps: tuple[Step, ...], constants: dict) -> tuple:
    """What an activation does, whatever the shape it is applied to: the names of its steps and its numbers."""
    names = {slot: n for n, s in enumerate(steps) for slot in s.outputs}
    marks = []
    for s in steps:
        inputs = []
        for i in s.inputs:
            if isinstance(i, Fixed) or i in constants:
                inputs.append(float(np.ravel(np.asarray(value_of(constants, i), float))[0]))
            else:
                inputs.append(f"step {names.get(i, 'input')}")
        plain = {k: v for k, v in s.settings.items() if isinstance(v, int | float | str | bool)}
        marks.append((s.primitive, tuple(inputs), tuple(sorted(plain.items())), _inner_names(s.settings)))
    return tuple(marks)


def _inner_names(settings: Any) -> tuple:
    found = []
    for value in settings.values():
        jaxpr = getattr(value, "jaxpr", value)
        if not hasattr(jaxpr, "eqns"):
            continue
        for eqn in jaxpr.eqns:
            numbers = tuple(str(v.val) if hasattr(v, "val") else "" for v in eqn.invars)
            found.append((eqn.primitive.name, numbers, _inner_names(eqn.params)))
    return tuple(found)
