import numpy as np
import pytest
from scipy.optimize import approx_fprime

from leadline.landscape.deep_linear import compose_layers, descend_layers, layer_gradients
from leadline.landscape.deep_linear.deep_gradients import conserved_matrices

RNG = np.random.default_rng(0)
LAYERS = [RNG.normal(size=s) / 2 for s in ((4, 3), (2, 4), (3, 2))]
X, Y = RNG.normal(size=(2, 3, 5))


def loss_of(layers):
    return 0.5 * np.sum((layers[2] @ layers[1] @ layers[0] @ X - Y) ** 2)


@pytest.mark.parametrize("layer", range(3))
def test_the_gradient_is_that_of_finite_differences(layer):
    def loss(v):
        changed = list(LAYERS)
        changed[layer] = v.reshape(LAYERS[layer].shape)
        return loss_of(changed)

    found = layer_gradients(LAYERS, X, Y)[layer]
    numerical = approx_fprime(LAYERS[layer].ravel(), loss, 1e-7)
    np.testing.assert_allclose(found.ravel(), numerical, atol=1e-4)


def test_one_layer_is_least_squares():
    w = RNG.normal(size=(3, 3))
    np.testing.assert_allclose(layer_gradients([w], X, Y)[0], (w @ X - Y) @ X.T, atol=1e-12)
    assert conserved_matrices([w]) == []


def test_descent_records_its_losses_and_hardly_moves_what_flow_conserves():
    run = descend_layers(LAYERS, X, Y, step_size=1e-4, num_steps=200)
    assert run.losses[0] == pytest.approx(loss_of(LAYERS))
    assert run.losses[-1] == pytest.approx(loss_of(run.weights))
    assert np.all(np.diff(run.losses) < 0)
    np.testing.assert_allclose(run.products[-1], compose_layers(run.weights), atol=1e-14)
    moved = np.abs(run.weights[0] - LAYERS[0]).max()
    for before, after in zip(conserved_matrices(LAYERS), conserved_matrices(run.weights), strict=True):
        assert np.abs(after - before).max() < 0.02 * moved


def test_layers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="as many columns"):
        compose_layers([np.ones((2, 3)), np.ones((2, 3))])
    with pytest.raises(ValueError, match="at least one"):
        compose_layers([])
    with pytest.raises(ValueError, match="positive step"):
        descend_layers(LAYERS, X, Y, step_size=0.0, num_steps=5)
