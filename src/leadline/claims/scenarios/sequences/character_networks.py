"""Networks that predict the next character of the corpus, trained once."""

from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import sequences, training

from .corpora import corpus

WINDOW, BATCH, CARRIED = 64, 32, 1000


class Trained(NamedTuple):
    """A network and its training loss, averaged over every so many steps."""

    network: sequences.SequenceNetwork
    losses: np.ndarray


def untrained(cell: str, width: int) -> sequences.SequenceNetwork:
    """One gated cell, or two residual blocks of linear ones, over an embedding."""
    depth = 2 if cell in ("lru", "mingru") else 1
    options = {"r_min": 0.5, "r_max": 0.99} if cell == "lru" else {}
    symbols, residual = corpus().symbols, depth == 2
    return sequences.sequence_network(
        cell,
        width if residual else 32,
        width,
        symbols,
        depth=depth,
        residual=residual,
        vocabulary=symbols,
        dtype=jnp.float32,
        key=jax.random.key(0),
        **options,
    )


@cache
def trained(cell: str, width: int, num_steps: int) -> Trained:
    """Trained by Adam on windows of the text, the state reset at each; remembered."""
    like = Trained(untrained(cell, width), jnp.zeros(_marks(num_steps), jnp.float32))
    name = corpus().text.name
    return training.remembered(_training, like, cell=cell, width=width, num_steps=num_steps, text=name)


def _marks(num_steps: int) -> int:
    return max(num_steps // 50, 1)


def _training(cell: str, width: int, num_steps: int, text: str) -> Trained:
    tokens = jnp.asarray(corpus().train)
    marks = _marks(num_steps)

    def windows(key):
        begin = jax.random.randint(key, (BATCH,), 0, len(tokens) - WINDOW - 1)
        return sequences.next_tokens(tokens[begin[:, None] + jnp.arange(WINDOW + 1)])

    rate = optax.warmup_cosine_decay_schedule(0.0, 6e-3, num_steps // 20 + 1, num_steps, 3e-4)
    run = training.fit(
        untrained(cell, width),
        windows,
        objective=sequences.SequenceObjective(),
        optimiser=optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate)),
        epochs=marks,
        num_steps=num_steps // marks,
        batch=BATCH,
        key=jax.random.key(1),
    )
    return Trained(run.model, jnp.asarray(run.history["loss"], jnp.float32))


@eqx.filter_jit
def log_probabilities(network: sequences.SequenceNetwork, tokens: jax.Array, state=None) -> jax.Array:
    """log p of tokens 1, 2, … of each row given those before, the state carried over all of it."""

    def one(row):
        logs = jax.nn.log_softmax(network(row[:-1], state=state))
        return jnp.take_along_axis(logs, row[1:, None], 1)[:, 0]

    return jax.vmap(one)(tokens)


def test_rows(rows: int) -> jax.Array:
    """Rows of new text, 1001 characters each."""
    test = corpus().test
    return jnp.asarray(test[: rows * (CARRIED + 1)].reshape(rows, CARRIED + 1))
