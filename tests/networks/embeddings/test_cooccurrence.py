import numpy as np
import pytest

from leadline.networks import embeddings


def test_counts_are_those_of_a_double_loop():
    tokens = np.random.default_rng(0).integers(5, size=60)
    expected = np.zeros((5, 5), int)
    for i in range(60):
        for j in range(60):
            if i != j and abs(i - j) <= 3:
                expected[tokens[i], tokens[j]] += 1
    np.testing.assert_array_equal(embeddings.window_counts(tokens, 5, 3), expected)


def test_pmi_of_independent_words_is_0_and_of_strangers_minus_infinity():
    p = np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(embeddings.pointwise_mutual_information(np.outer(p, p)), 0.0, atol=1e-14)
    assert embeddings.pointwise_mutual_information(np.eye(2)).tolist() == [[np.log(2), -np.inf], [-np.inf, np.log(2)]]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="window of 4"):
        embeddings.window_counts(np.array([0, 1, 0]), 2, 4)
    with pytest.raises(ValueError, match="no neighbours"):
        embeddings.conditionals(np.array([[1, 1], [0, 0]]))
