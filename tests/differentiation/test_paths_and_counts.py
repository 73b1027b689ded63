"""Sums over paths and operation counts, against brute force."""

from itertools import combinations

import numpy as np
import pytest

from leadline.differentiation import Tape
from leadline.differentiation.operation_counts import jacobian_chain_multiply_adds, network_multiply_adds
from leadline.differentiation.path_sums import LocalEdge, local_edges, sum_paths, sweep_paths


def test_both_sums_are_the_matrix_series():
    rng = np.random.default_rng(0)
    local = np.triu(rng.normal(size=(8, 8)), 1)  # local[i, j] = ∂j/∂i
    edges = [LocalEdge(i, j, local[i, j]) for i, j in combinations(range(8), 2)]
    expected = np.linalg.inv(np.eye(8) - local)[0, 7]
    assert sum_paths(edges, 0, 7).derivative == pytest.approx(expected, rel=1e-12)
    assert sweep_paths(edges, 0, 7).derivative == pytest.approx(expected, rel=1e-12)
    assert sum_paths(edges, 0, 7).paths == sweep_paths(edges, 0, 7).paths == 2**6


def test_unconnected_nodes_have_derivative_zero_and_a_node_has_one_in_itself():
    edges = [LocalEdge(0, 1, 2.0)]
    assert sweep_paths(edges, 0, 2) == sum_paths(edges, 0, 2) == (0.0, 0, 0)
    assert sum_paths(edges, 1, 1).derivative == sweep_paths(edges, 1, 1).derivative == 1.0


def test_bad_graphs_are_refused():
    with pytest.raises(ValueError, match="topological"):
        sweep_paths([LocalEdge(1, 0, 1.0)], 0, 1)
    with pytest.raises(ValueError, match="more than 10 paths"):
        sum_paths([LocalEdge(i, j, 1.0) for i, j in combinations(range(8), 2)], 0, 7, limit=10)
    tape = Tape()
    tape.variable(np.ones(2))
    with pytest.raises(ValueError, match="graphs of numbers"):
        local_edges(tape)


def test_counts_of_a_network():
    assert network_multiply_adds((5, 7)).ratio == 2.0  # one layer: no adjoint is passed on
    assert network_multiply_adds((3, 3, 3, 3)).ratio == pytest.approx(3 - 1 / 3)
    with pytest.raises(ValueError, match="two widths"):
        network_multiply_adds((5,))


def test_counts_of_a_chain_of_matrices():
    n0, n1, n2, n3 = 2, 3, 5, 7
    assert jacobian_chain_multiply_adds((n0, n1, n2, n3)) == (n3 * n2 * n1 + n3 * n1 * n0, n2 * n1 * n0 + n3 * n2 * n0)
    with pytest.raises(ValueError, match="three sizes"):
        jacobian_chain_multiply_adds((2, 3))
