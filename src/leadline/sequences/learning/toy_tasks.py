"""Tasks on random bits with known answers: the past some steps ago, the parity so far, the value that is marked."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class LabelledBits(NamedTuple):
    """Random bits as ±1, a label for each step, and the steps whose label is asked for."""

    inputs: Float[Array, "rows T 1"]
    labels: Int[Array, "rows T"]
    asked: Bool[Array, "rows T"]


def shifted_bits(rows: int, length: int, delay: int, *, key: PRNGKeyArray) -> LabelledBits:
    """The label of step t is the bit of step t - delay; the first `delay` steps have none.

    >>> x, y, asked = shifted_bits(2, 6, 2, key=jax.random.key(0))
    >>> bool((y[:, 2:] == (x[:, :-2, 0] > 0)).all()), asked[0].tolist()
    (True, [False, False, True, True, True, True])
    """
    if not 0 <= delay < length:
        raise ValueError(f"shifted_bits got a delay of {delay} for {length} steps; give 0 to {length - 1}.")
    bits = jax.random.bernoulli(key, 0.5, (rows, length))
    asked = jnp.broadcast_to(jnp.arange(length) >= delay, bits.shape)
    return LabelledBits(_signs(bits), jnp.roll(bits, delay, axis=1).astype(int) * asked, asked)


def running_parity(rows: int, length: int, *, key: PRNGKeyArray) -> LabelledBits:
    """The label of step t is the parity of the bits up to t: no linear function of them, and none of the last few.

    >>> x, y, _ = running_parity(1, 4, key=jax.random.key(0))
    >>> bool((y[0] == jnp.cumsum(x[0, :, 0] > 0) % 2).all())
    True
    """
    bits = jax.random.bernoulli(key, 0.5, (rows, length))
    return LabelledBits(_signs(bits), jnp.cumsum(bits, axis=1) % 2, jnp.ones_like(bits))


class LabelledSequences(NamedTuple):
    """Sequences with one label each."""

    inputs: Float[Array, "rows T n"]
    labels: Int[Array, " rows"]


def recall_task(
    rows: int, lag: int | Int[Array, ""] | None = None, *, length: int | None = None, key: PRNGKeyArray
) -> LabelledSequences:
    """A marked cue ±1 among distractors ±1, asked for at the last step: 1 where it was +1, 0 where it was -1.

    Inputs are (value, mark). The cue stands `lag` steps before the end of `length` (lag + 1 by default) steps: it is
    independent of everything else, so that a model that has lost it is right half the time (Hochreiter and Schmidhuber
    1997 has such tasks). Without a lag it lies anywhere, which is selective copying: what is to be kept is known from
    the input alone. Then the best linear function of all inputs has the mean squared error 1 - 1/T about the value ±1:
    the wanted product of value and mark is correlated with each value by 1/T, and with no mark.

    >>> x, y = recall_task(4, 3, key=jax.random.key(0))
    >>> x.shape, bool(((x[:, 0, 0] > 0) == y).all()), x[0, :, 1].tolist()
    ((4, 4, 2), True, [1.0, 0.0, 0.0, 0.0])
    >>> x, y = recall_task(3, length=5, key=jax.random.key(0))
    >>> bool((2 * y - 1 == (x[:, :, 0] * x[:, :, 1]).sum(1)).all())
    True
    """
    if length is None:
        if lag is None:
            raise ValueError("recall_task got neither a lag nor a length; give one of them, or both.")
        length = int(lag) + 1
    if isinstance(lag, int) and not 0 <= lag < length:  # a traced lag is the caller's care
        raise ValueError(f"recall_task got lag={lag} and length={length}; give lag >= 0 and a length above it.")
    values = jax.random.rademacher(key, (rows, length), jnp.result_type(float))
    anywhere = jax.random.randint(jax.random.fold_in(key, 1), (rows,), 0, length)
    places = anywhere if lag is None else jnp.full(rows, length - 1 - lag)
    marks = jax.nn.one_hot(places, length, dtype=values.dtype)
    return LabelledSequences(jnp.stack([values, marks], -1), ((values * marks).sum(1) > 0).astype(int))


def adding_bits(rows: int, length: int, *, key: PRNGKeyArray) -> LabelledSequences:
    """How many of the two marked bits are 1: the first among the first tenth of the steps, the other at the end.

    A form with labels of the adding problem of Hochreiter and Schmidhuber (1997); bits are ±1, a mark is 1.

    >>> x, y = adding_bits(4, 20, key=jax.random.key(0))
    >>> bool((y == ((x[..., 0] > 0) * x[..., 1]).sum(1)).all()), x[..., 1].sum(1).tolist()
    (True, [2.0, 2.0, 2.0, 2.0])
    """
    if length < 2:
        raise ValueError(f"adding_bits got {length} steps; give at least 2, one for each marked bit.")
    key_bits, key_mark = jax.random.split(key)
    bits = jax.random.bernoulli(key_bits, 0.5, (rows, length))
    first = jax.random.randint(key_mark, (rows,), 0, max(1, length // 10))
    marks = (jax.nn.one_hot(first, length) + jax.nn.one_hot(length - 1, length))[..., None]
    return LabelledSequences(
        jnp.concatenate([_signs(bits), marks.astype(float)], -1), (bits * (marks[..., 0] > 0)).sum(1)
    )


def associative_recall(rows: int, pairs: int, lag: int, *, key: PRNGKeyArray) -> LabelledSequences:
    """`pairs` steps with a key and a bit each, `lag` steps of nothing, and one with a key: which bit stood beside it?

    Inputs are the key as a unit vector, the bit as ±1, and a last number that is 1 at the question; every key stands
    once, in random order.

    >>> x, y = associative_recall(2, 3, 4, key=jax.random.key(0))
    >>> x.shape, bool((y == ((x[:, :3, :3] * x[:, -1:, :3]).sum(2) * x[:, :3, 3]).sum(1) / 2 + 0.5).all())
    ((2, 8, 5), True)
    """
    if pairs < 1 or lag < 0:
        raise ValueError(f"associative_recall got {pairs} pairs and a lag of {lag}; give 1 or more, and 0 or more.")
    key_bits, key_order, key_asked = jax.random.split(key, 3)
    bits = jax.random.bernoulli(key_bits, 0.5, (rows, pairs))
    order = jax.vmap(lambda k: jax.random.permutation(k, pairs))(jax.random.split(key_order, rows))
    asked = jax.random.randint(key_asked, (rows,), 0, pairs)  # the place of the pair
    shown = jnp.concatenate([jax.nn.one_hot(order, pairs), _signs(bits), jnp.zeros((rows, pairs, 1))], -1)
    own = jnp.take_along_axis(order, asked[:, None], 1)
    question = jnp.concatenate([jax.nn.one_hot(own, pairs), jnp.zeros((rows, 1, 1)), jnp.ones((rows, 1, 1))], -1)
    nothing = jnp.zeros((rows, lag, pairs + 2))
    labels = jnp.take_along_axis(bits, asked[:, None], 1)[:, 0].astype(int)
    return LabelledSequences(jnp.concatenate([shown, nothing, question], 1), labels)


def _signs(bits: Bool[Array, "rows T"]) -> Float[Array, "rows T 1"]:
    return jnp.where(bits, 1.0, -1.0)[..., None]
