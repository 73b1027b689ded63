"""Exponential moving averages of weights: models that are trained no further but steadier than the last one."""

from collections.abc import Sequence

import jax
from jaxtyping import PyTree


def averages_from(decays: Sequence[float], parameters: PyTree) -> tuple[PyTree, ...]:
    """Before the first step every average is the parameters; a decay outside [0, 1) raises ValueError."""
    for decay in decays:
        if not 0 <= decay < 1:
            raise ValueError(f"An average of weights got the decay {decay}; give 0 or more and less than 1.")
    return tuple(parameters for _ in decays)


def averages_after(decays: Sequence[float], averages: tuple[PyTree, ...], parameters: PyTree) -> tuple[PyTree, ...]:
    """a ← d a + (1 - d) θ for each decay d (Polyak and Juditsky 1992 with a memory of about 1/(1 - d) steps).

    >>> averages_after((0.0, 0.75), (1.0, 1.0), 5.0)
    (5.0, 2.0)
    """
    return tuple(
        jax.tree.map(lambda a, theta, d=decay: d * a + (1 - d) * theta, average, parameters)
        for decay, average in zip(decays, averages, strict=True)
    )
