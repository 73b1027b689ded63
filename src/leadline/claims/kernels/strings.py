"""Strings: the kernel of common subsequences, and edit distance, which makes none."""

from itertools import combinations, product
from typing import Annotated

import numpy as np

from leadline import data, kernel_machines, kernels
from leadline.evidence import (
    Range,
    at_least,
    at_most,
    claim,
    close,
    exactly,
    figure,
    frequency,
    model,
    printed,
)


@model(
    "subsequence-kernel",
    says=(
        "Strings are compared by the subsequences of length k they share, gaps allowed, each occurrence weighted by "
        "λ to the power of the stretch it covers. A dynamic programme sums over all of them in O(k |s| |t|); "
        "normalisation takes out the lengths."
    ),
    formula=r"K_k(s, t) = \sum_{u \in \Sigma^k} \varphi_u(s)\, \varphi_u(t), \quad "
    r"\varphi_u(s) = \sum_{i:\, s[i] = u} \lambda^{i_k - i_1 + 1}",
    sources=("penn",),
    shows=("kernels.Subsequence", "kernels.Normalised"),
)
def subsequence_kernel(
    key,
    length: Annotated[int, Range(1, 4)] = 3,
    decay: Annotated[float, Range(0.1, 1.0)] = 0.5,
    lines: Annotated[int, Range(20, 120)] = 50,
):
    """Enumeration on short strings; two topics of Python's own documentation, told apart line by line."""
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
    hunted = kernels.hunt(
        kernel, lambda r: "".join(r.choice(list("abc"), r.integers(1, 7))), key=key, trials=400, seconds=600
    )
    yield exactly(hunted.refuted, False, "refuted by the hunter")

    texts, labels = _two_topics(lines, rng)
    train, test = np.arange(0, 2 * lines, 2), np.arange(1, 2 * lines, 2)
    gram = kernels.Normalised(kernels.Subsequence(length, decay))(texts, texts)
    yield at_least(kernels.spectrum(gram).least, 0.0, "least eigenvalue of the lines", atol=1e-12 * len(texts))
    alphabet = sorted(set("".join(texts)))
    letters = np.array([[text.count(a) for a in alphabet] for text in texts], float)
    letters /= np.linalg.norm(letters, axis=1, keepdims=True)
    right = {
        "subsequences": _right(gram, labels, train, test),
        "letters": _right(letters @ letters.T, labels, train, test),
    }
    yield frequency(
        list(right.values()),
        len(test),
        0.5,
        "test lines told apart, by subsequences and by letter counts",
        side="at least",
    )
    order = np.argsort(labels, kind="stable")
    shares = {name: count / len(test) for name, count in right.items()}
    yield figure.heatmap(
        f"Lines of two topics: perceptron accuracy {shares['subsequences']:.2f} by subsequences of length {length}, "
        f"{shares['letters']:.2f} by letter counts",
        x=f"line (0 to {lines - 1}: compound statements, then: the debugger)",
        y="line",
        values=gram[np.ix_(order, order)],
        colour="normalised k",
    )


@claim(
    "edit-distance-is-not-a-kernel",
    says=(
        "Edit distance d is a metric, but exp(−γd) and 1 − d/maxlen have negative Gram eigenvalues on short binary "
        "strings: as kernels they need repair (clipping or shifting the spectrum), or the subsequence kernel instead."
    ),
    formula=r"\lambda_{\min}\big(e^{-0.1\, d(s_i, s_j)}\big) = -0.0258 \text{ on } \{a, ab, ba, bb, aba\}",
    sources=("penn",),
)
def edit_distance_is_not_a_kernel(
    key,
    gamma: Annotated[float, Range(0.02, 1.0, log=True)] = 0.1,
):
    """All 62 binary strings of length 1 to 5, the certificate of five, the repairs, and the hunter."""
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
    yield at_most(
        [s.least for s in spectra.values()], [-s.rounding for s in spectra.values()], "least eigenvalues, all strings"
    )
    stated = [np.exp(-0.1 * d), np.exp(-d), similar["1 − d/maxlen"]]
    yield close(
        [kernels.spectrum(G).least for G in stated],
        [-0.19094137, -0.12386063, -0.84098316],
        "least eigenvalues: γ = 0.1, γ = 1, 1 − d/maxlen",
        atol=1e-8,
    )
    five = ["a", "ab", "ba", "bb", "aba"]
    least = kernels.spectrum(kernels.edit_similarity(five, five, gamma=0.1)).least
    yield close(least, -0.02578153564722, "least eigenvalue of {a, ab, ba, bb, aba}, γ = 0.1", atol=1e-13)
    yield printed(
        at_least(least, 0.0, "least eigenvalue on the five strings"),
        "penn",
        "small edit distance as an example of a kernel",
    )
    repaired = [repair(G) for G in similar.values() for repair in (kernels.nearest_kernel, kernels.shifted_kernel)]
    subsequences = kernels.Subsequence(2, 0.5)(strings, strings)
    checked = [kernels.spectrum(G) for G in [*repaired, subsequences]]
    yield at_least(
        [s.least for s in checked], [-s.rounding for s in checked], "least eigenvalue, clipped, shifted, subsequences"
    )
    hunted = kernels.hunt(
        lambda s, t: float(np.exp(-0.1 * kernels.edit_distances([s], [t])[0, 0])),
        lambda r: "".join(r.choice(["a", "b"], r.integers(1, 6))),
        key=key,
        seconds=60,
    )
    yield exactly(hunted.refuted, True, "refuted by the hunter, γ = 0.1")
    yield at_most(len(hunted.points), 8, "strings in its certificate")
    index = np.arange(1, 41)
    shown = ", ".join(hunted.points)
    yield figure.curves(
        f"exp(−{gamma:g} d) has the eigenvalue {spectra[f'exp(−{gamma:g} d)'].least:.3f} on 62 strings; at γ = 0.1 "
        f"{{{shown}}} give {hunted.value:.4f}",
        x="index, from the least; the 40 lowest of 62",
        y="eigenvalue",
        points={name: (index, s.eigenvalues[:40]) for name, s in spectra.items()},
        rules={"0": ("y", 0.0)},
    )


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
    run = kernel_machines.kernel_perceptron(
        lambda a, b: gram[np.ix_(a[:, 0].astype(int), b[:, 0].astype(int))],
        train[:, None].astype(float), labels[train], epochs=30,
    )  # fmt: skip
    scores = gram[np.ix_(test, train)] @ (run.mistakes * labels[train])
    return int(np.sum(np.where(scores > 0, 1, -1) == labels[test]))
