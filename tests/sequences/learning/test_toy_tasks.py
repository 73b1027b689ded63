import jax
import numpy as np
import pytest

from leadline.sequences import adding_bits, associative_recall, recall_task, running_parity, shifted_bits

KEY = jax.random.key(0)


def test_the_best_linear_function_of_a_marked_sequence_errs_by_one_less_one_over_t():
    x, labels = recall_task(40_000, length=4, key=KEY)
    y = 2 * np.asarray(labels) - 1.0
    features = np.asarray(x).reshape(len(y), -1)
    left = y - features @ np.linalg.lstsq(features, y)[0]
    assert abs(float((left**2).mean()) - 0.75) < 0.02


def test_the_label_is_that_of_the_marked_signal():
    task = recall_task(50, 3, length=7, key=KEY)
    assert task.inputs.shape == (50, 7, 2)
    np.testing.assert_array_equal(task.inputs[:, :, 1].sum(axis=1), 1)
    np.testing.assert_array_equal(task.inputs[:, 3, 0] > 0, task.labels == 1)
    assert 10 < int(task.labels.sum()) < 40


def test_questions_are_answered_by_their_pair():
    x, y = (np.asarray(part) for part in associative_recall(50, 4, 3, key=KEY))
    for row, label in zip(x, y, strict=True):
        (place,) = np.flatnonzero((row[:4, :4] == row[-1, :4]).all(1))
        assert (row[place, 4] > 0) == label
        assert row[:-1, 5].sum() == 0 == np.abs(row[4:7]).sum()


def test_each_kind_of_bit_is_as_likely():
    for labels in (running_parity(4000, 5, key=KEY).labels, shifted_bits(4000, 5, 2, key=KEY).labels[:, 2:]):
        assert abs(float(labels.mean()) - 0.5) < 0.03
    assert {int(v) for v in adding_bits(100, 12, key=KEY).labels} == {0, 1, 2}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: shifted_bits(2, 3, 3, key=KEY), "delay of 3 for 3 steps"),
        (lambda: adding_bits(2, 1, key=KEY), "1 steps"),
        (lambda: associative_recall(2, 0, 1, key=KEY), "0 pairs"),
        (lambda: recall_task(5, 4, length=4, key=KEY), "a length above it"),
        (lambda: recall_task(5, key=KEY), "neither a lag nor a length"),
    ],
)
def test_what_does_not_fit_is_said(call, words):
    with pytest.raises(ValueError, match=words):
        call()
