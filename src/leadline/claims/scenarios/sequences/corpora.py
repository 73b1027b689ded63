"""A text to model, split in two: tinyshakespeare where it is at hand, else sentences of common words."""

from functools import cache
from typing import NamedTuple

import jax
import numpy as np

from leadline import data

AT_HAND = "tinyshakespeare is at hand (put it into a directory and name that in LEADLINE_DATA)"


class Corpus(NamedTuple):
    """The first nine tenths to learn from and the rest to test on, as numbers of characters."""

    text: data.Text
    train: np.ndarray
    test: np.ndarray

    @property
    def symbols(self) -> int:
        return len(self.text.vocabulary)

    @property
    def is_shakespeare(self) -> bool:
        return self.text.name == "tinyshakespeare"


@cache
def corpus() -> Corpus:
    """1,115,394 characters of Shakespeare, or about 170,000 of made-up English and German sentences."""
    try:
        text = data.load("tinyshakespeare", notice=_silent)
    except data.DataUnavailable:
        drawn = data.common_word_sentences(10_000, words=8, key=jax.random.key(0))
        kept = [s for s, label in zip(drawn.text, drawn.labels, strict=True) if label < 2]
        joined = ".\n".join(kept)
        text = data.Text("sentences of common words", joined, tuple(sorted(set(joined))))
    numbers = text.encode(text.text)
    cut = int(0.9 * len(numbers))
    return Corpus(text, numbers[:cut], numbers[cut:])


def _silent(message: str) -> None:
    """What `load` says while it looks is not for a claim's reader."""
