import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.networks import initialiser, weight_moment
from leadline.networks.initialisers import INITIALISERS


@pytest.mark.parametrize("name", INITIALISERS)
def test_a_rule_has_the_stated_mean_square_and_shape(name):
    w = initialiser(name)(jax.random.key(0), (48, 32), jnp.float32)
    assert w.shape == (48, 32)
    assert w.dtype == jnp.float32
    # 1536 entries: the mean square of Gaussian ones is within 15% of its expectation with probability 1 - 4e-5.
    assert float(jnp.mean(w**2)) == pytest.approx(weight_moment(name, 32, 48), rel=0.15)


def test_uniform_rules_keep_inside_their_limits():
    for name, limit in {"glorot_uniform": (6 / 80) ** 0.5, "pytorch": 32**-0.5, "he_uniform": (6 / 32) ** 0.5}.items():
        w = np.abs(initialiser(name)(jax.random.key(1), (48, 32), jnp.float32))
        assert 0.95 * limit < w.max() <= limit * (1 + 1e-6)


@pytest.mark.parametrize("shape", [(48, 32), (32, 48)])
def test_orthogonal_matrices_have_orthonormal_rows_or_columns(shape):
    w = np.asarray(initialiser("orthogonal")(jax.random.key(2), shape, jnp.float64))
    gram = w.T @ w if shape[0] > shape[1] else w @ w.T
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-13)


def test_the_sign_fix_makes_the_first_entry_of_an_orthogonal_matrix_symmetric():
    draw = jax.jit(jax.vmap(lambda key: initialiser("orthogonal")(key, (4, 4), jnp.float64)[0, 0]))
    first = np.asarray(draw(jax.random.split(jax.random.key(3), 4000)))
    assert abs(first.mean()) < 4 * 0.5 / 4000**0.5  # the variance of an entry is 1/4
    assert np.mean(first > 0) == pytest.approx(0.5, abs=4 * 0.5 / 4000**0.5)


def test_unknown_rules_and_empty_layers_are_refused():
    with pytest.raises(ValueError, match="lecun"):
        initialiser("lecunn")
    with pytest.raises(ValueError, match="positive"):
        weight_moment("he", 0, 3)
