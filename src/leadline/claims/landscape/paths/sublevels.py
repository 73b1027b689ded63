"""Sublevel sets: their components, the levels at which these merge, and what connectedness says about minima."""

import jax.numpy as jnp
import numpy as np

from leadline import data, landscape
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, instrument
from leadline.landscape.surfaces.sublevel_sets import local_minima_on
from leadline.presentation import figure


def _tree_figure(title, tree, places):
    """Each component as a vertical line from its birth to its merging, at its place; the joints as points."""
    top = np.max(tree.merges[np.isfinite(tree.merges)], initial=tree.births.max()) * 1.15 + 0.05
    lines = {}
    for k, place in enumerate(places):
        end = min(tree.merges[k], top)
        xs, ys = [place, place], [tree.births[k], end]
        if tree.parents[k] >= 0:
            xs, ys = [*xs, places[tree.parents[k]]], [*ys, end]
        lines[f"component {k + 1}"] = (xs, ys)
    joints = np.flatnonzero(tree.parents >= 0)
    points = {"merging": (places[tree.parents[joints]], tree.merges[joints])} if joints.size else {}
    return figure.curves(title, "place", "level c", lines=lines, points=points)


@instrument(sources=("cam",))
def sublevel_components(
    key, tilt: Real(0.02, 0.3) = 0.1, cells: Int(20, 60) = 40, wells: Int(2, 7) = 4, level: Real(0.01, 0.98) = 0.5
):
    r"""Sublevel sets and their merge tree.

    The components of {F ≤ c} on a grid are found by flood fill, together with the tree in which they merge as c rises:
    each minimum is born at its value and ends at its lowest pass. In many dimensions a path search can show that two
    points are connected below c; it never shows that they are not.

    $$\Omega(c) = \{\theta : F(\theta) \le c\}, \quad c_{\mathrm{merge}}(a, b) = \min_{\gamma: a \to b} \max_t
    F(\gamma(t))$$

    Check: The tests use (w² − 1)²/4 + cw on a line, (ab − 1)² on a plane, (abc − 1)² in space, a random piecewise
    linear function with `wells` minima, and an elastic band between the two minima of a double well in the plane.
    """
    rng = data.generator(key)
    line = np.linspace(-2.0, 2.0, 100 * cells + 1)
    values = (line**2 - 1) ** 2 / 4 + tilt * line
    tree = landscape.merge_tree(values)
    roots = np.sort(np.roots([1.0, 0.0, -1.0, tilt]).real)
    passes = (roots**2 - 1) ** 2 / 4 + tilt * roots
    yield exactly(len(tree.births), 2, "double well: components ever born")
    within = 1.5 * (line[1] - line[0]) ** 2  # half a cell off a critical point of curvature at most 11
    what = "double well: births of its components (the minima) and level of merging (the barrier)"
    yield close([*tree.births, tree.merges[1]], passes[[0, 2, 1]], what, atol=within)
    middle = (tree.births[1] + tree.merges[1]) / 2
    counts = [landscape.sublevel_components(values, c).count for c in (tree.births[1] - 1e-9, middle, tree.merges[1])]
    what = "double well: components by flood fill below the upper minimum, between, at the barrier"
    yield exactly(counts, [1, 2, 1], what)
    side = np.linspace(-2.0, 2.0, 4 * (cells // 2) + 1)
    a, b = np.meshgrid(side, side, indexing="ij")
    product = (a * b - 1) ** 2
    plane = landscape.merge_tree(product)
    deep = plane.depths > 0.5  # others are dimples that the grid makes along the hyperbola
    yield exactly(deep.sum(), 2, "(ab − 1)²: components that last (longer than ½ in c)")
    yield exactly(plane.merges[deep].min(), 1.0, "(ab − 1)²: level at which the components that last merge")
    counts = [landscape.sublevel_components(product, c).count for c in (level, 1.0)]
    parts = exactly(counts, [2, 1], f"components of (ab − 1)² ≤ {level:g}, and ≤ 1, by flood fill")
    dimples = np.max(plane.merges[~deep], initial=0.0)
    yield parts.given(level >= dimples, "the level is above the dimples of the grid")
    space = np.linspace(-1.5, 1.5, 2 * max(cells // 8, 3) + 1)
    u, v, w = np.meshgrid(space, space, space, indexing="ij")
    cube = (u * v * w - 1) ** 2
    levels = np.array([np.nextafter(1.0, 0.0), 1.0])
    counts = [landscape.sublevel_components(cube, c).count for c in levels]
    yield exactly(counts, [4, 1], "(abc − 1)²: components below c = 1, one per sign pattern with product +1, and at 1")
    by_tree = landscape.merge_tree(cube).components(levels)
    yield exactly(by_tree, counts, "(abc − 1)²: components below c = 1 and at 1, by the merge tree")
    births = np.sort(rng.uniform(0.0, 1.0, wells))[rng.permutation(wells)]
    barriers = rng.uniform(1.1, 2.0, wells - 1)
    ends = np.full(2 * wells + 1, 2.5)
    ends[1::2], ends[2:-1:2] = births, barriers
    grid = np.linspace(0.0, len(ends) - 1.0, 40 * (len(ends) - 1) + 1)
    jagged = np.interp(grid, np.arange(len(ends)), ends)
    known = landscape.merge_tree(jagged)
    merges = known.merges[np.isfinite(known.merges)]
    yield exactly(np.sort(known.births), np.sort(births), f"{wells} random wells: births of the components")
    yield exactly(np.sort(merges), np.sort(barriers), f"{wells} random wells: levels of merging, the barriers between")

    def double_well(z):
        return (z[0] ** 2 - 1) ** 2 / 4 + (z[1] - z[0] ** 2) ** 2

    ends = jnp.array([-1.0, 1.0]), jnp.array([1.0, 1.0])
    top = max(landscape.relax_band(double_well, *ends, images=5, num_steps=400, climb=True).losses)
    merging = landscape.merge_tree(double_well((a, b))).barrier(0, 1)
    yield close(top, merging, "top of the elastic band, against the level of merging", atol=1e-3)
    yield at_least(top, 0.25, "top of the elastic band, against the pass at 0, of height ¼", atol=1e-6)
    places = grid[known.places[:, 0]]
    lines, points = {"F": (grid, jagged)}, {"births": (places, known.births)}
    function = figure.curves("the function", "θ", "F", lines=lines, points=points)
    title = f"{wells} wells: components are born at the minima and merge at the barriers, exactly"
    yield figure.beside(title, function, _tree_figure("its merge tree", known, places))


def _random_field(rng, shape, waves):
    """A random trigonometric function on a grid of one or two dimensions: generic, all values different."""
    axes = np.meshgrid(*(np.linspace(0.0, 1.0, n) for n in shape), indexing="ij")
    field = np.zeros(shape)
    for _ in range(waves):
        frequency = rng.uniform(1.0, 9.0, len(shape))
        field += rng.normal() * np.cos(sum(f * x for f, x in zip(frequency, axes, strict=True)) + rng.uniform(0, 6.3))
    return field


@claim(sources=("cam",))
def connected_sublevels_imply_global(
    key, waves: Int(1, 8) = 4, side: Int(15, 41) = 25, fields: Int(4, 30) = 12, width: Real(0.5, 4.0) = 2.0
):
    r"""Connected sublevels make strict minima global.

    If every sublevel set of F is connected, every strict local minimum of F is global. For flat minima this is false:
    the sublevel sets of max(min(x, 0), −1) are all intervals, yet x = 1 is a local minimum above −1. The converse
    fails too: (ab − 1)² has no bad minimum and two components.

    $$\Omega(c) \text{ connected for all } c \;\Rightarrow\; \text{every strict local minimum is global}$$

    Check: The claim is tested on `fields` random functions on a line and on a plane, on distorted bowls, and on the
    two counterexamples. `width` is how far the upper step of max(min(x, 0), −1) goes.
    """
    rng = data.generator(key)
    worse, leaves, minima = [], [], []
    for k in range(fields):
        shape = (side * 4,) if k % 2 else (side, side)
        if k % 4 < 2:
            field = _random_field(rng, shape, waves)
        else:  # a monotone function of the distance to a point: every sublevel set is connected
            axes = np.meshgrid(*(np.linspace(-1.0, 1.0, n) for n in shape), indexing="ij")
            bend = rng.uniform(0.5, 2.0, len(shape))
            field = np.tanh(sum(c * np.abs(x - rng.uniform(-0.8, 0.8)) ** 1.5 for c, x in zip(bend, axes, strict=True)))
        tree, found = landscape.merge_tree(field), local_minima_on(field)
        worse.append(np.sum(found.levels[found.strict] != field.min()))
        leaves.append(len(tree.births))
        minima.append(len(found.levels))
    yield exactly(leaves, minima, f"{fields} functions: leaves of the merge tree, against local minima")
    connected = np.array(leaves) == 1
    what = f"{connected.sum()} functions with connected sublevel sets: strict local minima that are not global"
    none = exactly(np.array(worse)[connected], 0, what)
    yield none
    x = np.linspace(-3.0, width, round(100 * (3 + width)) + 1)
    stairs = np.maximum(np.minimum(x, 0.0), -1.0)
    intervals = [landscape.sublevel_components(stairs, c).count for c in np.linspace(-1.0, 0.5, 16)]
    found = local_minima_on(stairs, lenient=True)
    yield exactly(intervals, 1, "F = max(min(x, 0), −1): components of {F ≤ c} at 16 levels")
    yield exactly(found.levels, [-1.0, 0.0], "F = max(min(x, 0), −1): levels of its local minima, not strict at 0")
    wrong = at_most(found.levels.max(), stairs.min(), "highest local minimum of F, against its global minimum")
    yield erratum(wrong, of=none, by="cam", prints="connected sublevel sets ⇒ every local minimum is global")
    reach = np.linspace(-2.0, 2.0, 4 * side + 1)
    outer, inner = np.meshgrid(reach, reach, indexing="ij")
    unit = (outer * np.maximum(inner, 0.0) - 1) ** 2
    at_levels = [landscape.sublevel_components(unit, c).count for c in (0.3, 0.6, 0.99, 1.0, 3.0)]
    yield exactly(at_levels, 1, "one ReLU unit (a·max(w, 0) − 1)²: components at c = 0.3 … 3")
    dead = unit[inner < 0]
    yield exactly([dead.min(), dead.max()], [1.0, 1.0], "one ReLU unit: extremes of the loss where it is dead")
    tree = landscape.merge_tree((outer * inner - 1) ** 2)
    yield exactly((tree.depths > 0.5).sum(), 2, "converse: components of (ab − 1)² below c = 1")
    saddle = 2 * np.array([[0.0, -1.0], [-1.0, 0.0]])  # its Hessian at 0, the only critical point off the bottom
    yield at_most(np.linalg.eigvalsh(saddle)[0], 0.0, "converse: λ_min of (ab − 1)² at 0, no minimum", strict=True)
    title = f"Sublevel sets of max(min(x, 0), −1) are intervals; yet every x in (0, {width:g}) is a local minimum, at 0"
    lines = {"F": (x, stairs)} | {f"{{F ≤ {c:g}}}": ([x[0], c], [c, c]) for c in (-0.75, -0.5, -0.25)}
    yield figure.curves(title, "x", "F", lines=lines, points={"flat local minimum": ([width / 2], [0.0])})
