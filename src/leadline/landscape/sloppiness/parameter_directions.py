"""Stiff and sloppy directions in words and deeds: which named parameters carry them, what a step along them changes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from .fisher_spectra import FisherSpectrum


def name_shares(vector: Float[np.ndarray | Array, " p"], names: Sequence[str]) -> dict[str, float]:
    """The share of ‖v‖² that each name carries, largest first; parameters of one name count together.

    >>> name_shares(np.array([0.6, 0.0, 0.8]), ("rate", "rate", "height"))
    {'height': 0.64, 'rate': 0.36}
    """
    v = np.asarray(vector)
    if v.ndim != 1 or len(names) != len(v):
        raise ValueError(f"There are {len(names)} names for a vector of shape {v.shape}; give one for each entry.")
    total = float(v @ v)
    if not total > 0:
        raise ValueError("The vector is zero and has no direction; give one with a nonzero entry.")
    sums: dict[str, float] = {}
    for name, square in zip(names, v * v, strict=True):
        sums[name] = sums.get(name, 0.0) + float(square)
    shares = {name: round(value / total, 12) for name, value in sums.items()}
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def describe_directions(spectrum: FisherSpectrum, count: int = 5, *, parts: int = 3, stiff: bool = True) -> list[str]:
    """One sentence for each of the `count` stiffest (or sloppiest) directions: its λ and the names that carry most.

    >>> from leadline.landscape.sloppiness import fisher_spectrum
    >>> spectrum = fisher_spectrum(np.diag([2.0, 0.1]), names=("rate", "height"))
    >>> describe_directions(spectrum, 1), describe_directions(spectrum, 1, stiff=False)
    (['λ1 = 4: rate 100%'], ['λ2 = 0.01: height 100%'])
    """
    total = len(spectrum.eigenvalues)
    if not 1 <= count <= total:
        raise ValueError(f"There are {total} directions and count = {count}; give 1 to {total}.")
    chosen = range(count) if stiff else range(total - 1, total - 1 - count, -1)
    sentences = []
    for k in chosen:
        shares = list(name_shares(spectrum.vectors[k], spectrum.names).items())[:parts]
        said = ", ".join(f"{name} {share:.0%}" for name, share in shares if share >= 0.005)
        sentences.append(f"λ{k + 1} = {spectrum.eigenvalues[k]:.3g}: {said}")
    return sentences


class Responses(NamedTuple):
    """What a step of norm `norm` along each eigenvector changes: ‖F(w + norm vₖ) − F(w)‖, and norm √(n λₖ)."""

    measured: Float[np.ndarray, " k"]
    predicted: Float[np.ndarray, " k"]


def direction_responses(
    embed: Callable[[Float[np.ndarray, " p"]], Float[np.ndarray | Array, "..."]],
    w: Float[np.ndarray | Array, " p"],
    spectrum: FisherSpectrum,
    norm: float,
    samples: int,
) -> Responses:
    """The change of the predictions F = embed(w) under a step of a given norm along each Fisher eigenvector.

    F must be an isometric embedding of the model: predictions f/σ for Gaussian noise, 2√s for class probabilities
    (`probability_embedding`), not averaged over the n samples. Then the change is norm √(n λₖ) + O(norm²).

    >>> from leadline.landscape.sloppiness import fisher_spectrum, gaussian_root_jacobian
    >>> a = np.array([[1.0, 0.0], [0.0, 0.1]])
    >>> spectrum = fisher_spectrum(gaussian_root_jacobian(a))
    >>> direction_responses(lambda w: a @ w, np.zeros(2), spectrum, 0.5, samples=2).measured.round(12).tolist()
    [0.5, 0.05]
    """
    if not norm > 0:
        raise ValueError(f"The norm of the step is {norm}; give a positive number.")
    w = np.asarray(w)
    here = np.asarray(embed(w))
    steps = (np.asarray(embed(w + norm * v)) - here for v in spectrum.vectors)
    measured = np.array([float(np.linalg.norm(step)) for step in steps])
    return Responses(measured, norm * np.sqrt(samples * spectrum.eigenvalues))


def probability_embedding(logits: Float[np.ndarray | Array, "n classes"]) -> Float[np.ndarray, "n classes"]:
    """2√s, s = softmax(logits): class probabilities as points of a sphere of radius 2, on which the Fisher metric is
    the ordinary one: 4 Σ (d√s)² = Σ (ds)²/s.

    >>> float((probability_embedding(np.array([[0.3, 1.0, -2.0]])) ** 2).sum().round(12))
    4.0
    """
    logits = np.asarray(logits)
    half = np.exp((logits - logits.max(axis=-1, keepdims=True)) / 2)
    return 2 * half / np.linalg.norm(half, axis=-1, keepdims=True)
