"""Strings: the kernel of common subsequences, and edit distance, which makes none."""

from functools import partial
from itertools import combinations, product

import numpy as np

from leadline import data, kernels
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, frequency, model, reference
from leadline.kernels import machines
from leadline.kernels.validity.positivity import shifted_kernel
from leadline.presentation import figure


@model(sources=("penn",))
def subsequence_kernel(key, length: Int(1, 4) = 3, decay: Real(0.1, 1.0) = 0.5, lines: Int(20, 120) = 50):
    r"""String subsequence kernel.

    Strings are compared by the subsequences of length k they share, gaps allowed, each occurrence weighted by λ to the
    power of the length of the stretch it covers. A dynamic programme sums over all of them in O(k |s| |t|);
    normalisation removes the effect of the lengths.

    $$K_k(s, t) = \sum_{u \in \Sigma^k} \varphi_u(s)\, \varphi_u(t), \quad \varphi_u(s) = \sum_{i:\, s[i] = u}
    \lambda^{i_k - i_1 + 1}$$

    Check: Short strings are checked by enumeration; then two topics of Python's own documentation are told apart line
    by line.
    """
    rng = data.generator(key)
    words = ["".join(rng.choice(list("abc"), size)) for size in rng.integers(0, 9, 12)]
    kernel = kernels.Subsequence(length, decay)
    gram = kernel(words, words)
    listed = [_occurrences(w, length, decay) for w in words]
    summed = [[sum(a[u] * b[u] for u in a.keys() & b.keys()) for b in listed] for a in listed]
    yield close(gram, summed, "dynamic programme against enumeration", atol=1e-12 * max(np.max(summed), 1.0))
    two = kernels.Subsequence(2, decay)
    cat = two(["cat"], ["car", "cat"])[0]
    yield close(cat, [decay**4, 2 * decay**4 + decay**6], "K₂(cat, car), K₂(cat, cat)", rtol=1e-12)
    normalised = kernels.Normalised(two)(["cat"], ["car"])[0, 0]
    yield close(normalised, 1 / (2 + decay**2), "normalised K₂(cat, car), against 1/(2 + λ²)", rtol=1e-12)
    hunted = kernels.hunt(kernel, lambda r: _word(r, "abc", 7), key=key, trials=400, seconds=600)
    yield exactly(hunted.refuted, False, "the subsequence kernel is refuted by the hunter")
    texts, labels = _two_topics(lines, rng)
    train, test = np.arange(0, 2 * lines, 2), np.arange(1, 2 * lines, 2)
    gram = kernels.Normalised(kernel)(texts, texts)
    least = kernels.spectrum(gram).least
    yield at_least(least, 0.0, "least eigenvalue of the Gram matrix of the lines", atol=1e-12 * len(texts))
    alphabet = sorted(set("".join(texts)))
    letters = np.array([[text.count(a) for a in alphabet] for text in texts], float)
    letters /= np.linalg.norm(letters, axis=1, keepdims=True)
    grams = {"subsequences": gram, "letters": letters @ letters.T}
    right = {name: _right(G, labels, train, test) for name, G in grams.items()}
    what = "test lines told apart, by subsequences and by letter counts"
    yield frequency(list(right.values()), len(test), 0.5, what, side="at least")
    order = np.argsort(labels, kind="stable")
    shares = {name: count / len(test) for name, count in right.items()}
    found = f"{shares['subsequences']:.2f} by subsequences of length {length}, {shares['letters']:.2f} by letter counts"
    title, ordered = f"Lines of two topics: perceptron accuracy {found}", gram[np.ix_(order, order)]
    axis = f"line (0 to {lines - 1}: compound statements, then: the debugger)"
    yield figure.heatmap(title, axis, "line", values=ordered, colour="normalised k")


@claim(sources=("penn",))
def edit_distance_is_not_a_kernel(key, gamma: Real(0.02, 1.0, log=True) = 0.1):
    r"""Edit distance gives no kernel.

    Edit distance d is a metric, but $e^{-\gamma d}$ and 1 − d/maxlen have negative Gram eigenvalues on short binary
    strings: to serve as kernels they need repair (clipping or shifting the spectrum), or the subsequence kernel is
    used instead.

    $$\lambda_{\min}\big(e^{-0.1\, d(s_i, s_j)}\big) = -0.0258 \text{ on } \{a, ab, ba, bb, aba\}$$

    Check: All 62 binary strings of length 1 to 5 are used, the certificate of five strings, the repairs, and the
    search for counterexamples.
    """
    strings = ["".join(w) for size in range(1, 6) for w in product("ab", repeat=size)]
    d = kernels.edit_distances(strings)
    yield exactly(d, d.T, "d(s, t) against d(t, s)")
    yield exactly(d == 0, np.eye(len(d), dtype=bool), "d = 0 only for equal strings")
    yield at_most(d[:, None, :], d[:, :, None] + d[None, :, :], "d(s, u) against d(s, t) + d(t, u), all triples")
    published = kernels.edit_distances(["this string is interesting"], ["txws sbhtqg is atso iyubqtnhpqg"])
    yield exactly(published, 20, "distance of the two sentences")
    similar = {
        f"exp(−{gamma:g} d)": np.exp(-gamma * d),
        "1 − d/maxlen": kernels.relative_edit_similarity(strings, strings),
    }
    spectra = {name: kernels.spectrum(G) for name, G in similar.items()}
    least, rounding = zip(*((s.least, -s.rounding) for s in spectra.values()), strict=True)
    yield at_most(least, rounding, f"least eigenvalues of {' and '.join(similar)} on all 62 strings, against rounding")
    stated = [kernels.spectrum(G).least for G in (np.exp(-0.1 * d), np.exp(-d), similar["1 − d/maxlen"])]
    what = "least eigenvalues on 62 strings: γ = 0.1, γ = 1, 1 − d/maxlen"
    yield reference(stated, [-0.19094137, -0.12386063, -0.84098316], what, digits=8)
    five = ["a", "ab", "ba", "bb", "aba"]
    least = kernels.spectrum(kernels.edit_similarity(five, five, gamma=0.1)).least
    yield reference(least, -0.02578153564722, "least eigenvalue of {a, ab, ba, bb, aba}, γ = 0.1", digits=12)
    repaired = [repair(G) for G in similar.values() for repair in (kernels.nearest_kernel, shifted_kernel)]
    subsequences = kernels.Subsequence(2, 0.5)(strings, strings)
    checked = [kernels.spectrum(G) for G in [*repaired, subsequences]]
    least, rounding = zip(*((s.least, -s.rounding) for s in checked), strict=True)
    yield at_least(least, rounding, "least eigenvalue of clipped, shifted and subsequence kernels, against rounding")
    similarity = partial(kernels.edit_similarity, gamma=0.1)
    hunted = kernels.hunt(similarity, lambda r: _word(r, "ab", 6), key=key, seconds=60, of_lists=True)
    yield at_most(hunted.value, 0.0, "c·Gc of the certificate that the hunter finds, γ = 0.1", strict=True)
    yield at_most(len(hunted.points), 8, "strings in the hunter's certificate")
    index, name = np.arange(1, 41), f"exp(−{gamma:g} d)"
    found = f"at γ = 0.1 {{{', '.join(hunted.points)}}} give {hunted.value:.4f}"
    title = f"{name} has the eigenvalue {spectra[name].least:.3f} on 62 strings; {found}"
    axis, rules = "index, from the least; the 40 lowest of 62", {"0": ("y", 0.0)}
    points = {name: (index, s.eigenvalues[:40]) for name, s in spectra.items()}
    yield figure.curves(title, axis, "eigenvalue", points=points, rules=rules)


def _word(rng: np.random.Generator, letters: str, below: int) -> str:
    return "".join(rng.choice(list(letters), rng.integers(1, below)))


def _occurrences(word: str, length: int, decay: float) -> dict[tuple[str, ...], float]:
    """φ_u(s) for every subsequence u of s, by listing all places."""
    found: dict[tuple[str, ...], float] = {}
    for places in combinations(range(len(word)), length):
        u = tuple(word[i] for i in places)
        found[u] = found.get(u, 0.0) + decay ** (places[-1] - places[0] + 1)
    return found


def _two_topics(lines: int, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Lines of prose from two topics of the documentation that comes with Python, mixed; labels −1 and +1."""
    from pydoc_data.topics import topics

    chosen = []
    for topic in ("compound", "debugger"):
        prose = [" ".join(line.split()) for line in topics[topic].lower().splitlines()]
        prose = sorted({line for line in prose if 30 <= len(line) <= 72 and line[0].isalpha()})
        chosen.append([prose[i] for i in rng.choice(len(prose), lines, replace=False)])
    texts = [text for topic in chosen for text in topic]
    order = rng.permutation(2 * lines)
    return [texts[i] for i in order], np.where(order < lines, -1.0, 1.0)


def _right(gram: np.ndarray, labels: np.ndarray, train: np.ndarray, test: np.ndarray) -> int:
    """Test lines classified rightly by a kernel perceptron after at most 30 sweeps."""
    part = gram[np.ix_(train, train)]
    rows = train[:, None].astype(float)
    run = machines.kernel_perceptron(kernels.Linear(), rows, labels[train], gram=part, epochs=30)
    scores = gram[np.ix_(test, train)] @ (run.mistakes * labels[train])
    return int(np.sum(np.where(scores > 0, 1, -1) == labels[test]))
