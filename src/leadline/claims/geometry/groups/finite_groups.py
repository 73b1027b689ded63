"""Groups as tables, their actions, and their representations by matrices."""

import jax.numpy as jnp
import numpy as np

from leadline import convolution, data, geometry
from leadline.convolution.symmetry.smooth_images import draw_blobs
from leadline.evidence import Int, OneOf, at_least, at_most, exactly, method
from leadline.presentation import figure


def _named(order: int) -> list[geometry.FiniteGroup]:
    return [
        geometry.cyclic_group(order),
        geometry.dihedral_group(order),
        geometry.symmetric_group(4),
        geometry.product_group(geometry.cyclic_group(2), geometry.dihedral_group(3)),
        geometry.plane_group("p4", 2),
        geometry.plane_group("p4m", 2),
    ]


@method(sources=("sheet",), shows=("geometry.FiniteGroup", "geometry.table_fault", "geometry.GroupAction"))
def finite_groups(
    key, order: Int(3, 12) = 6, side: Int(3, 9) = 5, tampered: Int(1, 100) = 40, angle: OneOf(30, 40, 45, 60, 72) = 45
):
    r"""Finite groups as tables.

    A finite group is a table of products that is closed, associative, and has a unit and inverses; a verifier names the
    first axiom that fails, and where. An action moves points so that e.x = x and g.(h.x) = (gh).x. The orbit of a point
    and the elements that fix it have sizes whose product is the order of the group.

    $$(gh)k = g(hk), \qquad g.(h.x) = (gh).x, \qquad |G| = |G.x|\,|G_x|$$

    Assumes: the set is finite.

    Check: all triples of the built groups by brute force; tables with one wrong entry; orbits of pixels under turns and
    mirrors; rotations of pixels by interpolation, which break the law of an action unless they are quarter turns.
    """
    rng = data.generator(key)
    groups = _named(order)
    for group in groups:
        t = group.table
        yield exactly(np.sum(t[t] != t[:, t]), 0, f"{group.name}: triples that are not associative, of {len(t) ** 3}")
    caught, real = 0, 0
    for _ in range(tampered):
        table = np.array(groups[rng.integers(len(groups))].table)
        i, j, by = rng.integers(0, len(table), 3)
        table[i, j] = (table[i, j] + 1 + by % (len(table) - 1)) % len(table)
        fault = geometry.table_fault(table)
        caught += fault is not None
        if fault is not None and fault.axiom == "associativity":
            g, a, h = fault.elements
            real += table[table[g, a], h] != table[g, table[a, h]]
        else:
            real += fault is not None
    yield exactly(caught, tampered, "tables with one wrong entry that are refused")
    yield exactly(real, tampered, "faults named that are faults, seen from the table")
    planes = np.arange(side**2).reshape(1, side, side)
    turns, point = [lambda x, k=k: np.rot90(x, k, axes=(1, 2)) for k in range(4)], geometry.dihedral_group(4)
    images = [turn(flip) for flip in (planes, planes[:, :, ::-1]) for turn in turns]
    moves = np.stack([np.argsort(image.ravel()) for image in images])  # where each pixel goes
    action = geometry.GroupAction(point, moves)
    sizes = np.bincount(action.orbits)[action.orbits]
    fixed = np.array([len(action.stabiliser(x)) for x in range(side**2)])
    yield exactly(sizes * fixed, 8, "turns and mirrors of pixels: |orbit| · |stabiliser| at every pixel")
    burnside = np.mean([(row == np.arange(side**2)).sum() for row in moves])
    yield exactly(int(action.orbits.max()) + 1, int(burnside), "number of orbits, against the mean of fixed pixels")
    scenes = draw_blobs(3, 24, key=key)
    quarter = convolution.group_test(convolution.rotations([0, 90, 180, 270]), scenes)
    yield at_most(quarter.closure, 0.0, "quarter turns of pixels: defect of the action law")
    turned = convolution.rotations([d * angle for d in range(360 // angle)])
    interpolated = convolution.group_test(turned, scenes).closure
    yield at_least(interpolated, 1e-3, f"turns by {angle}° by interpolation: defect of the action law")
    names = point.names
    cayley = figure.heatmap("The table of D₄: not symmetric", "h", "g", values=point.table, xs=names, ys=names)
    name, orbits = f"Orbits of {side}×{side} pixels", action.orbits.reshape(side, -1)
    colours = figure.heatmap(name, "column", "row", values=orbits, colour="orbit")
    title = f"A table checked, and an action: at every pixel |orbit| · |stabiliser| = {len(names)}"
    yield figure.beside(title, cayley, colours)


@method(sources=("sheet",), shows=("geometry.Representation", "geometry.multiplicities", "geometry.character_table"))
def group_representations(key, order: Int(3, 9) = 5, points: Int(3, 4) = 4):
    r"""Representations and characters.

    A representation gives each element a matrix so that products go with products. Signals on a set that a group moves
    are moved by the inverse; without the inverse the order is reversed, which commutative groups do not show. The
    characters say how often each irreducible representation occurs, and the squares of these numbers add up to the
    dimension of the matrices that commute with all of it.

    $$\rho(gh) = \rho(g)\rho(h), \quad (\rho(h)x)(s) = x(h^{-1}s), \quad \sum_i m_i^2 = \dim \{W : W\rho(g) =
    \rho(g)W\}$$

    Assumes: the group is finite.

    Check: all pairs of elements; D₃ without the inverse; multiplicities by characters, the commutant by its null space.
    """
    s_n = geometry.symmetric_group(points)
    on_points = geometry.permutation_representation(geometry.GroupAction(s_n, geometry.symmetric_permutations(points)))
    d_n, c_n = geometry.dihedral_group(order), geometry.cyclic_group(order)
    whole = {
        f"S_{points} on points": on_points,
        f"S_{points} on pairs of points": on_points.tensor(on_points),
        f"regular representation of D_{order}": geometry.regular_representation(d_n),
    }
    for name, rho in whole.items():
        yield exactly(rho.defect, 0.0, f"{name}: largest entry of ρ(g)ρ(h) − ρ(gh)")
    turns = geometry.rotation_representation(d_n, order)
    yield at_most(turns.defect, 1e-14, f"turns and mirrors of the {order}-gon: largest entry of ρ(g)ρ(h) − ρ(gh)")

    def careless(group):
        """Signals moved by x(gs): the matrices of the inverses."""
        return geometry.Representation(group, geometry.regular_representation(group).matrices[group.inverses])

    commuting = int((d_n.classes.max() + 1) * d_n.order)  # pairs, by Burnside's lemma
    wrong = careless(d_n)
    m = wrong.matrices
    broken = sum(bool((m[g] @ m[h] != m[d_n.table[g, h]]).any()) for g in range(d_n.order) for h in range(d_n.order))
    yield exactly(broken, d_n.order**2 - commuting, f"without the inverse, D_{order}: pairs that break the law")
    yield exactly(careless(c_n).defect, 0.0, f"without the inverse, C_{order}: nothing is seen")
    for name, rho in {**whole, "both of S_n": on_points.sum(on_points.tensor(on_points))}.items():
        if rho.dim <= 20:
            found = len(geometry.equivariant_basis(rho, rho))
            squares = int((geometry.multiplicities(rho) ** 2).sum())
            yield exactly(found, squares, f"{name}: dimension of the commutant, sum of squared multiplicities")
    occurs = geometry.multiplicities(geometry.regular_representation(s_n))
    dims = np.round(geometry.character_table(s_n)[:, s_n.classes[s_n.identity]].real).astype(int)
    yield exactly(occurs, dims, "each irreducible representation is in the regular one as often as its dimension")
    yield exactly(int((dims**2).sum()), s_n.order, "squares of the dimensions, against the order of the group")
    digit = data.digits()[0][3].reshape(8, 8)
    names = geometry.dihedral_group(4).names
    moved = [(name, np.asarray(convolution.turn_planes(jnp.asarray(digit), k))) for k, name in enumerate(names)]
    yield figure.images("One signal moved by the eight elements of D₄", images=moved, columns=4)
