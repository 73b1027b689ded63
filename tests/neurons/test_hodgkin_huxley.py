import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from leadline import neurons
from leadline.neurons.hodgkin_huxley import MembraneState, Trace, spike_width


def squid_axon(t, y, current, factor=1.0):
    """The equations as printed in 1952 (shifted), written independently for SciPy."""
    v, m, h, n = y
    alpha_n, beta_n = 0.01 * (v + 55) / (1 - np.exp(-(v + 55) / 10)), 0.125 * np.exp(-(v + 65) / 80)
    alpha_m, beta_m = 0.1 * (v + 40) / (1 - np.exp(-(v + 40) / 10)), 4 * np.exp(-(v + 65) / 18)
    alpha_h, beta_h = 0.07 * np.exp(-(v + 65) / 20), 1 / (1 + np.exp(-(v + 35) / 10))
    return [
        current - 120 * m**3 * h * (v - 50) - 36 * n**4 * (v + 77) - 0.3 * (v + 54.387),
        factor * (alpha_m * (1 - m) - beta_m * m),
        factor * (alpha_h * (1 - h) - beta_h * h),
        factor * (alpha_n * (1 - n) - beta_n * n),
    ]


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_the_trace_equals_scipys_solution(factor):
    membrane = neurons.HodgkinHuxley(temperature_factor=factor)
    trace = membrane.simulate(10.0, duration=40.0, dt=0.01)
    rest = [float(x) for x in membrane.rest()]
    times = np.asarray(trace.time)
    reference = solve_ivp(squid_axon, (0, 40), rest, "LSODA", times, args=(10.0, factor), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(trace.state.voltage, reference.y[0], atol=1e-4)
    np.testing.assert_allclose(trace.state.n, reference.y[3], atol=1e-6)


def test_gate_rates_are_finite_and_smooth_at_their_removable_singularities():
    membrane = neurons.HodgkinHuxley()
    opening, _ = membrane.gate_rates(jnp.array([-40.0, -55.0]))
    np.testing.assert_allclose([opening.m[0], opening.n[1]], [1.0, 0.1], rtol=1e-12)
    voltages = -40 + jnp.array([-2e-5, -9e-6, 0.0, 9e-6, 2e-5])
    np.testing.assert_allclose(membrane.gate_rates(voltages)[0].m, 1 + (np.asarray(voltages) + 40) / 20, rtol=1e-9)
    assert np.isfinite(jax.grad(lambda v: membrane.gate_rates(v)[0].m)(-40.0))


def test_rest_is_an_equilibrium_near_minus_65_millivolts():
    membrane = neurons.HodgkinHuxley()
    rest = membrane.rest()
    assert float(rest.voltage) == pytest.approx(-65.0, abs=0.05)
    np.testing.assert_allclose(membrane.derivative(rest, jnp.asarray(0.0)), 0, atol=1e-9)


def test_the_first_spike_appears_between_2_2_and_2_3():
    trace = neurons.HodgkinHuxley().responses(jnp.array([2.2, 2.3]), duration=60.0, dt=0.02)
    counts = [int(neurons.spike_count(trace.time, v)) for v in trace.state.voltage]
    assert counts == [0, 1]


def test_many_currents_at_once_equal_one_at_a_time():
    membrane = neurons.HodgkinHuxley()
    together = membrane.responses(jnp.array([3.0, 12.0]), duration=20.0, dt=0.02)
    alone = membrane.simulate(12.0, duration=20.0, dt=0.02)
    np.testing.assert_allclose(together.state.voltage[1], alone.state.voltage, atol=1e-9)
    np.testing.assert_array_equal(together.time, alone.time)


def test_spike_width_of_a_triangle_is_half_its_base():
    time = jnp.linspace(0, 10, 1001)
    voltage = jnp.maximum(0, 1 - jnp.abs(time - 5) / 2)
    state = MembraneState(voltage, voltage, voltage, voltage)
    assert float(spike_width(Trace(time, state))) == pytest.approx(2.0, abs=1e-9)
    flat = jnp.zeros_like(time)
    assert float(spike_width(Trace(time, MembraneState(flat, flat, flat, flat)))) == 0.0


def test_a_step_of_zero_is_refused():
    with pytest.raises(ValueError, match="positive"):
        neurons.HodgkinHuxley().simulate(10.0, duration=10.0, dt=0.0)
