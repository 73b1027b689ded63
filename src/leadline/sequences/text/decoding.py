"""Text from a model of the next token: the likeliest token each time, drawn ones, or the best of many beginnings."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from leadline.data import generator

#: step(state, tokens) -> (log p of what comes next, state); rows of all of them go together
Step = Callable[[Any, Int[np.ndarray, " rows"]], tuple[Float[Array | np.ndarray, "rows symbols"], Any]]


class Decoded(NamedTuple):
    """Tokens of each row, with `end` from the first end on, and their log-probability under the model."""

    tokens: Int[np.ndarray, "rows length"]
    log_probability: Float[np.ndarray, " rows"]


class Beams(NamedTuple):
    """The hypotheses of each row, the best first; those that did not end within the length are beginnings."""

    tokens: Int[np.ndarray, "rows width length"]
    log_probability: Float[np.ndarray, "rows width"]


def greedy_decode(
    step: Step, state: PyTree, start: Int[Array | np.ndarray, " rows"], *, max_length: int, end: int | None = None
) -> Decoded:
    """The likeliest token after what stands, again and again, until `end` or for `max_length` tokens.

    `step(state, tokens)` gives log-probabilities (rows, symbols) and the next state, a pytree whose arrays have the
    rows first: a network's, jitted, or `NGramModel.step`. `start` are the tokens that go before.

    >>> chain = np.log(np.array([[0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.1, 0.1, 0.8]]))
    >>> found = greedy_decode(lambda state, tokens: (chain[tokens], state), (), np.array([0]), max_length=3, end=2)
    >>> found.tokens.tolist(), np.exp(found.log_probability).round(3).tolist()
    ([[1, 2]], [0.36])
    """

    def likeliest(logs: np.ndarray) -> np.ndarray:
        return logs.argmax(1)

    return _decoded(step, state, start, max_length, end, likeliest)


def sample_decode(
    step: Step,
    state: PyTree,
    start: Int[Array | np.ndarray, " rows"],
    *,
    max_length: int,
    end: int | None = None,
    temperature: float = 1.0,
    nucleus: float = 1.0,
    key: PRNGKeyArray,
) -> Decoded:
    """Tokens drawn from p^{1/temperature}, normalised, and of it from the nucleus (`truncate_to_nucleus`).

    With both at 1 the text is drawn from the model itself (ancestral sampling). The log-probability is the model's.

    >>> coin = np.log(np.array([[0.5, 0.5], [0.5, 0.5]]))
    >>> drawn = sample_decode(lambda s, t: (coin[t], s), (), np.zeros(1000, int), max_length=1, key=jax.random.key(0))
    >>> bool(abs(drawn.tokens.mean() - 0.5) < 0.06)
    True
    """
    if not temperature > 0:
        raise ValueError(f"sample_decode got temperature={temperature:g}; give a positive one, or decode greedily.")
    rng = generator(key)

    def drawn(logs: np.ndarray) -> np.ndarray:
        tempered = logs / temperature
        kept = truncate_to_nucleus(_normalised(tempered), nucleus)
        noise = rng.gumbel(size=kept.shape)
        return (kept + noise).argmax(1)

    return _decoded(step, state, start, max_length, end, drawn)


def truncate_to_nucleus(
    log_probabilities: Float[Array | np.ndarray, "rows symbols"], mass: float
) -> Float[np.ndarray, "rows symbols"]:
    """The fewest likeliest symbols whose probabilities sum to `mass` or more, normalised; -∞ for the others.

    Holtzman et al. 2020.

    >>> np.exp(truncate_to_nucleus(np.log(np.array([[0.5, 0.3, 0.2]])), 0.7)).round(3).tolist()
    [[0.625, 0.375, 0.0]]
    """
    if not 0 < mass <= 1:
        raise ValueError(f"The nucleus has a probability above 0 and at most 1; got {mass:g}.")
    logs = np.asarray(log_probabilities, float)
    if mass == 1:
        return logs
    order = np.argsort(-logs, axis=1, kind="stable")
    ranked = np.exp(np.take_along_axis(logs, order, 1))
    before = np.cumsum(ranked, 1) - ranked
    kept = np.zeros(logs.shape, bool)
    np.put_along_axis(kept, order, before < mass - 1e-12, 1)  # the room is for rounding of the sums
    return _normalised(np.where(kept, logs, -np.inf))


def beam_search(
    step: Step,
    state: PyTree,
    start: Int[Array | np.ndarray, " rows"],
    *,
    width: int,
    max_length: int,
    end: int | None = None,
    length_power: float = 0.0,
) -> Beams:
    """The `width` likeliest beginnings are carried on, for each row; the best of them at the end, in order.

    A hypothesis that has ended keeps its place. Of width 1 it is greedy; as wide as there are beginnings it is
    exhaustive; in between it may miss the best text. `length_power` divides the final scores by length^power, by which
    they are ranked: without it short texts are favoured.

    >>> chain = np.log(np.array([[0.1, 0.5, 0.4], [0.4, 0.3, 0.3], [0.05, 0.05, 0.9]]))
    >>> found = beam_search(lambda s, t: (chain[t], s), (), np.array([0]), width=3, max_length=2)
    >>> found.tokens[0, 0].tolist(), float(np.exp(found.log_probability[0, 0]).round(3))
    ([2, 2], 0.36)
    """
    if width < 1 or max_length < 1:
        raise ValueError(f"beam_search got width={width} and max_length={max_length}; both must be positive.")
    tokens = np.repeat(np.asarray(start), width)
    rows = len(tokens) // width
    scores = np.full((rows, width), -np.inf)
    scores[:, 0] = 0.0
    state = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf), width, 0), state)
    texts = np.zeros((rows, width, 0), np.int64)
    ended = np.zeros((rows, width), bool)
    for _ in range(max_length):
        logs, state = step(state, tokens)
        logs = np.asarray(logs, float).reshape(rows, width, -1)
        symbols = logs.shape[2]
        if end is not None:
            logs = np.where(ended[..., None], np.where(np.arange(symbols) == end, 0.0, -np.inf), logs)
        every = (scores[..., None] + logs).reshape(rows, -1)
        best = np.argsort(-every, axis=1, kind="stable")[:, :width]
        scores, parents, chosen = np.take_along_axis(every, best, 1), best // symbols, best % symbols
        texts = np.concatenate([np.take_along_axis(texts, parents[..., None], 1), chosen[..., None]], 2)
        ended = np.take_along_axis(ended, parents, 1) | (False if end is None else chosen == end)
        places = (np.arange(rows)[:, None] * width + parents).ravel()
        state = jax.tree.map(lambda leaf, at=places: np.asarray(leaf)[at], state)
        tokens = chosen.ravel()
        if ended.all():
            break
    lengths = texts.shape[2] if end is None else np.minimum((texts != end).sum(2) + 1, texts.shape[2])
    order = np.argsort(-scores / np.power(lengths, length_power), axis=1, kind="stable")
    return Beams(np.take_along_axis(texts, order[..., None], 1), np.take_along_axis(scores, order, 1))


def _decoded(
    step: Step,
    state: PyTree,
    start: Int[Array | np.ndarray, " rows"],
    max_length: int,
    end: int | None,
    choose: Callable[[np.ndarray], np.ndarray],
) -> Decoded:
    if max_length < 1:
        raise ValueError(f"A text of {max_length} tokens; give max_length=1 or more.")
    tokens = np.asarray(start)
    ended, total, text = np.zeros(len(tokens), bool), np.zeros(len(tokens)), []
    for _ in range(max_length):
        logs, state = step(state, tokens)
        logs = np.asarray(logs, float)
        tokens = choose(logs)
        if end is not None:
            tokens = np.where(ended, end, tokens)
        total += np.where(ended, 0.0, np.take_along_axis(logs, tokens[:, None], 1)[:, 0])
        text.append(tokens)
        ended |= False if end is None else tokens == end
        if ended.all():
            break
    return Decoded(np.stack(text, 1), total)


def _normalised(logs: np.ndarray) -> np.ndarray:
    top = logs.max(1, keepdims=True)
    return logs - top - np.log(np.exp(logs - top).sum(1, keepdims=True))
