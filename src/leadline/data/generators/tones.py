"""Short tones: sine waves of a few pitches with random phase and noise."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from ..randomness import generator


class Tones(NamedTuple):
    """Waveforms in rows, and the number of the pitch of each."""

    waves: Float[np.ndarray, "n length"]
    labels: Int[np.ndarray, " n"]


def noisy_tones(samples: int, pitches: int = 4, length: int = 64, noise: float = 0.5, *, key: PRNGKeyArray) -> Tones:
    """sin(2π f t/length + phase) + noise N(0, 1), t = 0..length-1, with f one of `pitches` whole numbers from 2 on.

    The frequencies are 2, 4, 6, ...; the phase is uniform, so that the mean wave of every class is zero.

    >>> import jax
    >>> tones = noisy_tones(10, key=jax.random.key(0))
    >>> tones.waves.shape, set(tones.labels) <= {0, 1, 2, 3}
    ((10, 64), True)
    """
    if pitches < 1 or 4 * pitches >= length:
        raise ValueError(f"noisy_tones got {pitches} pitches in {length} points; give 1 to {(length - 1) // 4}.")
    rng = generator(key)
    labels = rng.integers(pitches, size=samples)
    phase = rng.uniform(0, 2 * np.pi, samples)
    time = np.arange(length) / length
    waves = np.sin(2 * np.pi * 2 * (labels[:, None] + 1) * time + phase[:, None])
    return Tones(waves + noise * rng.normal(size=waves.shape), labels)
