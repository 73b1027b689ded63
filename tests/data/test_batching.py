"""Batches without replacement."""

import jax
import numpy as np
import pytest

from leadline import data
from leadline.data.batching import permutation

KEY = jax.random.key(3)


def test_an_epoch_takes_no_example_twice_and_epochs_differ():
    first, second = (np.asarray(data.epoch_batches(23, 5, e, key=KEY)) for e in (0, 1))
    for rows in (first, second):
        assert rows.shape == (4, 5)
        assert len(np.unique(rows)) == 20
        assert rows.min() >= 0
        assert rows.max() < 23
    assert not np.array_equal(first, second)


def test_every_example_is_left_out_equally_often():
    rows = np.asarray(jax.vmap(lambda e: data.epoch_batches(7, 3, e, key=KEY))(np.arange(3500))).reshape(3500, -1)
    left = 3500 - np.bincount(rows.ravel(), minlength=7)  # mean 500, standard deviation 20.7
    assert np.abs(left - 500).max() < 5 * 20.7


def test_a_sequence_is_made_of_whole_epochs():
    sequence = np.asarray(data.batch_sequence(10, 4, 5, key=KEY))
    np.testing.assert_array_equal(sequence[:2], data.epoch_batches(10, 4, 0, key=KEY))
    np.testing.assert_array_equal(sequence[4], data.epoch_batches(10, 4, 2, key=KEY)[0])


@pytest.mark.parametrize("batch", [0, 11])
def test_a_batch_that_cannot_be_drawn_is_refused(batch):
    with pytest.raises(ValueError, match="choose 1 to 10"):
        data.epoch_batches(10, batch, 0, key=KEY)


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 2**16, 2**16 + 1])
def test_a_permutation_has_every_number_once(n):
    np.testing.assert_array_equal(np.sort(permutation(n, key=KEY)), np.arange(n))


def test_all_permutations_of_four_are_equally_likely():
    draws = np.asarray(jax.vmap(lambda k: permutation(4, key=k))(jax.random.split(KEY, 24_000)))
    counts = np.bincount(np.unique(draws @ 4 ** np.arange(4), return_inverse=True)[1])
    assert len(counts) == 24
    assert np.sum((counts - 1000) ** 2 / 1000) < 49.7  # the 99.9% point of chi-square with 23 degrees of freedom


def test_neighbours_are_torn_apart_in_a_long_permutation():
    order = np.asarray(permutation(2**16, key=KEY))
    ascending = np.mean(np.diff(order) > 0)  # 1/2, with standard deviation 1/√(12 n)
    assert abs(ascending - 0.5) < 4 / np.sqrt(12 * 2**16)
    assert abs(np.corrcoef(order, np.arange(2**16))[0, 1]) < 4 / np.sqrt(2**16)
