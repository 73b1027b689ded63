"""What the computation of an empirical tangent kernel will do, said before it is done."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
from jaxtyping import PyTree

from leadline.differentiation.programs.traced_program import Program
from leadline.frameworks.network import Apply

from .assembly.cost_model import (
    Method,
    Routes,
    Sizes,
    explicit_cost,
    layer_numbers,
    outer_cost,
    pairs_cost,
    products_cost,
)
from .empirical_ntk import BUDGET, Outputs, checked_problem, checked_settings, leaf_paths, prepare


class LeafPlan(NamedTuple):
    """One parameter leaf: by which route its part of the kernel comes, with how many operations and bytes."""

    path: str
    shape: tuple[int, ...]
    route: str
    flops: float
    bytes: float


@dataclass(frozen=True)
class NTKPlan:
    """A line for every parameter leaf; `block` examples are held at a time, a tile has `tile` examples on a side."""

    leaves: tuple[LeafPlan, ...]
    result_shape: tuple[int, int]
    block: tuple[int, int]
    tile: int

    @property
    def flops(self) -> float:
        return sum(leaf.flops for leaf in self.leaves)

    def __str__(self) -> str:
        width = max(len(leaf.path) for leaf in self.leaves)
        lines = [
            f"{leaf.path:{width}}  {'x'.join(map(str, leaf.shape)) or 'scalar':>12}  {leaf.route:45}"
            f"  {_in_units(leaf.flops, 'flop'):>12}  {_in_units(leaf.bytes, 'B'):>10}"
            for leaf in self.leaves
        ]
        rows, columns = self.result_shape
        return "\n".join(
            [
                *lines,
                f"{rows} x {columns} matrix in tiles of {self.tile} examples, signals of {self.block[0]} and "
                f"{self.block[1]} examples held, {_in_units(self.flops, 'flop')} in all",
            ]
        )


def ntk_plan(
    apply: Apply,
    params: PyTree,
    x1: Any,
    x2: Any = None,
    *,
    budget: float = BUDGET,
    method: Method = "auto",
    outputs: Outputs = "full",
) -> NTKPlan:
    """How `empirical_ntk` with the same arguments goes about every parameter, and what that costs.

    >>> import jax.numpy as jnp
    >>> apply = lambda p, x: jnp.sum(jnp.tanh(x @ p["W"] + p["b"]) * p["v"], axis=1)
    >>> plan = ntk_plan(apply, {"W": jnp.ones((3, 5)), "b": jnp.ones(5), "v": jnp.ones(5)}, jnp.ones((100, 3)))
    >>> [leaf.route for leaf in plan.leaves]
    ['structured: dense', "structured: bias of ['W']", 'explicit: enters through mul']
    """
    problem = checked_problem(apply, params, x1, x2, checked_settings(budget, method, outputs))
    program, _, routes, sizes = prepare(problem)
    paths = leaf_paths(params)
    leaves = jax.tree.leaves(params)
    found = _leaf_routes(program, routes, sizes, paths, [leaf.size for leaf in leaves])
    c = 1 if sizes.trace else sizes.outputs
    return NTKPlan(
        tuple(LeafPlan(paths[i], tuple(leaf.shape), *found[i]) for i, leaf in enumerate(leaves)),
        (sizes.n1 * c, sizes.n2 * c),
        routes.block,
        routes.tile,
    )


def _leaf_routes(
    program: Program, routes: Routes, sizes: Sizes, paths: list[str], counts: list[int]
) -> dict[int, tuple[str, float, float]]:
    held = routes.block[0] + (0 if sizes.symmetric and routes.block[0] == sizes.n1 else routes.block[1])
    found: dict[int, tuple[str, float, float]] = dict.fromkeys(
        routes.unused, ("unused: no part in the kernel", 0.0, 0.0)
    )
    for layers, word in (
        (routes.hadamard, ""),
        (routes.pairs, ", pairs of positions"),
        (routes.outer, ", outer products"),
    ):
        for layer in layers:
            cost = outer_cost(layer, sizes) if layers is routes.outer else pairs_cost(layer, sizes)
            bytes_held = held * layer_numbers(layer, sizes.outputs) * sizes.itemsize
            found[layer.leaf] = (f"structured: {layer.kind}{word}", cost, bytes_held)
            if layer.bias is not None:
                found[layer.bias] = (f"structured: bias of {paths[layer.leaf]}", 0.0, 0.0)
    for leaf, why in routes.explicit.items():
        bytes_held = held * sizes.outputs * counts[leaf] * sizes.itemsize
        found[leaf] = (f"explicit: {why}", explicit_cost(program, counts[leaf], sizes), bytes_held)
    for leaf, why in routes.products.items():
        share = counts[leaf] / sum(counts[i] for i in routes.products)
        bytes_held = routes.directions * counts[leaf] * sizes.itemsize
        found[leaf] = (f"products: {why}", share * products_cost(program, sizes), bytes_held)
    return found


def _in_units(number: float, unit: str) -> str:
    power = min(int(math.log10(number) / 3), 5) if number >= 1 else 0
    return f"{number / 1000**power:.3g} {['', 'k', 'M', 'G', 'T', 'P'][power]}{unit}"
