import jax
import numpy as np
import pytest

from leadline import sequences


def test_the_label_is_that_of_the_marked_signal():
    task = sequences.recall_task(50, 3, length=7, key=jax.random.key(0))
    assert task.inputs.shape == (50, 7, 2)
    np.testing.assert_array_equal(task.inputs[:, :, 1].sum(axis=1), 1)
    np.testing.assert_array_equal(task.inputs[:, 3, 0] > 0, task.labels == 1)
    assert 10 < int(task.labels.sum()) < 40


def test_a_lag_beyond_the_length_is_refused():
    with pytest.raises(ValueError, match="a length above it"):
        sequences.recall_task(5, 4, length=4, key=jax.random.key(0))
