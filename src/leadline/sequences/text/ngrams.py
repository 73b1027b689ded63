"""Counts of n symbols in a row as a model of the next one, with Witten and Bell's smoothing or a constant added."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray

from leadline.data import generator

Smoothing = Literal["witten-bell", "add-k", "none"]
Tokens = Num[Array | np.ndarray, " _"] | Sequence[int]


class _Contexts(NamedTuple):
    """The contexts of one length that were seen, as children of those one shorter, and what followed them."""

    keys: Int[np.ndarray, " c"]  # (number of the context without its oldest symbol) V + its oldest symbol, sorted
    totals: Int[np.ndarray, " c"]  # c(h)
    kinds: Int[np.ndarray, " c"]  # how many different symbols followed
    followed: Int[np.ndarray, " p"]  # (number of the context) V + the symbol after it, sorted
    counts: Int[np.ndarray, " p"]  # c(h, w)


@dataclass(frozen=True, eq=False)
class NGramModel:
    """p(w | the n - 1 symbols before), from counts; made by `fit_ngrams`."""

    order: int
    symbols: int
    smoothing: Smoothing
    k: float
    levels: tuple[_Contexts, ...]

    def of_order(self, order: int, smoothing: Smoothing | None = None) -> "NGramModel":
        """The model of a lower order, or with another smoothing, from the same counts."""
        if not 1 <= order <= self.order:
            raise ValueError(f"The counts are those of orders 1 to {self.order}; got {order}.")
        return replace(self, order=order, levels=self.levels[:order], smoothing=smoothing or self.smoothing)

    def log_probabilities(self, tokens: Tokens, before: Tokens = ()) -> Float[np.ndarray, " n"]:
        """log p of each token given those before it, in nats; the first ones have fewer before them.

        What was never seen has the logarithm -∞ where nothing is smoothed.
        """
        text = np.concatenate([self._checked(before), self._checked(tokens)])
        new = np.arange(len(text) - len(tokens), len(text))
        rows = np.full((len(new), self.order - 1), -1)
        for back in range(1, self.order):
            known = new >= back
            rows[known, -back] = text[new[known] - back]
        with np.errstate(divide="ignore"):
            return np.log(self._probabilities(rows, text[new]))

    def distribution(self, context: Tokens = ()) -> Float[np.ndarray, " symbols"]:
        """p(w | context) of every symbol w; of a longer context the last n - 1 symbols count.

        Sums to one for every context, seen or not. Without smoothing a context that was never seen has none.
        """
        row = np.full((1, self.order - 1), -1)
        last = self._checked(context)[-(self.order - 1) :] if self.order > 1 else np.zeros(0, int)
        row[0, row.shape[1] - len(last) :] = last
        if self.smoothing == "none" and not self._totals(row)[1][len(last), 0]:
            raise ValueError(
                "This context was never seen, so that without smoothing nothing is known of what follows; fit with "
                "smoothing='witten-bell'."
            )
        return self._probabilities(np.repeat(row, self.symbols, 0), np.arange(self.symbols))

    def step(
        self, contexts: Int[Array | np.ndarray, "rows past"], tokens: Int[Array | np.ndarray, " rows"]
    ) -> tuple[Float[np.ndarray, "rows symbols"], Int[np.ndarray, "rows past"]]:
        """What follows when `tokens` come after `contexts` (-1 where nothing was before): the step of a decoder."""
        contexts = np.concatenate([np.asarray(contexts), np.asarray(tokens)[:, None]], 1)[:, 1:]
        every = np.repeat(contexts, self.symbols, 0)
        found = self._probabilities(every, np.tile(np.arange(self.symbols), len(contexts)))
        with np.errstate(divide="ignore"):
            return np.log(found).reshape(len(contexts), self.symbols), contexts

    def sample(
        self, length: int, *, context: Tokens = (), temperature: float = 1.0, key: PRNGKeyArray
    ) -> Int[np.ndarray, " length"]:
        """Symbols drawn one after the other from p^{1/temperature}, normalised, after the context."""
        if length < 0 or not temperature > 0:
            raise ValueError(f"sample got length={length} and temperature={temperature:g}; both must be positive.")
        rng, text = generator(key), self._checked(context).tolist()
        for _ in range(length):
            weights = self.distribution(text[max(len(text) - self.order + 1, 0) :]) ** (1 / temperature)
            text.append(int(rng.choice(self.symbols, p=weights / weights.sum())))
        return np.array(text[len(text) - length :], np.int32)

    def _probabilities(self, contexts: np.ndarray, following: np.ndarray) -> np.ndarray:
        """p of a symbol after a context, row by row; a context has -1 where nothing was before."""
        counts, totals, kinds = self._totals(contexts, following)
        if self.smoothing == "witten-bell":
            found = np.full(len(following), 1 / self.symbols)
            for count, total, kind in zip(counts, totals, kinds, strict=True):
                weight = total + kind
                found = np.where(weight > 0, (count + kind * found) / np.maximum(weight, 1), found)
            return found
        longest = (contexts >= 0).sum(1)  # at the beginning of a text contexts are shorter
        rows = np.arange(len(following))
        count, total = counts[longest, rows], totals[longest, rows]
        if self.smoothing == "none":
            return np.where(total > 0, count / np.maximum(total, 1), 0.0)
        return (count + self.k) / (total + self.k * self.symbols)

    def _totals(self, contexts: np.ndarray, following: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        """For each length of context c(h, w), c(h) and the number of different symbols that followed h."""
        nodes = np.zeros(len(contexts), np.int64)
        following = np.zeros(len(contexts), np.int64) if following is None else following
        counts, totals, kinds = [], [], []
        for back, level in enumerate(self.levels):
            if back:
                oldest = contexts[:, -back]
                nodes = _found(level.keys, nodes * self.symbols + oldest, (nodes >= 0) & (oldest >= 0))
            seen = nodes >= 0
            pair = _found(level.followed, nodes * self.symbols + following, seen)
            counts.append(np.where(pair >= 0, level.counts[pair], 0))
            totals.append(np.where(seen, level.totals[nodes], 0))
            kinds.append(np.where(seen, level.kinds[nodes], 0))
        return np.array(counts), np.array(totals), np.array(kinds)

    def _checked(self, tokens: Tokens) -> np.ndarray:
        return _checked_tokens(tokens, self.symbols)


def fit_ngrams(
    tokens: Tokens, order: int, *, symbols: int, smoothing: Smoothing = "witten-bell", k: float = 1.0
) -> NGramModel:
    """The counts of all strings of up to `order` tokens, and the smoothed model that they make.

    With h the n - 1 symbols before and h' the same without the oldest,

    - "witten-bell" (1991): p(w|h) = (c(h,w) + N(h) p(w|h')) / (c(h) + N(h)), N(h) the number of different symbols after
      h; contexts that were never seen fall back on h', and the empty context on 1 / V;
    - "add-k" (Laplace, Lidstone): (c(h,w) + k) / (c(h) + kV);
    - "none": c(h,w) / c(h), the maximum of the likelihood, which gives a new string the probability 0.

    >>> model = fit_ngrams([0, 1, 0, 1, 0, 1], 2, symbols=2)
    >>> model.distribution([0]).round(3).tolist()
    [0.125, 0.875]
    >>> fit_ngrams([0, 1, 0, 1, 0], 1, symbols=3, smoothing="none").distribution().tolist()
    [0.6, 0.4, 0.0]
    """
    if smoothing not in get_args(Smoothing):
        raise ValueError(f"There is no smoothing called {smoothing!r}; choose one of {', '.join(get_args(Smoothing))}.")
    if order < 1 or (smoothing == "add-k" and not k > 0):
        raise ValueError(f"fit_ngrams got order={order} and k={k:g}; give an order of 1 or more and k above 0.")
    text = _checked_tokens(tokens, symbols)
    if len(text) < order:
        raise ValueError(f"fit_ngrams got {len(text)} tokens for order {order}; give at least as many.")
    levels, nodes = [], np.zeros(len(text), np.int64)
    for back in range(order):  # nodes: of the contexts of this length before text[back:]
        keys = np.zeros(1, np.int64)
        if back:
            keys, nodes = np.unique(nodes[1:] * symbols + text[:-back], return_inverse=True)
        followed, counts = np.unique(nodes * symbols + text[back:], return_counts=True)
        owner = followed // symbols
        totals = np.bincount(owner, counts, len(keys)).astype(np.int64)
        levels.append(_Contexts(keys, totals, np.bincount(owner, minlength=len(keys)), followed, counts))
    return NGramModel(order, symbols, smoothing, float(k), tuple(levels))


def _found(table: np.ndarray, keys: np.ndarray, possible: np.ndarray) -> np.ndarray:
    """The places of the keys in a sorted table, -1 where they are not in it."""
    places = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.where(possible & (table[places] == keys), places, -1)


def _checked_tokens(tokens: Tokens, symbols: int) -> np.ndarray:
    text = np.asarray(tokens)
    if text.size == 0:
        return np.zeros(0, np.int64)
    if text.ndim != 1 or text.dtype.kind not in "iu":
        raise ValueError(f"Tokens have type {text.dtype} and shape {text.shape}; give a row of whole numbers.")
    if text.min() < 0 or text.max() >= symbols:
        wrong = int(text.min() if text.min() < 0 else text.max())
        raise ValueError(f"The token {wrong} is none of {symbols} symbols; give numbers from 0 to {symbols - 1}.")
    return text.astype(np.int64)
