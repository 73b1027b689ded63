"""Linear representations of finite groups: matrices ρ(g) with ρ(gh) = ρ(g)ρ(h), characters and multiplicities."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Int, Num

from .finite_group import FiniteGroup
from .group_actions import GroupAction, left_translation


@dataclass(frozen=True, eq=False)
class Representation:
    """A matrix for every element of a group; `defect` says how far ρ(g)ρ(h) is from ρ(gh).

    >>> from leadline.geometry import cyclic_group
    >>> sign = Representation(cyclic_group(2), np.array([[[1.0]], [[-1.0]]]))
    >>> sign.dim, sign.defect, sign.character.tolist()
    (1, 0.0, [1.0, -1.0])
    """

    group: FiniteGroup
    matrices: Num[np.ndarray, "n d d"]

    def __post_init__(self):
        matrices = np.asarray(self.matrices)
        if matrices.ndim != 3 or len(matrices) != self.group.order or matrices.shape[1] != matrices.shape[2]:
            raise ValueError(
                f"A representation of {self.group.name} has {self.group.order} square matrices; got {matrices.shape}."
            )
        object.__setattr__(self, "matrices", matrices)

    @property
    def dim(self) -> int:
        """The dimension of the space."""
        return self.matrices.shape[1]

    @property
    def character(self) -> Num[np.ndarray, " n"]:
        """χ(g) = tr ρ(g)."""
        return np.trace(self.matrices, axis1=1, axis2=2)

    @property
    def defect(self) -> float:
        """max |ρ(g)ρ(h) - ρ(gh)| over all pairs and entries: 0 for a representation."""
        m, table = self.matrices, self.group.table
        return float(max(np.abs(m[g] @ m - m[table[g]]).max() for g in range(self.group.order)))

    @property
    def generators(self) -> Num[np.ndarray, "g d d"]:
        """The matrices of generators of the group: what commutes with these commutes with all."""
        return self.matrices[list(self.group.generators)]

    def tensor(self, other: "Representation") -> "Representation":
        """ρ(g) ⊗ σ(g), of dimension d·d'."""
        m = np.einsum("gij,gkl->gikjl", self.matrices, other.matrices)
        return Representation(self.group, m.reshape(self.group.order, self.dim * other.dim, -1))

    def sum(self, other: "Representation") -> "Representation":
        """The direct sum, ρ(g) and σ(g) as blocks, of dimension d + d'."""
        m = np.zeros((self.group.order, *(2 * (self.dim + other.dim,))), np.result_type(self.matrices, other.matrices))
        m[:, : self.dim, : self.dim], m[:, self.dim :, self.dim :] = self.matrices, other.matrices
        return Representation(self.group, m)


def trivial_representation(group: FiniteGroup) -> Representation:
    """ρ(g) = 1."""
    return Representation(group, np.ones((group.order, 1, 1)))


def permutation_representation(action: GroupAction) -> Representation:
    """On functions of the points: (ρ(g)x)(g.s) = x(s), that is (ρ(g)x)(s) = x(g⁻¹.s)."""
    points = action.moves.shape[1]
    return Representation(action.group, (np.arange(points)[:, None] == action.moves[:, None, :]).astype(float))


def regular_representation(group: FiniteGroup) -> Representation:
    """On functions of the group itself: (ρ(g)X)(h) = X(g⁻¹h).

    >>> from leadline.geometry import cyclic_group
    >>> (regular_representation(cyclic_group(3)).matrices[1] @ np.array([1.0, 2.0, 3.0])).tolist()
    [3.0, 1.0, 2.0]
    """
    return permutation_representation(left_translation(group))


def rotation_representation(group: FiniteGroup, n: int, frequency: int = 1) -> Representation:
    """Rotations by 2π·frequency·k/n in the plane for C_n, and mirrors besides for D_n, in the order of these groups.

    >>> from leadline.geometry import dihedral_group
    >>> rotation_representation(dihedral_group(5), 5).defect < 1e-15
    True
    """
    if group.order not in (n, 2 * n):
        raise ValueError(f"rotation_representation takes C_{n} or D_{n}; got {group.name} of order {group.order}.")
    angle = 2 * np.pi * frequency * np.arange(n) / n
    turns = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], 1).reshape(n, 2, 2)
    both = np.concatenate([turns, turns @ np.diag([1.0, -1.0])])
    return Representation(group, both[: group.order])


def character_table(group: FiniteGroup) -> Complex[np.ndarray, "k classes"]:
    """The characters of all irreducible representations (rows) on the conjugacy classes (columns), by dimension.

    Burnside's method: the sums over the classes multiply as C_i C_j = Σ_k a_ijk C_k, and the common eigenvectors of the
    matrices a_i are |C_k| χ(C_k) / χ(e) up to a factor; a random combination of the matrices separates them.

    >>> from leadline.geometry import symmetric_group
    >>> np.round(character_table(symmetric_group(3)).real).astype(int)[:, 0].tolist()
    [1, 1, 2]
    """
    classes = group.classes
    count = int(classes.max()) + 1
    sizes = np.bincount(classes)
    first = np.array([np.argmax(classes == k) for k in range(count)])
    structure = np.zeros((count, count, count))  # [i, j, k]: ways to write the first element of class k as x y
    for k, z in enumerate(first):
        partner = group.table[group.inverses, z]  # y = x⁻¹ z
        np.add.at(structure[:, :, k], (classes, classes[partner]), 1)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, count)
    mixed = np.tensordot(weights, structure, 1)  # [j, k]
    omega = np.linalg.eig(mixed)[1].T  # rows: |C_k| χ(C_k) / χ(e), up to a factor
    chi = omega / sizes
    chi = chi / chi[:, [classes[group.identity]]]
    dims = np.sqrt(group.order / (sizes * np.abs(chi) ** 2).sum(1))
    chi = chi * dims[:, None]
    order = np.lexsort([*np.round(chi.imag.T[::-1], 6), *-np.round(chi.real.T[::-1], 6), np.round(dims)])
    return chi[order].astype(complex)


def multiplicities(representation: Representation) -> Int[np.ndarray, " k"]:
    """How often each irreducible representation occurs: m_i = (1/|G|) Σ_g χ_i(g)* χ(g), in `character_table`'s order.

    >>> from leadline.geometry import symmetric_group
    >>> multiplicities(regular_representation(symmetric_group(3))).tolist()  # each as often as its dimension
    [1, 1, 2]
    """
    chi = character_table(representation.group)[:, representation.group.classes]
    found = chi.conj() @ representation.character / representation.group.order
    return np.round(found.real).astype(int)
