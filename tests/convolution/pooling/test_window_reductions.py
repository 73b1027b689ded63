import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution.pooling.window_reductions import reduce_windows

X = np.random.default_rng(0).normal(size=(9, 3, 8))


def one_by_one(x, kind, window, stride, dilation):
    """The first and last axis, window by window."""
    reach = dilation * (window - 1) + 1
    rows, columns = (range(0, n - reach + 1, stride) for n in (x.shape[0], x.shape[2]))
    take = {"max": np.max, "mean": np.mean}[kind]
    cells = [[take(x[i : i + reach : dilation, :, j : j + reach : dilation], (0, 2)) for j in columns] for i in rows]
    return np.moveaxis(cells, 2, 1)


@pytest.mark.parametrize("kind", ["max", "mean"])
@pytest.mark.parametrize(("window", "stride", "dilation"), [(2, 2, 1), (3, 3, 1), (3, 1, 1), (2, 3, 2), (3, 2, 3)])
def test_any_axes_may_hold_the_positions(kind, window, stride, dilation):
    found = reduce_windows(jnp.asarray(X), (0, -1), kind, window, stride, dilation=dilation)
    np.testing.assert_allclose(found, one_by_one(X, kind, window, stride, dilation), atol=1e-12)
