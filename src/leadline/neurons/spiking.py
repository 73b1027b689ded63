"""Spikes read from a sampled membrane voltage: how many, how often."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


def upward_crossings(
    time: Float[Array, " t"], voltage: Float[Array, " t"], threshold: float | Float[Array, ""]
) -> tuple[Bool[Array, " t-1"], Float[Array, " t-1"]]:
    """Which of the t - 1 intervals the voltage crosses upwards, and when (linear interpolation)."""
    before, after = voltage[:-1], voltage[1:]
    crosses = (before < threshold) & (after >= threshold)
    share = (threshold - before) / jnp.where(crosses, after - before, 1.0)
    return crosses, time[:-1] + share * jnp.diff(time)


def spike_count(
    time: Float[Array, " t"], voltage: Float[Array, " t"], *, threshold: float = 0.0, after: float = 0.0
) -> Int[Array, ""]:
    """Number of upward crossings of the threshold (mV) later than `after` (ms).

    >>> time = jnp.linspace(0, 10, 1001)
    >>> int(spike_count(time, jnp.sin(2 * jnp.pi * time - 1)))
    10
    """
    crosses, when = upward_crossings(time, voltage, threshold)
    return jnp.sum(crosses & (when >= after))


def firing_rate(
    time: Float[Array, " t"], voltage: Float[Array, " t"], *, threshold: float = 0.0, after: float = 0.0
) -> Float[Array, ""]:
    """Spikes per second (Hz, times in ms) from the mean interval between spikes later than `after`; 0 below two spikes.

    >>> time = jnp.linspace(0, 100, 10001)
    >>> round(float(firing_rate(time, jnp.sin(2 * jnp.pi * time / 10 - 1))), 2)
    100.0
    """
    crosses, when = upward_crossings(time, voltage, threshold)
    counted = crosses & (when >= after)
    first = jnp.min(jnp.where(counted, when, jnp.inf))
    last = jnp.max(jnp.where(counted, when, -jnp.inf))
    spikes = jnp.sum(counted)
    return jnp.where(spikes >= 2, 1000 * (spikes - 1) / jnp.where(spikes >= 2, last - first, 1.0), 0.0)
