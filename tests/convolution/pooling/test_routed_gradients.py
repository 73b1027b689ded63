import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import max_pool, max_pool_gradient, tied_windows

RNG = np.random.default_rng(0)


def reduce_window(x, window, stride):
    """The maximum by JAX's own reduction, whose derivative goes to the first maximiser."""
    return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (window, window), (stride, stride), "VALID")


@pytest.mark.parametrize(("window", "stride"), [(2, 2), (3, 1), (3, 2), (2, 3)])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("ties", "pool"), [("first", reduce_window), ("equal", max_pool)])
def test_the_two_rules_are_those_of_jax_and_of_max_pool(window, stride, tied, ties, pool):
    x = RNG.integers(0, 3, (9, 8)).astype(float) if tied else RNG.normal(size=(9, 8))
    y, back = jax.vjp(lambda x: pool(x, window, stride), jnp.asarray(x))
    upstream = RNG.normal(size=y.shape)
    np.testing.assert_allclose(
        max_pool_gradient(x, upstream, window, stride, ties=ties), back(jnp.asarray(upstream, y.dtype))[0], atol=1e-5
    )


def test_equal_shares_are_the_mean_over_all_choices_of_a_maximiser():
    x, upstream = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), np.array([[6.0, 12.0]])
    # windows of 2 at stride 1: cells (0,0) (0,1) (1,1), then (0,1) (1,1) (1,2)
    expected = [[2.0, 2.0 + 4.0, 0.0], [0.0, 2.0 + 4.0, 4.0]]
    np.testing.assert_allclose(max_pool_gradient(x, upstream, 2, 1, ties="equal"), expected)


def test_windows_of_zeros_are_ties():
    x = np.zeros((2, 4, 4))
    x[1] = np.arange(16).reshape(4, 4)
    assert tied_windows(x, 2).sum((1, 2)).tolist() == [4, 0]


def test_a_gradient_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match="pools to"):
        max_pool_gradient(np.ones((4, 4)), np.ones((3, 3)), 2)
