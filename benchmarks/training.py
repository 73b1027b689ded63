"""Training speed against PyTorch on the CPU: the same model, batch and precision, repetitions taken in turn.

    python -m pip install torch==2.13.0      (a CPU build; it is not a dependency of Leadline)
    python benchmarks/training.py [--repetitions 7] [--json FILE]

Each case trains the same network for a fixed number of steps with the same rule (Adam, float32). PyTorch runs both as
it is (eager) and under `torch.compile`; the faster of the two counts. Compilation is not timed on either side. The
table has medians, and the ratio of PyTorch's to Leadline's: above 1, Leadline is faster.
"""

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import optax
import torch

from leadline.networks import MLP
from leadline.training import fit, fit_many

RATE = 1e-3


def regression(samples: int, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """A smooth target on normal inputs."""
    x = np.random.default_rng(0).normal(size=(samples, inputs)).astype(np.float32)
    return x, np.sin(x.sum(axis=1)).astype(np.float32)


def classification(samples: int, inputs: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise with labels: speed does not depend on what is learnt."""
    rng = np.random.default_rng(0)
    return rng.random((samples, inputs), dtype=np.float32), rng.integers(0, classes, samples).astype(np.int32)


def leadline_run(widths: tuple[int, ...], data: tuple, loss: str, batch: int, epochs: int) -> Callable[[], None]:
    """`fit` on the whole problem; the model, data and rule are made once, so that only the first call compiles."""
    net, rule, key = MLP(widths, key=jax.random.key(0), dtype=np.float32), optax.adam(RATE), jax.random.key(1)

    def run() -> None:
        fit(net, data, optimiser=rule, epochs=epochs, batch=batch, loss=loss, key=key)

    return run


def leadline_many(nets: int, widths: tuple[int, ...], data: tuple, batch: int, epochs: int) -> Callable[[], None]:
    """`fit_many` on `nets` networks of different seeds."""
    models = [MLP(widths, key=jax.random.key(seed), dtype=np.float32) for seed in range(nets)]
    rule, key = optax.adam(RATE), jax.random.key(1)

    def run() -> None:
        fit_many(models, data, optimiser=rule, epochs=epochs, batch=batch, loss="squared", key=key)

    return run


def torch_network(widths: tuple[int, ...]) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    for inputs, outputs in itertools.pairwise(widths):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def torch_run(
    widths: tuple[int, ...], data: tuple, loss: str, batch: int, epochs: int, *, compiled: bool
) -> Callable[[], None]:
    """The usual loop: shuffle, slice, forward, backward, Adam step; the data are tensors in memory, no loader."""
    x = torch.from_numpy(data[0])
    y = torch.from_numpy(data[1]).long() if loss == "cross-entropy" else torch.from_numpy(data[1])
    criterion = torch.nn.functional.cross_entropy if loss == "cross-entropy" else torch.nn.functional.mse_loss
    network = torch_network(widths)

    def objective(inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        outputs = network(inputs)
        return criterion(outputs if loss == "cross-entropy" else outputs[:, 0], targets)

    called = torch.compile(objective) if compiled else objective
    rule = torch.optim.Adam(network.parameters(), lr=RATE, fused=True)

    def run() -> None:
        for _ in range(epochs):
            order = torch.randperm(len(x))
            for begin in range(0, len(x) - batch + 1, batch):
                rows = order[begin : begin + batch]
                rule.zero_grad(set_to_none=True)
                called(x[rows], y[rows]).backward()
                rule.step()

    return run


def measure(rivals: dict[str, Callable[[], None]], repetitions: int) -> dict[str, float]:
    """Median seconds of each, taken in turn so that a slow moment of the machine meets all of them."""
    for run in rivals.values():
        run()
        run()
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(repetitions):
        for name, run in rivals.items():
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in seconds.items()}


def single(widths: tuple[int, ...], data: tuple, loss: str, batch: int, epochs: int) -> dict[str, Callable[[], None]]:
    return {
        "leadline": leadline_run(widths, data, loss, batch, epochs),
        "torch eager": torch_run(widths, data, loss, batch, epochs, compiled=False),
        "torch compiled": torch_run(widths, data, loss, batch, epochs, compiled=True),
    }


def sequential(nets: int, one: Callable[[], None]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(nets):
            one()

    return run


def cases() -> dict[str, tuple[dict[str, Callable[[], None]], int, float]]:
    """Name -> the rivals, the steps each makes, and the ratio asked for."""
    small, mnist_like = regression(12_800, 2), classification(12_800, 784, 10)
    many, nets = regression(1_280, 2), 64
    widths = (2, 64, 64, 1)
    one = {c: torch_run(widths, many, "squared", 128, 10, compiled=c) for c in (False, True)}
    return {
        "2-64-64-1, batch 128": (single(widths, small, "squared", 128, 20), 2000, 5.0),
        "784-512-512-10, batch 128": (single((784, 512, 512, 10), mnist_like, "cross-entropy", 128, 4), 400, 1.0),
        f"{nets} networks 2-64-64-1, batch 128": (
            {
                "leadline": leadline_many(nets, widths, many, 128, 10),
                "torch eager": sequential(nets, one[False]),
                "torch compiled": sequential(nets, one[True]),
            },
            100 * nets,
            5.0,
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name, (rivals, steps, asked) in cases().items():
        seconds = measure(rivals, arguments.repetitions)
        rival = min(value for who, value in seconds.items() if who != "leadline")
        ratio = rival / seconds["leadline"]
        per_step = {who: 1e6 * value / steps for who, value in seconds.items()}
        rows.append({"case": name, "microseconds_per_step": per_step, "ratio": ratio, "asked": asked})
        shown = ", ".join(f"{who} {value:.1f} µs" for who, value in per_step.items())
        print(f"{name}: {shown} per step; ratio {ratio:.2f} (asked: {asked:.1f})", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
