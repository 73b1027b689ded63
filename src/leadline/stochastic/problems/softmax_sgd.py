"""SGD on softmax regression in closed form, many runs at once: the floor it settles on, the mean of its iterates."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from leadline.data import generator
from leadline.optimisation import SoftmaxRidge


class Equilibrium(NamedTuple):
    """Softmax regression at its minimum: w*, l*, the Hessian H and the covariance C of the single gradients there."""

    minimiser: Float[np.ndarray, " p"]
    minimum: float
    hessian: Float[np.ndarray, "p p"]
    covariance: Float[np.ndarray, "p p"]


def softmax_equilibrium(problem: SoftmaxRidge) -> Equilibrium:
    """All that the theory of the floor asks for, by SciPy's L-BFGS and one Newton step in 64-bit NumPy: about a second.

    >>> from leadline.optimisation import SoftmaxRidge
    >>> one = SoftmaxRidge(jnp.ones((2, 1)), jnp.array([0, 1]), jnp.array(1.0), 2)
    >>> softmax_equilibrium(one).covariance.round(6).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    from scipy.special import softmax

    x, a, classes = np.asarray(problem.x, np.float64), float(problem.penalty), problem.classes
    n, d = x.shape
    right = np.eye(classes)[np.asarray(problem.labels)]
    value_and_gradient = _in_numpy(problem)
    near = softmax_minimiser(problem)
    best = near - np.linalg.solve(_softmax_hessian(x, near, a, classes), value_and_gradient(near)[1])
    error = softmax(x @ best.reshape(d, classes), axis=1) - right
    gradients = (x[:, :, None] * error[:, None, :]).reshape(n, -1)
    gradients -= gradients.mean(axis=0)  # the penalty is the same in each of them
    minimum = float(value_and_gradient(best)[0])
    return Equilibrium(best, minimum, _softmax_hessian(x, best, a, classes), gradients.T @ gradients / n)


def softmax_minimiser(problem: SoftmaxRidge) -> Float[np.ndarray, " p"]:
    """w* by SciPy's L-BFGS in 64-bit NumPy, to a largest gradient entry of 10⁻⁸: for any number of weights.

    >>> two = SoftmaxRidge(jnp.ones((2, 1)), jnp.array([0, 0]), jnp.array(1.0), 2)
    >>> softmax_minimiser(two).round(4).tolist()  # w = 1 - σ(2w)
    [0.3374, -0.3374]
    """
    from scipy.optimize import minimize

    if not float(problem.penalty) > 0:
        raise ValueError(f"penalty = {float(problem.penalty):g} leaves the minimum undetermined; give a positive one.")
    options = {"maxiter": 20_000, "maxfun": 40_000, "maxcor": 30, "gtol": 1e-8, "ftol": 0.0}
    start = np.zeros(problem.x.shape[1] * problem.classes)
    return minimize(_in_numpy(problem), start, jac=True, method="L-BFGS-B", options=options).x


def _in_numpy(problem: SoftmaxRidge) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Value and gradient of the objective without compilation."""
    from scipy.special import logsumexp, softmax

    x, a, classes = np.asarray(problem.x, np.float64), float(problem.penalty), problem.classes
    right = np.eye(classes)[np.asarray(problem.labels)]

    def value_and_gradient(w: np.ndarray) -> tuple[float, np.ndarray]:
        weights = w.reshape(-1, classes)
        scores = x @ weights
        value = np.mean(logsumexp(scores, axis=1) - np.sum(scores * right, axis=1)) + a * (w @ w) / 2
        return value, (x.T @ (softmax(scores, axis=1) - right) / len(x) + a * weights).ravel()

    return value_and_gradient


def _softmax_hessian(x: np.ndarray, w: np.ndarray, penalty: float, classes: int) -> np.ndarray:
    """(1/n) Σ xxᵀ ⊗ (diag s − ssᵀ) + a I, one pair of classes at a time."""
    from scipy.special import softmax

    n, d = x.shape
    s = softmax(x @ w.reshape(d, classes), axis=1)
    out = np.empty((d, classes, d, classes))
    for i in range(classes):
        for j in range(i, classes):
            weight = s[:, i] * ((i == j) - s[:, j])
            out[:, i, :, j] = out[:, j, :, i] = (x.T * weight) @ x / n
    return out.reshape(d * classes, d * classes) + penalty * np.eye(d * classes)


class FloorRun(NamedTuple):
    """What runs of SGD (one a row) measured over their last part.

    `floor`: mean gap; `averaged`: gap of the mean of those iterates; `gaps`: the gap at each look; `looks`: after how
    many steps each look was; `last`: the last iterates.
    """

    floor: Float[np.ndarray, " runs"]
    averaged: Float[np.ndarray, " runs"]
    gaps: Float[np.ndarray, "runs looks"]
    looks: Float[np.ndarray, " looks"]
    last: Float[np.ndarray, "runs p"]


def softmax_batch_gradient(
    problem: SoftmaxRidge, weights: Float[Array, "d c"], rows: Float[Array, "b d"], right: Float[Array, "b c"]
) -> Float[Array, "d c"]:
    """(1/b) Σ xᵢ ⊗ (softmax(xᵢW) − e_yᵢ) + a W over the sampled rows, without differentiation."""
    return rows.T @ (jax.nn.softmax(rows @ weights) - right) / len(rows) + problem.penalty * weights


def measured_floor(
    problem: SoftmaxRidge,
    step_size: float,
    batch: int,
    *,
    num_steps: int,
    start: Float[np.ndarray, " p"] | Float[Array, " p"],
    minimum: float,
    key: PRNGKeyArray,
    runs: int = 1,
    burn_in: float = 0.5,
    every: int = 100,
) -> FloorRun:
    """Run SGD with batches drawn with replacement, `runs` times; look at the gap every `every` steps after `burn_in`.

    Beside it, `noise_floor` predicts the floor and `averaged_gap` the gap of the mean iterate, before any run. The step
    is data; another batch size compiles again.

    >>> from leadline.optimisation import SoftmaxRidge
    >>> two = SoftmaxRidge(jnp.ones((2, 1)), jnp.array([0, 1]), jnp.array(1.0), 2)
    >>> run = measured_floor(two, 0.1, 1, num_steps=40, start=np.zeros(2), minimum=0.0, key=jax.random.key(0), every=10)
    >>> run.gaps.shape, run.looks.tolist()
    ((1, 2), [30.0, 40.0])
    """
    if batch < 1 or num_steps < every or not 0 <= burn_in < 1:
        raise ValueError(
            f"batch = {batch}, num_steps = {num_steps}, burn_in = {burn_in:g}: give batch ≥ 1, "
            f"num_steps ≥ every = {every} and 0 ≤ burn_in < 1."
        )
    chunks = num_steps // every
    skip = int(burn_in * chunks)
    rng = generator(key)
    weights = jnp.tile(jnp.asarray(start).reshape(1, -1, problem.classes), (runs, 1, 1))
    total, values = np.zeros(weights.shape), []
    for k in range(chunks):
        picks = rng.integers(len(problem.x), size=(every, runs, batch), dtype=np.int32)
        weights, added, looked = _chunk(problem, jnp.asarray(step_size, weights.dtype), weights, picks)
        values.append(looked)
        if k >= skip:
            total += np.asarray(added)
    gaps = np.array(values[skip:]).T - minimum
    looks = every * np.arange(skip + 1.0, chunks + 1)
    means = jnp.asarray(total / ((chunks - skip) * every), weights.dtype)
    averaged = np.asarray(_values(problem, means)) - minimum
    return FloorRun(gaps.mean(axis=1), averaged, gaps, looks, np.asarray(weights).reshape(runs, -1))


@eqx.filter_jit
def _chunk(problem, step, weights, picks):
    """A stretch of steps of all runs side by side: the weights, the sum of the iterates, the losses at the end."""
    right = jax.nn.one_hot(problem.labels, problem.classes, dtype=weights.dtype)
    gradient = jax.vmap(softmax_batch_gradient, (None, 0, 0, 0))

    def move(state, pick):
        weights, total = state
        weights = weights - step * gradient(problem, weights, problem.x[pick], right[pick])
        return (weights, total + weights), None

    (weights, total), _ = jax.lax.scan(move, (weights, jnp.zeros_like(weights)), picks)
    return weights, total, _values(problem, weights)


@eqx.filter_jit
def _values(problem, weights):
    return jax.vmap(problem)(weights.reshape(len(weights), -1))
