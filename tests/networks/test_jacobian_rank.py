import jax.numpy as jnp
import numpy as np
import pytest
from numpy_models import numpy_model

from leadline import as_apply
from leadline.networks import MLP, effective_parameters, parameter_jacobian
from leadline.networks.jacobian_rank import two_layer_rank

X = jnp.asarray(np.random.default_rng(1).normal(size=(1500, 4)) * 2)


def test_a_linear_model_has_its_inputs_as_jacobian():
    net = numpy_model(MLP, (4, 1))
    J = parameter_jacobian(*as_apply(net), X[:7])
    np.testing.assert_allclose(J, np.column_stack([X[:7], np.ones(7)]), rtol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
def test_one_hidden_relu_layer_has_the_predicted_rank(bias):
    found = effective_parameters(*as_apply(numpy_model(MLP, (4, 5, 1), bias=bias)), X)
    assert found.rank == two_layer_rank(4, 5, bias=bias)
    assert found.parameters == found.rank + 5


def test_reducing_to_a_triangle_keeps_the_singular_values():
    net = numpy_model(MLP, (4, 3, 1))
    direct = np.linalg.svd(np.asarray(parameter_jacobian(*as_apply(net), X)), compute_uv=False)
    np.testing.assert_allclose(
        effective_parameters(*as_apply(net), X).singular_values, direct, rtol=1e-8, atol=1e-12 * direct[0]
    )


def test_a_network_of_linear_layers_has_the_rank_of_matrices_of_that_rank():
    # Matrices m x n of rank r form a manifold of dimension r (m + n - r).
    net = numpy_model(MLP, (4, 2, 3), "identity", bias=False)
    assert effective_parameters(*as_apply(net), X[:50]).rank == 2 * (4 + 3 - 2)


def test_no_effect_no_rank_and_nonsense_is_refused():
    zero = numpy_model(MLP, (4, 3, 1), bias=False, scale=0.0)
    assert effective_parameters(*as_apply(zero), X[:20]).rank == 0
    with pytest.raises(ValueError, match="2 inputs"):
        two_layer_rank(1, 3, bias=True)
