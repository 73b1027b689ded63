"""What was found of each layer with a mode: its mode, and its running statistics beside those of the data."""

from typing import NamedTuple

import numpy as np

from .modal_networks import ModalLayer, Statistics

TINY = 1e-5  # beside a variance, as the layers themselves have it
SHARE = 0.25  # of the features that must be off before a layer is


class Offset(NamedTuple):
    """Running statistics beside measured ones: shift |μ_r - μ|/σ and ratio σ_r²/σ² (medians), share of features off.

    A feature is off by half a standard deviation or a factor of two in the variance.
    """

    shift: float
    ratio: float
    share: float
    spread: float  #: interquartile range of the ratio over its median

    @property
    def off(self) -> bool:
        """Whether a quarter of the features or more are."""
        return self.share >= SHARE


class LayerFinding(NamedTuple):
    """A layer: `seen` batches (None where not counted), whether training updates it, and its statistics' offsets."""

    name: str
    kind: str
    active: bool  #: in the mode of training as it was given
    seen: int | None = None
    moves: bool | None = None
    train: Offset | None = None  #: against the training inputs
    new: Offset | None = None  #: against new inputs


def offset(running: Statistics, measured: Statistics) -> Offset:
    """How far running statistics are from measured ones.

    >>> one = np.ones(4)
    >>> offset(Statistics(0 * one, one), Statistics(one, one)).shift.__round__(3)
    1.0
    """
    variance = measured.variance + TINY
    shift = np.abs(running.mean - measured.mean) / np.sqrt(variance)
    ratio = (running.variance + TINY) / variance
    low, middle, high = np.quantile(ratio, [0.25, 0.5, 0.75])
    share = np.mean((shift > 0.5) | (ratio > 2) | (ratio < 0.5))
    return Offset(float(np.median(shift)), float(middle), float(share), float((high - low) / middle))


def finding(
    layer: ModalLayer, running: Statistics | None, train: Statistics | None, new: Statistics | None, moves: bool | None
) -> LayerFinding:
    """The finding of a layer from its statistics, as far as there are any."""
    if running is None:
        return LayerFinding(layer.name, layer.kind, layer.active)
    initial = not running.mean.any() and bool((running.variance == 1).all())
    return LayerFinding(
        layer.name,
        layer.kind,
        layer.active,
        0 if initial else running.seen,
        moves,
        None if train is None else offset(running, train),
        None if new is None else offset(running, new),
    )
