import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from leadline.training import recipes
from leadline.training.recipes.settings import Conv, Dense, Linear, Mlp, Residual


def shapes(settings, shape):
    """The network without its numbers: nothing is compiled."""
    return eqx.filter_eval_shape(lambda key: recipes.build_model(settings, shape, 10, key=key), jax.random.key(0))


@pytest.mark.parametrize("shape", [(8, 8), (32, 32, 3)])
@pytest.mark.parametrize(
    "settings",
    [Mlp(hidden=(4,)), Residual(width=4, depth=2), Dense(growth=2, depth=2), Conv(channels=2), Linear()],
    ids=lambda s: type(s).__name__,
)
def test_every_kind_gives_a_score_for_each_class_in_32_bits(settings, shape):
    net = shapes(settings, shape)
    scores = eqx.filter_eval_shape(lambda net, image: net(image), net, jax.ShapeDtypeStruct(shape, jnp.float32))
    assert scores.shape == (10,)
    assert {leaf.dtype for leaf in (scores, *jax.tree.leaves(net)) if hasattr(leaf, "dtype")} == {jnp.dtype("float32")}


def test_the_settings_arrive():
    net = shapes(Mlp((5, 3), "tanh", "orthogonal", 2.0, False, "ntk"), (2, 2))
    assert net.widths == (4, 5, 3, 10)
    assert (net.activation, net.gain, net.parametrisation) == ("tanh", 2.0, "ntk")
    assert net.layers[0].bias is None
    assert shapes(Residual(width=6, depth=7), (2, 2)).blocks.weight.shape == (7, 6, 6)
    assert len(shapes(Dense(growth=2, depth=5), (2, 2)).layers) == 5
