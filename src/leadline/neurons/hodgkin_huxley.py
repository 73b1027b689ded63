"""The Hodgkin-Huxley membrane of the squid giant axon: four differential equations that fire."""

from typing import NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .spiking import upward_crossings


def _linear_over_exponential(x: Array) -> Array:
    """x / (1 - e^{-x}), continued by its limit 1 at x = 0 where the quotient is 0/0."""
    near_zero = jnp.abs(x) < 1e-6
    safe = jnp.where(near_zero, 1.0, x)
    return jnp.where(near_zero, 1 + x / 2, safe / -jnp.expm1(-safe))


class MembraneState(NamedTuple):
    """Voltage in mV and the open shares of the gates m, h (sodium) and n (potassium)."""

    voltage: Float[Array, "..."]
    m: Float[Array, "..."]
    h: Float[Array, "..."]
    n: Float[Array, "..."]


class Trace(NamedTuple):
    """A membrane's state at equally spaced times (ms)."""

    time: Float[Array, " t"]
    state: MembraneState


class HodgkinHuxley(eqx.Module):
    """C V' = I - g_Na m³h (V - E_Na) - g_K n⁴ (V - E_K) - g_L (V - E_L), gates x' = α_x(V)(1 - x) - β_x(V) x.

    Units: mV, ms, µA/cm², µF/cm², mS/cm². The gate rates are those of the squid axon at 6.3 °C (Hodgkin and Huxley
    1952, voltage shifted so that rest is -65 mV); `temperature_factor` multiplies all of them, about
    3^((T - 6.3)/10) at T °C.

    >>> from leadline.neurons import spike_count
    >>> membrane = HodgkinHuxley()
    >>> round(float(membrane.rest().voltage), 1)
    -65.0
    >>> trace = membrane.simulate(10.0, duration=50.0, dt=0.05)
    >>> int(spike_count(trace.time, trace.state.voltage))
    4
    """

    capacitance: float = 1.0
    sodium: float = 120.0
    potassium: float = 36.0
    leak: float = 0.3
    sodium_reversal: float = 50.0
    potassium_reversal: float = -77.0
    leak_reversal: float = -54.387
    temperature_factor: float = 1.0

    def gate_rates(self, voltage: Float[Array, "..."]) -> tuple[MembraneState, MembraneState]:
        """Opening rates α and closing rates β (per ms) of the three gates; their voltage fields are unused zeros."""
        v, phi = voltage, self.temperature_factor
        zero = jnp.zeros_like(v)
        opening = MembraneState(
            zero,
            phi * _linear_over_exponential((v + 40) / 10),
            phi * 0.07 * jnp.exp(-(v + 65) / 20),
            phi * 0.1 * _linear_over_exponential((v + 55) / 10),
        )
        closing = MembraneState(
            zero,
            phi * 4 * jnp.exp(-(v + 65) / 18),
            phi / (1 + jnp.exp(-(v + 35) / 10)),
            phi * 0.125 * jnp.exp(-(v + 65) / 80),
        )
        return opening, closing

    def ionic_current(self, state: MembraneState) -> Float[Array, "..."]:
        """Outward current through the three channels, µA/cm²."""
        v, m, h, n = state
        return (
            self.sodium * m**3 * h * (v - self.sodium_reversal)
            + self.potassium * n**4 * (v - self.potassium_reversal)
            + self.leak * (v - self.leak_reversal)
        )

    def derivative(self, state: MembraneState, current: Float[Array, "..."]) -> MembraneState:
        """Time derivative of the state under an injected current."""
        opening, closing = self.gate_rates(state.voltage)
        gates = [a * (1 - x) - b * x for a, b, x in zip(opening[1:], closing[1:], state[1:], strict=True)]
        return MembraneState((current - self.ionic_current(state)) / self.capacitance, *gates)

    def clamped(self, voltage: Float[Array, "..."]) -> MembraneState:
        """The state with the gates in equilibrium at a held voltage: x = α/(α + β)."""
        opening, closing = self.gate_rates(voltage)
        return MembraneState(voltage, *(a / (a + b) for a, b in zip(opening[1:], closing[1:], strict=True)))

    def rest(self) -> MembraneState:
        """The equilibrium without injected current (the root of the ionic current with clamped gates)."""
        from scipy.optimize import brentq

        def outward(v: float) -> float:
            return float(self.ionic_current(self.clamped(jnp.asarray(v))))

        return self.clamped(jnp.asarray(brentq(outward, -100.0, -40.0)))

    def simulate(
        self,
        current: float | Float[Array, ""],
        *,
        duration: float,
        dt: float = 0.01,
        start: MembraneState | None = None,
    ) -> Trace:
        """The response to a constant current switched on at time 0, from rest unless `start` is given.

        Fifth-order Runge-Kutta (Tsitouras) with constant step dt in ms; steps above about 0.1 ms are unstable during a
        spike. The trace has round(duration / dt) + 1 rows.
        """
        if not (dt > 0 and duration > 0):
            raise ValueError(f"Duration {duration} ms and step {dt} ms must both be positive.")
        start = self.rest() if start is None else start
        return _integrate(self._traced(), start, jnp.asarray(current, start.voltage.dtype), dt, round(duration / dt))

    def responses(self, currents: Float[Array, " k"], *, duration: float, dt: float = 0.01) -> Trace:
        """`simulate` for many currents at once: the state has a leading axis over the currents, the time is shared."""
        steps = round(duration / dt)
        axes = Trace(None, 0)  # pyright: ignore[reportArgumentType] - axes in the places of the arrays
        run = jax.vmap(_integrate, in_axes=(None, None, 0, None, None), out_axes=axes)
        return run(self._traced(), self.rest(), currents, dt, steps)

    def _traced(self) -> "HodgkinHuxley":
        return jax.tree.map(jnp.asarray, self)  # arrays, so that new constants do not mean a new compilation


@eqx.filter_jit
def _integrate(membrane: HodgkinHuxley, start: MembraneState, current: Array, dt: float, num_steps: int) -> Trace:
    solver = diffrax.Tsit5()
    term = diffrax.ODETerm(lambda t, y, args: args[0].derivative(y, args[1]))
    args = (membrane, current)

    def step(carry, i):
        state, memory = carry
        t = i * dt
        after, _, _, memory, _ = solver.step(term, t, t + dt, state, args, memory, made_jump=False)
        return (after, memory), after

    start = jax.tree.map(lambda x: jnp.asarray(x, current.dtype), start)
    memory = solver.init(term, 0.0, dt, start, args)
    _, rest = jax.lax.scan(step, (start, memory), jnp.arange(num_steps, dtype=current.dtype))
    states = jax.tree.map(lambda first, later: jnp.concatenate([first[None], later]), start, rest)
    return Trace(jnp.arange(num_steps + 1, dtype=current.dtype) * dt, states)


def spike_width(trace: Trace) -> Float[Array, ""]:
    """Duration (ms) of the first spike at half height between the starting voltage and the trace's peak; 0 if none."""
    voltage = trace.state.voltage
    half = (voltage[0] + jnp.max(voltage)) / 2
    rises, up = upward_crossings(trace.time, voltage, half)
    falls, down = upward_crossings(trace.time, -voltage, -half)
    start = jnp.min(jnp.where(rises, up, jnp.inf))
    stop = jnp.min(jnp.where(falls & (down > start), down, jnp.inf))
    return jnp.where(jnp.isfinite(stop), stop - start, 0.0)
