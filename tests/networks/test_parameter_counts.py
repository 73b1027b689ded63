import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from leadline import networks
from leadline.convolution import ConvNetwork, pyramid

KEY = jax.random.key(0)


def test_the_formula_counts_the_stored_numbers():
    for widths in ((3, 1), (64, 32, 10), (5, 7, 7, 2)):
        for bias in (True, False):
            net = eqx.filter_eval_shape(networks.MLP, widths, bias=bias, key=KEY)
            assert networks.parameter_count(net) == networks.mlp_parameters(widths, bias=bias)
            assert sum(cost.parameters for cost in networks.layer_costs(net)) == networks.parameter_count(net)


def test_other_models_are_counted_too():
    assert (
        networks.parameter_count(eqx.filter_eval_shape(ConvNetwork, pyramid((2, 4), 10), (1, 8, 8), key=KEY))
        == 20 + 76 + 16 * 10 + 10
    )
    assert networks.parameter_count(eqx.filter_eval_shape(eqx.nn.MLP, 3, 2, 4, 1, key=KEY)) == 16 + 10
    assert networks.parameter_count({"a": jnp.ones((2, 3)), "n": 5, "i": jnp.arange(4)}) == 6


def test_costs_by_layer():
    first, last = networks.layer_costs(eqx.filter_eval_shape(networks.MLP, (64, 32, 10), key=KEY))
    assert first == ((32, 64), 2080, 2048, 32)
    assert last == ((10, 32), 330, 320, 10)


@pytest.mark.parametrize("hidden", [1, 2, 5])
@pytest.mark.parametrize("budget", [120, 2410, 100_000])
def test_the_widest_network_within_a_budget(hidden, budget):
    width = networks.width_at_budget(budget, hidden, 64, 10)
    assert networks.mlp_parameters((64, *[width] * hidden, 10)) <= budget
    assert networks.mlp_parameters((64, *[width + 1] * hidden, 10)) > budget


def test_an_impossible_budget_is_refused():
    with pytest.raises(ValueError, match="too small"):
        networks.width_at_budget(50, 1, 64, 10)
    with pytest.raises(ValueError, match="at least 1"):
        networks.width_at_budget(500, 0, 64, 10)
