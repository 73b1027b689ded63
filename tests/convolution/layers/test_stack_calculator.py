import jax
import numpy as np
import pytest

from leadline.convolution import (
    ConvLayer,
    ConvNetwork,
    DenseLayer,
    PoolLayer,
    gradient_field,
    measure_field,
    receptive_field,
    stack_costs,
)
from leadline.convolution.layers.layer_kinds import GroupLayer, LocalLayer, window_count
from leadline.convolution.layers.receptive_fields import uniform_field_deviation
from leadline.sequences.delayed_recall import fit_recall


@pytest.mark.parametrize(("length", "kernel", "stride", "padding", "dilation"), [(6, 3, 2, 0, 1), (28, 5, 3, 1, 2)])
def test_windows_are_counted_as_they_slide(length, kernel, stride, padding, dilation):
    extent = dilation * (kernel - 1) + 1
    starts = [s for s in range(0, length + 2 * padding, stride) if s + extent <= length + 2 * padding]
    assert window_count(length, ConvLayer(1, kernel, stride, padding, dilation)) == len(starts)


def test_the_parameters_of_a_stack_are_those_of_its_matrices():
    costs = stack_costs([ConvLayer(4, 3, padding=1, groups=2), PoolLayer(2), DenseLayer(5)], (2, 8, 8))
    assert [row.weights for row in costs.rows] == [4 * 1 * 9, 0, 5 * 4 * 16]
    assert costs.parameters == 36 + 4 + 320 + 5
    assert costs.rows[0].multiply_adds == 36 * 64
    assert costs.rows[1].flops == 3 * 4 * 16
    assert [row.field for row in costs.rows] == [3, 4, None]


def test_sharing_less_takes_more_weights():
    shape = (1, 16)
    assert ConvLayer(1, 3).weights(shape) == 3
    assert LocalLayer(1, 3).weights(shape) == 3 * 14
    assert GroupLayer(1).weights(shape) == 16
    assert DenseLayer(16).weights(shape) == 256


@pytest.mark.parametrize("layer", [lambda: ConvLayer(0, 3), lambda: PoolLayer(0), lambda: ConvLayer(3, 3, groups=2)])
def test_impossible_layers_are_refused(layer):
    with pytest.raises(ValueError, match=r"give|choose"):
        layer()


def test_a_window_larger_than_the_input_is_refused():
    with pytest.raises(ValueError, match="does not fit"):
        stack_costs([ConvLayer(1, 9)], (1, 4, 4))


def test_a_convolution_behind_a_dense_layer_is_refused():
    with pytest.raises(ValueError, match="no positions"):
        stack_costs([DenseLayer(4), ConvLayer(1, 1)], (1, 4, 4))


def test_the_gradient_fills_the_box_of_the_formula():
    layers = [ConvLayer(2, 3, stride=2, padding=1), PoolLayer(2, kind="mean"), ConvLayer(1, 2, dilation=2)]
    field = receptive_field(layers)
    net = jax.tree.map(abs, ConvNetwork(layers, (1, 40), "identity", key=jax.random.key(0)))
    seen = measure_field(gradient_field(net, np.ones((1, 40)), (0, 2)))
    assert (seen.first, seen.last) == field.box(2)


def test_a_constant_kernel_spreads_the_gradient_like_a_uniform_law():
    assert uniform_field_deviation([ConvLayer(1, 4)]) == pytest.approx(np.std([0, 1, 2, 3]))


def test_a_field_without_gradient_is_refused():
    with pytest.raises(ValueError, match="zero or not finite"):
        gradient_field(lambda x: 0 * x, np.ones(3, np.float32), (0,))


def test_recall_ends_where_the_field_ends():
    rng = np.random.default_rng(0)
    near, far = (fit_recall(2, (1, 2, 4), delay, rows=400, rng=rng) for delay in (7, 8))
    assert near.accuracy == 1.0
    assert far.accuracy < 0.65
