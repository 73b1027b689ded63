"""Study a network of ten million parameters on 50,000 made-up images, in Equinox and in PyTorch with the same weights.

    python tests/studies/measure_large.py [equinox] [torch] [--minutes M] [--memory 4GiB] [--rows N] [--small]

Each study runs in a process of its own, without a compilation cache, from its own copy of the data. Printed are, card
by card, verdict and seconds, then the seconds of the study by the clock and of the processor, the peak of memory, and,
where both run, the ratio of PyTorch's clock to Equinox's. `--small` takes a network a hundred times smaller.
"""

import argparse
import multiprocessing
import resource
import sys
import time
from typing import Any, NamedTuple

import numpy as np

CLASSES = 10


class Sizes(NamedTuple):
    """Channels of three pairs of 3 x 3 convolutions, each pair behind a halving of the image, and a hidden layer."""

    channels: tuple[int, int, int]
    hidden: int


LARGE, SMALL = Sizes((32, 64, 128), 4800), Sizes((8, 8, 16), 200)


class Outcome(NamedTuple):
    """What one study took."""

    clock: float
    processor: float
    peak: float  #: MiB
    parameters: int


def images(rows: int) -> tuple:
    """Images (n, 3, 32, 32): each class a smooth pattern of its own, and noise of twice its size; a sixth are tests."""
    rng = np.random.default_rng(0)
    coarse = rng.normal(size=(CLASSES, 3, 4, 4)).astype(np.float32)
    patterns = coarse.repeat(8, axis=2).repeat(8, axis=3)
    total = rows + rows // 5
    y = rng.integers(0, CLASSES, total)
    x = rng.standard_normal((total, 3, 32, 32), np.float32)
    x *= 2
    for first in range(0, total, 1000):
        x[first : first + 1000] += patterns[y[first : first + 1000]]
    return (x[:rows], y[:rows]), (x[rows:], y[rows:])


def weights(sizes: Sizes) -> list[tuple[np.ndarray, np.ndarray]]:
    """He's initial weights and zero biases, layer by layer, as (out, in, ...) arrays."""
    rng, found, before = np.random.default_rng(1), [], 3
    shapes: list[tuple[int, ...]] = []
    for width in sizes.channels:
        shapes += [(width, before, 3, 3), (width, width, 3, 3)]
        before = width
    shapes += [(sizes.hidden, before * 16), (CLASSES, sizes.hidden)]
    for shape in shapes:
        scale = np.sqrt(2 / np.prod(shape[1:]))
        found.append(((scale * rng.standard_normal(shape)).astype(np.float32), np.zeros(shape[0], np.float32)))
    return found


def in_equinox(sizes: Sizes) -> Any:
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    key, layers = jax.random.key(0), []
    for number, (weight, bias) in enumerate(weights(sizes)):
        if weight.ndim == 4:
            layer: Any = eqx.nn.Conv2d(weight.shape[1], weight.shape[0], 3, padding=1, key=key)
            bias = bias[:, None, None]
        else:
            layer = eqx.nn.Linear(weight.shape[1], weight.shape[0], key=key)
        layers.append(eqx.tree_at(lambda y: (y.weight, y.bias), layer, (jnp.asarray(weight), jnp.asarray(bias))))
        if number < 7:
            layers.append(eqx.nn.Lambda(jax.nn.relu))
        if number in (1, 3, 5):
            layers.append(eqx.nn.MaxPool2d(2, 2))
        if number == 5:
            layers.append(eqx.nn.Lambda(lambda x: x.ravel()))
    return eqx.nn.Sequential(layers)


def in_torch(sizes: Sizes) -> Any:
    import torch
    from torch import nn

    layers: list[Any] = []
    for number, (weight, bias) in enumerate(weights(sizes)):
        kind = nn.Conv2d(weight.shape[1], weight.shape[0], 3, padding=1) if weight.ndim == 4 else None
        layer = kind or nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict({"weight": torch.from_numpy(weight), "bias": torch.from_numpy(bias)})
        layers.append(layer)
        if number < 7:
            layers.append(nn.ReLU())
        if number in (1, 3, 5):
            layers.append(nn.MaxPool2d(2))
        if number == 5:
            layers.append(nn.Flatten())
    return nn.Sequential(*layers).eval()


def studied(framework: str, sizes: Sizes, rows: int, minutes: float | None, memory: str | None) -> Outcome:
    """One study, as `leadline.study` makes it, told card by card."""
    from leadline.studies import as_subject
    from leadline.studies.report import run_study

    model = {"equinox": in_equinox, "torch": in_torch}[framework](sizes)
    train, test = images(rows)
    clock, processor = time.perf_counter(), time.process_time()
    subject = as_subject(model, train, test, name=framework)
    subject.budget.limit(minutes, memory)
    print(f"{framework}: {subject.size:,} parameters, opened in {time.perf_counter() - clock:.1f} s", flush=True)
    for card in run_study(subject):
        told = card.finding.error or card.skipped or "; ".join(card.left_out)
        print(f"  {card.name:15} {card.verdict:13} {card.finding.seconds:7.1f} s  {told}", flush=True)
    taken = time.perf_counter() - clock, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  {taken[0]:.0f} s by the clock, {taken[1]:.0f} s of the processor, peak {peak:.0f} MiB", flush=True)
    return Outcome(*taken, peak, subject.size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*", default=["equinox", "torch"])
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--memory")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    spawning, found = multiprocessing.get_context("spawn"), {}
    for framework in given.frameworks:
        with spawning.Pool(1) as pool:
            how = (framework, SMALL if given.small else LARGE, given.rows, given.minutes, given.memory)
            found[framework] = pool.apply(studied, how)
    if len(found) > 1:
        first, *_, last = found
        print(f"{last} over {first}: {found[last].clock / found[first].clock:.2f} by the clock")


if __name__ == "__main__":
    sys.exit(main())
