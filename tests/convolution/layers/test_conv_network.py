import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import correlate2d

from leadline import networks
from leadline.convolution import (
    ConvLayer,
    ConvNetwork,
    DenseLayer,
    DropoutLayer,
    GlobalPool,
    Parallel,
    PoolLayer,
    Residual,
    UpLayer,
    gradient_field,
    measure_field,
    pyramid,
    receptive_field,
    unet,
)
from leadline.convolution.layers.layer_operations import correlate_windows, pool_windows
from leadline.regularisation import ModalObjective

KEY = jax.random.key(0)


def test_the_pyramid_is_correlation_relu_and_pooling():
    net = ConvNetwork(pyramid((2, 4), 3), (1, 8, 4), channels_last=True, dtype=jnp.float64, key=KEY)
    image = np.random.default_rng(0).normal(size=(8, 4))
    hidden = [image]
    for layer in (net.built[0], net.built[2]):
        maps = []
        for kernels, bias in zip(np.asarray(layer.weight), np.asarray(layer.bias), strict=True):
            plane = sum(correlate2d(h, k, mode="same") for h, k in zip(hidden, kernels, strict=True)) + bias.item()
            plane = np.maximum(plane, 0)
            maps.append(np.max([plane[i::2, j::2] for i in (0, 1) for j in (0, 1)], axis=0))
        hidden = maps
    head = net.built[-1]
    expected = np.asarray(head.weight) @ np.concatenate([h.ravel() for h in hidden]) + np.asarray(head.bias)
    assert np.allclose(net(jnp.asarray(image)), expected)


CASES = [
    (2, dict(kernel=3, padding=1), (8, 9, 7)),
    (2, dict(kernel=3, padding=0), (9, 6, 8)),
    (2, dict(kernel=5, padding=2, stride=2), (3, 9, 8)),
    (2, dict(kernel=3, padding=2, dilation=2), (8, 7, 7)),
    (2, dict(kernel=3, padding=1, groups=2), (4, 6, 6)),
    (1, dict(kernel=4, stride=3), (2, 17)),
    (3, dict(kernel=3, padding=1), (2, 5, 4, 6)),
]


@pytest.mark.parametrize(("dtype", "rounding"), [(jnp.float64, 1e-11), (jnp.float32, 1e-4)])  # 200 terms
@pytest.mark.parametrize(("sides", "options", "shape"), CASES)
def test_outputs_and_both_gradients_are_those_of_the_primitive(sides, options, shape, dtype, rounding):
    layer = ConvLayer(4, **options)
    keys = jax.random.split(KEY, 3)
    x = jax.random.normal(keys[0], (3, *shape), jnp.float64)
    kernel = jax.random.normal(keys[1], (4, shape[0] // layer.groups, *[layer.kernel] * sides), jnp.float64)

    def ours(x, kernel):
        rows = jax.vmap(lambda one: correlate_windows(jnp.moveaxis(one, 0, -1), kernel, layer))(x)
        return jnp.moveaxis(rows, -1, 1)

    def primitive(x, kernel):
        pads = [(layer.padding, layer.padding)] * sides
        return jax.lax.conv_general_dilated(
            x,
            kernel,
            [layer.stride] * sides,
            pads,
            rhs_dilation=[layer.dilation] * sides,
            feature_group_count=layer.groups,
        )

    given = (x.astype(dtype), kernel.astype(dtype))
    y, back = jax.vjp(ours, *given)
    expected, expected_back = jax.vjp(primitive, x, kernel)
    np.testing.assert_allclose(y, expected, atol=rounding)
    seed = jax.random.normal(keys[2], y.shape, jnp.float64)
    for found, right in zip(back(seed.astype(dtype)), expected_back(seed), strict=True):
        np.testing.assert_allclose(found, right, atol=rounding)
    tangent = jax.jvp(ours, given, given)[1]
    np.testing.assert_allclose(tangent, jax.jvp(primitive, (x, kernel), (x, kernel))[1], atol=rounding)


def test_padding_that_wraps_commutes_with_shifts():
    layer = ConvLayer(2, 3, padding="same", wrap=True)
    x, kernel = jax.random.normal(KEY, (6, 5, 3)), jax.random.normal(KEY, (2, 3, 3, 3))
    moved = correlate_windows(jnp.roll(x, (2, 1), (0, 1)), kernel, layer)
    np.testing.assert_allclose(moved, jnp.roll(correlate_windows(x, kernel, layer), (2, 1), (0, 1)), atol=1e-6)


@pytest.mark.parametrize("kind", ["max", "mean"])
@pytest.mark.parametrize("layer", [(2, 2, 0), (3, 2, 1), (2, 1, 0)])
def test_pooling_and_its_gradient_are_those_of_windows_taken_one_by_one(kind, layer):
    kernel, stride, pad = layer
    x = jnp.asarray(np.random.default_rng(0).integers(0, 3, size=(7, 6, 2)), float)  # with ties
    empty = -np.inf if kind == "max" else 0.0

    def by_hand(x):
        full = jnp.pad(x, ((pad, pad), (pad, pad), (0, 0)), constant_values=empty)
        h, w = ((n - kernel) // stride + 1 for n in full.shape[:2])
        take = jnp.max if kind == "max" else jnp.mean
        rows = [
            [take(full[i * stride : i * stride + kernel, j * stride : j * stride + kernel], (0, 1)) for j in range(w)]
            for i in range(h)
        ]
        return jnp.stack([jnp.stack(row) for row in rows])

    ours = lambda x: pool_windows(x, PoolLayer(kernel, stride, pad, kind=kind))  # noqa: E731
    np.testing.assert_allclose(ours(x), by_hand(x))
    np.testing.assert_allclose(
        jax.grad(lambda x: jnp.sum(jnp.sin(ours(x))))(x),
        jax.grad(lambda x: jnp.sum(jnp.sin(by_hand(x))))(x),
        atol=1e-12,
    )


def test_parameters_and_shapes_are_those_of_the_table():
    layers = [
        ConvLayer(8, 3, padding="same"),
        Residual([ConvLayer(16, 3, stride=2, padding="same"), ConvLayer(16, 3, padding="same")]),
        Parallel([(), [PoolLayer(2), ConvLayer(8, 3, padding="same"), UpLayer(8)]]),
        DropoutLayer(0.1),
        GlobalPool(),
        DenseLayer(3),
    ]
    net, state = eqx.nn.make_with_state(ConvNetwork)(layers, (3, 8, 8), normalisation="batch", key=KEY)
    costs = net.costs()
    assert networks.parameter_count(net) == costs.parameters
    run = jax.vmap(lambda x, s, k: net(x, s, key=k), axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))
    outputs, state = run(jnp.ones((4, 3, 8, 8)), state, jax.random.split(KEY, 4))
    assert outputs.shape == (4, 3)
    assert len(net.summary().splitlines()) == len(costs.rows) + 2


def test_a_residual_block_adds_its_branch():
    net = ConvNetwork([Residual([ConvLayer(2, 1), ConvLayer(2, 1)]), ConvLayer(1, 1)], (2, 3), key=KEY)
    x = jax.random.normal(KEY, (2, 3))
    first, second = (layer.weight[..., 0] for layer in net.built[0].branch)
    expected = jax.nn.relu(x + second @ jax.nn.relu(first @ x))
    np.testing.assert_allclose(net.stages(x)[0], expected, rtol=1e-5)


def test_a_volume_is_classified_and_segmented():
    volume = jax.random.normal(KEY, (1, 8, 8, 8))
    net = ConvNetwork(pyramid((2, 4), 3), volume.shape, key=KEY)
    assert net(volume).shape == (3,)
    assert ConvNetwork(unet(2, (2, 4)), volume.shape, key=KEY)(volume).shape == (2, 8, 8, 8)
    gradient = jax.grad(lambda net: jnp.sum(net(volume) ** 2))
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(eqx.filter_jit(gradient)(net)))


def test_a_network_on_volumes_learns_where_a_bright_ball_lies():
    import optax

    from leadline import training

    rng = np.random.default_rng(0)
    labels = np.arange(64) % 2
    volumes = rng.uniform(0, 0.3, size=(64, 1, 6, 6, 6)).astype(np.float32)
    for volume, label in zip(volumes, labels, strict=True):
        volume[0, 3 * label : 3 * label + 3, 1:4, 1:4] += 1
    net = ConvNetwork([ConvLayer(4, 3, stride=2), DenseLayer(2)], (1, 6, 6, 6), dtype=jnp.float32, key=KEY)
    rule = optax.adam(0.01)
    run = training.fit(net, (volumes, labels), optimiser=rule, epochs=15, batch=16, key=KEY, loss="cross-entropy")
    assert run.history["accuracy"][-1] > 0.95


def test_the_field_of_branches_is_the_support_of_the_gradient():
    layers = [
        ConvLayer(2, 3, padding="same"),
        Parallel([(), [PoolLayer(2, kind="mean"), ConvLayer(2, 3, padding="same"), UpLayer(2)]]),
        ConvLayer(1, 3, padding="same"),
    ]
    net = jax.tree.map(jnp.abs, ConvNetwork(layers, (1, 32), "identity", key=KEY))
    field = receptive_field(layers)
    for unit in (14, 15):
        seen = measure_field(gradient_field(net, np.ones((1, 32), np.float32), (0, unit)))
        first, last = field.box(unit)
        assert first <= seen.first
        assert seen.last <= last
        assert seen.size >= field.size - 2  # the box holds the fields of both places in a block


def test_behind_an_upsampling_of_the_input_the_field_is_the_support_of_the_gradient():
    layers = [ConvLayer(2, 3, padding="same"), UpLayer(2), ConvLayer(1, 3, padding="same")]
    net = jax.tree.map(jnp.abs, ConvNetwork(layers, (1, 12), "identity", key=KEY))
    assert [row.field for row in net.costs().rows] == [3, 3, 4]
    for unit in (10, 11):
        seen = measure_field(gradient_field(net, np.ones((1, 12), np.float32), (0, unit)))
        assert receptive_field(layers).box(unit) == (seen.first, seen.last)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: ConvNetwork([ConvLayer(4, 9)], (1, 8, 8), key=KEY), "does not fit 8"),
        (lambda: ConvNetwork([ConvLayer(4, 3, groups=3)], (3, 8, 8), key=KEY), "do not divide into 3 groups"),
        (lambda: ConvNetwork([ConvLayer(4, 3, groups=2)], (3, 8, 8), key=KEY), "do not divide into 2 groups"),
        (lambda: ConvLayer(4, 4, padding="same"), "no centre"),
        (lambda: ConvLayer(4, 3, padding="full"), '"same" or "valid"'),
        (lambda: ConvNetwork(unet(2, (4, 8)), (1, 9, 9), key=KEY), "9 x 9 .* even sides"),
        (lambda: ConvNetwork([Residual([ConvLayer(2, 3, stride=2)])], (2, 7, 7), key=KEY), "its shortcut"),
        (lambda: ConvNetwork([ConvLayer(4, 3, dilation=5)], (1, 8, 8), key=KEY), "of 11 positions does not fit 8"),
        (lambda: ConvNetwork([PoolLayer(9)], (1, 8, 8), key=KEY), "window of 9 positions does not fit 8"),
        (lambda: ConvNetwork([DenseLayer(3), ConvLayer(2, 1)], (1, 4), key=KEY), "no positions"),
        (lambda: ConvNetwork([], (1, 4), key=KEY), "no layers"),
        (lambda: ConvNetwork([ConvLayer(2, 1)], (1, 2, 2, 2, 2), key=KEY), "one to three sides"),
        (lambda: ConvNetwork([ConvLayer(2, 1)], (1, 4), key=KEY)(jnp.ones((3, 4))), "made for"),
        (lambda: ConvNetwork(pyramid((2,), 3), (1, 4, 4), key=KEY)(jnp.ones((1, 8, 8))), "was made for 8"),
        (lambda: PoolLayer(2, kind="sum"), '"max" or "mean"'),
        (lambda: GlobalPool("sum"), '"max" or "mean"'),
        (lambda: Residual([]), "no layers"),
    ],
)
def test_what_cannot_be_built_is_said_in_one_sentence(make, told):
    with pytest.raises(ValueError, match=told) as refused:
        make()
    said = str(refused.value)
    assert said.endswith(".")
    assert "\n" not in said
    assert ". " not in said


def test_a_stride_with_a_remainder_is_said_in_the_summary():
    net = ConvNetwork([PoolLayer(2), DenseLayer(2)], (1, 7, 7), key=KEY)
    assert "leaves the last 1 of 7 positions unseen" in net.summary()
    even = ConvNetwork([PoolLayer(2), DenseLayer(2)], (1, 8, 8), key=KEY)
    assert "unseen" not in even.summary()


def test_batch_normalisation_without_a_state_is_refused():
    layers = [ConvLayer(2, 3), GlobalPool(), DenseLayer(2)]
    net, state = eqx.nn.make_with_state(ConvNetwork)(layers, (1, 5, 5), normalisation="batch", key=KEY)
    with pytest.raises(ValueError, match="no state"):
        net(jnp.ones((1, 5, 5)))
    outputs, _ = ModalObjective().outputs(net, jnp.ones((4, 1, 5, 5)), None, state)
    assert outputs.shape == (4, 2)
