"""The kernels of wide perceptrons against numbers from an independent implementation."""

import jax.numpy as jnp
import numpy as np
import pytest

from leadline import infinite_width as iw

# Inputs 2 e1, 2 (.6, .8, 0, 0), 2 e3, -2 e1; L times Dense(√2, 0.1) + activation, then Dense(1, 0); the first row.
POINTS = 2 * np.array([[1, 0, 0, 0], [0.6, 0.8, 0, 0], [0, 0, 1, 0], [-1, 0, 0, 0]], float)
TABLE = {
    ("relu", 1): (
        [1.0050000000, 0.6823457634, 0.3224053947, 0.0002995071],
        [2.0100000000, 1.1092490828, 0.3249133129, -0.0444168015],
    ),
    ("relu", 2): (
        [1.0100000000, 0.7429976990, 0.5022400802, 0.3241471642],
        [3.0250000000, 1.5655975511, 0.7018649792, 0.3043729299],
    ),
    ("relu", 3): (
        [1.0150000000, 0.7896599056, 0.6179594801, 0.5047996049],
        [4.0450000000, 1.9891749850, 1.0891362735, 0.6920082745],
    ),
    ("erf", 1): (
        [0.5911806653, 0.3202310722, 0.0025363405, -0.5827849766],
        [1.4423617438, 0.6705167231, 0.0050726943, -1.4109659917],
    ),
    ("erf", 2): (
        [0.4977065528, 0.2511500653, 0.0056700028, -0.4784891364],
        [2.0321474765, 0.8016580097, 0.0132484444, -1.9263186183],
    ),
    ("gelu", 1): (
        [0.9271047680, 0.5871010173, 0.2161265811, -0.0776484177],
        [1.9113780194, 1.0365768385, 0.2186359656, -0.1062116936],
    ),
}


@pytest.mark.parametrize(("activation", "depth"), TABLE)
def test_kernels_agree_with_an_independent_implementation(activation, depth):
    net = iw.dense_stack(depth, activation, W_std=2**0.5, b_std=0.1, last_W_std=1.0, last_b_std=0.0)
    nngp, ntk = net.kernel_fn(jnp.asarray(POINTS), get=("nngp", "ntk"))
    np.testing.assert_allclose(nngp[0], TABLE[activation, depth][0], atol=1e-9)
    np.testing.assert_allclose(ntk[0], TABLE[activation, depth][1], atol=1e-9)
