"""Encoders and decoders that learn to repeat a sequence or to turn it round, trained once."""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import sequences, training

SYMBOLS, ROWS, BATCH = 6, 2048, 64


class Trained(NamedTuple):
    """Networks of several seeds, and their training losses by epoch (rows)."""

    networks: list[sequences.EncoderDecoder]
    losses: jax.Array


def pairs(task: str, longest: int, rows: int, seed: int) -> sequences.Pairs:
    """Random sequences of 1 to `longest` of six letters, to be copied or turned round."""
    options = {"reverse": task == "reversal", "key": jax.random.key(1000 + seed)}
    found = sequences.copy_pairs(rows, (1, longest), SYMBOLS, **options)
    return sequences.Pairs(found.source, found.target)


def untrained(size: int, attention: bool, cell: str, seed: int) -> sequences.EncoderDecoder:
    symbols = (SYMBOLS + 1, SYMBOLS + 1)
    options = {"cell": cell, "embedding": min(size, 32), "attention": attention, "dtype": jnp.float32}
    made = sequences.EncoderDecoder(*symbols, size, key=jax.random.key(seed), **options)
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float32) if hasattr(leaf, "astype") else leaf, made)


@cache
def trained(
    task: str = "reversal",
    *,
    longest: int = 5,
    size: int = 48,
    attention: bool = False,
    cell: str = "gru",
    share: float = 0.0,
    num_steps: int = 600,
    seeds: int = 2,
) -> Trained:
    """Trained by Adam; `share` is how often the decoder is fed its own output. Remembered."""
    epochs = max(num_steps * BATCH // ROWS, 1)
    like = Trained(
        [untrained(size, attention, cell, seed) for seed in range(seeds)], jnp.zeros((seeds, epochs), jnp.float32)
    )
    return training.remembered(
        _training,
        like,
        task=task,
        longest=longest,
        size=size,
        attention=attention,
        cell=cell,
        share=share,
        num_steps=num_steps,
        seeds=seeds,
    )


def _training(
    task: str, longest: int, size: int, attention: bool, cell: str, share: float, num_steps: int, seeds: int
) -> Trained:
    epochs = max(num_steps * BATCH // ROWS, 1)
    rate = optax.warmup_cosine_decay_schedule(0.0, 1e-2, num_steps // 10 + 1, num_steps, 5e-4)
    runs = training.fit_many(
        [untrained(size, attention, cell, seed) for seed in range(seeds)],
        pairs(task, longest, ROWS, 0),
        objective=sequences.ScheduledSampling(share) if share else sequences.teacher_forcing,
        optimiser=optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate)),
        epochs=epochs,
        batch=BATCH,
        key=jax.random.key(7),
    )
    return Trained(
        [run.model for run in runs], jnp.asarray(np.stack([run.history["loss"] for run in runs]), jnp.float32)
    )
