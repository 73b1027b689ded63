from itertools import product
from math import factorial

import numpy as np
import pytest

from leadline.learning import memorise
from leadline.learning.memorisers import consistent_functions, disagreements, usable_columns, usable_probability


def test_a_table_remembers_everything_and_answers_its_default_otherwise():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((50, 3)), rng.choice([-1, 1], 50)
    table = memorise(x, y, default=7)
    assert np.array_equal(table(x), y)
    assert set(table(x + 1e-9).tolist()) == {7}
    assert disagreements(table, x, y).size == 0


def test_the_default_is_the_commonest_label_and_of_equals_the_least():
    assert memorise(np.eye(3), [2, 1, 2]).default == 2
    assert memorise(np.eye(2), ["b", "a"]).default == "a"


def test_conflicting_duplicates_are_reported_and_the_first_wins():
    x = np.array([[0.0], [1.0], [-0.0], [1.0]])
    table = memorise(x, [1, 2, 3, 2])
    assert table.conflicts == ((0, 2),)  # 0.0 and -0.0 are equal
    assert table(x).tolist() == [1, 2, 1, 2]


def test_a_column_is_a_key_if_its_values_differ():
    x = np.array([[1, 5, 0], [2, 5, 0], [3, 6, 1]])
    assert usable_columns(x).tolist() == [True, False, False]
    assert memorise(x, [1, 2, 3], columns=[0]).conflicts == ()
    assert memorise(x, [1, 2, 3], columns=[1]).conflicts == ((0, 1),)
    assert usable_columns(x[:1]).tolist() == [True] * 3


@pytest.mark.parametrize(("n", "levels"), [(0, 3), (1, 1), (3, 4), (4, 3)])
def test_the_birthday_probability_is_the_share_of_sequences_without_repetition(n, levels):
    different = [len(set(s)) == n for s in product(range(levels), repeat=n)]
    assert usable_probability(n, levels) == pytest.approx(np.mean(different))


def test_long_birthday_products_agree_with_factorials():
    exact = factorial(1000) // factorial(700) / 1000**300
    assert usable_probability(300, 1000) == pytest.approx(exact, rel=1e-9)


def test_functions_that_agree_with_labelled_points_are_counted():
    tables = list(product((0, 1), repeat=5))
    assert consistent_functions(5, 2) == sum(t[:2] == (1, 0) for t in tables)
    assert consistent_functions(5, 5) == 1


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="one label"):
        memorise(np.eye(3), [1, 2])
    with pytest.raises(ValueError, match="columns"):
        memorise(np.eye(3), [1, 2, 3], columns=[3])
    with pytest.raises(ValueError, match="K ≥ 1"):
        usable_probability(3, 0)
    with pytest.raises(ValueError, match="labelled"):
        consistent_functions(3, 4)
