"""Which examples each step sees: streams of indices, drawn before the run so that a run can be replayed."""

from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from leadline.data import generator

Sampler = Literal["replacement", "reshuffle", "shuffle once", "sequential"]
SAMPLERS: tuple[str, ...] = get_args(Sampler)


def index_stream(
    samples: int, length: int, *, sampler: str = "replacement", key: PRNGKeyArray, seeds: int | None = None
) -> Int[np.ndarray, "..."]:
    """`length` indices of 0 … n−1: independent and uniform, a new permutation every epoch of n, one permutation again
    and again, or 0, 1, …, n−1 again and again. With `seeds`, as many independent streams, in rows.

    >>> import jax
    >>> index_stream(3, 6, sampler="sequential", key=jax.random.key(0)).tolist()
    [0, 1, 2, 0, 1, 2]
    >>> sorted(index_stream(4, 4, sampler="reshuffle", key=jax.random.key(0)).tolist())
    [0, 1, 2, 3]
    """
    if samples < 1 or length < 0:
        raise ValueError(f"index_stream got {samples} samples and length {length}; give at least 1 sample.")
    if sampler not in SAMPLERS:
        raise ValueError(f"index_stream got sampler '{sampler}'; choose one of {', '.join(SAMPLERS)}.")
    rng, rows = generator(key), 1 if seeds is None else seeds
    epochs = -(-length // samples)
    if sampler == "replacement":
        stream = rng.integers(samples, size=(rows, length), dtype=np.int32)
    elif sampler == "reshuffle":
        order = np.broadcast_to(np.arange(samples, dtype=np.int32), (rows * epochs, samples))
        stream = rng.permuted(order, axis=1).reshape(rows, -1)[:, :length]
    else:
        order = np.broadcast_to(np.arange(samples, dtype=np.int32), (rows, samples))
        order = rng.permuted(order, axis=1) if sampler == "shuffle once" else order
        stream = np.tile(order, (1, epochs))[:, :length]
    return stream[0] if seeds is None else stream


def draw_indices(
    samples: int,
    batch: int,
    num_steps: int,
    *,
    replacement: bool = True,
    probabilities: Float[np.ndarray, " n"] | None = None,
    key: PRNGKeyArray,
) -> Int[np.ndarray, "steps batch"]:
    """`num_steps` independent batches: with replacement (uniform, or by `probabilities`), or b different indices each.

    >>> import jax
    >>> np.sort(draw_indices(4, 4, 1, replacement=False, key=jax.random.key(0))).tolist()
    [[0, 1, 2, 3]]
    """
    if batch < 1 or samples < 1 or (not replacement and batch > samples):
        raise ValueError(f"draw_indices got a batch of {batch} of {samples}; give 1 to {samples}, or replacement.")
    rng = generator(key)
    if probabilities is not None:
        p = np.asarray(probabilities, float)
        if not replacement or p.shape != (samples,) or p.min() < 0 or not np.isclose(p.sum(), 1):
            raise ValueError(
                f"draw_indices got probabilities of shape {p.shape} with sum {p.sum():.6g} for {samples} samples; give "
                "one non-negative number each, sum 1, with replacement."
            )
        return np.searchsorted(np.cumsum(p)[:-1], rng.random((num_steps, batch)), side="right").astype(np.int32)
    if replacement:
        return rng.integers(samples, size=(num_steps, batch), dtype=np.int32)
    order = np.broadcast_to(np.arange(samples, dtype=np.int32), (num_steps, samples))
    return rng.permuted(order, axis=1)[:, :batch]
