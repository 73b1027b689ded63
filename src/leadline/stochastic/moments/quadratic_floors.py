"""Where SGD on a small quadratic loss settles: predicted from Hessian and noise, and measured in equilibrium."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..sgd_bounds import noise_floor

LARGEST = 400  # parameters
MOST_STEPS = 6000


class FloorCheck(NamedTuple):
    """The gap above the minimum in equilibrium: predicted, and measured by each run; or `why` it does not apply."""

    minimum: float
    predicted: float
    measured: Float[np.ndarray, " runs"]
    steps: int
    why: str = ""


def quadratic_floor(
    losses: Callable[..., Float[Array, " n"]],
    params: PyTree,
    arrays: tuple[Any, ...],
    hessian: Float[np.ndarray, "p p"],
    gradient: PyTree,
    *,
    step_size: float,
    batch: int,
    runs: int = 8,
    key: PRNGKeyArray,
) -> FloorCheck:
    """(η/4b) Σⱼ Cⱼⱼ/(1 − ηλⱼ/2) beside the mean gap of runs from the minimum, second half of 6/(ηλ_min) steps.

    C is the covariance of the gradients in equilibrium, taken at the ends of the runs: with it the formula is exact for
    every quadratic loss, also where the noise grows with the distance. `why` is not empty where the loss has no
    curvature in some direction, is not quadratic up to its minimum, or takes more than 6000 steps.

    >>> half = lambda w, y: (w - y) ** 2 / 2
    >>> y = jnp.array([-1.0, 1.0])
    >>> w, key = jnp.array(0.5), jax.random.key(0)
    >>> found = quadratic_floor(half, w, (y,), np.eye(1), w, step_size=0.5, batch=1, key=key)
    >>> round(found.predicted, 4), found.why
    (0.1667, '')
    """
    w, unravel = ravel_pytree(params)
    values = np.linalg.eigvalsh(hessian)
    nothing = np.zeros(0)
    if values[0] <= 1e-6 * values[-1]:
        return FloorCheck(0.0, 0.0, nothing, 0, "the loss curves upwards in every direction")
    if step_size * values[-1] >= 2:
        return FloorCheck(0.0, 0.0, nothing, 0, "the step is below 2/L")
    steps = int(np.ceil(6 / (step_size * values[0]) / 100)) * 100
    if steps > MOST_STEPS:
        return FloorCheck(0.0, 0.0, nothing, 0, f"SGD is in equilibrium within {MOST_STEPS} steps (it takes {steps})")
    g = np.asarray(ravel_pytree(gradient)[0], float)
    newton = np.linalg.solve(hessian, g)
    best = jnp.asarray(np.asarray(w, float) - newton, w.dtype)
    here, lowest = (float(np.mean(np.asarray(_rows(losses, unravel(v), arrays), float))) for v in (w, best))
    expected = g @ newton / 2
    if abs(here - lowest - expected) > 1e-2 * expected + 1e-5 * abs(here):
        return FloorCheck(0.0, 0.0, nothing, 0, "the loss is quadratic from here to its minimum")
    gaps, ends = _equilibrium(losses, best, unravel, arrays, jnp.asarray(step_size), batch, steps, runs, key)
    gradients = np.asarray(_row_gradients(losses, ends, unravel, arrays), float)  # (runs, n, p)
    centred = gradients - gradients.mean(1, keepdims=True)
    covariance = np.einsum("rnp,rnq->pq", centred, centred) / (gradients.shape[0] * gradients.shape[1])
    predicted = noise_floor(step_size, batch, hessian, covariance)
    measured = np.asarray(gaps, float)[:, 50:].mean(1) - lowest
    return FloorCheck(lowest, float(predicted), measured, steps)


@eqx.filter_jit
def _rows(losses: Callable, params: PyTree, arrays: tuple) -> Array:
    return losses(params, *arrays)


@eqx.filter_jit
def _equilibrium(losses, start, unravel, arrays, step, batch, steps, runs, key):
    """The whole loss at 100 times of every run, (runs, 100), and where they end, (runs, p)."""
    count = len(arrays[0])

    def mean_loss(w, *rows):
        return jnp.mean(losses(unravel(w), *rows))

    def one(w, key):
        rows = jax.random.randint(key, (batch,), 0, count)
        return w - step.astype(w.dtype) * jax.grad(mean_loss)(w, *(a[rows] for a in arrays)), None

    def stretch(w, key):
        w, _ = jax.lax.scan(one, w, jax.random.split(key, steps // 100))
        return w, mean_loss(w, *arrays)

    def run(key):
        return jax.lax.scan(stretch, start, jax.random.split(key, 100))

    ends, seen = jax.vmap(run)(jax.random.split(key, runs))
    return seen, ends


@eqx.filter_jit
def _row_gradients(losses, points, unravel, arrays):
    def row(w, *one):
        return losses(unravel(w), *(a[None] for a in one))[0]

    return jax.vmap(lambda w: jax.vmap(jax.grad(row), (None, *(0 for _ in arrays)))(w, *arrays))(points)
