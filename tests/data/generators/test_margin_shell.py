import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import data
from leadline.data.generators.margin_shell import shell_error


@pytest.mark.parametrize("dim", [2, 3, 50])
def test_every_point_has_norm_one_and_exactly_the_margin(dim):
    x, y, direction = data.margin_shell(500, dim, 0.1, key=jax.random.key(0))
    np.testing.assert_allclose(jnp.linalg.norm(x, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(y * (x @ direction), 0.1, rtol=1e-12)
    assert 150 < (y > 0).sum() < 350


@pytest.mark.parametrize("dim", [2, 3, 4, 50])
def test_the_exact_error_agrees_with_fresh_examples(dim):
    weights = jax.random.normal(jax.random.key(1), (4, dim)).at[:, 0].set(jnp.array([3.0, 1.0, 0.0, -1.0]))
    x, y, _ = data.margin_shell(40_000, dim, 0.3, key=jax.random.key(2))
    measured = jnp.mean(y[:, None] * (x @ weights.T) <= 0, axis=0)
    np.testing.assert_allclose(measured, shell_error(weights, 0.3), atol=4 * 0.5 / np.sqrt(40_000))


def test_the_zero_vector_is_always_wrong_and_the_reference_never():
    weights = jnp.stack([jnp.zeros(5), jnp.eye(5)[0], -jnp.eye(5)[0]])
    assert shell_error(weights, 0.1).tolist() == [1.0, 0.0, 1.0]


def test_one_dimension_and_margins_above_one_are_refused():
    with pytest.raises(ValueError, match="dim >= 2"):
        data.margin_shell(5, 1, 0.1, key=jax.random.key(0))
    with pytest.raises(ValueError, match=r"margin in \[0, 1\]"):
        data.margin_shell(5, 3, 1.1, key=jax.random.key(0))
