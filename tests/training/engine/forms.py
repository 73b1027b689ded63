"""One small run of every form that `fit` knows, to be interrupted, resumed and compared."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import training
from leadline.regularisation import ModalObjective, RegularisedMLP

KEY = jax.random.key(1)
X = np.random.default_rng(0).normal(size=(48, 3))
DATA = {"x": X, "y": np.sin(X).sum(axis=1), "mask": np.random.default_rng(1).random(48) < 0.7}


class Normalised(eqx.Module):
    """A layer with batch statistics and dropout."""

    first: eqx.nn.Linear
    norm: eqx.nn.BatchNorm
    dropout: eqx.nn.Dropout
    last: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key)
        self.first = eqx.nn.Linear(3, 6, key=keys[0])
        self.norm = eqx.nn.BatchNorm(6, axis_name="batch", mode="batch")
        self.dropout = eqx.nn.Dropout(0.2)
        self.last = eqx.nn.Linear(6, "scalar", key=keys[1])

    def __call__(self, x, state, key):
        hidden, state = self.norm(self.first(x), state)
        return self.last(self.dropout(jax.nn.tanh(hidden), key=key)), state


def masked_error(model, batch, key, state):
    return training.RowLosses((batch["x"] @ model["w"] + model["b"] - batch["y"]) ** 2, batch["mask"]), state


def normalised_error(model, batch, key, state):
    keys = jax.random.split(key, len(batch["x"]))
    run = jax.vmap(model, axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))
    outputs, state = run(batch["x"], state, keys)
    return (outputs - batch["y"]) ** 2, state


def modal_error(model, batch, key, state):
    return ModalObjective("squared")(model, (batch["x"], batch["y"]), key, state)


def critic_loss(model, batch, key, state):
    fake = batch["x"] @ model["generator"] + 0.1 * jax.random.normal(key, (len(batch["x"]),))
    return model["critic"] * (fake - batch["y"]) + model["critic"] ** 2, state


def generator_loss(model, batch, key, state):
    return -model["critic"] * (batch["x"] @ model["generator"] - batch["y"]), state


def last_weight(seen):
    return seen.after.parameters["w"]


def linear():
    return {"w": jnp.zeros(3), "b": jnp.asarray(0.5)}


def form(name):
    """Model and settings of `fit`, without the optimiser's number of epochs."""
    plain = {"optimiser": optax.adam(0.05), "batch": 12, "objective": masked_error}
    if name == "plain":
        return linear(), plain
    if name == "averages":
        return linear(), plain | {"averages": (0.5, 0.99)}
    if name == "accumulation":
        return linear(), plain | {"micro": 3}
    if name == "recorder":
        return linear(), plain | {"recorder": training.Recorder(last_weight, every=2)}
    if name == "state":
        model, state = eqx.nn.make_with_state(Normalised)(jax.random.key(0))
        return model, plain | {"objective": normalised_error, "state": state, "validation": DATA}
    if name == "modes":
        model, state = eqx.nn.make_with_state(RegularisedMLP)(
            (3, 6, 1), dropout=(0.1, 0.3), normalisation="batch", key=jax.random.key(0)
        )
        return model, plain | {"objective": modal_error, "state": state, "validation": DATA, "averages": (0.9,)}
    players = (
        training.Player(critic_loss, optax.sgd(0.1), "critic", 3),
        training.Player(generator_loss, optax.adam(0.01), "generator"),
    )
    return {"critic": jnp.asarray(0.3), "generator": jnp.ones(3)}, {"players": players, "batch": 6, "averages": (0.9,)}


FORMS = ("plain", "averages", "accumulation", "recorder", "state", "modes", "players")


def train(name, epochs=4, **change):
    model, settings = form(name)
    return training.fit(model, DATA, epochs=epochs, key=KEY, **(settings | change))


def arrays(run):
    """Everything that came of a run."""
    kept = eqx.filter((run.model, run.best, run.state, run.best_state, run.averages, run.recorded), eqx.is_array)
    return [*jax.tree.leaves(kept), *run.history.values()]
