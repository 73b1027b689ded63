"""Networks with dropout or weight decay on a few digits: all rates, penalties and seeds in one mapped training."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, regularisation, training


class DigitRows(NamedTuple):
    """For each seed other rows of the digits: training, validation and test, with a leading axis over seeds."""

    train: tuple[jax.Array, jax.Array]
    validation: tuple[jax.Array, jax.Array]
    test: tuple[jax.Array, jax.Array]


class Arms(NamedTuple):
    """Networks `dense` (arms, seeds) and, at every so many steps, their mean training loss and test error in use."""

    dense: eqx.Module
    training_loss: np.ndarray  # (arms, seeds, records)
    test_error: np.ndarray


def digit_rows(key, seeds: int, images: int, *, validation: int = 200, corrupted: float = 0.0) -> DigitRows:
    """`images` training rows, then validation rows, the rest for tests; training and validation labels corrupted.

    Pixels are shifted and scaled to about mean 0 and variance 1.
    """
    x, y = data.digits()
    parts = []
    for seed in range(seeds):
        rng = data.generator(jax.random.fold_in(key, seed))
        order = rng.permutation(len(y))
        seen = images + validation
        labels = y[order].astype(np.int32)
        wrong = (np.arange(len(y)) < seen) & (rng.random(len(y)) < corrupted)
        labels = np.where(wrong, (labels + rng.integers(1, 10, len(y))) % 10, labels).astype(np.int32)
        inputs = ((x[order] - 0.3) / 0.4).astype(np.float32)
        cut = (images, seen)
        parts.append(tuple(zip(np.split(inputs, cut), np.split(labels, cut), strict=True)))
    stacked = jax.tree.map(lambda *a: jnp.asarray(np.stack(a)), *parts)
    return DigitRows(*stacked)


def train_arms(
    rows: DigitRows,
    widths: Sequence[int],
    key,
    *,
    rates: Sequence[float],
    penalties: Sequence[float] | None = None,
    num_steps: int,
    batch: int = 32,
    step_size: float = 2e-3,
    every: int | None = None,
) -> Arms:
    """An arm for each dropout rate and strength μ of (μ/2)‖W‖²; arms share starts and batches, seed by seed. Adam."""
    seeds = len(rows.train[1])
    keys = jax.vmap(lambda s: jax.random.fold_in(key, s))(jnp.arange(seeds))
    mus = jnp.zeros(len(rates)) if penalties is None else jnp.asarray(penalties)
    settings = jnp.asarray(rates, jnp.float32), mus.astype(jnp.float32)
    return Arms(*_train(rows, tuple(widths), keys, settings, num_steps, batch, step_size, every or num_steps))


@eqx.filter_jit
def _train(rows, widths, keys, settings, num_steps, batch, step_size, every):
    def one(rate, mu, train, test, key):
        key_start, key_batches, key_masks = jax.random.split(key, 3)
        make = eqx.nn.make_with_state(regularisation.RegularisedMLP)
        net, state = make(widths, dropout=0.5, dtype=jnp.float32, key=key_start)
        plain, modal = regularisation.SquaredNorm(), regularisation.ModalObjective()

        def objective(model, chosen, key, state):
            model = with_rate(model, rate)
            found, state = modal(model, (train[0][chosen], train[1][chosen]), key, state)
            return found.losses + mu * plain(model.dense), state

        def in_use(seen):
            dense = eqx.combine(seen.after.parameters, net).dense
            scores = jax.vmap(dense)(train[0])
            loss = optax.softmax_cross_entropy_with_integer_labels(scores, train[1]).mean()
            return loss, error(dense, *test)

        stream = data.batch_sequence(len(train[1]), batch, num_steps, key=key_batches)
        rule, options = optax.adam(step_size), {"key": key_masks, "state": state, "record": in_use, "every": every}
        ran = training.scan_steps(objective, net, rule, stream, **options)
        return ran.model.dense, *ran.recorded

    of_seeds = eqx.filter_vmap(one, in_axes=(None, None, 0, 0, 0))
    return eqx.filter_vmap(of_seeds, in_axes=(0, 0, None, None, None))(*settings, rows.train, rows.test, keys)


def with_rate(net: regularisation.RegularisedMLP, rate) -> regularisation.RegularisedMLP:
    """The network with one dropout rate, which may be traced, for all hidden layers."""
    return eqx.tree_at(lambda n: [layer.p for layer in n.dropouts[1:]], net, replace_fn=lambda _: rate)


def error(dense, inputs, labels) -> jax.Array:
    """The share of wrong answers."""
    return jnp.mean(jnp.argmax(jax.vmap(dense)(inputs), axis=1) != labels)


@eqx.filter_jit
def errors(dense, part) -> jax.Array:
    """Errors of all arms and seeds on one part of the rows: (arms, seeds)."""
    of_seeds = eqx.filter_vmap(error, in_axes=(0, 0, 0))
    return eqx.filter_vmap(of_seeds, in_axes=(0, None, None))(dense, *part)
