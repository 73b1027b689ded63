import jax.numpy as jnp
import pytest

from leadline import neurons
from leadline.neurons.spiking import upward_crossings


def test_a_sine_of_20_hertz_spikes_20_times_a_second():
    time = jnp.linspace(0, 1000, 10001)  # ms
    voltage = jnp.sin(2 * jnp.pi * (time - 3) / 50)
    assert int(neurons.spike_count(time, voltage)) == 20
    assert int(neurons.spike_count(time, voltage, after=500.0)) == 10
    assert float(neurons.firing_rate(time, voltage)) == pytest.approx(20.0, rel=1e-6)


def test_one_spike_has_no_rate():
    time = jnp.arange(10.0)
    assert float(neurons.firing_rate(time, jnp.where(time == 5, 1.0, -1.0))) == 0.0


def test_crossings_are_interpolated():
    crosses, when = upward_crossings(jnp.array([0.0, 1.0, 2.0]), jnp.array([-1.0, 3.0, -1.0]), 0.0)
    assert crosses.tolist() == [True, False]
    assert float(when[0]) == 0.25
