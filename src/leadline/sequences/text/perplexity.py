"""How well a model predicts text: nats, bits, perplexity, and what may be compared with what."""

import math
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Array, Float

Unit = Literal["nats", "bits"]


class TextScore(NamedTuple):
    """The log-likelihood of a text under a model: in all, over how many tokens and characters, of which tokeniser."""

    nats: float  #: -log p of the whole text
    tokens: int
    characters: int
    tokeniser: str
    impossible: int = 0  #: tokens that the model gives the probability 0, each of which makes the loss infinite

    @property
    def nats_per_token(self) -> float:
        """The mean negative log-likelihood: the cross entropy that training minimises."""
        return self.nats / self.tokens

    @property
    def bits_per_token(self) -> float:
        """log₂ of the perplexity."""
        return self.nats_per_token / math.log(2)

    @property
    def bits_per_character(self) -> float:
        """What texts of different tokenisers may be compared by."""
        return self.nats / self.characters / math.log(2)

    @property
    def perplexity(self) -> float:
        """exp of the mean loss in nats: the inverse geometric mean of the tokens' probabilities."""
        return perplexity(self.nats_per_token, unit="nats")

    def excess(self, other: "TextScore") -> float:
        """How many bits a token this model needs more than the other, on the same tokens.

        >>> a, b = (score_text(np.log([p, p]), tokeniser="characters") for p in (0.25, 0.5))
        >>> a.excess(b)
        1.0
        """
        if self.tokeniser != other.tokeniser or self.tokens != other.tokens:
            raise ValueError(
                f"A score of {self.tokens} tokens by {self.tokeniser!r} and one of {other.tokens} by "
                f"{other.tokeniser!r} are on different scales; compare their bits_per_character."
            )
        return self.bits_per_token - other.bits_per_token


def score_text(
    log_probabilities: Float[Array | np.ndarray, " n"], *, tokeniser: str, characters: int | None = None
) -> TextScore:
    """The score of a text from the log-probabilities of its tokens, in nats; by default a token is a character.

    Logarithms are added before anything is exponentiated; an impossible token makes the score infinite, and is counted.

    >>> score = score_text(np.log(np.full(10, 1 / 8)), tokeniser="characters")
    >>> round(score.perplexity, 9), round(score.bits_per_character, 9)
    (8.0, 3.0)
    """
    logs = np.asarray(log_probabilities, float)
    if logs.ndim != 1 or logs.size == 0:
        raise ValueError(f"score_text got log-probabilities of shape {logs.shape}; give one for each token.")
    if np.isnan(logs).any() or logs.max() > 1e-6:
        raise ValueError("A log-probability is above 0 or not a number; give logarithms of probabilities in nats.")
    long = logs.size if characters is None else characters
    if long < 1:
        raise ValueError(f"score_text got {long} characters; give how many the text has.")
    return TextScore(-float(logs.sum()), logs.size, long, tokeniser, int(np.isneginf(logs).sum()))


def perplexity(loss: float, *, unit: Unit) -> float:
    """PP = exp(loss in nats) = 2^(loss in bits) = likelihood^(-1/N), from the mean loss per token in a stated unit.

    C for the uniform model over C symbols, 1 for a perfect one. The same number in nats and in bits is not the same
    perplexity (Jelinek et al. 1977).

    >>> round(perplexity(3.55, unit="bits"), 3), round(perplexity(3.55, unit="nats"), 3)
    (11.713, 34.813)
    """
    if unit not in ("nats", "bits"):
        raise ValueError(f"The unit of a loss is 'nats' or 'bits'; got {unit!r}.")
    if math.isnan(loss) or loss < 0:
        raise ValueError(f"A mean loss of {loss:g} is below 0, which no probabilities have; give -mean log p.")
    try:
        return math.exp(loss) if unit == "nats" else 2.0**loss
    except OverflowError:
        return math.inf
