"""Working networks of three kinds, and the same with one fault each: (model, training inputs, new inputs, batch)."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen, nnx

from leadline import data, training
from leadline.regularisation import ModalObjective
from leadline.training import recipes

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
X = RNG.normal(1.0, 2.0, size=(256, 6)).astype("float32")
Y = (X[:, 0] + X[:, 1] > 2).astype(int)
SHIFTED = 3 * X + 4
RECIPE = """
data = {name = "digits", images = 400}
model = {kind = "mlp", hidden = [16, 16], dropout = 0.2, normalisation = "batch"}
training = {epochs = 30, batch = 32, rate = 0.01}
"""


class Branches(eqx.Module):
    """Two branches with batch normalisation and dropout each, as in Equinox's documentation."""

    layers: tuple[eqx.nn.Linear, ...]
    norms: tuple[eqx.nn.BatchNorm, ...]
    dropouts: tuple[eqx.nn.Dropout, ...]
    head: eqx.nn.Linear
    hard: str = eqx.field(static=True)  # what the code gets wrong, whatever the flags say

    def __init__(self, key, momentum=0.9, axis="batch", hard=""):
        keys = jax.random.split(key, 3)
        self.layers = tuple(eqx.nn.Linear(6, 8, key=k) for k in keys[:2])
        self.norms = tuple(eqx.nn.BatchNorm(8, axis, momentum=momentum, mode="batch") for _ in range(2))
        self.dropouts = (eqx.nn.Dropout(0.3), eqx.nn.Dropout(0.3))
        self.head = eqx.nn.Linear(16, 2, key=keys[2])
        self.hard = hard

    def __call__(self, x, state, key=None):
        keys = (None, None) if key is None else jax.random.split(key)
        parts = []
        for i, (layer, norm, dropout) in enumerate(zip(self.layers, self.norms, self.dropouts, strict=True)):
            fixed = True if self.hard == "frozen" else False if self.hard == "norm" and i == 1 else None
            hidden, state = norm(layer(x), state, inference=fixed)
            on = False if self.hard == "dropout" and i == 1 else None
            parts.append(dropout(jax.nn.relu(hidden), key=keys[i], inference=on))
        return self.head(jnp.concatenate(parts)), state


def trained_equinox(batch=32, epochs=40, keep=True, **options):
    net, state = eqx.nn.make_with_state(Branches)(KEY, **options)
    objective = ModalObjective()
    run = training.fit(
        net, (X, Y), objective=objective, state=state, optimiser=optax.adam(0.01), epochs=epochs, batch=batch, key=KEY
    )
    return run.model, run.state if keep else state


@functools.cache
def equinox_network():
    return trained_equinox()


def hard(fault):
    """The trained network with a mistake in its code."""
    net, state = equinox_network()
    net = eqx.nn.inference_mode(net)
    object.__setattr__(net, "hard", fault)
    return net, state


def of_equinox(fault):
    net, state = equinox_network()
    used = eqx.nn.inference_mode(net)
    cases = {
        "clean": lambda: ((used, state), X, X[::-1], 32),
        "dropout left on": lambda: ((net, state), X, None, None),
        "mode forgotten in one branch": lambda: (
            (eqx.tree_at(lambda n: n.dropouts[1].inference, used, replace=False), state),
            X,
            None,
            None,
        ),
        "mode forgotten in one branch, in the code": lambda: (hard("dropout"), X, None, None),
        "mode forgotten in one branch, a norm in the code": lambda: (hard("norm"), X, None, None),
        "stale statistics": lambda: ((used, trained_equinox(keep=False)[1]), X, None, None),
        "stale statistics, of an earlier epoch": lambda: ((used, stale(state)), X, None, None),
        "wrong axis": lambda: ((other_axis(used), state), X, None, None),
        "frozen buffers": lambda: (hard("frozen"), X, None, None),
        "tiny batch": lambda: ((used, state), X, None, 2),
        "tiny batch, seen by its variance": lambda: (small_batches(), X, None, None),
        "domain shift": lambda: ((used, state), X, SHIFTED, 32),
    }
    return cases[fault]() if fault else list(cases)


def small_batches():
    net, state = trained_equinox(batch=2, epochs=8, momentum=0.99)
    return eqx.nn.inference_mode(net), state


def stale(state):
    """Every statistic as it was when the inputs were not yet scaled as they are now."""
    return jax.tree.map(lambda a: 0.05 * a if a.ndim else a, state)


def other_axis(net):
    """The second normalisation asks for an axis that is not the batch's."""
    norm = net.norms[1]
    copy = object.__new__(type(norm))
    for name, value in vars(norm).items():
        object.__setattr__(copy, name, "time" if name == "axis_name" else value)
    return eqx.tree_at(lambda n: n.norms[1], net, copy)


class OfFlax(nnx.Module):
    """A network in the style of Flax's documentation."""

    def __init__(self, momentum=0.9, axis=-1, features=8, hard=False):
        rngs = nnx.Rngs(0)
        self.first = nnx.Linear(6, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(features, momentum=momentum, axis=axis, rngs=rngs)
        self.dropout = nnx.Dropout(0.3, rngs=rngs)
        self.second = nnx.Linear(8, 8, rngs=rngs)
        self.last_dropout = nnx.Dropout(0.3, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)
        self.hard = hard

    def __call__(self, x):
        x = self.dropout(nnx.relu(self.norm(self.first(x))))
        x = self.last_dropout(nnx.relu(self.second(x)), deterministic=False if self.hard else None)
        return self.head(x)


def train_flax(model, batch=32, epochs=20):
    optimiser = nnx.Optimizer(model, optax.adam(0.01), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimiser, x, y):
        def loss(model):
            return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

        optimiser.update(model, nnx.grad(loss)(model))

    model.train()
    for _ in range(epochs):
        order = RNG.permutation(len(X))
        for i in range(0, len(X), batch):
            rows = order[i : i + batch]
            step(model, optimiser, jnp.asarray(X[rows]), jnp.asarray(Y[rows]))
    return model


@functools.cache
def flax_network():
    return train_flax(OfFlax())


def of_flax(fault):
    def used(**flags):
        copy = nnx.clone(flax_network())
        copy.eval()
        for name, value in flags.items():
            setattr(copy, name, value)
        return copy

    def part_on():
        copy = used()
        copy.dropout.deterministic = False
        return copy

    def reset():
        copy = used()
        copy.norm.mean[...], copy.norm.var[...] = jnp.zeros(8), jnp.ones(8)
        return copy

    def earlier():
        copy = used()
        copy.norm.mean[...] = 0.2 * copy.norm.mean[...] - 1
        return copy

    def frozen():
        copy = used()
        copy.norm.momentum = 1.0
        return copy

    def rows_as_features():
        copy = train_flax(OfFlax(axis=0, features=256), batch=256, epochs=2)
        copy.eval()
        return copy

    def on():
        copy = nnx.clone(flax_network())
        copy.train()
        return copy

    cases = {
        "clean": lambda: (used(), X, X[::-1], 32),
        "dropout left on": lambda: (on(), X, None, None),
        "mode forgotten in one branch": lambda: (part_on(), X, None, None),
        "mode forgotten in one branch, in the code": lambda: (used(hard=True), X, None, None),
        "stale statistics": lambda: (reset(), X, None, None),
        "stale statistics, of an earlier epoch": lambda: (earlier(), X, None, None),
        "wrong axis": lambda: (rows_as_features(), X, None, None),
        "frozen buffers": lambda: (frozen(), X, None, None),
        "tiny batch": lambda: (used(), X, None, 2),
        "domain shift": lambda: (used(), X, SHIFTED, 32),
    }
    return cases[fault]() if fault else list(cases)


@functools.cache
def recipe_network():
    sample = data.load("digits")
    return recipes.train(recipes.parse_recipe(RECIPE)).model, sample.train_inputs[:400]


def of_recipe(fault):
    model, images = recipe_network()
    net, state, used = model.network, model.state, eqx.nn.inference_mode(model.network)

    def renamed():
        norm = used.normalisations[1]
        copy = object.__new__(type(norm))
        for name, value in vars(norm).items():
            object.__setattr__(copy, name, "time" if name == "axis_name" else value)
        return eqx.tree_at(lambda n: n.normalisations[1], used, copy)

    def frozen():
        norms = []
        for norm in used.normalisations:
            copy = object.__new__(type(norm))
            for name, value in vars(norm).items():
                object.__setattr__(copy, name, 1.0 if name == "momentum" else value)
            norms.append(copy)
        return eqx.tree_at(lambda n: n.normalisations, used, tuple(norms))

    fresh = jax.tree.map(jnp.zeros_like, state)
    cases = {
        "clean": lambda: (model, images, images[::-1], 32),
        "dropout left on": lambda: ((net, state), images, None, None),
        "mode forgotten in one branch": lambda: (
            (eqx.tree_at(lambda n: n.normalisations[0].inference, used, replace=False), state),
            images,
            None,
            None,
        ),
        "stale statistics": lambda: ((used, fresh), images, None, None),
        "stale statistics, of an earlier epoch": lambda: ((used, stale(state)), images, None, None),
        "wrong axis": lambda: ((renamed(), state), images, None, None),
        "frozen buffers": lambda: ((frozen(), state), images, None, None),
        "tiny batch": lambda: (model, images, None, 2),
        "domain shift": lambda: (model, images, 3 * images + 8, 32),
    }
    return cases[fault]() if fault else list(cases)


class OfLinen(linen.Module):
    """The same in Linen, which is told its mode at every call."""

    hard: bool = False

    @linen.compact
    def __call__(self, x, train: bool):
        x = linen.BatchNorm(use_running_average=not train, momentum=0.9)(linen.Dense(8)(x))
        x = linen.Dropout(0.3, deterministic=not train)(linen.relu(x))
        x = linen.Dropout(0.3, deterministic=not (train or self.hard))(linen.relu(linen.Dense(8)(x)))
        return linen.Dense(2)(x)


def of_linen(fault):
    variables = OfLinen().init(KEY, X[:2], train=False)
    for _ in range(60):
        _, changed = OfLinen().apply(variables, X, train=True, mutable=["batch_stats"], rngs={"dropout": KEY})
        variables = {**variables, **changed}
    fresh = OfLinen().init(KEY, X[:2], train=False)
    cases = {
        "clean": lambda: ((OfLinen(), variables), X, X[::-1], 32),
        "mode forgotten in one branch, in the code": lambda: ((OfLinen(True), variables), X, None, None),
        "stale statistics": lambda: ((OfLinen(), fresh), X, None, None),
        "domain shift": lambda: ((OfLinen(), variables), X, SHIFTED, 32),
    }
    return cases[fault]() if fault else list(cases)


KINDS = {"equinox": of_equinox, "flax": of_flax, "recipe": of_recipe, "linen": of_linen}
