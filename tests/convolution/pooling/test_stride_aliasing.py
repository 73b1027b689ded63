import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import stride_aliasing
from leadline.networks.dissection import dissect, feature_maps

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("kind", ["conv", "max", "mean"])
def test_the_change_under_a_shift_is_the_response_between_the_kept_positions(kind):
    w = jnp.asarray(RNG.normal(size=(2, 1, 3, 3)), jnp.float32)

    def net(w, x):
        x = jax.lax.conv(x[:, None], w, (2, 2) if kind == "conv" else (1, 1), "SAME")
        if kind != "conv":
            combine, start = (jax.lax.max, -np.inf) if kind == "max" else (jax.lax.add, 0.0)
            x = jax.lax.reduce_window(x, np.float32(start), combine, (1, 1, 3, 3), (1, 1, 2, 2), "VALID")
        return x.reshape(len(x), -1)

    x = RNG.normal(size=(3, 12, 12)).astype(np.float32)
    taken = dissect(net, w, x)
    (found,) = stride_aliasing(taken, w, x, feature_maps(taken, (0, 1)), (0, 1))
    assert found.measured == pytest.approx(found.predicted, rel=1e-5)
    assert found.kind == {"conv": "conv", "max": "max", "mean": "sum"}[kind]
    assert 0.2 < found.energy < 1
    assert found.pixels == 1


def test_without_strides_nothing_is_found():
    def net(w, x):
        return jax.lax.conv(x[:, None], w, (1, 1), "SAME").reshape(len(x), -1)

    w = jnp.ones((1, 1, 3, 3), jnp.float32)
    x = RNG.normal(size=(3, 6, 6)).astype(np.float32)
    taken = dissect(net, w, x)
    assert stride_aliasing(taken, w, x, feature_maps(taken, (0, 1)), (0, 1)) == []
