import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import GroupConvolution, GroupNetwork, LiftingConvolution, log_polar, turn_maps, turn_planes
from leadline.convolution.symmetry.group_networks import max_pooled
from leadline.geometry import group_convolution, plane_group

KEY = jax.random.key(0)
IMAGE = jax.random.normal(jax.random.key(1), (2, 6, 6), jnp.float32)


@pytest.mark.parametrize("group", ["p4", "p4m"])
@pytest.mark.parametrize("wrap", [False, True])
def test_layers_commute_with_every_turn_and_mirror(group, wrap):
    options = {"group": group, "wrap": wrap, "key": KEY}
    lift, conv = LiftingConvolution(2, 3, **options), GroupConvolution(3, 2, 5, **options)

    def both(image):
        return conv(jax.nn.relu(lift(image)))

    maps = jax.jit(both)(IMAGE)
    for s in range(maps.shape[1]):
        assert np.allclose(jax.jit(both)(turn_planes(IMAGE, s)), turn_maps(group, maps, s), atol=1e-4)


@pytest.mark.parametrize("group", ["p4", "p4m"])
def test_on_a_torus_the_layer_is_the_convolution_of_the_plane_group(group):
    """Pixels and orientations as group elements: the table of Z_3² ⋊ C_4 or D_4 gives the same sums."""
    side, plane = 3, plane_group(group, 3)
    layer = GroupConvolution(1, 1, 3, group=group, wrap=True, key=KEY)
    orientations = layer.weight.shape[2]
    maps = jax.random.normal(jax.random.key(2), (1, orientations, side, side))
    at = (np.indices((side, side)) - side // 2) % side  # the kernel's centre is the shift by 0
    kernel = jnp.zeros((side, side, orientations)).at[at[0], at[1]].set(jnp.moveaxis(layer.weight[0, 0], 0, -1))
    signal = jnp.moveaxis(maps[0], 0, -1).reshape(-1, 1)
    expected = group_convolution(plane, kernel.reshape(-1, 1, 1), signal).reshape(side, side, orientations)
    assert np.allclose(layer(maps)[0], jnp.moveaxis(expected, -1, 0), atol=1e-5)


def test_turned_filters_are_copies():
    filters = LiftingConvolution(1, 1, group="p4m", key=KEY).filters()[0, :, 0]
    assert np.allclose(filters[3], np.rot90(filters[0], 3))
    assert np.allclose(filters[4], filters[0][:, ::-1])


def test_p1_is_an_ordinary_convolution():
    layer = LiftingConvolution(2, 3, group="p1", key=KEY)
    plain = jax.lax.conv_general_dilated(IMAGE[None], layer.weight, (1, 1), "SAME")[0]
    assert np.allclose(layer(IMAGE)[:, 0], plain, atol=1e-5)


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_scores_do_not_change_with_turns_but_do_with_position_biases(pooling):
    import equinox as eqx

    net = GroupNetwork((3, 4), 5, group="p4m", image_channels=2, pools=(2, 1), pooling=pooling, key=KEY)
    turned = [net(turn_planes(IMAGE, s)) for s in range(8)]
    assert np.allclose(turned, turned[0], atol=1e-4)
    ramp = jnp.broadcast_to(jnp.arange(6.0), (3, 1, 6, 6))
    broken = eqx.tree_at(lambda n: n.layers[0].bias, net, ramp)
    assert not np.allclose(broken(IMAGE), broken(turn_planes(IMAGE, 1)), atol=1e-3)


def test_parameters_are_counted():
    assert GroupNetwork((8, 16, 16), 10, key=KEY).num_parameters == 80 + 4624 + 9232 + 170


def test_a_network_is_trained_by_fit():
    import optax

    from leadline import training

    bars = np.zeros((8, 6, 6), np.float32)
    bars[::2, 2:4], bars[1::2, 2, 2] = 1.0, 1.0
    net = GroupNetwork((4,), 2, key=KEY)
    run = training.fit(net, (bars, np.arange(8) % 2), optimiser=optax.adam(0.05), epochs=30, batch=8, key=KEY)
    assert run.history["accuracy"][-1] == 1


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="odd"):
        LiftingConvolution(1, 1, 4, key=KEY)
    with pytest.raises(ValueError, match="square images"):
        LiftingConvolution(2, 1, key=KEY)(IMAGE[:, :4])
    with pytest.raises(ValueError, match="shape \\(1, height, width\\)"):
        LiftingConvolution(1, 1, key=KEY)(IMAGE)
    with pytest.raises(ValueError, match="shape \\(2, 4, height, width\\)"):
        GroupConvolution(2, 1, key=KEY)(jnp.ones((1, 4, 5, 5)))
    with pytest.raises(ValueError, match="do not tile"):
        max_pooled(jnp.ones((1, 4, 5, 5)), 2)
    with pytest.raises(ValueError, match="one for each"):
        GroupNetwork((2, 2), 3, pools=(2,), key=KEY)
    with pytest.raises(ValueError, match="one convolution or more"):
        GroupNetwork((), 3, key=KEY)
    with pytest.raises(ValueError, match="least radius"):
        log_polar(IMAGE, least=9.0)


def test_a_rotation_is_a_shift_of_the_log_polar_image():
    from scipy.ndimage import map_coordinates, rotate

    y, x = np.mgrid[-16:17, -16:17]
    scene = np.exp(-((x - 5) ** 2 + (y + 3) ** 2) / 18) - np.exp(-((x + 6) ** 2 + (y - 2) ** 2) / 12)
    turned = rotate(scene, 30, reshape=False, order=3)  # anticlockwise as the eye sees it
    polar = np.asarray(log_polar(jnp.asarray([scene, turned]), 24, 12))
    assert np.linalg.norm(np.roll(polar[0], 2, axis=1) - polar[1]) < 0.05 * np.linalg.norm(polar[0])
    radius, angle = np.geomspace(0.5, 16, 12)[7], 2 * np.pi * 5 / 24
    brute = map_coordinates(scene, [[16 - radius * np.sin(angle)], [16 + radius * np.cos(angle)]], order=1)
    assert polar[0, 7, 5] == pytest.approx(brute[0], abs=1e-5)
