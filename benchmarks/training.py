"""Training speed against PyTorch on the CPU: the same model, batch and precision, repetitions taken in turn.

    python -m pip install torch==2.13.0      (a CPU build; it is not a dependency of Leadline)
    python benchmarks/training.py [--repetitions 7] [--json FILE]

Each case trains the same network for a fixed number of steps with the same rule (Adam, float32). PyTorch runs both as
it is (eager) and under `torch.compile`; the faster of the two counts. Every rival has a process of its own, which waits
while the others run, so that no library's threads disturb another's. Compilation is not timed on either side. The table
has medians, and the ratio of PyTorch's to Leadline's: above 1, Leadline is faster.
"""

import argparse
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from in_turn import measure

RATE, BATCH = 1e-3, 128


class Problem(NamedTuple):
    """What is trained: a network of these widths on so many examples, for so many epochs, one or many at a time."""

    widths: tuple[int, ...]
    loss: str
    samples: int
    epochs: int
    networks: int = 1

    @property
    def steps(self) -> int:
        return self.epochs * (self.samples // BATCH) * self.networks

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Random inputs; a smooth target, or labels that mean nothing: speed does not depend on what is learnt."""
        rng = np.random.default_rng(0)
        x = rng.normal(size=(self.samples, self.widths[0])).astype(np.float32)
        if self.loss == "squared":
            return x, np.sin(x.sum(axis=1)).astype(np.float32)
        return x, rng.integers(0, self.widths[-1], self.samples).astype(np.int32)


def leadline(problem: Problem) -> Callable[[], Any]:
    """`fit`, or `fit_many`; the models, data and rule are made once, so that only the first call compiles."""
    import jax
    import optax

    from leadline.networks import MLP
    from leadline.training import fit, fit_many

    nets = [MLP(problem.widths, key=jax.random.key(seed), dtype=np.float32) for seed in range(problem.networks)]
    settings = {"optimiser": optax.adam(RATE), "epochs": problem.epochs, "batch": BATCH, "loss": problem.loss}
    data, key = problem.data(), jax.random.key(1)
    if problem.networks == 1:
        return lambda: fit(nets[0], data, key=key, **settings)
    return lambda: fit_many(nets, data, key=key, **settings)


def torch_eager(problem: Problem) -> Callable[[], Any]:
    return _torch(problem, compiled=False)


def torch_compiled(problem: Problem) -> Callable[[], Any]:
    return _torch(problem, compiled=True)


def _torch(problem: Problem, *, compiled: bool) -> Callable[[], Any]:
    """The usual loop: shuffle, slice, forward, backward, Adam step; the data are tensors in memory, no loader."""
    import torch
    from torch.nn.functional import cross_entropy, mse_loss

    x, y = (torch.from_numpy(part) for part in problem.data())
    labels = problem.loss == "cross-entropy"
    y = y.long() if labels else y

    def once() -> None:
        layers: list[torch.nn.Module] = []
        for inputs, outputs in itertools.pairwise(problem.widths):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        network = torch.nn.Sequential(*layers[:-1])
        called = torch.compile(network) if compiled else network
        rule = torch.optim.Adam(network.parameters(), lr=RATE, fused=True)
        for _ in range(problem.epochs):
            order = torch.randperm(len(x))
            for begin in range(0, len(x) - BATCH + 1, BATCH):
                rows = order[begin : begin + BATCH]
                rule.zero_grad(set_to_none=True)
                outputs = called(x[rows])
                loss = cross_entropy(outputs, y[rows]) if labels else mse_loss(outputs[:, 0], y[rows])
                loss.backward()
                rule.step()

    def run() -> None:
        for _ in range(problem.networks):
            once()

    return run


RIVALS = {"leadline": leadline, "torch eager": torch_eager, "torch compiled": torch_compiled}


CASES = {  # name -> the problem and the ratio asked for
    "2-64-64-1, batch 128": (Problem((2, 64, 64, 1), "squared", 12_800, 20), 5.0),
    "784-512-512-10, batch 128": (Problem((784, 512, 512, 10), "cross-entropy", 12_800, 5), 1.0),
    "64 networks 2-64-64-1, batch 128": (Problem((2, 64, 64, 1), "squared", 1_280, 5, networks=64), 5.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name, (problem, asked) in CASES.items():
        seconds, _ = measure(RIVALS, problem, arguments.repetitions)
        ratio = min(value for who, value in seconds.items() if who != "leadline") / seconds["leadline"]
        per_step = {who: 1e6 * value / problem.steps for who, value in seconds.items()}
        rows.append({"case": name, "microseconds_per_step": per_step, "ratio": ratio, "asked": asked})
        shown = ", ".join(f"{who} {value:.0f} µs" for who, value in per_step.items())
        print(f"{name}: {shown} per step; ratio {ratio:.2f} (asked: {asked:.1f})", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
