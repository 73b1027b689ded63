"""Networks on a directed acyclic graph: the general form of which chains, residual and dense networks are instances."""

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..activations import activation as activation_called
from .dense_connections import DenseNetwork
from .fully_connected import MLP
from .residual import ResidualNetwork, drawn_linear

INPUT = "x"


class Affine(NamedTuple):
    """The vertex φ(W h + b), or φ(W h + b) - φ(0) if `centred`, of the vertex it reads."""

    reads: str
    width: int
    activation: str = "identity"
    centred: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.reads,)


class Sum(NamedTuple):
    """The vertex Σ_i c_i h_i of the vertices it reads; the coefficients are 1 unless given."""

    sources: tuple[str, ...]
    coefficients: tuple[float, ...] | None = None


class Concatenation(NamedTuple):
    """The vertex [h_1, ..., h_k] of the vertices it reads."""

    sources: tuple[str, ...]


Vertex = Affine | Sum | Concatenation


class DagNetwork(eqx.Module):
    """A network whose vertices are elementary maps and whose edges say which vertex reads which.

    `vertices` maps names to `Affine`, `Sum` or `Concatenation` vertices in any order; they read each other and the
    input, which is called "x". Values are computed in topological order, adjoints in the opposite order.

    >>> net = DagNetwork(
    ...     2, {"y": Sum(("x", "h")), "h": Affine("x", 2, "tanh")}, "y", init="zeros", key=jax.random.key(0)
    ... )
    >>> net.order, net(jnp.array([3.0, 4.0])).tolist()
    (('x', 'h', 'y'), [3.0, 4.0])
    """

    layers: dict[str, eqx.nn.Linear]
    vertices: tuple[tuple[str, Vertex], ...] = eqx.field(static=True)
    output: str = eqx.field(static=True)
    order: tuple[str, ...] = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        vertices: Mapping[str, Vertex],
        output: str,
        *,
        init: str = "he",
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        self.order = _topological_order(vertices, output)
        self.vertices, self.output = tuple(vertices.items()), output
        widths, layers = {INPUT: inputs}, {}
        for name in self.order[1:]:
            vertex = vertices[name]
            widths[name] = _width(name, vertex, widths)
            if isinstance(vertex, Affine):
                key, key_layer = jax.random.split(key)
                layers[name] = drawn_linear(widths[vertex.reads], vertex.width, init, dtype, key=key_layer)
        self.layers = layers

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """All pairs (read vertex, reading vertex)."""
        return tuple((source, name) for name, vertex in self.vertices for source in vertex.sources)

    def values(self, x: Float[Array, "..."]) -> dict[str, Float[Array, " _"]]:
        """The value of every vertex, computed in topological order."""
        vertices, values = dict(self.vertices), {INPUT: x.ravel()}
        for name in self.order[1:]:
            vertex = vertices[name]
            values[name] = self._apply(name, vertex, self.layers.get(name), [values[s] for s in vertex.sources])
        return values

    def adjoints(self, x: Float[Array, "..."], cotangent: Float[Array, " out"]) -> dict[str, Float[Array, " _"]]:
        """The derivative of cotangent · f(x) with respect to the value of every vertex, in reverse topological order.

        A vertex hands each vertex it reads its own adjoint times its local Jacobian; what several readers hand back is
        summed.

        >>> net = DagNetwork(1, {"y": Sum(("x", "x"), (2.0, 5.0))}, "y", key=jax.random.key(0))
        >>> net.adjoints(jnp.ones(1), jnp.ones(1))["x"].tolist()
        [7.0]
        """
        vertices, values = dict(self.vertices), self.values(x)
        adjoints = {name: jnp.zeros_like(value) for name, value in values.items()}
        adjoints[self.output] = cotangent
        for name in self.order[:0:-1]:
            vertex, layer = vertices[name], self.layers.get(name)
            read = [values[s] for s in vertex.sources]
            _, pull = jax.vjp(lambda *h, n=name, v=vertex, w=layer: self._apply(n, v, w, h), *read)
            for source, part in zip(vertex.sources, pull(adjoints[name]), strict=True):
                adjoints[source] = adjoints[source] + part
        return adjoints

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " out"]:
        return self.values(x)[self.output]

    @staticmethod
    def _apply(name: str, vertex: Vertex, layer: eqx.nn.Linear | None, read) -> Float[Array, " _"]:
        if isinstance(vertex, Affine):
            assert layer is not None  # every affine vertex has one
            phi = activation_called(vertex.activation)
            y = phi(layer(read[0]))
            return y - phi(jnp.zeros((), y.dtype)) if vertex.centred else y
        if isinstance(vertex, Concatenation):
            return jnp.concatenate(list(read))
        weights = vertex.coefficients or (1.0,) * len(read)
        return jnp.asarray(sum(h if c == 1.0 else c * h for c, h in zip(weights, read, strict=True)))


def mlp_graph(net: MLP) -> DagNetwork:
    """The chain x → h1 → ... → hL with the weights of an MLP in the standard parametrisation.

    >>> mlp_graph(MLP((3, 4, 2), key=jax.random.key(0))).edges
    (('x', 'h1'), ('h1', 'h2'))
    """
    if net.parametrisation != "standard" or net.layers[0].bias is None:
        raise ValueError("mlp_graph needs an MLP with biases in the standard parametrisation; build it so.")
    names = [INPUT, *(f"h{index + 1}" for index in range(len(net.layers)))]
    phis = [net.activation] * (len(net.layers) - 1) + [net.activation if net.last_activation else "identity"]
    parts = zip(names[:-1], names[1:], net.widths[1:], phis, strict=True)
    vertices = {name: Affine(reads, width, phi) for reads, name, width, phi in parts}
    return _with_layers(net.widths[0], vertices, names[-1], dict(zip(names[1:], net.layers, strict=True)))


def residual_graph(net: ResidualNetwork) -> DagNetwork:
    """The graph of a residual network: every sum reads the sum before it (the skip) and the branch of that sum."""
    if not net.blocks.skip or net.blocks.second is not None:
        raise ValueError("residual_graph needs a ResidualNetwork with skips and one matrix per block; build it so.")
    width, stack = net.first.weight.shape[0], net.blocks
    vertices: dict[str, Vertex] = {"s0": Affine(INPUT, width)}
    layers = {"s0": net.first}
    for index in range(net.depth):
        before, branch, after = f"s{index}", f"h{index + 1}", f"s{index + 1}"
        vertices[branch] = Affine(before, width, stack.activation, stack.centred)
        vertices[after] = Sum((before, branch), (1.0, stack.scale))
        block = net.block(index)
        layers[branch] = eqx.tree_at(lambda m: m.weight, net.first, block.weight)
        layers[branch] = eqx.tree_at(lambda m: m.bias, layers[branch], block.bias)
    vertices["y"] = Affine(f"s{net.depth}", net.last.weight.shape[0])
    return _with_layers(net.first.weight.shape[1], vertices, "y", layers | {"y": net.last})


def dense_graph(net: DenseNetwork) -> DagNetwork:
    """The graph of a dense network: every concatenation reads the input and all layers before it."""
    growth, inputs = net.layers[0].weight.shape
    vertices: dict[str, Vertex] = {}
    layers = {}
    states = [INPUT]
    for index, layer in enumerate(net.layers):
        vertices[f"c{index}"] = Concatenation(tuple(states[::-1]))
        vertices[f"h{index + 1}"] = Affine(f"c{index}", growth, net.activation)
        layers[f"h{index + 1}"] = layer
        states.append(f"h{index + 1}")
    vertices["c"] = Concatenation(tuple(states[::-1]))
    vertices["y"] = Affine("c", net.last.weight.shape[0])
    return _with_layers(inputs, vertices, "y", layers | {"y": net.last})


def _with_layers(inputs: int, vertices: Mapping[str, Vertex], output: str, layers: dict) -> DagNetwork:
    graph = eqx.filter_eval_shape(DagNetwork, inputs, vertices, output, init="zeros", key=jax.random.key(0))
    return eqx.tree_at(lambda g: g.layers, graph, layers)


def _topological_order(vertices: Mapping[str, Vertex], output: str) -> tuple[str, ...]:
    if INPUT in vertices:
        raise ValueError(f"A vertex is called {INPUT!r}, which is the name of the input; choose another name.")
    for name, vertex in vertices.items():
        for source in vertex.sources:
            if source != INPUT and source not in vertices:
                raise ValueError(
                    f"Vertex {name!r} reads {source!r}, which is not a vertex; add it or read another one."
                )
    if output not in vertices:
        raise ValueError(f"The output {output!r} is not a vertex; choose one of {', '.join(vertices)}.")
    try:
        order = TopologicalSorter({name: v.sources for name, v in vertices.items()}).static_order()
        return (INPUT, *(name for name in order if name != INPUT))
    except CycleError as error:
        cycle = error.args[1]
        raise ValueError(
            f"The edge {cycle[-2]} -> {cycle[-1]} closes the cycle {' -> '.join(cycle)}; remove one of its edges."
        ) from None


def _width(name: str, vertex: Vertex, widths: Mapping[str, int]) -> int:
    read = [widths[s] for s in vertex.sources]
    if isinstance(vertex, Affine):
        activation_called(vertex.activation)
        return vertex.width
    if not read:
        raise ValueError(f"Vertex {name!r} reads nothing; give it at least one vertex to read.")
    if isinstance(vertex, Concatenation):
        return sum(read)
    if len(set(read)) > 1 or (vertex.coefficients is not None and len(vertex.coefficients) != len(read)):
        raise ValueError(
            f"Sum {name!r} reads widths {tuple(read)} with coefficients {vertex.coefficients}; "
            "the widths must be equal and there must be one coefficient for each."
        )
    return read[0]
