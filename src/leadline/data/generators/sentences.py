"""Made-up sentences in four languages, from the words that are most common in each."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, PRNGKeyArray

from ..randomness import generator

#: Some of the most common words of four European languages, without accents.
COMMON_WORDS = {
    "English": "the of and to in is was he for it with as his on be at by had not are but from or have an they which "
    "one you were her all she there would their we him been has when who will more no if out so said what up its",
    "German": "der die und in den von zu das mit sich des auf ist im dem nicht ein eine als auch es an werden aus er "
    "hat dass sie nach wird bei einer um am sind noch wie einem einen so zum war haben nur oder aber vor zur bis mehr",
    "French": "de la le et les des en un du une que est pour qui dans par plus pas au sur ne se sont ce il mais on ont "
    "avec aux comme nous ou fait son cette tout deux elle bien sans peut etre meme ces leur entre aussi encore ses",
    "Spanish": "de la que el en los se del las un por con no una su para es al lo como mas o pero sus le ha me si sin "
    "sobre este ya entre cuando todo esta ser son dos tambien fue habia era muy hasta desde mi donde quien todos uno",
}


class Sentences(NamedTuple):
    """Sentences, and the number of the language of each in the order of `COMMON_WORDS`."""

    text: list[str]
    labels: Int[np.ndarray, " n"]


def common_word_sentences(samples: int, words: int = 6, *, key: PRNGKeyArray) -> Sentences:
    """Sentences of `words` words, drawn uniformly and independently from the common words of a random language.

    >>> import jax
    >>> text, labels = common_word_sentences(3, words=4, key=jax.random.key(0))
    >>> [len(sentence.split()) for sentence in text], labels.shape
    ([4, 4, 4], (3,))
    """
    if samples < 1 or words < 1:
        raise ValueError(f"common_word_sentences got {samples} samples of {words} words; both must be positive.")
    rng = generator(key)
    vocabularies = [text.split() for text in COMMON_WORDS.values()]
    labels = rng.integers(len(vocabularies), size=samples)
    return Sentences([" ".join(rng.choice(vocabularies[label], words)) for label in labels], labels)
