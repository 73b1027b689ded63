"""Recurrent networks: training steps of LSTMs against PyTorch, and a long linear recurrence in its ways."""

import numpy as np

from ..harness.case import LEADLINE, Case, Inputs, Side, Work

RATE, BATCH, SAMPLES, EPOCHS = 1e-3, 64, 640, 1
STEPS, INPUTS, UNITS, CLASSES, SYMBOLS = 100, 32, 128, 10, 65
LENGTH, CHANNELS, SEQUENCES = 4096, 64, 8


def labelled_sequences() -> Inputs:
    """Sequences of noise, 32 numbers a step, with labels that mean nothing."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(SAMPLES, STEPS, INPUTS)).astype(np.float32)
    return {**_weights(rng, CLASSES), "x": x, "y": rng.integers(0, CLASSES, SAMPLES).astype(np.int32)}


def characters() -> Inputs:
    """Random characters, each to be predicted from those before it."""
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, SYMBOLS, (SAMPLES, STEPS + 1)).astype(np.int32)
    table = rng.normal(size=(SYMBOLS, INPUTS)).astype(np.float32)
    return {**_weights(rng, SYMBOLS), "table": table, "x": tokens[:, :-1], "y": tokens[:, 1:]}


def _weights(rng: np.random.Generator, outputs: int) -> Inputs:
    """Weights of an LSTM without biases and its head, and the rows of every batch, which `fit` draws alike."""
    import jax

    from leadline.data import epoch_batches

    shapes = {"weight_ih": (4 * UNITS, INPUTS), "weight_hh": (4 * UNITS, UNITS), "head": (outputs, UNITS)}
    found = {name: (rng.normal(size=s) / np.sqrt(s[1])).astype(np.float32) for name, s in shapes.items()}
    rows = [epoch_batches(SAMPLES, BATCH, epoch, key=jax.random.key(1)) for epoch in range(EPOCHS)]
    return {**found, "rows": np.asarray(rows)}


def modes() -> Inputs:
    """Complex channels of modulus 0.95 to 0.999, the same at every step, and what enters them."""
    rng = np.random.default_rng(0)
    gates = rng.uniform(0.95, 0.999, CHANNELS) * np.exp(1j * rng.uniform(0, 2 * np.pi, CHANNELS))
    entering = rng.normal(size=(SEQUENCES, LENGTH, CHANNELS)) + 1j * rng.normal(size=(SEQUENCES, LENGTH, CHANNELS))
    return {"gates": gates.astype(np.complex64), "inputs": entering.astype(np.complex64)}


# Multiplications of a step and sequence, three times: forward, and backward into states and weights.
_STEP = 3 * UNITS * 4 * UNITS + 2 * INPUTS * 4 * UNITS
_EPOCH = SAMPLES * STEPS

_TRAINING = (
    "one product of all gates a step and one of all inputs, as in PyTorch; but the gradient of recurrent weights is "
    "added up step by step, 64 rows at a time, where PyTorch takes it in one product at the end."
)

CASES = [
    Case(
        "Adam step, LSTM of 128 units over 100 steps, batch 64",
        (
            Side(LEADLINE, "benchmarks.recurrent.leadline_lstm", "classifier"),
            Side("PyTorch eager", "benchmarks.recurrent.torch_lstm", "classifier", "torch"),
        ),
        labelled_sequences,
        tolerance=1e-3,
        asked=1.0,
        count=SAMPLES // BATCH,
        work=Work(2.0 * _EPOCH * _STEP),
        reason=_TRAINING,
    ),
    Case(
        "Adam step, LSTM of 128 units that reads 100 characters, batch 64",
        (
            Side(LEADLINE, "benchmarks.recurrent.leadline_lstm", "character_model"),
            Side("PyTorch eager", "benchmarks.recurrent.torch_lstm", "character_model", "torch"),
        ),
        characters,
        tolerance=1e-3,
        asked=1.2,
        count=SAMPLES // BATCH,
        work=Work(2.0 * _EPOCH * (_STEP + INPUTS * 4 * UNITS + 3 * UNITS * SYMBOLS)),
        reason=_TRAINING,
    ),
    Case(
        "linear recurrence of 4096 steps, 8 x 64 complex channels: the way taken here, against the other ones",
        (
            Side(LEADLINE, "benchmarks.recurrent.leadline_recurrence", "states"),
            Side("loop", "benchmarks.recurrent.leadline_recurrence", "states", settings={"by": "loop"}),
            Side("scan", "benchmarks.recurrent.leadline_recurrence", "states", settings={"by": "scan"}),
            Side("convolution", "benchmarks.recurrent.leadline_recurrence", "states", settings={"by": "convolution"}),
        ),
        modes,
        tolerance=1e-4,
        # Every number is read once and written once.
        work=Work(bytes=2 * 8.0 * SEQUENCES * LENGTH * CHANNELS),
        reason="memory: the loop reads and writes every number once, and XLA makes one kernel of its step; a scan does "
        "twice the work and goes over memory several times, which pays where thousands of processors wait.",
    ),
]
