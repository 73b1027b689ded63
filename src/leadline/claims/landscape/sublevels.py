"""Sublevel sets: their components, the levels at which these merge, and what connectedness says about minima."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, landscape
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, instrument, printed


def _tree_figure(title, tree, places, colours="branch"):
    """Each branch as a vertical line from its birth to its merging, at its place; the joints as points."""
    top = np.max(tree.merges[np.isfinite(tree.merges)], initial=tree.births.max()) * 1.15 + 0.05
    lines = {}
    for k, place in enumerate(places):
        end = min(tree.merges[k], top)
        xs, ys = [place, place], [tree.births[k], end]
        if tree.parents[k] >= 0:
            xs, ys = [*xs, places[tree.parents[k]]], [*ys, end]
        lines[f"{colours} {k + 1}"] = (xs, ys)
    joints = np.flatnonzero(tree.parents >= 0)
    points = {"merging": (np.array(places)[tree.parents[joints]], tree.merges[joints])} if joints.size else {}
    return figure.curves(title, x="place", y="level c", lines=lines, points=points)


@instrument(
    "sublevel-components",
    says=(
        "The components of {F ≤ c} on a grid by flood fill, and the tree in which they merge as c rises: each minimum "
        "is born at its value and ends at its lowest pass. In many dimensions a path search can show that two points "
        "are connected below c; it never shows that they are not."
    ),
    formula=r"\Omega(c) = \{\theta : F(\theta) \le c\}, \quad "
    r"c_{merge}(a, b) = \min_{\gamma: a \to b} \max_t F(\gamma(t))",
    sources=("cam",),
    shows=("landscape.sublevel_components", "landscape.merge_tree", "landscape.relax_band"),
)
def sublevel_components(
    key,
    tilt: Annotated[float, Range(0.02, 0.3)] = 0.1,
    cells: Annotated[int, Range(20, 60)] = 40,
    wells: Annotated[int, Range(2, 7)] = 4,
    level: Annotated[float, Range(0.01, 0.98)] = 0.5,
):
    """(w²−1)²/4 + cw on a line, (ab−1)² on a plane, (abc−1)² in space, a random piecewise linear function with
    `wells` minima, and an elastic band between the two minima of a double well in the plane."""
    rng = data.generator(key)
    line = np.linspace(-2.0, 2.0, 100 * cells + 1)
    values = (line**2 - 1) ** 2 / 4 + tilt * line
    tree = landscape.merge_tree(values)
    roots = np.sort(np.roots([1.0, 0.0, -1.0, tilt]).real)
    passes = (roots**2 - 1) ** 2 / 4 + tilt * roots
    spacing = line[1] - line[0]
    yield exactly(len(tree.births), 2, "double well: components ever born")
    yield close(
        [*tree.births, tree.merges[1]],
        passes[[0, 2, 1]],
        "their births (the minima) and the level of merging (the barrier)",
        atol=1.5 * spacing**2,  # half a cell off a critical point of curvature at most 11
    )
    middle = (tree.births[1] + tree.merges[1]) / 2
    counts = [landscape.sublevel_components(values, c).count for c in (tree.births[1] - 1e-9, middle, tree.merges[1])]
    yield exactly(counts, [1, 2, 1], "components by flood fill below the upper minimum, between, at the barrier")

    side = np.linspace(-2.0, 2.0, 4 * (cells // 2) + 1)
    a, b = np.meshgrid(side, side, indexing="ij")
    product = (a * b - 1) ** 2
    plane = landscape.merge_tree(product)
    deep = plane.depths > 0.5  # others are dimples that the grid makes along the hyperbola
    yield exactly(deep.sum(), 2, "(ab − 1)²: components that last (longer than ½ in c)")
    yield exactly(np.sort(plane.merges[deep])[0], 1.0, "they merge at c")
    dimples = float(np.max(plane.merges[~deep], initial=0.0))
    yield exactly(
        [landscape.sublevel_components(product, c).count for c in (level, 1.0)],
        [2, 1],
        f"components of (ab − 1)² ≤ {level:g}, and ≤ 1, by flood fill",
    ).given(level >= dimples, "the level is above the dimples of the grid")

    space = np.linspace(-1.5, 1.5, 2 * max(cells // 8, 3) + 1)
    u, v, w = np.meshgrid(space, space, space, indexing="ij")
    cube = (u * v * w - 1) ** 2
    counts = [landscape.sublevel_components(cube, c).count for c in (np.nextafter(1.0, 0.0), 1.0)]
    yield exactly(counts, [4, 1], "(abc − 1)²: components below c = 1, one per sign pattern with product +1, and at 1")
    yield exactly(landscape.merge_tree(cube).components(np.array([np.nextafter(1.0, 0.0), 1.0])), counts, "by the tree")

    births = np.sort(rng.uniform(0.0, 1.0, wells))[rng.permutation(wells)]
    barriers = rng.uniform(1.1, 2.0, wells - 1)
    zigzag = np.empty(2 * wells - 1)
    zigzag[::2], zigzag[1::2] = births, barriers
    ends = np.concatenate([[2.5], zigzag, [2.5]])
    grid = np.linspace(0.0, len(ends) - 1.0, 40 * (len(ends) - 1) + 1)
    jagged = np.interp(grid, np.arange(len(ends)), ends)
    known = landscape.merge_tree(jagged)
    finite = np.isfinite(known.merges)
    yield exactly(np.sort(known.births), np.sort(births), f"{wells} random wells: the births")
    yield exactly(np.sort(known.merges[finite]), np.sort(barriers), "the levels of merging: the barriers between")

    band = landscape.relax_band(
        lambda z: (z[0] ** 2 - 1) ** 2 / 4 + (z[1] - z[0] ** 2) ** 2,
        jnp.array([-1.0, 1.0]), jnp.array([1.0, 1.0]), images=5, steps=400, climb=True,
    )  # fmt: skip
    flat = (a**2 - 1) ** 2 / 4 + (b - a**2) ** 2
    tree2 = landscape.merge_tree(flat)
    yield close(max(band.losses), tree2.barrier(0, 1), "top of the elastic band against the merging level", atol=1e-3)
    yield at_least(max(band.losses), 0.25, "no path is lower than the pass (at 0, of height ¼)", atol=1e-6)
    yield figure.beside(
        f"{wells} wells: components are born at the minima and merge at the barriers, exactly",
        figure.curves(
            "the function", x="θ", y="F", lines={"F": (grid, jagged)},
            points={"births": (grid[known.places[:, 0]], known.births)},
        ),
        _tree_figure("its merge tree", known, list(grid[known.places[:, 0]]), "component"),
    )  # fmt: skip


def _random_field(rng, shape, waves):
    """A random trigonometric function on a grid of one or two dimensions: generic, all values different."""
    axes = np.meshgrid(*(np.linspace(0.0, 1.0, n) for n in shape), indexing="ij")
    field = np.zeros(shape)
    for _ in range(waves):
        frequency = rng.uniform(1.0, 9.0, len(shape))
        field += rng.normal() * np.cos(sum(f * x for f, x in zip(frequency, axes, strict=True)) + rng.uniform(0, 6.3))
    return field


@claim(
    "connected-sublevels-imply-global",
    says=(
        "If every sublevel set of F is connected, every STRICT local minimum of F is global. For flat ones it is "
        "false: max(min(x, 0), −1) has only intervals, yet x = 1 is a local minimum above −1. The converse fails too: "
        "(ab − 1)² has no bad minimum and two components."
    ),
    formula=r"\Omega(c) \text{ connected for all } c \;\Rightarrow\; \text{every strict local minimum is global}",
    sources=("cam",),
    shows=("landscape.merge_tree", "landscape.local_minima_on"),
)
def connected_sublevels_imply_global(
    key,
    waves: Annotated[int, Range(1, 8)] = 4,
    side: Annotated[int, Range(15, 41)] = 25,
    fields: Annotated[int, Range(4, 30)] = 12,
    width: Annotated[float, Range(0.5, 4.0)] = 2.0,
):
    """`fields` random functions on a line and on a plane, distorted bowls, and the two counterexamples; `width` is how
    far the upper step of max(min(x, 0), −1) goes."""
    rng = data.generator(key)
    connected, strict_global, leaves, minima = [], [], [], []
    for k in range(fields):
        shape = (side * 4,) if k % 2 else (side, side)
        if k % 4 < 2:
            field = _random_field(rng, shape, waves)
        else:  # a monotone function of the distance to a point: every sublevel set is connected
            axes = np.meshgrid(*(np.linspace(-1.0, 1.0, n) for n in shape), indexing="ij")
            bend = rng.uniform(0.5, 2.0, len(shape))
            field = np.tanh(sum(c * np.abs(x - rng.uniform(-0.8, 0.8)) ** 1.5 for c, x in zip(bend, axes, strict=True)))
        tree, found = landscape.merge_tree(field), landscape.local_minima_on(field)
        connected.append(len(tree.births) == 1)
        strict_global.append(bool(np.all(found.levels[found.strict] == field.min())))
        leaves.append(len(tree.births))
        minima.append(len(found.levels))
    connected, strict_global = np.array(connected), np.array(strict_global)
    yield exactly(leaves, minima, f"{fields} functions: leaves of the merge tree against local minima")
    yield exactly(
        strict_global[connected],
        True,
        f"{connected.sum()} with connected sublevel sets: strict local minima are global",
    )

    x = np.linspace(-3.0, width, round(100 * (3 + width)) + 1)
    stairs = np.maximum(np.minimum(x, 0.0), -1.0)
    intervals = [landscape.sublevel_components(stairs, c).count for c in np.linspace(-1.0, 0.5, 16)]
    found = landscape.local_minima_on(stairs, lenient=True)
    yield exactly(intervals, 1, "F = max(min(x, 0), −1): components of {F ≤ c} at 16 levels")
    yield exactly(found.levels, [-1.0, 0.0], "its local minima: the levels −1 and, not strict, 0")
    yield printed(
        at_most(found.levels.max(), stairs.min(), "highest local minimum of F, against its global minimum"),
        "cam",
        "connected sublevel sets ⇒ every local minimum is global",
    )
    reach = np.linspace(-2.0, 2.0, 4 * side + 1)
    outer, inner = np.meshgrid(reach, reach, indexing="ij")
    unit = (outer * np.maximum(inner, 0.0) - 1) ** 2
    at_levels = [landscape.sublevel_components(unit, c).count for c in (0.3, 0.6, 0.99, 1.0, 3.0)]
    yield exactly(at_levels, 1, "one ReLU unit (a·max(w, 0) − 1)²: components at c = 0.3 … 3")
    dead = unit[inner < 0]
    yield exactly([dead.min(), dead.max()], [1.0, 1.0], "yet where it is dead (w < 0) the loss is flat, at 1")
    product = (outer * inner - 1) ** 2
    tree = landscape.merge_tree(product)
    yield exactly(int((tree.depths > 0.5).sum()), 2, "converse: (ab − 1)² has two components below c = 1")
    saddle = 2 * np.array([[0.0, -1.0], [-1.0, 0.0]])  # its Hessian at 0, the only critical point off the bottom
    yield at_most(np.linalg.eigvalsh(saddle)[0], 0.0, "and no bad minimum: at 0, λ_min", strict=True)
    levels = np.array([-0.75, -0.5, -0.25])
    yield figure.curves(
        f"Sublevel sets of max(min(x, 0), −1) are intervals; yet every x in (0, {width:g}) is a local minimum, at 0",
        x="x",
        y="F",
        lines={"F": (x, stairs)} | {f"{{F ≤ {c:g}}}": ([x[0], c], [c, c]) for c in levels},
        points={"flat local minimum": ([width / 2], [0.0])},
    )
