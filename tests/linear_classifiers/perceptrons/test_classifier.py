from itertools import product

import jax.numpy as jnp
import numpy as np
import pytest

from leadline.linear_classifiers import perceptrons
from leadline.linear_classifiers.perceptrons import classifier

GRID = np.array(list(product(range(-2, 3), repeat=2)))


@pytest.mark.parametrize(("w", "b"), [((1, 2), 0), ((-1, 1), 1), ((0, 0), -2), ((2, 1), 3)])
def test_the_sign_of_an_integer_score_is_the_output(w, b):
    scores = [w[0] * x + w[1] * z + b for x, z in GRID]
    for at_zero in (-1, 0, 1):
        expected = [at_zero if s == 0 else (1 if s > 0 else -1) for s in scores]
        assert perceptrons.LinearThreshold(jnp.array(w), b, at_zero)(GRID).tolist() == expected


@pytest.mark.parametrize(("w", "theta"), [((1, 2), 0), ((-1, 1), 1), ((0, 0), -2), ((2, 1), 3)])
def test_the_zero_one_form_is_the_sign_form_after_relabelling(w, theta):
    fires = [w[0] * x + w[1] * z >= theta for x, z in GRID]
    assert classifier.fires(jnp.array(w), theta, GRID).tolist() == fires
    assert perceptrons.from_threshold(jnp.array(w), theta)(GRID).tolist() == [2 * int(t) - 1 for t in fires]


def test_an_absorbed_bias_gives_the_same_scores():
    rng = np.random.default_rng(0)
    unit = perceptrons.LinearThreshold(rng.normal(size=5), 0.7)
    x = rng.normal(size=(20, 5))
    absorbed = perceptrons.absorb_bias(unit)
    assert absorbed.bias == 0
    assert np.allclose(absorbed.score(perceptrons.with_constant(x)), x @ np.asarray(unit.weights) + 0.7, atol=1e-12)


def test_another_value_at_zero_is_refused():
    with pytest.raises(ValueError, match="at_zero=2"):
        perceptrons.LinearThreshold(jnp.ones(2), 0.0, at_zero=2)
