"""Splits: partitions with the promised shares, and the sealed part."""

import jax
import numpy as np
import pytest

from leadline.learning import SealedPart, grouped_split, random_split, stratified_split, temporal_split

KEY = jax.random.key(3)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_a_random_split_is_a_partition_with_rounded_sizes(n):
    split = random_split(n, (0.5, 0.3, 0.2), key=KEY)
    assert np.array_equal(np.sort(np.concatenate(split)), np.arange(n))
    for part, share in zip(split, (0.5, 0.3, 0.2), strict=True):
        assert abs(len(part) - share * n) < 1


def test_every_row_is_equally_likely_to_be_tested():
    hits = np.zeros(10)
    for key in jax.random.split(KEY, 400):
        hits[random_split(10, key=key).test] += 1
    assert np.all(np.abs(hits / 400 - 0.2) < 4 * np.sqrt(0.16 / 400))


def test_a_stratified_split_divides_every_class():
    labels = np.array(["a"] * 11 + ["b"] * 50 + ["c"])
    split = stratified_split(labels, key=KEY)
    for name, count in {"a": 11, "b": 50, "c": 1}.items():
        for part, share in zip(split, (0.6, 0.2, 0.2), strict=True):
            assert abs(np.sum(labels[part] == name) - share * count) < 1


def test_a_grouped_split_keeps_groups_whole():
    groups = np.random.default_rng(0).integers(0, 12, 100)
    split = grouped_split(groups, key=KEY)
    parts = [set(groups[part]) for part in split]
    assert sum(len(p) for p in parts) == len(set(groups))
    assert np.array_equal(np.sort(np.concatenate(split)), np.arange(100))


def test_the_sealed_part_logs_every_access_and_hides_its_data():
    sealed = SealedPart(np.arange(2), np.arange(3))
    assert "array" not in repr(sealed)
    assert sealed.accesses == ()
    assert [len(a) for a in sealed.open("final")] == [2, 3]
    sealed.open("again")
    assert sealed.accesses == ("final", "again")
    assert repr(sealed) == "SealedPart(opened 2 times)"


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="three shares"):
        random_split(5, (0.5, 0.6, 0.2), key=KEY)
    with pytest.raises(ValueError, match="reason"):
        SealedPart(np.zeros(1)).open(" ")
    with pytest.raises(ValueError, match="nothing"):
        SealedPart()


def test_rows_of_one_time_stay_together_and_parts_follow_in_time():
    times = np.array([3, 3, 3, 1, 1, 2, 4, 5, 5, 5])
    train, validation, test = temporal_split(times)
    assert times[train].tolist() == [3, 3, 3, 1, 1, 2]
    assert times[validation].tolist() == [4]
    assert times[test].tolist() == [5, 5, 5]
    with pytest.raises(ValueError, match="one known time"):
        temporal_split(np.array([1.0, np.nan]))


def test_a_sealed_part_with_a_limit_refuses_and_lists_what_it_refused():
    sealed = SealedPart(np.arange(3), limit=1)
    sealed.open("report")
    with pytest.raises(ValueError, match="already read for 'report'"):
        sealed.open("once more")
    assert (sealed.accesses, sealed.refused) == (("report",), ("once more",))
    with pytest.raises(ValueError, match="limit = 0"):
        SealedPart(np.arange(3), limit=0)
