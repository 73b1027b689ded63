import pytest

from leadline.networks import embeddings
from leadline.networks.embeddings.corpora import OTHER, dataset_descriptions


def test_the_text_is_words():
    words = dataset_descriptions()
    assert {"iris", "wine", "digits", "diabetes"} <= set(words)
    assert all(word == word.lower() for word in words)


def test_rare_words_become_one():
    corpus = embeddings.index_words(list("aabbbc"), 3)
    assert corpus.words == ("b", "a", "c")
    assert corpus.tokens.tolist() == [1, 1, 0, 0, 0, 2]
    assert embeddings.index_words(list("aabbbcd"), 3).words == ("b", "a", OTHER)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="at least 2"):
        embeddings.index_words(["a"], 1)
    with pytest.raises(ValueError, match="empty"):
        embeddings.index_words([], 5)
