"""The arms of a randomisation test keep what they should keep; a network with a column for every row fits them all."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import generalisation
from leadline.generalisation.memorisation.randomisation_tests import ARMS, RandomisationArm


@pytest.fixture(scope="module")
def digits_like():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 60)), rng.integers(3, size=40), rng.normal(size=(30, 60)), rng.integers(3, size=30)


def test_each_arm_changes_what_it_says(digits_like):
    x, y, test, _ = digits_like
    made = {arm: generalisation.corrupted(arm, x, y, test, key=jax.random.key(1)) for arm in ARMS}
    np.testing.assert_array_equal(made["true labels"].inputs, x)
    kept = [np.mean(made[f"0.{q} random labels"].labels == y) for q in (2, 8)]
    assert kept[0] >= 0.8
    assert kept[0] > kept[1]
    one, fresh = made["one permutation"], made["fresh permutations"]
    order = [int(np.flatnonzero(x[0] == v)[0]) for v in one.inputs[0]]
    np.testing.assert_array_equal(one.inputs, x[:, order])
    np.testing.assert_array_equal(one.test_inputs, test[:, order])
    np.testing.assert_allclose(np.sort(fresh.inputs, axis=1), np.sort(x, axis=1))
    assert not np.array_equal(fresh.inputs, x[:, order])
    assert abs(made["Gaussian images"].inputs.std() - x.std()) < 0.1
    with pytest.raises(ValueError, match="no arm"):
        generalisation.corrupted("some labels", x, y, test, key=jax.random.key(1))


def test_a_linear_map_with_more_inputs_than_rows_fits_every_arm(digits_like):
    x, y, test, truth = digits_like
    found = generalisation.randomisation_test(
        lambda w, x: x @ w,
        jnp.zeros((60, 3)),
        x,
        y,
        test,
        truth,
        epochs=60,
        batch=20,
        optimiser=optax.adam(3e-2),
        key=jax.random.key(2),
    )
    assert [arm.name for arm in found] == list(ARMS)
    for arm in found:
        assert arm.train_error == 0.0
        assert arm.margin > 0
        assert arm.steps_to_zero % 2 == 0
        assert arm.confusion.sum() == 30
        assert 1 - arm.test_error == pytest.approx(np.trace(arm.confusion) / 30)
        assert arm.losses.shape == (60,)
    assert found[0].losses[-1] < found[0].losses[0]


def test_the_deviation_of_chance_is_that_over_all_names_of_the_classes():
    from itertools import permutations

    counts = np.random.default_rng(3).integers(9, size=(3, 3))
    arm = RandomisationArm("", 0.0, 0.0, None, 0.0, 0.0, np.zeros(1), counts)
    shares = [sum(counts[i, p[i]] for i in range(3)) / counts.sum() for p in permutations(range(3))]
    assert arm.chance_deviation == pytest.approx(np.std(shares))
