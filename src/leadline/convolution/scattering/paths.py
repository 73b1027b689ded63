"""Paths of a scattering network: which wavelets follow which, and how many there are."""

import math
from itertools import product
from typing import TypeAlias

from leadline._checks import require_counts

Path: TypeAlias = tuple[tuple[int, int], ...]  # ((scale, direction), ...), one pair an order


def scattering_paths(scales: int, angles: int, max_order: int, *, decreasing: bool = True) -> tuple[Path, ...]:
    """All paths up to `max_order`, shorter ones first; with `decreasing`, each wavelet is slower than the one before.

    Scale j has frequency 2⁻ʲ of the highest, so that along such a path j grows.

    >>> len(scattering_paths(3, 8, 2)), len(scattering_paths(3, 8, 2, decreasing=False))
    (217, 601)
    """
    require_counts("scattering_paths", scales=scales, angles=angles)
    require_counts("scattering_paths", least=0, max_order=max_order)
    steps = list(product(range(scales), range(angles)))
    layers: list[list[Path]] = [[()]]
    for _ in range(max_order):
        layers.append([(*p, s) for p in layers[-1] for s in steps if not decreasing or not p or s[0] > p[-1][0]])
    return tuple(path for layer in layers for path in layer)


def path_count(scales: int, angles: int, order: int, *, decreasing: bool = True) -> int:
    r"""Paths of one order: $\binom{J}{m} |G|^m$ of decreasing frequency out of $(J |G|)^m$ (J scales, |G| angles).

    >>> path_count(3, 8, 2), path_count(3, 8, 2, decreasing=False)
    (192, 576)
    """
    require_counts("path_count", scales=scales, angles=angles)
    require_counts("path_count", least=0, order=order)
    return math.comb(scales, order) * angles**order if decreasing else (scales * angles) ** order
