"""Training: a step of Adam on small and large networks, with batch normalisation, and many at once, against PyTorch."""

import itertools

import numpy as np

from ..harness.case import LEADLINE, Case, Inputs, Side, Work
from ..relu_network import he_weights

RATE, BATCH = 1e-3, 128


def inputs(widths: tuple[int, ...], loss: str, samples: int, epochs: int, networks: int) -> Inputs:
    """Random inputs, a smooth target or labels that mean nothing, weights, and the rows of every batch.

    The rows are those that `fit` draws from its key, so that all sides see the same batches.
    """
    import jax

    from leadline.data import epoch_batches

    rng = np.random.default_rng(0)
    x = rng.normal(size=(samples, widths[0])).astype(np.float32)
    y = np.sin(x.sum(axis=1)) if loss == "squared" else rng.integers(0, widths[-1], samples)
    found = {"x": x, "y": y.astype(np.float32 if loss == "squared" else np.int32)}
    weights = he_weights(rng, widths, networks=(networks,))
    key = jax.random.key(1)
    keys = [key] if networks == 1 else list(jax.random.split(key, networks))
    rows = [[epoch_batches(samples, BATCH, epoch, key=k) for epoch in range(epochs)] for k in keys]
    return {**found, **weights, "rows": np.asarray(rows)}  # rows: (networks, epochs, steps, batch)


def case(
    name: str,
    widths: tuple[int, ...],
    loss: str,
    samples: int,
    epochs: int,
    networks: int,
    asked: float,
    reason: str = "",
    normalised: bool = False,
) -> Case:
    steps = epochs * (samples // BATCH) * networks
    weights = [i * o for i, o in itertools.pairwise(widths)]
    # forward, gradient of weights, gradient of inputs, which the first layer does without
    flops = 2 * BATCH * (3 * sum(weights) - weights[0]) * steps
    # Adam reads the gradient and reads and writes the parameters and both moments: seven passes over the weights
    moved = 7 * 4 * sum(weights) * steps if 3 * 4 * sum(weights) > 2**22 else 0.0
    return Case(
        name,
        (
            Side(LEADLINE, "benchmarks.training.leadline_fit", "fitted"),
            Side("PyTorch eager", "benchmarks.training.torch_loops", "eager", "torch"),
            Side("PyTorch compiled", "benchmarks.training.torch_loops", "compiled", "torch"),
        ),
        lambda: inputs(widths, loss, samples, epochs, networks),
        {"widths": widths, "loss": loss, "epochs": epochs, "networks": networks, "normalised": normalised},
        tolerance=1e-3,
        asked=asked,
        count=steps,
        work=Work(flops, moved),
        reason=reason,
    )


CASES = [
    case(
        "Adam step, 2-64-64-1, batch 128",
        (2, 64, 64, 1),
        "squared",
        12_800,
        10,
        1,
        5.0,
        "a product of 128 x 64 x 64 takes 15 µs on one core (66 GFlop/s), and 36 where XLA contracts over the rows, "
        "for the gradient of the weights; it is too small to be split. The rest is Adam and fetching rows.",
    ),
    case(
        "Adam step, 784-512-512-10, batch 128",
        (784, 512, 512, 10),
        "cross-entropy",
        12_800,
        2,
        1,
        1.0,
        "on one core products take 6.2 of 7.1 ms: 71 GFlop/s forward and back (NumPy's reach 73 there), 55 to 64 for "
        "the gradients of the weights; Adam moves 19 MB in 1 ms, which a second core does not shorten.",
    ),
    case(
        "Adam step of one of 64 networks 2-64-64-1",
        (2, 64, 64, 1),
        "squared",
        1_280,
        5,
        64,
        5.0,
        "on one core a gradient takes 70 of 127 µs, where a product of 128 x 64 x 64 alone reaches 67 GFlop/s and thin "
        "ones less; the rest is Adam, the shuffling (9 µs), and stacking and cutting the networks apart.",
    ),
    case(
        "Adam step with batch normalisation, 784-512-512-10, batch 128",
        (784, 512, 512, 10),
        "cross-entropy",
        12_800,
        2,
        1,
        1.2,
        normalised=True,
    ),
    case(
        "Adam step with batch normalisation of one of 8 networks 784-512-512-10",
        (784, 512, 512, 10),
        "cross-entropy",
        2_560,
        2,
        8,
        5.0,
        normalised=True,
    ),
]
