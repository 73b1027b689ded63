"""The leaky integrate-and-fire membrane: one linear equation, a threshold and a dead time."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class SpikeTrain(NamedTuple):
    """Voltage (mV) and spikes at equally spaced times (ms); the voltage at a spike is already reset."""

    time: Float[Array, " t"]
    voltage: Float[Array, " t"]
    spikes: Bool[Array, " t"]

    def rate(self) -> Float[Array, ""]:
        """Spikes per second (Hz) from the mean interval between spikes; 0 below two spikes."""
        spikes = jnp.sum(self.spikes)
        first = jnp.min(jnp.where(self.spikes, self.time, jnp.inf))
        last = jnp.max(jnp.where(self.spikes, self.time, -jnp.inf))
        return jnp.where(spikes >= 2, 1000 * (spikes - 1) / jnp.where(spikes >= 2, last - first, 1.0), 0.0)


class IntegrateAndFire(eqx.Module):
    """τ V' = -(V - E) + R I; at V_th the unit spikes, returns to E and stays there for t_ref (Lapicque 1907).

    Units: ms, mV, µA/cm²; R in mV per µA/cm².

    >>> neuron = IntegrateAndFire()
    >>> round(float(neuron.rate(10.0)), 2), float(neuron.rate(5.0))
    (63.04, 0.0)
    >>> round(float(neuron.simulate(10.0, duration=500.0, dt=0.01).rate()), 1)
    63.0
    """

    time_constant: float = 10.0
    resistance: float = 2.0
    rest: float = -65.0
    threshold: float = -50.0
    refractory: float = 2.0

    def rheobase(self) -> float:
        """The smallest current that brings the membrane to threshold, (V_th - E)/R; it is reached only in the limit."""
        return (self.threshold - self.rest) / self.resistance

    def rate(self, current: float | Float[Array, "..."]) -> Float[Array, "..."]:
        """Exact firing rate in Hz: 1/(t_ref + τ ln(RI/(RI - (V_th - E)))) for RI > V_th - E, else 0."""
        drive = jnp.asarray(self.resistance * current)
        height = self.threshold - self.rest
        fires = drive > height
        safe = jnp.where(fires, drive, 2 * height)
        interval = self.refractory - self.time_constant * jnp.log1p(-height / safe)
        return jnp.where(fires, 1000 / interval, 0.0)

    def simulate(self, current: float | Float[Array, ""], *, duration: float, dt: float = 0.01) -> SpikeTrain:
        """The response to a constant current from rest, in steps of dt.

        Between spikes each step is the exact solution (an exponential); a spike is dated to the end of the step in
        which the threshold is reached, so an interval is long by less than dt. The dead time need not be a multiple
        of dt.
        """
        if not (dt > 0 and duration > 0):
            raise ValueError(f"Duration {duration} ms and step {dt} ms must both be positive.")
        constants = jax.tree.map(jnp.asarray, self)  # arrays, so that new constants do not mean a new compilation
        return _fire(constants, jnp.asarray(current), dt, round(duration / dt))


@eqx.filter_jit
def _fire(neuron: IntegrateAndFire, current: Array, dt: float, num_steps: int) -> SpikeTrain:
    target = neuron.rest + neuron.resistance * current

    def step(carry, _):
        voltage, dead = carry
        free = jnp.clip(dt - dead, 0.0, dt)  # the part of this step outside the dead time
        voltage = target + (voltage - target) * jnp.exp(-free / neuron.time_constant)
        spike = voltage >= neuron.threshold
        voltage = jnp.where(spike, neuron.rest, voltage)
        dead = jnp.where(spike, neuron.refractory, jnp.maximum(dead - dt, 0.0))
        return (voltage, dead), (voltage, spike)

    start = jnp.full_like(target, neuron.rest), jnp.zeros_like(target)
    _, (voltage, spikes) = jax.lax.scan(step, start, length=num_steps)
    time = jnp.arange(num_steps + 1, dtype=target.dtype) * dt
    return SpikeTrain(time, jnp.concatenate([start[0][None], voltage]), jnp.concatenate([jnp.array([False]), spikes]))
