"""Units as brains have them: spiking membranes, and a brain's budget beside a network's."""

import math
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import as_apply, data, neurons
from leadline.evidence import Int, OneOf, Real, at_least, at_most, close, exactly, instrument, model, reference
from leadline.neurons.brain import BRAIN
from leadline.neurons.hodgkin_huxley import Trace, spike_width
from leadline.neurons.integrate_and_fire import SpikeTrain
from leadline.presentation import figure


@model(sources=("penn",))
def spiking_neuron(
    key,
    current: Real(0.0, 30.0) = 10.0,
    temperature_factor: Real(0.5, 3.0) = 1.0,
    dt: Real(0.005, 0.05, log=True) = 0.01,
    time_constant: Real(2.0, 50.0, log=True) = 10.0,
    refractory: Real(0.5, 5.0) = 2.0,
):
    r"""Hodgkin–Huxley and integrate-and-fire neurons.

    Two membranes that fire: Hodgkin and Huxley's axon, whose firing rate jumps at onset and whose spikes peak below
    +50 mV, and the leaky integrate-and-fire unit, whose firing rate has a closed form.

    $$C \dot V = I - g_{Na} m^3 h (V - E_{Na}) - g_K n^4 (V - E_K) - g_L (V - E_L), \quad r(I) =
    \frac{1}{t_{\mathrm{ref}} + \tau \ln \frac{RI}{RI - (V_{th} - E)}}$$

    Assumes: a constant current is switched on at rest; squid constants at 6.3 °C (for the reference numbers).

    Check: Currents are in µA/cm² and time steps in ms. V stays below $E_{\mathrm{Na}}$ = 50 mV, since at
    $E_{\mathrm{Na}}$ the leak alone outweighs any current I < 31.
    """
    lif = neurons.IntegrateAndFire(time_constant=time_constant, refractory=refractory)
    drive = jnp.linspace(8.0, 30.0, 23)
    duration = 3 * 1000 / float(lif.rate(8.0)) + 100
    trains = jax.vmap(lambda i: lif.simulate(i, duration=duration, dt=dt))(jnp.array([lif.rheobase(), *drive]))
    simulated = jax.vmap(lambda *train: SpikeTrain(*train).rate())(*trains)[1:]
    exact = lif.rate(drive)
    excess = 1000 / simulated - 1000 / exact
    fine = dt <= 0.01 * 1000 / float(exact.max())
    yield close(simulated, exact, "integrate-and-fire rate, Hz", rtol=0.01).given(fine, "dt is below 1% of an interval")
    yield at_least(excess, 0.0, "interval beyond the exact one, ms", atol=1e-6)
    yield at_most(excess, dt, "interval beyond the exact one, ms, against the step dt", atol=1e-6)
    yield exactly(trains.spikes[0].sum(), 0, "integrate-and-fire spikes at the rheobase")
    axon = neurons.HodgkinHuxley(temperature_factor=temperature_factor)
    yield reference(axon.rest().voltage, -65.0, "rest of the axon, mV", digits=3)
    currents = np.array([2.2, 2.3, 6.1, 6.2, 6.3, 6.4, *range(1, 31)])
    everything = axon.responses(jnp.array([*currents, current]), duration=400.0, dt=dt)
    time, voltage = everything.time, everything.state.voltage[:-1]
    rates = np.asarray(jax.vmap(lambda v: neurons.firing_rate(time, v, after=150.0))(voltage))
    rate = dict(zip(currents.tolist(), rates, strict=True))
    spikes = [neurons.spike_count(time, v) for v in voltage[:2]]
    ten = Trace(time, jax.tree.map(lambda s: s[list(rate).index(10.0)], everything.state))
    firing = {i: r for i, r in rate.items() if r > 0}
    slowest, highest = min(firing.values(), default=math.nan), voltage.max()
    for comparison in (
        exactly(spikes, [0, 1], "spikes at I = 2.2 and 2.3"),
        reference(min(firing, default=math.nan), 6.3, "smallest current that keeps firing", digits=2),
        reference([rate[i] for i in (6.3, 10.0, 20.0)], [52, 68, 86], "rate at I = 6.3, 10 and 20, Hz", digits=2),
        at_least(slowest, 50.0, "slowest lasting rate, Hz"),
        reference(ten.state.voltage.max(), 40.0, "peak at I = 10, mV", digits=2),
        reference(spike_width(ten), 1.5, "width of a spike at half height, I = 10, ms", digits=2),
    ):
        yield comparison.given(temperature_factor == 1, "the temperature factor is 1")
    yield at_most(highest, axon.sodium_reversal, "highest voltage over all currents, mV", strict=True)
    early = round(60 / dt) + 1
    first, drawn = time[:early], jax.tree.map(lambda s: s[-1, :early], everything.state)
    count = int(neurons.spike_count(first, drawn.voltage))
    title = f"With rates {temperature_factor:g} times the squid's at 6.3 °C the axon does not keep firing"
    if firing:
        title = f"The axon's rate jumps from 0 to {slowest:.0f} Hz at onset, the integrate-and-fire unit's grows from 0"
    title_left = f"{count} spike{'s' * (count != 1)} in 60 ms at I = {current:g}"
    left = {"voltage": (first, drawn.voltage)}
    gates = {name: (first, getattr(drawn, name)) for name in ("m", "h", "n")}
    fine, order = jnp.linspace(0, 30, 301), np.argsort(currents)
    lines = {"integrate-and-fire, exact": (fine, lif.rate(fine))}
    points = {
        "integrate-and-fire, simulated": (drive, simulated),
        "Hodgkin-Huxley, simulated": (currents[order], rates[order]),
    }
    yield figure.beside(
        title,
        figure.curves(title_left, "time, ms", "voltage, mV", lines=left, rules={"E_Na": ("y", 50.0)}),
        figure.curves("The gates behind them", "time, ms", "open share", lines=gates),
        figure.curves("Firing rate against current", "current, µA/cm²", "lasting rate, Hz", lines=lines, points=points),
        columns=3,
    )


def _dense(width, depth, key):
    pairs = list(pairwise([64, *[width] * depth, 10]))
    return eqx.nn.MLP(64, 10, width, depth, key=key), sum((a + 1) * b for a, b in pairs), sum(a * b for a, b in pairs)


def _convolutional(width, depth, key):
    keys = jax.random.split(key, depth + 1)
    layers = [eqx.nn.Lambda(lambda x: x.reshape(1, 8, 8))]
    for i in range(depth):
        layers += [eqx.nn.Conv2d(1 if i == 0 else width, width, 3, padding=1, key=keys[i]), eqx.nn.Lambda(jax.nn.relu)]
    layers += [eqx.nn.Lambda(jnp.ravel), eqx.nn.Linear(64 * width, 10, key=keys[-1])]
    inner = 9 * width + 9 * width**2 * (depth - 1)  # kernel entries, each used at all 64 places
    return eqx.nn.Sequential(layers), inner + width * depth + 640 * width + 10, 64 * inner + 640 * width


def _layers(model):
    """The network as steps that end at a weighted sum, for an evaluation by hand."""
    if isinstance(model, eqx.nn.Sequential):
        return list(model.layers)
    return [step for layer in model.layers[:-1] for step in (layer, jax.nn.relu)] + [model.layers[-1]]


@instrument(sources=("penn",))
def brain_budget(
    key,
    architecture: OneOf("dense", "convolutional") = "dense",
    width: Int(1, 256, log=True) = 128,
    depth: Int(1, 4) = 2,
    inputs_per_second: Real(1.0, 1e6, log=True) = 1000.0,
):
    r"""Network size beside a brain.

    Any network's units, weights, multiply-adds per second and share of silent units are set beside a brain's 8.6 ·
    10¹⁰ neurons, 10¹⁴ synapses and 4 · 10¹⁴ synaptic events per second.

    $$10^{14}\ \text{synapses} \times 4\ \text{Hz} = 4 \cdot 10^{14}\ \text{events/s}$$
    """
    build = _dense if architecture == "dense" else _convolutional
    network, weights, multiply_adds = build(width, depth, key)
    batch = jnp.asarray(data.digits().images[:32])
    found = neurons.budget(*as_apply(network), batch)
    units, zeros, read, hidden = 0, 0, 0, batch
    for step in _layers(network):
        weighted = isinstance(step, eqx.nn.Linear | eqx.nn.Conv2d)
        if weighted and units:
            zeros, read = zeros + int((hidden == 0).sum()), read + hidden.size
        hidden = jax.vmap(step)(hidden)
        units += hidden[0].size * weighted
    stored = sum(leaf.nbytes // leaf.dtype.itemsize for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_array)))
    yield exactly(found.weights, weights, "weights, against layer sizes")
    yield exactly(found.weights, stored, "weights, against stored numbers")
    yield exactly(found.units, units, "units, against stored activations")
    yield exactly(found.multiply_adds, multiply_adds, "multiply-adds, against layer sizes")
    yield close(found.silence, zeros / read, "silent share of hidden activations", atol=1e-12)
    brain = BRAIN
    yield close(brain.events_per_second, 4e14, "synaptic events per second in a brain", rtol=1e-12)
    yield close(brain.synapses / 1e11, 1000.0, "synapses per neuron, at the round 1e11 neurons", rtol=1e-12)
    events = found.events_per_second(inputs_per_second)
    names = ("units", "weights", "fan-in", "events/s")
    ours = (found.units, found.weights, found.fan_in, events)
    theirs = (brain.neurons, brain.synapses, brain.synapses / brain.neurons, brain.events_per_second)
    values = {"this network": dict(zip(names, ours, strict=True)), "human brain": dict(zip(names, theirs, strict=True))}
    title = f"A brain does {brain.events_per_second / events:.1e} times this network's events per second"
    yield figure.bars(title, "quantity", "count (logarithmic)", log=True, values=values)
