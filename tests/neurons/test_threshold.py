"""McCulloch-Pitts units against Python's own Boolean operators and the closed-form counts."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import neurons


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12])
@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("and", all),
        ("or", any),
        ("nand", lambda bits: not all(bits)),
        ("nor", lambda bits: not any(bits)),
        ("majority", lambda bits: 2 * sum(bits) >= len(bits)),
    ],
)
def test_gates_have_the_truth_tables_of_the_python_operators(name, truth, n):
    expected = [truth(bits) for bits in itertools.product((0, 1), repeat=n)]
    assert neurons.truth_table(neurons.gate(name, n), n).tolist() == expected


def test_not_inverts_its_input():
    assert neurons.truth_table(neurons.gate("not", 1), 1).tolist() == [True, False]


def test_inputs_are_listed_as_itertools_lists_them():
    assert neurons.binary_inputs(4).tolist() == [list(bits) for bits in itertools.product((0, 1), repeat=4)]


def test_a_tie_fires_and_just_below_does_not():
    x = jnp.array([1.0, 1.0])
    assert bool(neurons.ThresholdUnit(jnp.array([0.5, 0.25]), 0.75)(x))
    assert not bool(neurons.ThresholdUnit(jnp.array([0.5, 0.25]), 0.7500001)(x))


def test_absolute_inhibition_silences_the_unit_whatever_the_sum():
    unit = neurons.ThresholdUnit(np.array([1, 1, 1]), 2, np.array([False, False, True]))
    expected = [a + b + c >= 2 and not c for a, b, c in itertools.product((0, 1), repeat=3)]
    assert neurons.truth_table(unit, 3).tolist() == expected


def test_a_unit_can_be_jitted_and_mapped_over_its_weights():
    x = jnp.asarray(neurons.binary_inputs(3))
    tables = jax.jit(jax.vmap(lambda weights, threshold: neurons.ThresholdUnit(weights, threshold)(x)))(
        jnp.array([[1, 1, 1], [-1, -1, -1]]), jnp.array([3, 0])
    )
    assert tables.sum(1).tolist() == [1, 1]


@pytest.mark.parametrize("n", range(1, 7))
def test_sign_units_realise_n_two_to_the_n_plus_two_functions(n):
    assert len(neurons.realised_tables(n)) == n * 2**n + 2


@pytest.mark.parametrize(("n", "count"), [(1, 4), (2, 14), (3, 56), (4, 218)])
def test_ternary_units_realise_the_functions_counted_by_a_double_loop(n, count):
    inputs = list(itertools.product((0, 1), repeat=n))
    twin = {
        tuple(sum(w * x for w, x in zip(weights, bits, strict=True)) >= theta for bits in inputs)
        for weights in itertools.product((-1, 0, 1), repeat=n)
        for theta in range(-n, n + 2)
    }
    tables = neurons.realised_tables(n, (-1, 0, 1))
    assert {tuple(row) for row in tables.tolist()} == twin
    assert len(twin) == count


@pytest.mark.parametrize(("n", "largest", "count"), [(1, 1, 4), (2, 1, 14), (3, 2, 104), (4, 3, 1882)])
def test_small_integer_weights_give_every_linearly_separable_function(n, largest, count):
    assert len(neurons.realised_tables(n, tuple(range(-largest, largest + 1)))) == count


def test_a_sign_unit_cannot_copy_one_of_two_inputs():
    copy = neurons.binary_inputs(2)[:, 0].astype(bool)
    assert not (neurons.realised_tables(2) == copy).all(1).any()
    assert (neurons.realised_tables(2, (-1, 0, 1)) == copy).all(1).any()


def test_bad_requests_are_refused_with_a_sentence():
    with pytest.raises(ValueError, match="no gate 'xor'"):
        neurons.gate("xor")
    with pytest.raises(ValueError, match="cannot have 2 inputs"):
        neurons.gate("not", 2)
    with pytest.raises(ValueError, match="between 0 and 20"):
        neurons.binary_inputs(21)
    with pytest.raises(ValueError, match="too many"):
        neurons.realised_tables(8, (-3, -2, -1, 0, 1, 2, 3))
    with pytest.raises(ValueError, match="3 inputs but x has shape"):
        neurons.gate("and", 3)(np.ones((4, 2)))
