"""The light gated recurrent unit."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import networks, sequences
from leadline.evidence import Int, at_least, at_most, close, erratum, exactly, model
from leadline.presentation import figure

DRAWS = 50
LARGE = 100.0  # what a state of inputs and weights of order 1 does not reach in a few steps unless it explodes


@model(sources=("penn",), shows=("sequences.LightGRU",))
def light_gru(key, units: Int(8, 64) = 32, inputs: Int(1, 16) = 8, steps: Int(10, 40) = 15):
    r"""The light gated recurrent unit.

    No reset gate, a ReLU in place of the tanh, and the terms of the input normalised over the batch: two thirds of the
    GRU's weights. The gate stays logistic: with 0 < u < 1 the new state is a mean of the old one and the candidate. If
    the ReLU is put on the gate as well, 1 − u has no lower bound and the state explodes.

    $$u = \sigma(\mathrm{bn}(W_{xu} x_t) + W_{hu} h), \qquad h' = (1-u) \odot h + u \odot \mathrm{relu}(W_h h +
    \mathrm{bn}(W_x x_t))$$

    Check: Weights counted; statistics of the normalised terms; states of 50 networks with Gaussian weights of gain 1,
    with either gate; one step against the mean that it is.
    """
    key_draws, key_batch = jax.random.split(key)
    light, full = (kind(inputs, units, key=key) for kind in (sequences.LightGRU, sequences.GRU))
    counted = [networks.parameter_count([cell.weight_ih, cell.weight_hh]) for cell in (light, full)]
    yield exactly(3 * counted[0], 2 * counted[1], "three times the weights of the light GRU, against twice the GRU's")
    batch = jax.random.normal(key_batch, (16, steps, inputs)) * 3 + 1
    into = np.asarray(jax.vmap(jax.vmap(light.normalised_on(batch).project))(batch)).reshape(-1, 2 * units)
    yield close(into.mean(0), np.zeros(2 * units), "means of the normalised terms over the batch", atol=1e-10)
    variances = np.asarray(batch.reshape(-1, inputs) @ light.weight_ih.T).var(0)
    yield close(into.var(0), variances / (variances + 1e-5), "their variances, against v/(v + 10⁻⁵)", rtol=1e-9)
    sizes = {gate: _sizes(gate, units, inputs, steps, key_draws) for gate in ("sigmoid", "relu")}
    what = f"median over {DRAWS} networks of the largest |h| in {steps} steps, "
    bounded = at_most(np.median(sizes["sigmoid"].max(1)), LARGE, what + "logistic gate")
    yield bounded
    exploded = sizes["relu"].max(1)
    yield erratum(
        at_most(np.median(np.where(np.isnan(exploded), np.inf, exploded)), LARGE, what + "ReLU on the gate as well"),
        of=bounded,
        by="penn",
        prints="u = relu(...) in the formula; the text beside it replaces the tanh alone",
    )
    what = "draws whose state is larger with the ReLU gate"
    yield at_least(int((~(exploded <= sizes["sigmoid"].max(1))).sum()), DRAWS // 2, what)
    times = np.arange(1, steps + 1)
    middle = {
        f"{name} gate": (times, np.median(np.where(np.isfinite(sizes[gate]), sizes[gate], 1e300), axis=0))
        for gate, name in (("sigmoid", "logistic"), ("relu", "ReLU"))
    }
    title = "The state stays bounded behind a logistic gate and explodes behind a ReLU (medians; 1e300 for overflow)"
    yield figure.curves(title, "step", "largest |h|", lines=middle, log="y")


def _sizes(gate, units, inputs, steps, key):
    """The largest |h| at each step of networks with Gaussian weights of gain 1, inputs normalised: (draws, steps)."""

    def one(key):
        key_cell, key_xs = jax.random.split(key)
        cell = sequences.LightGRU(
            inputs, units, gate_activation=gate, init="lecun", recurrent_init="lecun", key=key_cell
        )
        batch = jax.random.normal(key_xs, (32, steps, inputs))
        states = sequences.run(cell.normalised_on(batch), batch[0]).states
        return jnp.abs(states).max(1)

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(key, DRAWS)))
