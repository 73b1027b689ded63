"""The layers of a network that change between training and use: their audit, and the scores in each mode."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from leadline._messages import reason
from leadline.frameworks.checks import Refused
from leadline.regularisation.modes.auditing import audit_modes
from leadline.regularisation.modes.modal_networks import BATCH_NORM, DROPOUT, ModalNetwork, modal_network

from ..subject import Subject

ROWS = 512  # test rows whose outputs are compared, and training rows of the audit


class ModalSubject(NamedTuple):
    """A subject's network as the auditor takes it, switched to use; or why it is none."""

    network: ModalNetwork | None
    why: str = ""


class Measured(NamedTuple):
    """The layers with modes by name, the causes that the auditor names, and what each mode does on `rows` rows.

    `shift`, `ratio` and `off`: of the running statistics of each batch normalisation beside those of the training rows:
    |μ_r - μ|/σ and σ_r²/σ² (medians over features), and the share of features off by half a standard deviation or a
    factor of two; `off_new` the same on test rows. `repeat`, `alone`, `gap`: differences, relative to the spread of the
    outputs, of two passes in use, of a row by itself and in its batch, of training and use. `running`, `batch`,
    `training`: accuracy (loss of a regressor) in use, by batch statistics without dropout, and in training.
    `paired`: row by row, the errors (losses) in use less those by batch statistics; None without batch normalisation.
    """

    rows: int
    layers: dict[str, str]
    causes: tuple[str, ...]
    named: tuple[str, ...]
    evidence: tuple[str, ...]
    shift: dict[str, float]
    ratio: dict[str, float]
    off: dict[str, float]
    off_new: dict[str, float]
    repeat: float
    alone: float
    gap: float
    running: float
    batch: float | None
    training: float | None
    paired: np.ndarray | None


def modal_subject(subject: Subject) -> ModalSubject:
    """The network that was given, if its modes can be read and it has any."""
    if subject.given is None:
        return ModalSubject(None, "the modes of a plain function cannot be read")
    try:
        network = modal_network(subject.given).in_use()
        scores = network.run(modal_inputs(subject, subject.train.inputs[:4]), "given").outputs
    except Refused as mistake:
        return ModalSubject(None, _clause(mistake))
    except Exception as error:  # whatever a user's network raises when it is called as its framework does
        return ModalSubject(None, f"the network cannot be run with its modes ({reason(error)})")
    if not network.layers:
        return ModalSubject(None, "no layer of the network changes between training and use")
    if scores.size != 4 * subject.outputs and scores.size != 4:
        return ModalSubject(None, "the outputs that are studied are a part of the network's")
    return ModalSubject(network)


def measure_modes(subject: Subject, key: Any) -> Measured:
    network = subject.shared.modes.network
    rows = (subject.train if subject.test is None else subject.test).first(ROWS)
    train = modal_inputs(subject, subject.train.first(ROWS).inputs)
    new = None if subject.test is None else modal_inputs(subject, rows.inputs)
    audit = audit_modes(network, train, new, batch=subject.past.batch)
    dropouts = tuple(network.named(DROPOUT))
    inputs = modal_inputs(subject, rows.inputs)
    normed = bool(network.named(BATCH_NORM))
    used = _errors(subject, network.run(inputs, "use").outputs, rows.targets)
    batch = (
        _errors(subject, network.run(inputs, "training", without=dropouts).outputs, rows.targets) if normed else None
    )
    trained = _errors(subject, network.run(inputs, "training").outputs, rows.targets) if audit.gap is not None else None
    offsets = {layer.name: layer.train for layer in audit.layers if layer.train is not None}
    return Measured(
        rows=rows.count,
        layers={layer.name: layer.kind for layer in audit.layers},
        causes=tuple(fault.cause for fault in audit.faults),
        named=tuple(", ".join(fault.layers) for fault in audit.faults),
        evidence=tuple(fault.evidence for fault in audit.faults),
        shift={name: o.shift for name, o in offsets.items()},
        ratio={name: o.ratio for name, o in offsets.items()},
        off={name: o.share for name, o in offsets.items()},
        off_new={layer.name: layer.new.share for layer in audit.layers if layer.new is not None},
        repeat=audit.repeat,
        alone=audit.alone,
        gap=0.0 if audit.gap is None else audit.gap,
        running=_told(subject, used),
        batch=None if batch is None else _told(subject, batch),
        training=None if trained is None else _told(subject, trained),
        paired=None if batch is None else used - batch,
    )


def modal_inputs(subject: Subject, inputs: np.ndarray) -> np.ndarray:
    """Rows as the network takes them."""
    arranged = getattr(subject.apply, "apply", subject.apply)
    return np.asarray(arranged.rearranged(inputs)) if hasattr(arranged, "rearranged") else inputs


def _errors(subject: Subject, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """1 for a wrong answer and 0 for a right one, or the loss of each row of a regressor."""
    scores = outputs.reshape(len(outputs), -1)
    if subject.classifies:
        scores = np.pad(scores, ((0, 0), (1, 0))) if scores.shape[1] == 1 else scores
        return (scores.argmax(axis=1) != targets).astype(float)
    return np.asarray(subject.criterion(jnp.asarray(scores), jnp.asarray(targets)), float)


def _told(subject: Subject, errors: np.ndarray) -> float:
    return float(1 - errors.mean()) if subject.classifies else float(errors.mean())


def _clause(error: Exception) -> str:
    text = str(error).split(";")[0].rstrip(".")
    return text[:1].lower() + text[1:]
