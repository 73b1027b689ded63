"""All linear maps that commute with a group: a basis by null space, and its size by characters."""

from typing import Any

import numpy as np
from jaxtyping import Float, Num

from .representations import Representation

Generators = Num[np.ndarray, "..."] | Representation  #: (generators, d, d)


def equivariant_basis(inputs: Generators, outputs: Generators) -> Float[np.ndarray, "k e d"]:
    """An orthonormal basis of the maps W with σ(g)W = Wρ(g): the null space of W ↦ σ(g)W - Wρ(g) over generators.

    `inputs` and `outputs` are the matrices ρ and σ of generators, in the same order, or two representations of one
    group. With `Representation`s the generators of the group are used. Costs O((e d)³).

    >>> shift = np.roll(np.eye(5), 1, axis=0)[None]
    >>> basis = equivariant_basis(shift, shift)  # circulant matrices
    >>> len(basis), bool(np.allclose(np.roll(basis, (1, 1), (1, 2)), basis))
    (5, True)
    """
    rho, sigma = (_generators(given) for given in (inputs, outputs))
    if len(rho) != len(sigma):
        raise ValueError(
            f"equivariant_basis got {len(rho)} generators for inputs and {len(sigma)} for outputs; give as many."
        )
    d, e = rho.shape[1], sigma.shape[1]
    kind = np.result_type(rho, sigma, np.float64)
    if not len(rho):
        return np.eye(d * e, dtype=kind).reshape(-1, e, d)
    # row by row, vec(σW) = (σ ⊗ I) vec W and vec(Wρ) = (I ⊗ ρᵀ) vec W
    rows = [np.kron(s, np.eye(d)) - np.kron(np.eye(e), r.T) for r, s in zip(rho, sigma, strict=True)]
    _, sizes, right = np.linalg.svd(np.concatenate(rows).astype(kind), full_matrices=False)
    tolerance = max(d * e * len(rows), 1) * np.finfo(float).eps * max(sizes[0], 1.0)
    rank = int((sizes > tolerance).sum())
    return right[rank:].conj().reshape(-1, e, d)


def equivariant_dimension(inputs: Representation, outputs: Representation) -> int:
    """The dimension of the space of equivariant maps without solving for it: (1/|G|) Σ_g χ_in(g)* χ_out(g).

    >>> from leadline.geometry import permutation_representation, symmetric_group, symmetric_permutations, GroupAction
    >>> points = permutation_representation(GroupAction(symmetric_group(4), symmetric_permutations(4)))
    >>> equivariant_dimension(points, points)  # λ I + γ 11ᵀ
    2
    """
    if not np.array_equal(inputs.group.table, outputs.group.table):
        raise ValueError(
            f"equivariant_dimension got representations of {inputs.group.name} and {outputs.group.name}; give two of "
            "one group."
        )
    return round(float(np.mean(inputs.character.conj() * outputs.character).real))


def span_distance(basis: Num[np.ndarray, "k ..."], family: Num[np.ndarray, "m ..."]) -> float:
    """The larger distance of a unit vector of one span from the other: 0 if two families span one space, 1 at most.

    >>> span_distance(np.eye(3)[:2], np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])) < 1e-15
    True
    """
    a, b = (_orthonormal(np.asarray(m).reshape(len(m), -1)) for m in (basis, family))
    if len(a) != len(b):
        return 1.0
    return float(np.linalg.norm(a - a @ b.conj().T @ b, 2)) if len(a) else 0.0


def _orthonormal(rows: Any) -> np.ndarray:
    _, sizes, right = np.linalg.svd(rows, full_matrices=False)
    return right[sizes > max(rows.shape) * np.finfo(float).eps * max(sizes.max(initial=0.0), 1e-300)]


def _generators(given: Generators) -> np.ndarray:
    matrices = given.generators if isinstance(given, Representation) else np.asarray(given)
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
        raise ValueError(f"Generators are square matrices, an array (generators, d, d); got {matrices.shape}.")
    return matrices
