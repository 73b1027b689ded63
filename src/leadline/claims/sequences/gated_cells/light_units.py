"""The light gated recurrent unit."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import networks, sequences
from leadline.evidence import Int, at_least, at_most, close, erratum, exactly, model
from leadline.presentation import figure

DRAWS = 50


@model(sources=("penn",), shows=("sequences.LightGRU",))
def light_gru(key, units: Int(8, 64) = 32, inputs: Int(1, 16) = 8, steps: Int(15, 40) = 15):
    r"""The light gated recurrent unit.

    No reset gate, a ReLU in place of the tanh, and the terms of the input normalised over the batch: two thirds of the
    GRU's weights. The gate stays logistic: with 0 < u < 1 the new state is a mean of the old one and the candidate. If
    the ReLU is put on the gate as well, 1 − u has no lower bound and the state explodes: then one step multiplies the
    state by itself, where behind a logistic gate it grows at most by a factor.

    $$u = \sigma(\mathrm{bn}(W_{xu} x_t) + W_{hu} h), \qquad h' = (1-u) \odot h + u \odot \mathrm{relu}(W_h h +
    \mathrm{bn}(W_x x_t)), \qquad \|h'\|_\infty \le \max(\|h\|_\infty, \|W_h\|_\infty \|h\|_\infty +
    \|\mathrm{bn}(W_x x_t)\|_\infty)$$

    Check: Weights counted; statistics of the normalised terms; states of 50 networks with Gaussian weights of gain 1,
    with either gate, against the bound of a mean, taken step by step from each network's own weights and inputs.
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
    what = f"{DRAWS} networks, largest |h| of every step over the bound of a mean, "
    bounded = at_most(sizes["sigmoid"][:, 0] / sizes["sigmoid"][:, 1], 1.0, what + "logistic gate", rtol=1e-12)
    yield bounded
    exploded = np.nan_to_num(sizes["relu"][:, 0], nan=np.inf) / sizes["relu"][:, 1]
    yield erratum(
        at_most(exploded, 1.0, what + "ReLU on the gate as well", rtol=1e-12),
        of=bounded,
        by="penn",
        prints="u = relu(...) in the formula; the text beside it replaces the tanh alone",
    )
    larger = ~(sizes["relu"][:, 0, -1] <= sizes["sigmoid"][:, 0, -1])
    what = f"networks of {DRAWS} whose last state is larger with the ReLU gate"
    yield at_least(int(larger.sum()), DRAWS // 2, what).as_empirical()
    times = np.arange(1, steps + 1)
    middle = {
        f"{name} gate": (times, np.median(np.nan_to_num(sizes[gate][:, 0], nan=1e300, posinf=1e300), axis=0))
        for gate, name in (("sigmoid", "logistic"), ("relu", "ReLU"))
    }
    title = "The state stays bounded behind a logistic gate and explodes behind a ReLU (medians; 1e300 for overflow)"
    bound = {"bound of a mean": (times, np.median(sizes["sigmoid"][:, 1], axis=0))}
    yield figure.curves(title, "step", "largest |h|", lines=bound, points=middle, log="y")


def _sizes(gate, units, inputs, steps, key):
    """Networks with Gaussian weights of gain 1: the largest |h| at each step, and its bound, (draws, 2, steps)."""

    def one(key):
        key_cell, key_xs = jax.random.split(key)
        cell = sequences.LightGRU(
            inputs, units, gate_activation=gate, init="lecun", recurrent_init="lecun", key=key_cell
        )
        batch = jax.random.normal(key_xs, (32, steps, inputs))
        cell = cell.normalised_on(batch)
        largest = jnp.abs(sequences.run(cell, batch[0]).states).max(1)
        entering = jnp.abs(jax.vmap(cell.project)(batch[0])[:, units:]).max(1)
        norm = jnp.abs(cell.weight_hh[units:]).sum(1).max()  # of the candidate's weights, by rows

        def step(bound, of_input):
            bound = jnp.maximum(bound, norm * bound + of_input)
            return bound, bound

        return jnp.stack([largest, jax.lax.scan(step, jnp.zeros(()), entering)[1]])

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(key, DRAWS)))
