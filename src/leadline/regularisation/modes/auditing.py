"""The train/eval auditor: what changes between training and use, and the named cause of what goes wrong with it."""

from typing import Any, NamedTuple

import numpy as np

from leadline._checks import require_counts

from .causes import Fault, Observed, named_faults
from .layer_findings import LayerFinding, finding
from .modal_networks import BATCH_NORM, DROPOUT, ModalNetwork, Pass, Statistics, modal_network

ROWS = 512  # that are looked at
ALONE = 4  # rows that are also passed one by one


class ModeAudit(NamedTuple):
    """Layers with modes, the faults that were found, and the measurements, each relative to the spread of the outputs.

    `repeat`: between two passes of the network as it was given. `gap`: between training and use. `alone`: between a
    row by itself and in its batch (infinite where a batch of one is not taken).
    """

    layers: tuple[LayerFinding, ...]
    faults: tuple[Fault, ...]
    repeat: float
    gap: float | None
    alone: float

    @property
    def cause(self) -> str:
        """The first fault's name; empty where nothing is wrong."""
        return self.faults[0].cause if self.faults else ""


def audit_modes(
    model: Any, inputs: np.ndarray, new_inputs: np.ndarray | None = None, *, batch: int | None = None
) -> ModeAudit:
    """Which layers of a network change between training and use, and what is wrong with them, by name.

    `model` is the network as it is used: an Equinox module after `eqx.nn.inference_mode`, or (module, state); a Flax
    NNX module after `.eval()`; a Linen module with its variables; the network of a recipe. `inputs` are a few hundred
    training inputs, `new_inputs` those it meets in use, `batch` the number of examples to a batch in training. It is
    run twice as given, in training mode, in use, and row by row; running statistics are compared with those of the
    inputs. Causes are `dropout left on`, `batch statistics left on`, `mode forgotten in one branch`, `wrong axis`,
    `frozen buffers`, `stale statistics`, `tiny batch` and `domain shift`, each with the layers and the evidence.

    >>> import equinox as eqx, jax
    >>> net = eqx.nn.Sequential([eqx.nn.Linear(3, 2, key=jax.random.key(0)), eqx.nn.Dropout(0.5)])
    >>> x = np.random.default_rng(0).normal(size=(50, 3))
    >>> audit_modes(net, x).cause, audit_modes(eqx.nn.inference_mode(net), x).cause
    ('dropout left on', '')
    """
    network = modal_network(model)
    if batch is not None:
        require_counts("audit_modes", batch=batch)
    x = _rows("inputs", inputs)
    new = None if new_inputs is None else _rows("new_inputs", new_inputs)
    try:
        given = network.run(x, "given")
        again = network.run(x, "given", draw=1)
    except (ValueError, NameError) as error:
        if "ax" not in str(error):
            raise
        return ModeAudit((), (Fault("wrong axis", (), f"the network in use fails: {_first_line(error)}"),), 0, None, 0)
    scale = float(np.sqrt(np.mean(np.var(given.outputs, axis=0)))) or 1.0
    dropouts = tuple(network.named(DROPOUT))
    observed = _trained(network, x, dropouts)
    trained, quiet = observed
    running = network.running()
    shifted = None if new is None or trained is None else network.run(new, "training")
    seen = {} if trained is None else _of_batch(network, x, trained, running)
    layers = tuple(
        finding(
            layer,
            running.get(layer.name),
            seen.get(layer.name),
            None if shifted is None else shifted.batch.get(layer.name),
            None if layer.name not in running else seen.get(layer.name) is not None,
        )
        for layer in network.layers
    )
    repeat = _distance(given.outputs, again.outputs, scale)
    alone = _alone(network, x, given.outputs, scale)
    told = Observed(
        layers=layers,
        repeat=repeat,
        alone=alone,
        random=_random(network, x, dropouts, scale) if repeat > 0 else (),
        moved=tuple(name for name, statistics in given.batch.items() if statistics is not None),
        trains=trained is not None,
        coupled=None if quiet is None else _coupled(network, x, quiet, dropouts, scale),
        noise=None if quiet is None or batch is None else _noise(network, x, quiet, dropouts, batch, scale),
        batch=batch,
    )
    gap = None if trained is None else _distance(trained.outputs, network.run(x, "use").outputs, scale)
    return ModeAudit(layers, named_faults(told), repeat, gap, alone)


def _trained(network: ModalNetwork, x: np.ndarray, dropouts: tuple[str, ...]) -> tuple[Pass | None, Pass | None]:
    """A pass in training with dropout and one without; None where the network cannot be trained on this batch."""
    try:
        return network.run(x, "training"), network.run(x, "training", without=dropouts)
    except (ValueError, NameError, TypeError):
        return None, None


def _of_batch(
    network: ModalNetwork, x: np.ndarray, trained: Pass, running: dict[str, Statistics]
) -> dict[str, Statistics | None]:
    """The statistics of the batch by layer; None for a layer that does not follow them.

    Running statistics that are exactly those of these rows stay as they are; with one row changed they move.
    """
    seen = {name: trained.batch.get(name) for name in running}
    if all(seen.values()):
        return seen
    other = network.run(np.concatenate([x[:1], x[:-1]]), "training").batch
    return {name: found or (running[name] if other.get(name) else None) for name, found in seen.items()}


def _rows(name: str, inputs: Any) -> np.ndarray:
    x = np.asarray(inputs)
    if x.ndim == 0 or len(x) < 2:
        raise ValueError(f"audit_modes got {name} of shape {x.shape}; give two rows or more, better some hundred.")
    return x[:ROWS]


def _distance(a: np.ndarray, b: np.ndarray, scale: float) -> float:
    return float(np.sqrt(np.mean((a - b) ** 2)) / scale)


def _alone(network: ModalNetwork, x: np.ndarray, outputs: np.ndarray, scale: float) -> float:
    """Rows by themselves against the same rows in their batch."""
    try:
        single = [network.run(x[i : i + 1], "given").outputs[0] for i in range(ALONE)]
    except (ValueError, TypeError):  # a layer that takes only the batch it was made for
        return float("inf")
    return _distance(np.stack(single), outputs[:ALONE], scale)


def _random(network: ModalNetwork, x: np.ndarray, dropouts: tuple[str, ...], scale: float) -> tuple[str, ...]:
    """The dropout layers that draw: those without which, of all, the outputs still change."""
    found = []
    for name in dropouts:
        others = tuple(other for other in dropouts if other != name)
        first, second = (network.run(x, "given", draw, others).outputs for draw in (0, 1))
        if _distance(first, second, scale) > 0:
            found.append(name)
    return tuple(found)


def _coupled(network: ModalNetwork, x: np.ndarray, quiet: Pass, dropouts: tuple[str, ...], scale: float) -> bool:
    """Whether, in training, a row's output changes with the other rows."""
    other = x.copy()
    other[1:] = x[1]
    moved = network.run(other, "training", without=dropouts).outputs
    return _distance(moved[:1], quiet.outputs[:1], scale) > 1e-6


def _noise(
    network: ModalNetwork, x: np.ndarray, quiet: Pass, dropouts: tuple[str, ...], batch: int, scale: float
) -> float | None:
    """How far outputs by the statistics of batches this small are from those by all rows; None where it fails."""
    if not network.named(BATCH_NORM):
        return None
    parts = range(0, min(len(x), 32 * batch) - batch + 1, batch)
    try:
        small = [network.run(x[i : i + batch], "training", without=dropouts).outputs for i in parts]
    except ValueError:  # a batch of one
        return float("inf")
    return _distance(np.concatenate(small), quiet.outputs[: len(parts) * batch], scale)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")
