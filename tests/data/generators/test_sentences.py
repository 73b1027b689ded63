import jax
import pytest

from leadline.data import common_word_sentences
from leadline.data.generators.sentences import COMMON_WORDS


def test_every_word_is_of_the_language_of_its_sentence():
    text, labels = common_word_sentences(50, words=7, key=jax.random.key(0))
    vocabularies = [set(words.split()) for words in COMMON_WORDS.values()]
    assert all(set(sentence.split()) <= vocabularies[label] for sentence, label in zip(text, labels, strict=True))
    assert set(labels) == set(range(4))


def test_it_depends_on_the_key_alone():
    one, two, other = (common_word_sentences(9, key=jax.random.key(seed))[0] for seed in (0, 0, 1))
    assert one == two != other


def test_empty_sentences_are_refused():
    with pytest.raises(ValueError, match="positive"):
        common_word_sentences(3, words=0, key=jax.random.key(0))
