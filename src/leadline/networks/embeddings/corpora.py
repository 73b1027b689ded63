"""A small English text that every installation has: the descriptions of scikit-learn's bundled datasets."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

OTHER = "<other>"


def dataset_descriptions() -> list[str]:
    """The words of the texts that scikit-learn has for its six bundled datasets, in lower case and reading order.

    About 1700 words of dry English on cancer, diabetes, digits, irises, exercise and wine.

    >>> len(dataset_descriptions()) > 1000
    True
    """
    from sklearn import datasets

    loaders = ("load_breast_cancer", "load_diabetes", "load_digits", "load_iris", "load_linnerud", "load_wine")
    text = " ".join(getattr(datasets, loader)().DESCR for loader in loaders)
    return re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())


class Corpus(NamedTuple):
    """A text as word numbers: tokens[i] is the i-th word's place in `words`, the commonest first."""

    tokens: Int[np.ndarray, " length"]
    words: tuple[str, ...]


def index_words(text: Sequence[str], vocabulary: int) -> Corpus:
    """Number the words of a text, keeping the `vocabulary` - 1 commonest; all the others are one word, "<other>".

    Without rarer words to replace there is no "<other>". Equally frequent words are taken in alphabetical order.

    >>> corpus = index_words("to be or not to be".split(), 3)
    >>> corpus.words, corpus.tokens.tolist()
    (('be', 'to', '<other>'), [1, 0, 2, 2, 1, 0])
    """
    if vocabulary < 2:
        raise ValueError(f"index_words got a vocabulary of {vocabulary}; it needs at least 2 words.")
    if not text:
        raise ValueError("index_words got an empty text; give it at least one word.")
    ranked = sorted(Counter(text).items(), key=lambda pair: (-pair[1], pair[0]))
    words = [word for word, _ in ranked]
    if len(words) > vocabulary:
        words = [*words[: vocabulary - 1], OTHER]
    place = {word: index for index, word in enumerate(words)}
    last = len(words) - 1
    return Corpus(np.array([place.get(word, last) for word in text]), tuple(words))
