"""Tasks that ask for something heard k steps ago."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray


class RecallTask(NamedTuple):
    """Sequences of (signal, marker), and the class of the marked signal: 1 where it was +1, 0 where it was -1."""

    inputs: Float[Array, "n T 2"]
    labels: Int[Array, " n"]


def recall_task(rows: int, lag: int | Int[Array, ""], *, length: int | None = None, key: PRNGKeyArray) -> RecallTask:
    """A marked cue ±1, `lag` steps before the end, among distractors ±1; it is asked for at the last step.

    The cue is independent of everything else, so that a model that has lost it is right half the time. With a `length`
    beyond lag + 1 there are distractors before the cue as well. Hochreiter and Schmidhuber 1997 has such tasks.

    >>> task = recall_task(4, 3, key=jax.random.key(0))
    >>> task.inputs.shape, bool(((task.inputs[:, 0, 0] > 0) == task.labels).all()), task.inputs[0, :, 1].tolist()
    ((4, 4, 2), True, [1.0, 0.0, 0.0, 0.0])
    """
    if length is None:
        length = int(lag) + 1
    if isinstance(lag, int) and not 0 <= lag < length:  # a traced lag is the caller's care
        raise ValueError(f"recall_task got lag={lag} and length={length}; give lag >= 0 and a length above it.")
    signal = jax.random.rademacher(key, (rows, length), jnp.result_type(float))
    marker = jnp.zeros((rows, length)).at[:, length - 1 - lag].set(1.0)
    return RecallTask(jnp.stack([signal, marker], axis=-1), (signal[:, length - 1 - lag] > 0).astype(int))
