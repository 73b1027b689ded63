"""Random changes of texts as rows of token numbers: dropped, masked and exchanged tokens, local disorder."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Num, PRNGKeyArray

from leadline._checks import require_axes

from .pipelines import require_probability, require_scale

Tokens = Num[Array, "..."]  #: (length,) whole numbers


class TokenDropout(eqx.Module):
    """Every token is left out with probability `rate`; the rest moves up and the end is filled with `padding`.

    >>> TokenDropout(1.0, padding=0)(jax.random.key(0), jnp.array([5, 6, 7])).tolist()
    [0, 0, 0]
    """

    rate: float
    padding: int

    def __init__(self, rate: float, *, padding: int):
        require_probability("TokenDropout", rate=rate)
        self.rate, self.padding = rate, padding

    def __call__(self, key: PRNGKeyArray, tokens: Tokens) -> Tokens:
        require_tokens("TokenDropout", tokens)
        gone = jax.random.bernoulli(key, self.rate, tokens.shape) | (tokens == self.padding)
        order = jnp.argsort(gone, stable=True)
        return jnp.where(gone, self.padding, tokens)[order]


class TokenMasking(eqx.Module):
    """Every token but padding becomes `mask` with probability `rate` (Devlin et al. 2019 mask 15%).

    >>> TokenMasking(1.0, mask=9)(jax.random.key(0), jnp.array([5, 6, 0])).tolist()
    [9, 9, 9]
    """

    rate: float
    mask: int
    padding: int | None

    def __init__(self, rate: float, *, mask: int, padding: int | None = None):
        require_probability("TokenMasking", rate=rate)
        self.rate, self.mask, self.padding = rate, mask, padding

    def __call__(self, key: PRNGKeyArray, tokens: Tokens) -> Tokens:
        require_tokens("TokenMasking", tokens)
        hidden = jax.random.bernoulli(key, self.rate, tokens.shape) & _words(tokens, self.padding)
        return jnp.where(hidden, jnp.asarray(self.mask, tokens.dtype), tokens)


class WordOrderNoise(eqx.Module):
    """Tokens in a random order in which none moves by more than `reach` places (Lample et al. 2018); padding stays.

    >>> shuffled = WordOrderNoise(2)(jax.random.key(1), jnp.arange(8))
    >>> sorted(shuffled.tolist()), int(abs(shuffled - jnp.arange(8)).max()) <= 2
    ([0, 1, 2, 3, 4, 5, 6, 7], True)
    """

    reach: int
    padding: int | None

    def __init__(self, reach: int, *, padding: int | None = None):
        require_scale("WordOrderNoise", reach=reach)
        self.reach, self.padding = reach, padding

    def __call__(self, key: PRNGKeyArray, tokens: Tokens) -> Tokens:
        require_tokens("WordOrderNoise", tokens)
        length = len(tokens)
        place = jnp.arange(length) + jax.random.uniform(key, (length,), maxval=self.reach + 1)
        last = jnp.arange(length) + length + self.reach + 1
        return tokens[jnp.argsort(jnp.where(_words(tokens, self.padding), place, last), stable=True)]


class SynonymSwap(eqx.Module):
    """Every token becomes, with probability `rate`, one of its row in `table` (vocabulary, choices), drawn evenly.

    A token without synonyms has itself in its row.

    >>> swap = SynonymSwap(np.array([[0], [2], [1]]), 1.0)
    >>> swap(jax.random.key(0), jnp.array([0, 1, 1, 2])).tolist()
    [0, 2, 2, 1]
    """

    table: Int[Array, "vocabulary choices"]
    rate: float

    def __init__(self, table: Int[Array | np.ndarray, "vocabulary choices"], rate: float):
        require_axes("SynonymSwap", 2, table=table)
        require_probability("SynonymSwap", rate=rate)
        found = np.asarray(table)
        if found.min() < 0 or found.max() >= len(found):
            raise ValueError(
                f"SynonymSwap got a table of {len(found)} rows with tokens from {found.min()} to {found.max()}; "
                "give a row for every token."
            )
        self.table, self.rate = jnp.asarray(table), rate

    def __call__(self, key: PRNGKeyArray, tokens: Tokens) -> Tokens:
        require_tokens("SynonymSwap", tokens)
        which, what = jax.random.split(key)
        choice = jax.random.randint(what, tokens.shape, 0, self.table.shape[1])
        other = self.table[tokens, choice].astype(tokens.dtype)
        return jnp.where(jax.random.bernoulli(which, self.rate, tokens.shape), other, tokens)


def require_tokens(where: str, tokens: Array) -> None:
    """ValueError for what is no row of whole numbers."""
    if tokens.ndim != 1 or not jnp.issubdtype(tokens.dtype, jnp.integer):
        raise ValueError(
            f"{where} got tokens of type {tokens.dtype} and shape {tokens.shape}; give one row of whole numbers."
        )


def _words(tokens: Tokens, padding: int | None) -> Array:
    return jnp.ones(tokens.shape, bool) if padding is None else tokens != padding
