"""A network whose layers have modes, as the auditor asks it: its layers, its outputs in each mode, its statistics."""

from abc import ABC, abstractmethod
from typing import Any, Literal, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from leadline.frameworks.checks import Refused, is_of, kind_of
from leadline.frameworks.with_state import WithState

Mode = Literal["given", "use", "training"]
DROPOUT, BATCH_NORM = "dropout", "batch normalisation"


class ModalLayer(NamedTuple):
    """A layer that changes between training and use; `active` if it is in the mode of training as it was given."""

    name: str
    kind: str
    active: bool


class Statistics(NamedTuple):
    """Mean and variance of each feature, and of how many batches (None where that is not counted)."""

    mean: Float[np.ndarray, " features"]
    variance: Float[np.ndarray, " features"]
    seen: int | None = None


class Pass(NamedTuple):
    """One pass: the outputs, and what each normalisation saw, where the pass updated its running statistics."""

    outputs: np.ndarray
    batch: dict[str, Statistics | None]


class ModalNetwork(ABC):
    """What the auditor needs of a network."""

    layers: tuple[ModalLayer, ...]

    @abstractmethod
    def run(self, inputs: np.ndarray, mode: Mode, draw: int = 0, without: tuple[str, ...] = ()) -> Pass:
        """A pass in a mode with the random numbers of `draw`, dropout layers `without` left out."""

    @abstractmethod
    def running(self) -> dict[str, Statistics]:
        """The running statistics of each batch normalisation, as it uses them."""

    @abstractmethod
    def in_use(self) -> "ModalNetwork":
        """The same network switched to use, as its framework does it."""

    def named(self, kind: str) -> list[str]:
        """The layers of one kind."""
        return [layer.name for layer in self.layers if layer.kind == kind]


def modal_network(model: Any) -> ModalNetwork:
    """An Equinox module or (module, state), a network of a recipe, a Flax NNX module, or (Linen module, variables).

    >>> [layer.kind for layer in modal_network(eqx.nn.Dropout(0.5)).layers]
    ['dropout']
    """
    from .equinox_networks import EquinoxNetwork
    from .flax_networks import LinenNetwork, NnxNetwork

    if isinstance(model, ModalNetwork):
        return model
    if isinstance(model, WithState):
        return EquinoxNetwork(model.network, model.state).in_use()
    network, given = model if isinstance(model, tuple) and len(model) == 2 else (model, None)
    if isinstance(network, eqx.Module) and (given is None or isinstance(given, eqx.nn.State)):
        return EquinoxNetwork(network, given)
    if is_of(network, "flax.nnx"):
        return NnxNetwork(network)
    if is_of(network, "flax.linen"):
        return LinenNetwork(network, given)
    raise Refused(
        f"The model is {kind_of(network)}, whose modes cannot be read; give an Equinox module or (module, state), a "
        "Flax NNX module, or a Flax Linen module with its variables."
    )


def batch_statistics(old: Statistics, new: Statistics, momentum: float) -> Statistics | None:
    """What a batch had, from running statistics r before and after r' = ρ r + (1 - ρ) s; None where r' = r."""
    if momentum >= 1 or (np.array_equal(old.mean, new.mean) and np.array_equal(old.variance, new.variance)):
        return None
    mean, variance = ((b - momentum * a) / (1 - momentum) for a, b in zip(old[:2], new[:2], strict=True))
    return Statistics(mean, np.maximum(variance, 0))
