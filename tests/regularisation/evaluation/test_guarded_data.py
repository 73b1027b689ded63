"""The test part is read once; classes, groups and times are divided as asked."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.regularisation import guard

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)


def rows_of(held):
    """The rows in each part of data whose first array numbers its rows."""
    return held.train[0], held.validation[0], held.read("rows of the parts")[0]


def test_a_second_reading_is_refused_and_counted():
    held = guard(np.arange(10), np.arange(10) ** 2, key=KEY)
    x, y = held.read("final error")
    np.testing.assert_array_equal(y, x**2)
    assert (held.readings, held.refusals) == (1, 0)
    for tries in (1, 2):
        with pytest.raises(ValueError, match="already read for 'final error'"):
            held.read("another try")
        assert (held.readings, held.refusals) == (1, tries)
    assert "read for 'final error', 2 refused" in repr(held)


def test_a_reading_without_a_reason_is_not_granted():
    held = guard(np.arange(10), key=KEY)
    with pytest.raises(ValueError, match="say what it is read for"):
        held.read(" ")
    assert held.readings == 0
    assert "unread" in repr(held)


def test_classes_keep_their_shares_up_to_one_row():
    labels = RNG.choice(3, size=101, p=[0.6, 0.3, 0.1])
    held = guard(np.arange(101), jnp.asarray(labels), labels=labels, shares=(0.5, 0.2, 0.3), key=KEY)
    parts = rows_of(held)
    assert sorted(np.concatenate(parts).tolist()) == list(range(101))
    for share, rows in zip((0.5, 0.2, 0.3), parts, strict=True):
        assert np.all(np.abs(np.bincount(labels[rows], minlength=3) - share * np.bincount(labels)) <= 1)
    np.testing.assert_array_equal(held.train[1], labels[parts[0]])


def test_no_group_is_in_two_parts():
    groups = RNG.integers(0, 12, size=90)
    parts = [set(groups[rows]) for rows in rows_of(guard(np.arange(90), groups=groups, key=KEY))]
    assert not (parts[0] & parts[1])
    assert not (parts[0] & parts[2])
    assert not (parts[1] & parts[2])


def test_the_test_part_is_the_future():
    times = RNG.integers(0, 40, size=100)
    parts = [times[rows] for rows in rows_of(guard(np.arange(100), times=times))]
    assert parts[0].max() < parts[1].min()
    assert parts[1].max() < parts[2].min()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": np.zeros(9)}, "labels of one class, 0.0"),
        ({"labels": np.r_[np.zeros(7), np.ones(2)]}, "2 rows of class 1.0, too few for one in the test part"),
        ({"labels": np.arange(9), "groups": np.arange(9)}, "labels and groups; give one of"),
        ({"groups": np.arange(8)}, r"groups of shape \(8,\) for 9 rows"),
        ({"groups": np.arange(9) % 2}, "parts of"),
        ({"shares": (0.5, 0.5)}, "three shares"),
        ({"key": None}, "no key"),
    ],
)
def test_bad_input_is_named_in_one_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        guard(np.arange(9), **{"key": KEY, **options})


def test_nothing_to_guard_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        guard(key=KEY)
