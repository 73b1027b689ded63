"""Units as brains have them: spiking membranes, and a brain's budget beside a network's."""

import math
from itertools import pairwise
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, neurons
from leadline.evidence import Choice, Range, at_least, at_most, close, exactly, figure, instrument, model, printed


@model(
    "spiking-neuron",
    says="Two membranes that fire: Hodgkin and Huxley's axon, whose rate jumps at onset and whose spikes end below "
    "+50 mV, and the leaky integrate-and-fire unit, whose rate has a closed form.",
    formula=r"C \dot V = I - g_{Na} m^3 h (V - E_{Na}) - g_K n^4 (V - E_K) - g_L (V - E_L), \quad "
    r"r(I) = \frac{1}{t_{ref} + \tau \ln \frac{RI}{RI - (V_{th} - E)}}",
    sources=("penn",),
    assumes=("a constant current switched on at rest", "squid constants at 6.3 °C for the reference numbers"),
    shows=(
        "neurons.HodgkinHuxley",
        "neurons.IntegrateAndFire",
        "neurons.firing_rate",
        "neurons.spike_count",
        "neurons.spike_width",
    ),
)
def spiking_neuron(
    key,
    current: Annotated[float, Range(0.0, 30.0)] = 10.0,
    temperature_factor: Annotated[float, Range(0.5, 3.0)] = 1.0,
    dt: Annotated[float, Range(0.005, 0.05, log=True)] = 0.01,
    time_constant: Annotated[float, Range(2.0, 50.0, log=True)] = 10.0,
    refractory: Annotated[float, Range(0.5, 5.0)] = 2.0,
):
    """Current in µA/cm², steps in ms. V stays below E_Na = 50 mV, since at E_Na the leak alone outweighs I < 31."""
    lif = neurons.IntegrateAndFire(time_constant=time_constant, refractory=refractory)
    drive = jnp.linspace(8.0, 30.0, 23)
    duration = 3 * 1000 / float(lif.rate(8.0)) + 100
    trains = jax.vmap(lambda i: lif.simulate(i, duration=duration, dt=dt))(jnp.array([lif.rheobase(), *drive]))
    simulated = jax.vmap(lambda *train: neurons.SpikeTrain(*train).rate())(*trains)[1:]
    exact = lif.rate(drive)
    excess = 1000 / simulated - 1000 / exact
    fine = dt <= 0.01 * 1000 / float(exact.max())
    yield close(simulated, exact, "integrate-and-fire rate, Hz", rtol=0.01).given(fine, "dt is below 1% of an interval")
    yield at_least(excess, 0.0, "extra interval by the step, ms", atol=1e-6)
    yield at_most(excess, dt, "extra interval by the step, ms", atol=1e-6)
    yield exactly(int(trains.spikes[0].sum()), 0, "integrate-and-fire spikes at the rheobase")

    axon = neurons.HodgkinHuxley(temperature_factor=temperature_factor)
    yield close(float(axon.rest().voltage), -65.0, "rest, mV", atol=0.05)
    weak, onset = [2.2, 2.3], [6.1, 6.2, 6.3, 6.4]
    currents = jnp.array([*weak, *onset, *range(1, 31)])
    everything = axon.responses(jnp.array([*currents, current]), duration=400.0, dt=dt)
    responses = neurons.Trace(everything.time, jax.tree.map(lambda s: s[:-1], everything.state))
    voltage = responses.state.voltage
    rates = jax.vmap(lambda v: neurons.firing_rate(responses.time, v, after=150.0))(voltage)
    rate = dict(zip(np.asarray(currents).tolist(), np.asarray(rates).tolist(), strict=True))
    spikes = [int(neurons.spike_count(responses.time, v)) for v in voltage[:2]]
    ten = neurons.Trace(responses.time, jax.tree.map(lambda s: s[len(weak) + len(onset) + 9], responses.state))
    squid = temperature_factor == 1
    at_squid = "the temperature factor is 1"
    yield exactly(spikes, [0, 1], "spikes at I = 2.2 and 2.3").given(squid, at_squid)
    firing = [i for i, r in rate.items() if r > 0]
    onset_at = min(firing, default=math.nan)
    yield close(onset_at, 6.3, "smallest current that keeps firing", atol=0.1).given(squid, at_squid)
    measured = [rate[6.3], rate[10.0], rate[20.0]]
    yield close(measured, [52.0, 68.0, 86.0], "rate at I = 6.3, 10 and 20, Hz", atol=0.5).given(squid, at_squid)
    slowest = min((r for r in rate.values() if r > 0), default=math.nan)
    yield at_least(slowest, 50.0, "slowest lasting rate, Hz").given(squid, at_squid)
    peak = float(ten.state.voltage.max())
    yield close(peak, 40.0, "peak at I = 10, mV", atol=1.0).given(squid, at_squid)
    width = float(neurons.spike_width(ten))
    yield close(width, 1.5, "width at half height, ms", atol=0.05).given(squid, at_squid)
    highest = float(voltage.max())
    yield at_most(highest, axon.sodium_reversal, "highest voltage over all currents, mV", strict=True)
    yield printed(at_least(highest, 50.0, "highest voltage, mV"), "penn", "a spike reaches 50 to 150 mV")

    early = round(60 / dt) + 1
    trace = neurons.Trace(everything.time[:early], jax.tree.map(lambda s: s[-1, :early], everything.state))
    count = int(neurons.spike_count(trace.time, trace.state.voltage))
    show = slice(None, None, max(1, len(trace.time) // 600))
    time = np.asarray(trace.time)[show]
    gates = {name: (time, np.asarray(getattr(trace.state, name))[show]) for name in ("m", "h", "n")}
    order = np.argsort(np.asarray(currents))
    yield figure.beside(
        f"Spikes stay below {math.ceil(highest)} mV; with growing current the axon's rate jumps from 0 to "
        f"{slowest:.0f} Hz, the integrate-and-fire unit's grows from 0"
        if firing
        else f"With rates {temperature_factor:g} times the squid's at 6.3 °C the axon does not keep firing",
        figure.curves(
            f"{count} spike{'s' * (count != 1)} in 60 ms at I = {current:g}",
            x="time, ms", y="voltage, mV",
            lines={"voltage": (time, np.asarray(trace.state.voltage)[show])}, rules={"E_Na": ("y", 50.0)},
        ),
        figure.curves("The gates behind them", x="time, ms", y="open share", lines=gates),
        figure.curves(
            "Firing rate against current",
            x="current, µA/cm²", y="lasting rate, Hz",
            lines={"integrate-and-fire, exact": (np.linspace(0, 30, 301), lif.rate(jnp.linspace(0, 30, 301)))},
            points={
                "integrate-and-fire, simulated": (drive, simulated),
                "Hodgkin-Huxley, simulated": (np.asarray(currents)[order], np.asarray(rates)[order]),
            },
        ),
        columns=3,
    )  # fmt: skip


def _dense(width, depth, key):
    model = eqx.nn.MLP(64, 10, width, depth, key=key)
    sizes = [64, *[width] * depth, 10]
    pairs = list(pairwise(sizes))
    return model, sum((a + 1) * b for a, b in pairs), sum(a * b for a, b in pairs)


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


@instrument(
    "brain-budget",
    says="Any network's units, weights, multiply-adds per second and silent share beside a brain's 8.6e10 neurons, "
    "1e14 synapses and 4e14 synaptic events per second.",
    formula=r"10^{14}\ \text{synapses} \times 4\ \text{Hz} = 4 \cdot 10^{14}\ \text{events/s}",
    sources=("penn",),
    shows=("neurons.budget", "neurons.Budget", "neurons.Brain"),
)
def brain_budget(
    key,
    architecture: Annotated[str, Choice("dense", "convolutional")] = "dense",
    width: Annotated[int, Range(1, 256, log=True)] = 128,
    depth: Annotated[int, Range(1, 4)] = 2,
    inputs_per_second: Annotated[float, Range(1.0, 1e6, log=True)] = 1000.0,
):
    """A ReLU network on real digits, counted by tracing and, independently, by layer sizes and a hand evaluation."""
    build = _dense if architecture == "dense" else _convolutional
    network, weights, multiply_adds = build(width, depth, key)
    batch = jnp.asarray(data.digits().images[:32])
    found = neurons.budget(network, batch)
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
    brain = neurons.BRAIN
    yield close(brain.events_per_second, 4e14, "synaptic events per second in a brain", rtol=1e-12)
    yield close(brain.synapses / 1e11, 1000.0, "synapses per neuron, at the round 1e11 neurons", rtol=1e-12)
    events = found.events_per_second(inputs_per_second)
    yield figure.bars(
        f"A brain does {brain.events_per_second / events:.1e} times this network's events per second; "
        f"{found.silence:.0%} of the hidden activations here are silent",
        x="quantity", y="count (logarithmic)", log=True,
        values={
            "this network": {
                "units": found.units, "weights": found.weights, "fan-in": found.fan_in, "events/s": events,
            },
            "human brain": {
                "units": brain.neurons, "weights": brain.synapses, "fan-in": brain.synapses / brain.neurons,
                "events/s": brain.events_per_second,
            },
        },
    )  # fmt: skip
