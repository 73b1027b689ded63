import jax.numpy as jnp
import numpy as np
import pytest

from leadline import neurons


@pytest.mark.parametrize("current", [7.6, 9.0, 15.0, 30.0])
def test_simulated_rate_equals_the_closed_form_within_a_step_per_interval(current):
    neuron = neurons.IntegrateAndFire(refractory=1.2345)
    train = neuron.simulate(current, duration=600.0, dt=0.01)
    excess = 1000 / float(train.rate()) - 1000 / float(neuron.rate(current))
    assert -1e-9 <= excess <= 0.01 + 1e-9


def test_rate_inverts_the_hand_written_formula():
    neuron = neurons.IntegrateAndFire(time_constant=20.0, resistance=3.0, rest=-70.0, threshold=-55.0, refractory=3.0)
    drive = 3.0 * 8.0
    assert float(neuron.rate(8.0)) == pytest.approx(1000 / (3 + 20 * np.log(drive / (drive - 15))), rel=1e-12)


def test_there_is_no_spike_at_or_below_the_rheobase():
    neuron = neurons.IntegrateAndFire()
    assert neuron.rheobase() == 7.5
    np.testing.assert_array_equal(neuron.rate(jnp.array([0.0, 7.5])), 0.0)
    train = neuron.simulate(7.5, duration=300.0)
    assert int(train.spikes.sum()) == 0
    assert float(train.rate()) == 0.0


def test_below_threshold_the_voltage_is_the_exponential_charge():
    train = neurons.IntegrateAndFire().simulate(5.0, duration=50.0, dt=0.1)
    np.testing.assert_allclose(train.voltage, -65 + 10 * (1 - np.exp(-np.asarray(train.time) / 10)), rtol=1e-12)


def test_a_negative_duration_is_refused():
    with pytest.raises(ValueError, match="positive"):
        neurons.IntegrateAndFire().simulate(5.0, duration=-1.0)
