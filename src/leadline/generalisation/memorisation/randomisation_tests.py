"""The randomisation test: one network and one budget on true labels, random labels, shuffled pixels and noise."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from leadline.data import generator
from leadline.training import scan_steps

ARMS = (
    "true labels",
    "0.2 random labels",
    "0.4 random labels",
    "0.6 random labels",
    "0.8 random labels",
    "random labels",
    "one permutation",
    "fresh permutations",
    "Gaussian images",
)

Images = Float[np.ndarray, "n d"]
Labels = Int[np.ndarray, " n"]


class Corrupted(NamedTuple):
    """Training and test data as an arm changes them; test labels are always the true ones."""

    inputs: Images
    labels: Labels
    test_inputs: Float[np.ndarray, "m d"]


def corrupted(
    arm: str, inputs: Images, labels: Labels, test_inputs: Float[np.ndarray, "m d"], *, key: PRNGKeyArray
) -> Corrupted:
    """The data of one arm: "true labels", "q random labels" (a share q is drawn anew, uniformly), "random labels",
    "one permutation" of the pixels of all images, "fresh permutations" for each image, "Gaussian images".

    >>> x, y = np.arange(6.0).reshape(2, 3), np.array([0, 1])
    >>> found = corrupted("one permutation", x, y, x, key=jax.random.key(0))
    >>> sorted(found.inputs[0].tolist()), bool(np.all(found.inputs == found.test_inputs))
    ([0.0, 1.0, 2.0], True)
    """
    rng = generator(key)
    if arm == "true labels":
        return Corrupted(inputs, labels, test_inputs)
    if arm == "one permutation":
        order = rng.permutation(inputs.shape[1])
        return Corrupted(inputs[:, order], labels, test_inputs[:, order])
    if arm == "fresh permutations":
        return Corrupted(rng.permuted(inputs, axis=1), labels, rng.permuted(test_inputs, axis=1))
    if arm == "Gaussian images":
        mean, spread = inputs.mean(), inputs.std()
        noise = [(mean + spread * rng.normal(size=x.shape)).astype(x.dtype) for x in (inputs, test_inputs)]
        return Corrupted(noise[0], labels, noise[1])
    share = re.fullmatch(r"(?:([01](?:\.\d+)?) )?random labels", arm)
    if not share or not 0 <= float(share[1] or 1) <= 1:
        raise ValueError(
            f"There is no arm '{arm}'; give 'true labels', '0.2 random labels' or another share, 'random labels', "
            "'one permutation', 'fresh permutations' or 'Gaussian images'."
        )
    drawn = rng.permutation(len(labels)) < round(float(share[1] or 1) * len(labels))
    fresh = rng.integers(int(labels.max()) + 1, size=len(labels)).astype(labels.dtype)
    return Corrupted(inputs, np.where(drawn, fresh, labels), test_inputs)


class RandomisationArm(NamedTuple):
    """What one arm came to: errors at the end, optimiser steps until no training row was wrong (None if never), norm of
    the weights, least margin of a training row (its score over the best other), mean training loss after each epoch,
    and how many test rows of class j were taken for class i."""

    name: str
    train_error: float
    test_error: float
    steps_to_zero: int | None
    weight_norm: float
    margin: float
    losses: Float[np.ndarray, " epochs"]
    confusion: Int[np.ndarray, "k k"]

    @property
    def chance_deviation(self) -> float:
        """The standard deviation of the test accuracy if the names of the classes were drawn at random (mean 1/k).

        A network that knows nothing of the labels treats like images alike, so this is wider than a binomial
        distribution. Exactly Σ dᵢⱼ²/((k − 1)m²) of the doubly centred counts d (Hoeffding 1951).
        """
        counts = self.confusion.astype(float)
        centred = counts - counts.mean(axis=0) - counts.mean(axis=1)[:, None] + counts.mean()
        return float(np.sqrt(np.sum(centred**2) / (len(counts) - 1)) / counts.sum())


def randomisation_test(
    apply: Callable[[PyTree, Array], Float[Array, "n k"]],
    params: PyTree,
    inputs: Images,
    labels: Labels,
    test_inputs: Float[np.ndarray, "m d"],
    test_labels: Int[np.ndarray, " m"],
    *,
    arms: Sequence[str] = ARMS,
    epochs: int = 100,
    batch: int = 50,
    optimiser: optax.GradientTransformation | None = None,
    key: PRNGKeyArray,
) -> tuple[RandomisationArm, ...]:
    """Train the network from the same parameters, by Adam at 1e-3 unless told otherwise, on each arm's data.

    All arms are trained at once, each on its own batches. Zhang, Bengio, Hardt, Recht and Vinyals 2017.

    >>> x, y = np.eye(4), np.array([0, 1, 0, 1])
    >>> linear = lambda w, x: x @ w
    >>> found = randomisation_test(linear, jnp.zeros((4, 2)), x, y, x, y, arms=("true labels", "random labels"),
    ...                            epochs=20, batch=4, key=jax.random.key(0))
    >>> [arm.train_error for arm in found]
    [0.0, 0.0]
    """
    batch = min(batch, len(labels))
    dtype = jnp.result_type(*jax.tree.leaves(params))
    keys = [jax.random.fold_in(key, i) for i in range(len(arms))]
    data = [corrupted(a, inputs, labels, test_inputs, key=k) for a, k in zip(arms, keys, strict=True)]
    x, y, test = (np.stack(column) for column in zip(*data, strict=True))
    rng, rounds = generator(key), len(labels) // batch
    orders = rng.permuted(np.tile(np.arange(len(labels)), (len(arms), epochs, 1)), axis=2)[:, :, : rounds * batch]
    orders = orders.reshape(len(arms), epochs, rounds, batch)
    rule = optax.adam(1e-3) if optimiser is None else optimiser
    trained, losses, errors = _train_all(apply, params, rule, x.astype(dtype), y, orders)
    train_error, margin, _ = _scored(apply, trained, x.astype(dtype), y)
    truth = np.tile(test_labels, (len(arms), 1))
    test_error, _, confusions = _scored(apply, trained, test.astype(dtype), truth)
    norms = np.sqrt(
        sum(np.sum(np.square(np.asarray(w, float)), axis=tuple(range(1, w.ndim))) for w in jax.tree.leaves(trained))
    )
    fitted = np.asarray(errors) == 0
    return tuple(
        RandomisationArm(
            arm,
            float(train_error[i]),
            float(test_error[i]),
            int(rounds * (1 + np.argmax(fitted[i]))) if fitted[i].any() else None,
            float(norms[i]),
            float(margin[i]),
            np.asarray(losses[i], float),
            confusions[i],
        )
        for i, arm in enumerate(arms)
    )


@eqx.filter_jit
def _train_all(apply, params, rule, inputs, labels, orders) -> tuple:
    """Parameters, losses and errors after each epoch, for every arm."""

    def one(x, y, orders):
        epochs, rounds, batch = orders.shape

        def losses(params, chosen, key, state):
            return optax.softmax_cross_entropy_with_integer_labels(apply(params, x[chosen]), y[chosen]), state

        def after_epoch(seen):
            scores = apply(seen.after.parameters, x)
            value = jnp.mean(optax.softmax_cross_entropy_with_integer_labels(scores, y))
            return value, jnp.mean(jnp.argmax(scores, axis=1) != y)

        stream = orders.reshape(epochs * rounds, batch)
        ran = scan_steps(losses, params, rule, stream, record=after_epoch, every=rounds)
        return ran.model, *ran.recorded

    return jax.vmap(one)(inputs, labels, orders)


def _scored(apply, trained, inputs, labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Error, least margin and confusion counts of every arm's network on its rows."""
    scores = np.array(_outputs(apply, trained, inputs), float)
    arms, _, k = scores.shape
    confusion = np.zeros((arms, k, k), int)
    np.add.at(confusion, (np.arange(arms)[:, None], scores.argmax(axis=2), labels), 1)
    own = np.take_along_axis(scores, labels[:, :, None], axis=2)[:, :, 0]
    np.put_along_axis(scores, labels[:, :, None], -np.inf, axis=2)
    margins = own - scores.max(axis=2)
    return np.mean(margins <= 0, axis=1), margins.min(axis=1), confusion


@eqx.filter_jit
def _outputs(apply, trained, inputs) -> Float[Array, "arms n k"]:
    return jax.vmap(apply)(trained, inputs)
