"""Codes of classes and label sets, there and back."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.learning import label_sets, multi_hot, one_hot, predicted_class


def test_classes_survive_the_round_trip():
    labels = np.array([[3, 0, 1], [2, 2, 0]])
    codes = one_hot(labels, 4)
    assert codes.shape == (2, 3, 4)
    assert (np.asarray(codes) == np.eye(4)[labels]).all()
    assert (predicted_class(codes) == labels).all()


def test_label_sets_survive_the_round_trip():
    sets = [{0, 3}, set(), {1, 2, 3}]
    assert label_sets(multi_hot(sets, 4)) == sets


def test_a_tie_goes_to_the_smallest_index():
    assert predicted_class(jnp.zeros((2, 5))).tolist() == [0, 0]


def test_labels_out_of_range_are_refused():
    for call in (lambda: one_hot(np.array([4]), 4), lambda: one_hot(np.array([-1]), 4), lambda: multi_hot([{7}], 3)):
        with pytest.raises(ValueError, match="number them from 0"):
            call()
    assert jax.jit(lambda y: one_hot(y, 3))(jnp.array([3])).tolist() == [[0.0, 0.0, 0.0]]
