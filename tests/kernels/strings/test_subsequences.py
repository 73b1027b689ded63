from itertools import combinations

import numpy as np
import pytest

from leadline import kernels

RNG = np.random.default_rng(0)
WORDS = ["".join(RNG.choice(list("abc"), n)) for n in (1, 3, 5, 7, 8, 4, 6, 2)] + [""]


def enumerated(s: str, t: str, length: int, decay: float) -> float:
    """Straight from the definition: all occurrences of all subsequences."""

    def features(word):
        found = {}
        for places in combinations(range(len(word)), length):
            u = "".join(word[i] for i in places)
            found[u] = found.get(u, 0.0) + decay ** (places[-1] - places[0] + 1)
        return found

    left, right = features(s), features(t)
    return sum(left[u] * right[u] for u in left.keys() & right.keys())


@pytest.mark.parametrize(("length", "decay"), [(1, 0.5), (2, 0.5), (3, 0.8), (4, 1.0)])
def test_the_dynamic_programme_is_the_enumeration(length, decay):
    kernel = kernels.Subsequence(length, decay)
    expected = [[enumerated(s, t, length, decay) for t in WORDS] for s in WORDS]
    np.testing.assert_allclose(kernel(WORDS, WORDS), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(kernel(WORDS, list(WORDS)), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(kernel.diagonal(WORDS), np.diag(expected), rtol=1e-12)


def test_it_composes_with_the_algebra():
    normalised = kernels.Normalised(kernels.Subsequence(2, 0.5))
    assert normalised(["cat"], ["car"])[0, 0] == pytest.approx(1 / 2.25)
    assert normalised([""], ["car"])[0, 0] == 0
    both = kernels.Subsequence(1) + kernels.Subsequence(2)
    np.testing.assert_allclose(
        both(WORDS, WORDS), kernels.Subsequence(1)(WORDS, WORDS) + kernels.Subsequence(2)(WORDS, WORDS)
    )


def test_any_hashable_symbols_are_letters():
    assert kernels.Subsequence(2, 1.0)([(1, "x", 2)], [(1, 2)])[0, 0] == 1


def recursive(s, t):
    if not s or not t:
        return len(s) + len(t)
    return min(recursive(s[1:], t) + 1, recursive(s, t[1:]) + 1, recursive(s[1:], t[1:]) + (s[0] != t[0]))


def test_edit_distances_are_those_of_the_recursion():
    words = [w for w in WORDS if len(w) <= 6]
    assert kernels.edit_distances(words).tolist() == [[recursive(s, t) for t in words] for s in words]
    published = kernels.edit_distances(["this string is interesting"], ["txws sbhtqg is atso iyubqtnhpqg"])
    assert published.tolist() == [[20]]


def test_bad_input_is_said_in_a_sentence():
    with pytest.raises(ValueError, match="list of strings"):
        kernels.edit_distances("abc")
    with pytest.raises(ValueError, match="decay"):
        kernels.Subsequence(2, 1.5)
    with pytest.raises(ValueError, match="length 0"):
        kernels.Subsequence(0)
