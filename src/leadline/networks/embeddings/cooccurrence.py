"""Counts of words near each other in a text, and what they say about each other."""

import numpy as np
from jaxtyping import Array, Float, Int, Num

Counts = Num[Array | np.ndarray, "v v"]


def window_counts(tokens: Int[np.ndarray, " length"], vocabulary: int, window: int) -> Int[np.ndarray, "v v"]:
    """N[ω, ν]: how often word ν stands within `window` places of word ω, before or after; symmetric.

    >>> window_counts(np.array([0, 1, 2, 1]), 3, 1).tolist()
    [[0, 1, 0], [1, 0, 2], [0, 2, 0]]
    """
    if window < 1 or window >= len(tokens):
        raise ValueError(f"A window of {window} does not fit {len(tokens)} words; choose 1 to {len(tokens) - 1}.")
    counts = np.zeros((vocabulary, vocabulary), dtype=int)
    for distance in range(1, window + 1):
        np.add.at(counts, (tokens[:-distance], tokens[distance:]), 1)
    return counts + counts.T


def conditionals(counts: Counts) -> Float[np.ndarray, "v v"]:
    """P(ν | ω) = N[ω, ν] / Σ_μ N[ω, μ]: the rows of the counts as distributions.

    >>> conditionals(np.array([[1, 3], [2, 2]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    counts = np.asarray(counts, float)
    totals = counts.sum(axis=1, keepdims=True)
    if np.any(totals == 0):
        raise ValueError("A word has no neighbours, so its row has no distribution; leave the word out.")
    return counts / totals


def pointwise_mutual_information(counts: Counts) -> Float[np.ndarray, "v v"]:
    """PMI(ω, ν) = log P(ω, ν) / (P(ω) P(ν)) from pair counts; minus infinity for pairs that never occur.

    >>> pointwise_mutual_information(np.array([[2, 2], [2, 2]])).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    joint = np.asarray(counts, float) / np.sum(counts)
    with np.errstate(divide="ignore"):
        return np.log(joint) - np.log(joint.sum(axis=1, keepdims=True)) - np.log(joint.sum(axis=0, keepdims=True))
