import numpy as np
import pytest

from leadline.geometry import (
    GroupAction,
    Representation,
    action_fault,
    character_table,
    cyclic_group,
    dihedral_group,
    left_translation,
    multiplicities,
    permutation_representation,
    plane_group,
    regular_representation,
    rotation_representation,
    symmetric_group,
    symmetric_permutations,
    trivial_representation,
)

S4 = symmetric_group(4)
POINTS = permutation_representation(GroupAction(S4, symmetric_permutations(4)))


def test_orbits_times_stabilisers_are_the_group():
    corners = GroupAction(S4, symmetric_permutations(4))
    pairs = corners.on_pairs(corners)
    sizes = np.bincount(pairs.orbits)[pairs.orbits]
    assert [len(pairs.stabiliser(x)) for x in range(16)] == (24 // sizes).tolist()
    assert len(set(pairs.orbits)) == 2  # equal or different


def test_an_action_that_is_none_is_refused():
    with pytest.raises(ValueError, match="is not"):
        GroupAction(cyclic_group(2), [[0, 1], [0, 0]])
    assert action_fault(dihedral_group(3), dihedral_group(3).table.T[:, ::-1]) is not None


@pytest.mark.parametrize(
    "rho",
    [
        POINTS,
        POINTS.tensor(POINTS),
        POINTS.sum(trivial_representation(S4)),
        regular_representation(dihedral_group(4)),
        rotation_representation(dihedral_group(5), 5, 2),
        rotation_representation(cyclic_group(6), 6),
    ],
    ids=str,
)
def test_products_of_matrices_follow_the_table(rho):
    assert rho.defect < 1e-14


def test_signals_move_by_the_inverse():
    group = plane_group("p4", 2)
    rho, x = regular_representation(group), np.arange(group.order)
    for g in range(group.order):
        moved = rho.matrices[g] @ x
        assert [moved[s] for s in range(group.order)] == [group.table[group.inverses[g], s] for s in range(group.order)]
    assert (left_translation(group).moves == group.table).all()


@pytest.mark.parametrize(
    ("group", "dims"), [(cyclic_group(5), [1] * 5), (dihedral_group(4), [1] * 4 + [2]), (S4, [1, 1, 2, 3, 3])]
)
def test_the_character_table_is_orthogonal_with_known_dimensions(group, dims):
    table = character_table(group)
    sizes = np.bincount(group.classes)
    assert np.allclose((table * sizes) @ table.conj().T, group.order * np.eye(len(table)), atol=1e-9)
    assert np.allclose(table[:, group.classes[group.identity]], dims)


def test_characters_of_the_cyclic_group_are_roots_of_unity():
    found = character_table(cyclic_group(5))
    fourier = np.exp(2j * np.pi * np.outer(range(5), range(5)) / 5)
    assert all(np.abs(fourier - row).max(1).min() < 1e-12 for row in found)


def test_multiplicities_of_points_and_of_the_regular_representation():
    assert sorted(multiplicities(POINTS)) == [0, 0, 0, 1, 1]  # constants, and one of dimension 3
    assert multiplicities(regular_representation(S4)).tolist() == [1, 1, 2, 3, 3]


def test_bad_matrices_are_refused():
    with pytest.raises(ValueError, match="square matrices"):
        Representation(S4, np.ones((3, 2, 2)))
    with pytest.raises(ValueError, match="C_4 or D_4"):
        rotation_representation(cyclic_group(3), 4)
