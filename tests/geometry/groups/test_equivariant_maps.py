import numpy as np
import pytest

from leadline.geometry import (
    GroupAction,
    cyclic_group,
    dihedral_group,
    equivariant_basis,
    equivariant_dimension,
    multiplicities,
    permutation_representation,
    regular_representation,
    rotation_representation,
    span_distance,
    symmetric_group,
    symmetric_permutations,
    trivial_representation,
)


@pytest.mark.parametrize("n", [3, 4])
def test_maps_between_permutations_are_counted_by_orbits_of_pairs(n):
    points = GroupAction(symmetric_group(n), symmetric_permutations(n))
    matrices = points.on_pairs(points)
    for into, out in ((points, points), (matrices, points), (matrices, matrices)):
        orbits = len(set(into.on_pairs(out).orbits))
        rho, sigma = permutation_representation(into), permutation_representation(out)
        assert len(equivariant_basis(rho, sigma)) == equivariant_dimension(rho, sigma) == orbits


def test_every_basis_matrix_commutes_with_every_element():
    rho, sigma = regular_representation(dihedral_group(4)), rotation_representation(dihedral_group(4), 4)
    basis = equivariant_basis(rho, sigma)
    assert len(basis) == equivariant_dimension(rho, sigma) == 2 * 1  # its dimension: it occurs twice in the regular one
    for w in basis:
        assert max(np.abs(s @ w - w @ r).max() for r, s in zip(rho.matrices, sigma.matrices, strict=True)) < 1e-13
    assert np.allclose(basis.reshape(len(basis), -1) @ basis.reshape(len(basis), -1).T, np.eye(len(basis)))


def test_the_commutant_has_the_sum_of_squared_multiplicities():
    rho = regular_representation(symmetric_group(3))
    rho = rho.sum(trivial_representation(rho.group))
    assert len(equivariant_basis(rho, rho)) == (multiplicities(rho) ** 2).sum() == 4 + 1 + 4


def test_shifts_give_circulant_matrices():
    basis = equivariant_basis(*(regular_representation(cyclic_group(8)),) * 2)
    circulants = np.stack([np.roll(np.eye(8), k, axis=1) for k in range(8)])
    assert span_distance(basis, circulants) < 1e-12
    assert span_distance(basis, circulants[:7]) == 1.0


def test_two_groups_are_not_mixed():
    with pytest.raises(ValueError, match="one group"):
        equivariant_dimension(*(regular_representation(g) for g in (cyclic_group(6), dihedral_group(3))))
    with pytest.raises(ValueError, match="give as many"):
        equivariant_basis(np.ones((1, 1, 1)), np.ones((2, 1, 1)))
