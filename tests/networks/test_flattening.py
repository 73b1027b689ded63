import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import networks


def test_the_round_trip_is_bit_exact_and_keeps_dtypes_and_the_rest():
    rng = np.random.default_rng(0)
    tree = {
        "half": jnp.asarray(rng.normal(size=3), jnp.float16),
        "single": jnp.asarray(rng.normal(size=(2, 2)), jnp.float32),
        "double": jnp.asarray(rng.normal(size=4)),
        "count": jnp.arange(3),
        "name": "net",
    }
    vector, rebuild = networks.flatten_parameters(tree)
    back = rebuild(vector)
    assert vector.shape == (11,)
    assert back["name"] == "net"
    for name in ("half", "single", "double", "count"):
        assert back[name].dtype == tree[name].dtype
        np.testing.assert_array_equal(back[name], tree[name])


def test_the_gradient_of_the_vector_is_the_flattened_gradient():
    net = networks.MLP((3, 5, 4), "tanh", key=jax.random.key(0))
    vector, rebuild = networks.flatten_parameters(net)
    x = jnp.ones(3)
    by_vector = jax.grad(lambda w: rebuild(w)(x)[0])(vector)
    by_tree, _ = networks.flatten_parameters(eqx.filter_grad(lambda n: n(x)[0])(net))
    np.testing.assert_allclose(by_vector, by_tree, atol=1e-15)
