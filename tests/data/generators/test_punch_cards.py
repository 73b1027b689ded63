import jax
import numpy as np
import pytest
from scipy import stats

from leadline import data


@pytest.mark.parametrize(("rows", "columns", "marks"), [(8, 16, 1), (8, 16, 3), (1, 2, 1), (3, 4, 6)])
def test_every_card_has_its_marks_on_one_side(rows, columns, marks):
    cards, sides = data.punch_cards(200, rows, columns, marks, key=jax.random.key(0))
    half = columns // 2
    left, right = np.sum(cards[:, :, :half], axis=(1, 2)), np.sum(cards[:, :, half:], axis=(1, 2))
    assert np.array_equal(left, np.where(sides < 0, marks, 0))
    assert np.array_equal(right, np.where(sides > 0, marks, 0))
    assert set(np.unique(cards)) <= {0.0, 1.0}


def test_marks_fall_on_all_cells_alike():
    cards, _ = data.punch_cards(4000, 4, 4, 1, key=jax.random.key(1))
    assert stats.chisquare(np.sum(cards, axis=0).ravel()).pvalue > 1e-4


@pytest.mark.parametrize("arguments", [(5, 8, 15, 1), (5, 8, 16, 65), (5, 8, 16, 0), (0, 8, 16, 1)])
def test_impossible_cards_are_refused(arguments):
    with pytest.raises(ValueError, match="punch_cards got"):
        data.punch_cards(*arguments, key=jax.random.key(0))
