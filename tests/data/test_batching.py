"""Batches without replacement."""

import jax
import numpy as np
import pytest

from leadline import data

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
