"""Groups by name: cyclic, dihedral, symmetric, products, turns and shifts of a grid, and those that generators make."""

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Int, Num

from .finite_group import FiniteGroup

_MOST = 20_000  # elements of a group made of generators


def cyclic_group(n: int) -> FiniteGroup:
    """C_n, the integers modulo n under addition.

    >>> cyclic_group(4).table[3].tolist()
    [3, 0, 1, 2]
    """
    if n < 1:
        raise ValueError(f"A cyclic group has 1 element or more; got n = {n}.")
    return FiniteGroup(f"C_{n}", np.add.outer(np.arange(n), np.arange(n)) % n)


def dihedral_group(n: int) -> FiniteGroup:
    """D_n, the 2n turns and mirrors of a regular n-gon: element k + n m is r^k s^m with s r = r⁻¹ s.

    >>> d3 = dihedral_group(3)
    >>> d3.names, d3.is_abelian
    (('1', 'r', 'r2', 's', 'rs', 'r2s'), False)
    """
    if n < 1:
        raise ValueError(f"A dihedral group needs n of 1 or more; got {n}.")
    k, m = np.tile(np.arange(n), 2), np.repeat((0, 1), n)
    turned = (k[:, None] + np.where(m[:, None], -1, 1) * k) % n
    turns = ["", "r", *(f"r{j}" for j in range(2, n))][:n]
    names = ["1", *turns[1:], *(f"{t}s" for t in turns)]
    return FiniteGroup(f"D_{n}", turned + n * (m[:, None] ^ m), names)


def symmetric_group(n: int) -> FiniteGroup:
    """S_n, all n! permutations in lexicographic order; gh is h first, then g: (gh)(i) = g(h(i)).

    >>> symmetric_group(3).names
    ('012', '021', '102', '120', '201', '210')
    """
    if not 1 <= n <= 7:
        raise ValueError(f"symmetric_group makes the table of n! elements for n of 1 to 7; got {n}.")
    table = np.array(symmetric_permutations(n))
    products = table[:, table]  # [g, h, i] = g(h(i))
    weights = n ** np.arange(n)
    codes = table @ weights
    order = np.argsort(codes)
    found = order[np.searchsorted(codes[order], products @ weights)]
    return FiniteGroup(f"S_{n}", found, ["".join(map(str, p)) for p in table])


def symmetric_permutations(n: int) -> Int[np.ndarray, "elements n"]:
    """g(0), ..., g(n - 1) of every element g of S_n, in the order of `symmetric_group`.

    >>> symmetric_permutations(3)[3].tolist()
    [1, 2, 0]
    """
    return np.array(list(itertools.permutations(range(n))))


def product_group(first: FiniteGroup, second: FiniteGroup) -> FiniteGroup:
    """The direct product, pairs (g, h) with (g, h)(g', h') = (gg', hh'); element g·|H| + h.

    >>> product_group(cyclic_group(2), cyclic_group(3)).is_abelian
    True
    """
    n = second.order
    table = first.table[:, None, :, None] * n + second.table[None, :, None, :]
    names = [f"({g}, {h})" for g in first.names for h in second.names]
    return FiniteGroup(f"{first.name} × {second.name}", table.reshape(first.order * n, -1), names)


def plane_group(kind: Literal["p1", "p4", "p4m"], side: int) -> FiniteGroup:
    """Shifts of a torus of side x side pixels with quarter turns (p4) and mirrors (p4m): Z_N² ⋊ C_4 or D_4.

    The element of number (i N + j) |S| + s first turns by s, then shifts by (i, j): x ↦ A_s x + (i, j) modulo N.

    >>> [plane_group(kind, 3).order for kind in ("p1", "p4", "p4m")]
    [9, 36, 72]
    """
    turns, point = point_matrices(kind)
    shifts = np.stack(np.divmod(np.arange(side**2), side), 1)  # (N², 2)
    moved = (shifts @ turns.transpose(0, 2, 1)) % side  # (S, N², 2): A_s t
    both = (shifts[:, None, None] + moved) % side  # (N², S, N², 2): t + A_s t'
    where = both @ np.array([side, 1])
    table = where[..., None] * len(turns) + point.table[None, :, None, :]  # (t, s, t', s')
    return FiniteGroup(f"{kind} on {side}×{side}", table.reshape(side**2 * len(turns), -1))


def point_matrices(kind: str) -> tuple[Int[np.ndarray, "s 2 2"], FiniteGroup]:
    """The matrices on (row, column) of the turns and mirrors of p1, p4 or p4m, and their group.

    Element k + 4 m mirrors left and right if m is 1 and then turns anticlockwise by 90k degrees.
    """
    if kind not in ("p1", "p4", "p4m"):
        raise ValueError(f"The groups of a square grid here are p1, p4 and p4m; got '{kind}'.")
    quarter, mirror = np.array([[0, -1], [1, 0]]), np.array([[1, 0], [0, -1]])  # (i, j) ↦ (-j, i); j ↦ -j
    powers = [np.linalg.matrix_power(quarter, k) for k in range(4 if kind != "p1" else 1)]
    matrices = powers + [p @ mirror for p in powers] if kind == "p4m" else powers
    group = {"p1": cyclic_group(1), "p4": cyclic_group(4), "p4m": dihedral_group(4)}[kind]
    return np.array(matrices), group


def generated_group(
    generators: Sequence[Num[np.ndarray, "d d"]] | Num[np.ndarray, "g d d"], *, name: str = "G"
) -> tuple[FiniteGroup, Num[np.ndarray, "n d d"]]:
    """The group that square matrices generate, and the matrix of each of its elements, the identity first.

    Products are told apart after rounding to 6 decimals; more than 20 000 of them are refused as no finite group.

    >>> quarter = np.array([[0, -1], [1, 0]])
    >>> group, matrices = generated_group([quarter, np.diag([1, -1])])
    >>> group.order, group.is_abelian, matrices.shape
    (8, False, (8, 2, 2))
    """
    given = [np.asarray(m) for m in generators]
    if not given or any(m.ndim != 2 or m.shape != given[0].shape or m.shape[0] != m.shape[1] for m in given):
        raise ValueError("generated_group needs one square matrix or more, all of one size.")
    found: list[Any] = [np.eye(len(given[0]), dtype=np.result_type(*given))]
    numbers = {_mark(found[0]): 0}
    for element in found:  # grows while it is read
        for new in (element @ m for m in given):
            if numbers.setdefault(_mark(new), len(found)) == len(found):
                found.append(new)
        if len(found) > _MOST:
            raise ValueError(f"The matrices generate more than {_MOST} elements; give generators of a finite group.")
    elements = np.array(found)
    table = [[numbers.get(_mark(g @ h), -1) for h in elements] for g in elements]
    return FiniteGroup(name, table), elements


def _mark(matrix: np.ndarray) -> bytes:
    return (np.round(matrix, 6) + 0.0).tobytes()  # + 0.0: no negative zeros
