"""What one row of a subject costs: a forward pass and a gradient, timed once after compilation."""

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions

from ..budget import PassCosts, resident_memory
from ..subject import TOGETHER, Subject

ROWS = 64  # of the probe
TRIES = 3  # the least time counts: the others were disturbed
ENOUGH = 2.0  # seconds of tries after which no further is made
CHEAP = 5e-6  # seconds of a row's forward pass below which its gradient is taken for 3 such, and not compiled


def pass_costs(subject: Subject) -> PassCosts:
    """Seconds by the clock and bytes as the compiler states them, per row."""
    together = min(TOGETHER, subject.train.count)
    inputs = subject.train.inputs[:together]
    forward = _least_time(lambda: subject.scores(inputs)) / together  # compiled already, for the training scores
    numbers = int(np.prod(subject.input_shape)) + subject.outputs
    if forward < CHEAP:
        width = 4.0 * max(numbers, subject.size**0.5)
        return PassCosts(forward, 3 * forward, 4 * width, 8 * width, resident_memory())
    rows = min(ROWS, subject.train.count)
    x, y = (jnp.asarray(part) for part in subject.train.first(rows))
    losses = CanonicalConvolutions(subject.row_losses)
    ahead = jax.jit(lambda p, x: subject.apply(p, x)).lower(subject.params, x).compile()
    back = jax.jit(jax.grad(lambda p, x, y: jnp.mean(losses(p, x, y)))).lower(subject.params, x, y).compile()
    gradient = _least_time(lambda: jax.block_until_ready(back(subject.params, x, y))) / rows
    return PassCosts(
        forward,
        max(gradient, forward),
        _working_bytes(ahead, numbers) / rows,
        _working_bytes(back, numbers) / rows,
        resident_memory(),
    )


def _least_time(work: Callable[[], object]) -> float:
    work()
    taken = []
    for _ in range(TRIES):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
        if sum(taken) > ENOUGH:
            break
    return min(taken)


def _working_bytes(compiled: jax.stages.Compiled, numbers: int) -> float:
    """Bytes of working memory of a compiled program; not every back end states them."""
    told = compiled.memory_analysis()
    return float(getattr(told, "temp_size_in_bytes", 0) or 4 * numbers * ROWS)
