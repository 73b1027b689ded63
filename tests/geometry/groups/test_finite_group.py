import itertools

import numpy as np
import pytest

from leadline.geometry import (
    FiniteGroup,
    cyclic_group,
    dihedral_group,
    generated_group,
    plane_group,
    product_group,
    symmetric_group,
    symmetric_permutations,
    table_fault,
)

GROUPS = [
    cyclic_group(1),
    cyclic_group(6),
    dihedral_group(1),
    dihedral_group(4),
    symmetric_group(4),
    product_group(cyclic_group(2), dihedral_group(3)),
    plane_group("p4", 3),
    plane_group("p4m", 2),
]


def brute_force_fault(table):
    """Whether a triple breaks associativity, by going through all of them."""
    n = range(len(table))
    return any(table[table[g][h]][k] != table[g][table[h][k]] for g, h, k in itertools.product(n, n, n))


@pytest.mark.parametrize("group", GROUPS, ids=lambda g: g.name)
def test_named_groups_satisfy_every_axiom_by_brute_force(group):
    assert not brute_force_fault(group.table.tolist())
    every = np.arange(group.order)
    assert (group.table[every, group.inverses] == group.identity).all()
    assert (group.table[group.inverses, every] == group.identity).all()


@pytest.mark.parametrize(("order", "group"), [(8, dihedral_group(4)), (24, symmetric_group(4)), (12, GROUPS[5])])
def test_orders(order, group):
    assert group.order == order


def test_tampered_tables_are_found_wherever_two_entries_are_exchanged():
    rng = np.random.default_rng(0)
    for group in (cyclic_group(5), dihedral_group(3), symmetric_group(3)):
        for _ in range(20):
            table = np.array(group.table)
            i, j, k = rng.integers(0, group.order, 3)
            table[i, j] = (table[i, j] + 1 + k % (group.order - 1)) % group.order
            assert table_fault(table) is not None


def test_the_first_failing_triple_is_one():
    loop = [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]]  # a loop, no group
    fault = table_fault(loop)
    assert fault.axiom == "associativity"
    g, a, h = fault.elements
    assert loop[loop[g][a]][h] != loop[g][loop[a][h]]


@pytest.mark.parametrize(
    ("table", "axiom"), [([[0, 1], [1, 2]], "closure"), ([[0, 0], [0, 0]], "identity"), ([[0, 1], [1, 1]], "inverse")]
)
def test_each_axiom_is_named(table, axiom):
    assert table_fault(table).axiom == axiom


def test_a_table_that_is_no_group_is_refused_with_its_axiom():
    with pytest.raises(ValueError, match="inverse fails at \\(1\\)"):
        FiniteGroup("half", [[0, 1], [1, 1]])
    with pytest.raises(ValueError, match="one row and column"):
        FiniteGroup("flat", [0, 1])


def test_products_of_permutations_are_compositions():
    group, maps = symmetric_group(4), symmetric_permutations(4)
    for g, h in itertools.product(range(0, 24, 5), range(24)):
        assert (maps[group.table[g, h]] == maps[g][maps[h]]).all()


def test_permutation_matrices_generate_the_symmetric_group():
    swap, turn = np.eye(4, dtype=int)[[1, 0, 2, 3]], np.roll(np.eye(4, dtype=int), 1, 0)
    group, matrices = generated_group([swap, turn])
    assert group.order == 24
    assert all((matrices[group.table[g, h]] == matrices[g] @ matrices[h]).all() for g in range(24) for h in range(24))
    with pytest.raises(ValueError, match="finite"):
        generated_group([np.array([[1.0, 1.0], [0.0, 1.0]])])


def test_conjugacy_classes_of_the_symmetric_group_are_cycle_types():
    def cycle_type(p):
        lengths, seen = [], set()
        for start in range(4):
            at, length = start, 0
            while at not in seen:
                seen.add(at)
                at, length = p[at], length + 1
            lengths.append(length)
        return tuple(sorted(filter(None, lengths)))

    classes = symmetric_group(4).classes
    types = [cycle_type(p) for p in symmetric_permutations(4)]
    assert len(set(zip(classes, types, strict=True))) == len(set(types)) == len(set(classes)) == 5
