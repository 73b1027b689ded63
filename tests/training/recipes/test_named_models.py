import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import leadline
from leadline.training import recipes
from leadline.training.recipes.settings import Conv, Dense, Linear, Mlp, Recurrent, Residual


def shapes(settings, shape):
    """The network without its numbers: nothing is compiled."""
    return eqx.filter_eval_shape(lambda key: recipes.build_model(settings, shape, 10, key=key), jax.random.key(0))


@pytest.mark.parametrize("shape", [(8, 8), (32, 32, 3)])
@pytest.mark.parametrize(
    "settings",
    [
        Mlp(hidden=(4,)),
        Residual(width=4, depth=2),
        Dense(growth=2, depth=2),
        Conv(channels=(2,)),
        Linear(),
        Recurrent("lstm", units=3, bidirectional=True),
        Recurrent("lru", units=3, depth=2, steps="pixels", reading="mean"),
    ],
    ids=lambda s: f"{type(s).__name__} {getattr(s, 'cell', '')}".strip(),
)
def test_every_kind_gives_a_score_for_each_class_in_32_bits(settings, shape):
    net = shapes(settings, shape)
    scores = eqx.filter_eval_shape(lambda net, image: net(image), net, jax.ShapeDtypeStruct(shape, jnp.float32))
    assert scores.shape == (10,)
    assert {leaf.dtype for leaf in (scores, *jax.tree.leaves(net)) if hasattr(leaf, "dtype")} == {jnp.dtype("float32")}


def test_dropout_and_normalisation_come_with_their_state():
    made = recipes.build_model(
        Mlp((4, 3), dropout=0.5, input_dropout=0.2, normalisation="batch", normalise="after"),
        (2, 2),
        10,
        key=jax.random.key(0),
    )
    net = made.network
    assert [layer.p for layer in net.dropouts] == [0.2, 0.5, 0.5]
    assert (net.order, [norm.input_size for norm in net.normalisations]) == ("after", [4, 3])
    assert {leaf.dtype for leaf in jax.tree.leaves(eqx.filter(made, eqx.is_inexact_array))} == {jnp.dtype("float32")}
    assert jax.tree.leaves(leadline.as_apply(made).params)[0].shape == (4, 4)
    parameters = sum(leaf.size for leaf in jax.tree.leaves(leadline.as_apply(made).params))
    assert parameters == 20 + 15 + 40 + 2 * (4 + 3)  # running statistics are none


def test_the_settings_arrive():
    net = shapes(Mlp((5, 3), "tanh", "orthogonal", 2.0, False, "ntk"), (2, 2))
    assert net.widths == (4, 5, 3, 10)
    assert (net.activation, net.gain, net.parametrisation) == ("tanh", 2.0, "ntk")
    assert net.layers[0].bias is None
    assert shapes(Residual(width=6, depth=7), (2, 2)).blocks.weight.shape == (7, 6, 6)
    assert len(shapes(Dense(growth=2, depth=5), (2, 2)).layers) == 5


def test_an_image_is_read_by_rows_or_by_pixels():
    rows, pixels = (shapes(Recurrent(units=3, steps=steps), (6, 5, 2)) for steps in ("rows", "pixels"))
    assert (rows.cell.input_size, pixels.cell.input_size) == (10, 2)
