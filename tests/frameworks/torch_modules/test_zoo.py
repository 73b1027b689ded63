"""Networks of every common kind: what JAX computes is what PyTorch does."""

import pytest
from frameworks.torch_modules.agreement import compare
from frameworks.torch_modules.zoo import NETWORKS, QUICK, made


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in NETWORKS], ids=str
)
def test_outputs_and_parameter_gradients_are_pytorch_s(name):
    outputs, gradients = compare(*made(name))
    assert outputs < 1e-5
    assert gradients < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lenet", "vit", "gru"])
def test_a_network_in_double_precision_stays_in_it(name):
    net, example = made(name)
    outputs, gradients = compare(net.double(), example.double())
    assert outputs < 1e-10
    assert gradients < 1e-10
