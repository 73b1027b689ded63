"""The network that the trials of `leadline landscape` look at, with its data and its loss."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, PyTree

BATCH = 256  # rows of a product at a time: its memory stays below that of one gradient of all rows


class NetworkAtPoint(NamedTuple):
    """A network where it stands: losses(network, inputs, labels) gives one loss per row, outputs(network, inputs) its
    outputs, criterion(outputs, labels) the mean loss; `rate` is the step size it was trained with by plain gradient
    descent, if it was."""

    network: PyTree
    losses: Callable[..., Array]
    outputs: Callable[..., Array]
    criterion: Callable[..., Array]
    inputs: np.ndarray
    labels: np.ndarray
    rate: float | None = None
    batch: int = BATCH
