import numpy as np
import pytest

from leadline.data import load, mnist_1d


def test_the_curves_are_those_of_the_authors_program():
    made = mnist_1d()
    # the program of the package mnist1d 0.0.2.post1 gives these, and all others to 9e-16
    np.testing.assert_allclose(made.train_inputs[0, :3, 0], [-0.33200567, -0.47191037, -0.77869708], atol=1e-8)
    assert made.train_labels[:8].tolist() == [2, 6, 4, 5, 6, 6, 6, 0]
    both = np.concatenate([made.train_inputs, made.test_inputs])
    assert abs(both.mean()) < 1e-12
    assert abs(both.std() - 1) < 1e-12


def test_the_dataset_of_that_name_is_made_here():
    found = load("mnist-1d")
    assert found.train_inputs.shape == (4000, 40, 1)
    assert found.test_inputs.dtype == np.float32
    assert np.bincount(np.concatenate([found.train_labels, found.test_labels])).tolist() == [500] * 10


def test_rows_are_shared_among_the_digits():
    with pytest.raises(ValueError, match="15 rows"):
        mnist_1d(15)
