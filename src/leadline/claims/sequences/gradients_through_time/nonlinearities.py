"""The choice of a nonlinearity between gradients that last and tasks that need one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, networks, sequences, training
from leadline.evidence import Int, Real, at_least, at_most, claim, close
from leadline.presentation import figure

from .vanishing import Elementwise

SLOPES = (0.0, 0.25, 0.5, 0.75, 1.0)
SEEDS, BITS = 3, 3


class Leaky(eqx.Module):
    """z' = max(a, s a), a = U z + V x + b."""

    U: jax.Array
    V: jax.Array
    b: jax.Array
    slope: jax.Array

    def __call__(self, z, x):
        a = self.U @ z + self.V @ x + self.b
        return jnp.where(a > 0, a, jax.lax.stop_gradient(self.slope) * a)


@claim(sources=("penn",), empirical=True, slow="twenty seconds")
def nonlinearity_choice(key, units: Int(8, 48) = 24, lag: Int(10, 100) = 50, drive: Real(0.1, 1.5) = 0.5):
    r"""No elementwise nonlinearity alone carries gradients far.

    With an orthogonal U the identity keeps gradients for ever, and a leaky unit loses less the closer its slope is to
    1; but then the network tends to a linear one, which cannot do what needs a nonlinearity. Logistic units lose at
    least three quarters of a gradient in every step. ReLU loses it too, and lets it grow where U is twice as large.

    $$\log \frac{\|g_{T-k}\|}{\|g_T\|} \le k \log \alpha \text{ for orthogonal } U, \qquad \alpha = \tfrac14
    \text{ (logistic)}, \; 1 \text{ (tanh, ReLU, leaky)}$$

    Assumes: weights as drawn, inputs of standard deviation `drive`, for the gradients; this training for the task.

    Check: The log of the norm of the Jacobian product at `lag`. The task is the parity of three bits, at the end; a
    network that is linear in its inputs is right on three quarters of them at most.
    """
    rng = data.generator(key)
    Q = networks.initialiser("orthogonal")(key, (units, units), float)
    V = jnp.asarray(rng.normal(size=(units, 1)))
    x = jnp.asarray(drive * rng.normal(size=(lag, 1)))
    start, ratio = jnp.zeros(units), {}
    for phi in ("sigmoid", "tanh"):
        ratio[phi] = sequences.jacobian_product_norms(Elementwise(Q, V, phi), start, x, (lag,))[0]
    for slope in SLOPES:
        cell = Leaky(Q, V, jnp.zeros(units), jnp.asarray(slope))
        ratio[_name(slope)] = sequences.jacobian_product_norms(cell, start, x, (lag,))[0]
    yield at_most(
        ratio["sigmoid"], lag * np.log(0.25), f"logistic: log gradient at lag {lag}, against k log ¼", atol=1e-9
    )
    for name in ("tanh", *map(_name, SLOPES)):
        yield at_most(ratio[name], 0.0, f"{name}: log gradient at lag {lag}", atol=1e-9)
    yield close(ratio["identity"], 0.0, "identity: log gradient", atol=1e-9)
    leaky = np.array([ratio[_name(slope)] for slope in SLOPES])
    # ‖J‖ is at least the slope times the least singular value of U, which is 1.
    lowest = [lag * np.log(slope) for slope in SLOPES[1:]]
    yield at_least(leaky[1:], lowest, "leaky: log gradient, against k log s", atol=1e-9)
    twice = Elementwise(2 * Q, V, "relu")
    grown = sequences.jacobian_product_norms(twice, start, x, (lag,))[0]
    yield at_least(grown, 0.0, f"ReLU with 2U for U: log gradient at lag {lag}")
    shrunk = sequences.jacobian_product_norms(Elementwise(2 * Q, V, "sigmoid"), start, x, (lag,))[0]
    yield at_most(shrunk, lag * np.log(0.5), "logistic with 2U for U: log gradient, against k log ½", atol=1e-9)
    accuracy = _parity(key, units)
    yield at_most(accuracy["identity"].mean(), 0.75, "identity: accuracy on the parity of three bits", atol=0.02)
    best = max(accuracy, key=lambda name: accuracy[name].mean())
    what = "the best nonlinearity: accuracy on the parity of three bits"
    yield at_least(accuracy[best].mean(), 0.9, what)
    values = {
        name: (ratio[name], accuracy[name].mean(), accuracy[name].min(), accuracy[name].max()) for name in accuracy
    }
    yield figure.curves(
        f"Parity of three bits: {best} {accuracy[best].mean():.2f}, identity {accuracy['identity'].mean():.2f}",
        f"log gradient at lag {lag}",
        "accuracy, 3 seeds",
        points={name: tuple(np.array([v]) for v in row) for name, row in values.items()},
        rules={"best of any linear network": ("y", 0.75)},
    )


def _name(slope):
    return {0.0: "ReLU", 1.0: "identity"}.get(slope, f"leaky {slope:g}")


def _parity(key, units, steps=400):
    """Accuracy by seed of networks that learn the parity of bits ±1, read at the end."""
    keys = jax.random.split(key, SEEDS)
    bits = jnp.asarray(np.array(np.meshgrid(*[[-1.0, 1.0]] * BITS)).reshape(BITS, -1).T, jnp.float32)
    labels = (bits.prod(axis=1) > 0).astype(int)

    def train(cell, key):
        net = sequences.SequenceNetwork(cell, 2, reading="last", key=key)

        def objective(net, batch, key, state):
            return learning.cross_entropy(jax.vmap(net)(bits[:, :, None]), labels), state

        net = training.scan_steps(objective, net, optax.adam(5e-3), None, num_steps=steps).model
        return jnp.mean(jax.vmap(net)(bits[:, :, None]).argmax(axis=-1) == labels)

    def leaky(key, slope):
        like = sequences.Elman(1, units, "relu", dtype=jnp.float32, key=key)
        step = Leaky(like.recurrent_weight, like.input_weight, like.bias, slope)
        return train(sequences.Recurrence(step, jnp.zeros(units, jnp.float32), 1, units), key)

    mapped = eqx.filter_jit(jax.vmap(jax.vmap(leaky, (None, 0)), (0, None)))
    found = np.asarray(mapped(keys, jnp.asarray(SLOPES, jnp.float32)))
    accuracy = {_name(slope): found[:, i] for i, slope in enumerate(SLOPES)}
    for phi in ("sigmoid", "tanh"):
        alone = eqx.filter_jit(
            jax.vmap(lambda k, phi=phi: train(sequences.Elman(1, units, phi, dtype=jnp.float32, key=k), k))
        )
        accuracy[phi] = np.asarray(alone(keys))
    return accuracy
