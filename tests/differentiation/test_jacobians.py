"""Jacobians and what is read off them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.differentiation import jacobian_matrix, jacobian_report, layer_jacobians
from leadline.differentiation.jacobians import composed_log_determinant
from leadline.networks import MLP

RNG = np.random.default_rng(0)


def test_modes_agree_and_auto_takes_the_fewer_passes():
    matrix = jnp.asarray(RNG.normal(size=(2, 5)))
    f = jax.jit(lambda x: jnp.sin(matrix @ x))
    x = jnp.asarray(RNG.normal(size=5))
    forward, backward = (jacobian_matrix(f, x, mode=mode) for mode in ("forward", "reverse"))
    np.testing.assert_allclose(forward, backward, rtol=1e-13)
    assert jacobian_report(f, x).mode == "reverse"
    assert jacobian_report(lambda x: jnp.tile(x, 3), x).mode == "forward"


def test_singular_values_lipschitz_condition_and_rank_of_a_linear_map():
    matrix = np.diag([3.0, 2.0, 0.0])
    report = jacobian_report(lambda x: jnp.asarray(matrix) @ x, jnp.ones(3))
    assert report.singular_values.tolist() == [3.0, 2.0, 0.0]
    assert (report.lipschitz, report.condition, report.rank) == (3.0, float("inf"), 2)


def test_layers_multiply_to_the_network():
    options = {"last_activation": True, "parametrisation": "ntk", "bias_scale": 0.2}
    skeleton = eqx.filter_eval_shape(MLP, (3, 4, 4, 2), "gelu", key=jax.random.key(0), **options)
    net = jax.tree.map(lambda leaf: jnp.asarray(RNG.normal(size=leaf.shape)), skeleton)
    x = jnp.asarray(RNG.normal(size=3))
    (first, second, third), whole = eqx.filter_jit(lambda net, x: (layer_jacobians(net, x), jacobian_matrix(net, x)))(
        net, x
    )
    np.testing.assert_allclose(np.asarray(third) @ second @ first, whole, rtol=1e-12, atol=1e-14)


def test_log_determinants_of_a_composition_add():
    matrices = [jnp.asarray(RNG.normal(size=(3, 3))) for _ in range(2)]
    maps = [lambda x, m=m: m @ jnp.tanh(x) for m in matrices]
    x = jnp.asarray(RNG.normal(size=3))
    end, sign, log = composed_log_determinant(maps, x)
    whole = jacobian_matrix(lambda x: maps[1](maps[0](x)), x)
    np.testing.assert_allclose(end, maps[1](maps[0](x)))
    np.testing.assert_allclose((sign, log), np.linalg.slogdet(whole), rtol=1e-10)


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="no mode 'sideways'"):
        jacobian_matrix(jnp.sin, jnp.ones(2), mode="sideways")
