"""Attacks on a network, against torchattacks and Foolbox: the same steps on the same inputs."""

import itertools

import numpy as np

from ..harness.case import LEADLINE, Case, Inputs, Side, Work
from ..relu_network import he_weights, layers

WIDTHS, COUNT = (784, 256, 256, 10), 512
EPS, STEPS = 0.1, 40
STEP = EPS / 10


def inputs() -> Inputs:
    """Images of values in [0, 1], the labels that a network of random weights gives them, and its weights."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(COUNT, WIDTHS[0])).astype(np.float32)
    weights = he_weights(rng, WIDTHS, bias=0.1)
    *hidden, (last, shift) = layers(weights)
    active = x
    for weight, bias in hidden:
        active = np.maximum(active @ weight.T + bias, 0)
    return {**weights, "x": x, "y": (active @ last.T + shift).argmax(axis=1).astype(np.int32)}


def sides(make: str) -> tuple[Side, ...]:
    return (
        Side(LEADLINE, "benchmarks.robustness.leadline_attacks", make),
        Side("torchattacks", "benchmarks.robustness.torchattacks_side", make, "torch"),
        Side("Foolbox", "benchmarks.robustness.foolbox_side", make, "torch"),
    )


def flops(passes: int) -> float:
    """Forward and the gradient of the inputs; no gradient of weights is needed."""
    return passes * 4.0 * COUNT * sum(i * o for i, o in itertools.pairwise(WIDTHS))


CASES = [
    Case(
        "FGSM on 512 inputs of 784-256-256-10",
        sides("one_step"),
        inputs,
        tolerance=2e-3,
        work=Work(flops(1)),
        reason="both sides do the same four products and little else: 84 GFlop/s on two cores, and of 6.4 ms 1 is the "
        "call from Python with its checks.",
    ),
    # Leadline keeps the best of all iterates, its rivals the last, so that what is compared is how many are fooled
    Case("PGD, 40 steps, same inputs", sides("many_steps"), inputs, tolerance=1e-2, work=Work(flops(STEPS))),
]
