import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.geometry import permute_rows, relabel_nodes, symmetry_defect
from leadline.geometry.groups.symmetry_defects import random_permutations

ALL = np.array(list(itertools.permutations(range(4))))
RNG = np.random.default_rng(0)
SET = RNG.normal(size=(4, 3)).astype(np.float32)
GRAPH = SET, np.triu(RNG.integers(0, 2, (4, 4)), 1).astype(np.float32)


def test_sums_over_a_set_are_invariant_and_concatenations_are_not():
    assert symmetry_defect(lambda x: jnp.tanh(x).sum(0), SET, ALL, permute_rows).largest < 1e-6
    found = symmetry_defect(jnp.ravel, SET, ALL, permute_rows)
    brute = [np.linalg.norm(SET[p] - SET) / np.linalg.norm(SET) for p in ALL]
    assert np.allclose(found.relative, brute, atol=1e-6)
    assert found.worst == np.argmax(brute)


def test_graph_layers_are_equivariant_and_dense_layers_on_the_adjacency_are_not():
    weight = RNG.normal(size=(16, 4)).astype(np.float32)

    def gcn(graph):
        return jnp.tanh((graph[1] + graph[1].T) @ graph[0])

    assert symmetry_defect(gcn, GRAPH, ALL, relabel_nodes, permute_rows).largest < 1e-6
    dense = symmetry_defect(lambda g: g[1].reshape(-1) @ weight, GRAPH, ALL, relabel_nodes, permute_rows)
    assert dense.largest > 0.1
    assert dense.relative[0] == 0  # the identity


def test_sampled_permutations_are_permutations_and_a_function_of_zero_norm_is_judged():
    sample = random_permutations(6, 5, key=jax.random.key(0))
    assert (np.sort(sample, axis=1) == np.arange(6)).all()
    found = symmetry_defect(lambda x: x[:1] * 0, SET, ALL, permute_rows)
    assert found.largest == 0
    first = jnp.zeros(4).at[0].set(1.0)
    assert symmetry_defect(lambda x: x[1], first, ALL, permute_rows).largest == np.inf


def test_bad_elements_and_answers_are_said():
    with pytest.raises(ValueError, match="row for each"):
        symmetry_defect(jnp.sum, SET, (ALL, ALL[:2]), lambda g, x: x)
    with pytest.raises(ValueError, match="answer of f's shape"):
        symmetry_defect(jnp.sum, SET, ALL, permute_rows, lambda g, y: jnp.stack([y, y]))
