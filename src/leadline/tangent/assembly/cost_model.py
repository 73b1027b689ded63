"""What each way to a tangent kernel costs in operations and bytes, and which way is taken for which parameter."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jax.extend import core

from leadline.differentiation.programs.layer_geometry import Layer
from leadline.differentiation.programs.layer_structure import Structure
from leadline.differentiation.programs.traced_program import Program, Step

Method = Literal["auto", "structured", "explicit", "products"]

_TILE_ROWS = 640  # a tile of this many rows and columns keeps matrix products near full speed and fits a cache
_PRODUCTS_SLOWNESS = 4.0  # one JVP after the other runs this much further from peak speed than a matrix product


@dataclass(frozen=True)
class Routes:
    """How the kernel is computed: which layers by which contraction, the rest how, and the sizes of all pieces."""

    hadamard: tuple[Layer, ...]
    pairs: tuple[Layer, ...]
    outer: tuple[Layer, ...]
    explicit: dict[int, str]
    products: dict[int, str]
    unused: tuple[int, ...]
    block: tuple[int, int]  # examples whose signals are held at one time, of x1 and of x2
    tile: int  # examples on a side of one tile
    together: int  # examples differentiated at one time
    units: tuple[int, ...]  # of each layer in `outer`, units whose gradients are formed at one time
    directions: int  # parameter directions held at one time by the products

    @property
    def structure(self) -> Structure:
        """The layers whose signals are needed, in the order Hadamard, pairs, outer, and the explicit leaves."""
        return Structure((*self.hadamard, *self.pairs, *self.outer), self.explicit, self.unused)


@dataclass(frozen=True)
class Sizes:
    """The problem: examples, outputs, bytes of a number, bytes to be used, and whether x2 is x1."""

    n1: int
    n2: int
    outputs: int
    itemsize: int
    budget: float
    symmetric: bool
    trace: bool

    @property
    def pairs(self) -> float:
        """Pairs of examples to be computed."""
        return self.n1 * (self.n1 + 1) / 2 if self.symmetric else self.n1 * self.n2

    @property
    def output_pairs(self) -> int:
        return self.outputs if self.trace else self.outputs**2


def choose_routes(
    program: Program, structure: Structure, leaf_sizes: tuple[int, ...], sizes: Sizes, method: Method
) -> Routes:
    """The cheapest way for every leaf, in pieces that fit the budget."""
    found = structure
    if method in ("explicit", "products"):
        leaves = (leaf for leaf in range(program.leaves) if leaf not in structure.unused)
        found = Structure((), {leaf: "as asked" for leaf in leaves}, structure.unused)
    others = sum(leaf_sizes[leaf] for leaf in found.others)
    one_jacobian = sizes.outputs * others * sizes.itemsize
    by_products = method == "products"
    if method == "auto" and others:
        dearer = explicit_cost(program, others, sizes) > products_cost(program, sizes) * _PRODUCTS_SLOWNESS
        by_products = dearer or 4 * one_jacobian > sizes.budget
    hadamard = tuple(layer for layer in found.layers if layer.plain)
    pairs = tuple(layer for layer in found.layers if not layer.plain and pairs_cheaper(layer, sizes))
    outer = tuple(layer for layer in found.layers if not layer.plain and not pairs_cheaper(layer, sizes))
    held = sum(layer_numbers(layer, sizes.outputs) for layer in found.layers)
    held += 0 if by_products else sizes.outputs * others
    return Routes(
        hadamard,
        pairs,
        outer,
        {} if by_products else found.others,
        found.others if by_products else {},
        found.unused,
        *_pieces(program, pairs, outer, held, others if by_products else 0, sizes),
    )


def _pieces(program: Program, pairs: Any, outer: Any, held: int, directions: int, sizes: Sizes) -> tuple:
    """Block, tile, together, units and directions: half of the budget for signals, a quarter each for the rest."""
    numbers = sizes.budget / sizes.itemsize
    passes = (1 + sizes.outputs) / 2 * sum(math.prod(s) for step in program.steps for s in step.shapes)
    share = numbers / 2
    whole = (sizes.n1 + (0 if sizes.symmetric else sizes.n2)) * held <= share
    fits = int(share / 2 / max(held, 1))
    positions = max((layer.positions**2 * layer.groups for layer in pairs), default=1)
    entry = sizes.output_pairs if not sizes.trace else 1
    tile = int(math.sqrt(numbers / 4 / (4 * entry * positions)))
    together = int(numbers / 4 / max(passes, 1))
    if min(1 if whole else fits, tile, together if held else 1) < 1:
        needed = sizes.itemsize * max(4 * held, 16 * entry * positions, 4 * passes)
        raise ValueError(
            f"A budget of {sizes.budget:.3g} bytes is too small: one example needs about {needed:.3g}; give more"
            + (", or method='products', which holds no signals." if held else ".")
        )
    block = (sizes.n1, sizes.n2) if whole else (min(fits, sizes.n1), min(fits, sizes.n2))
    if sizes.symmetric:
        block = (block[0], block[0])
    most = _TILE_ROWS if sizes.trace else max(1, _TILE_ROWS // sizes.outputs)
    tile = min(tile, most, max(block))
    together = min(together, max(64, tile))  # few at a time: what is passed back and forth stays in the cache
    units = tuple(
        max(1, min(layer.units, int(numbers / 8 / (2 * max(block) * sizes.outputs * layer.groups * layer.inputs))))
        for layer in outer
    )
    units = tuple(-(-layer.units // -(-layer.units // u)) for layer, u in zip(outer, units, strict=True))
    return block, tile, together, units, max(1, int(numbers / 8 / max(directions, 1)))


def layer_numbers(layer: Layer, outputs: int) -> int:
    """Numbers held for one example: activations and back-signals."""
    return layer.groups * layer.positions * (layer.inputs + outputs * layer.units)


def pairs_cheaper(layer: Layer, sizes: Sizes) -> bool:
    """Whether all pairs of positions cost less than gradients formed from outer products."""
    return pairs_cost(layer, sizes) < outer_cost(layer, sizes)


def pairs_cost(layer: Layer, sizes: Sizes) -> float:
    """Operations of Σ_{f,e} (a_f . a_e)(δ_f . δ_e); of the Hadamard product where there is one position."""
    each = 2 * layer.inputs + sizes.output_pairs * 2 * layer.units + 2 * (1 if sizes.trace else sizes.output_pairs)
    return sizes.pairs * layer.groups * layer.positions**2 * each


def outer_cost(layer: Layer, sizes: Sizes) -> float:
    """Operations of forming Σ_f a_f ⊗ δ_f for every example and of multiplying all pairs."""
    weight = layer.groups * layer.inputs * layer.units
    examples = sizes.n1 + (0 if sizes.symmetric else sizes.n2)
    return 2 * weight * (sizes.pairs * sizes.output_pairs + examples * sizes.outputs * layer.positions)


def explicit_cost(program: Program, parameters: int, sizes: Sizes) -> float:
    """Operations of the rows of the Jacobian and of J Jᵀ."""
    examples = sizes.n1 + (0 if sizes.symmetric else sizes.n2)
    return 2 * parameters * sizes.pairs * sizes.output_pairs + 3 * examples * sizes.outputs * forward_cost(program)


def products_cost(program: Program, sizes: Sizes) -> float:
    """Operations of one JVP for every column and every example."""
    return sizes.pairs * sizes.outputs * 3 * forward_cost(program)


def forward_cost(program: Program) -> float:
    """Operations of f at one example."""
    return float(
        sum(_step_cost(step.primitive, step.settings, step.shapes, _in_shapes(step, program)) for step in program.steps)
    )


def _in_shapes(step: Step, program: Program) -> list[tuple[int, ...]]:
    shapes = program.shapes()
    return [shapes[i] if isinstance(i, int) else tuple(np.shape(i.value)) for i in step.inputs]


def _step_cost(name: str, settings: Any, out: Any, inputs: Any) -> float:
    size = sum(math.prod(s) for s in out)
    if name == "dot_general":
        return 2.0 * size * math.prod(inputs[0][d] for d in settings["dimension_numbers"][0][0])
    if name == "conv_general_dilated":
        return 2.0 * size * math.prod(inputs[1]) / inputs[1][settings["dimension_numbers"].rhs_spec[0]]
    inner = list(core.jaxprs_in_params(settings)) if hasattr(core, "jaxprs_in_params") else []
    times = settings.get("length", 1) if name == "scan" else 1
    nested = sum(
        _step_cost(
            e.primitive.name,
            e.params,
            [getattr(v.aval, "shape", ()) for v in e.outvars],
            [getattr(v.aval, "shape", ()) for v in e.invars],
        )
        for jaxpr in inner
        for e in jaxpr.eqns
    )
    return float(size + times * nested)
