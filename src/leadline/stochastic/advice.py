"""Advice for training: step size, momentum and batch from the measured constants of a loss, and what they predict."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree

from leadline.curvature.spectra.estimate import Estimate
from leadline.optimisation import (
    descend,
    gd_pl_steps,
    measure_pl,
    measure_smoothness,
    measure_strong_convexity,
    nesterov,
    nesterov_steps,
    nesterov_tuning,
)
from leadline.optimisation.objectives.objective import Objective

from .noise.noise_spectrum import GradientNoise, gradient_noise
from .problems.finite_sum import FiniteSum
from .runs.index_streams import draw_indices
from .runs.sgd import sgd_run
from .sgd_bounds import noise_floor

_DENSE = 2000  # parameters up to which the floor is computed with the whole Hessian
_MOST_ROWS = 1000  # examples whose gradients are compared with one another where there are more


class Plan(NamedTuple):
    """How to train, and what theory expects of it: the steps to the accuracy asked for, and the floor of the gap."""

    method: str
    step: float
    momentum: float
    batch: int
    steps: int
    floor: float

    def __str__(self) -> str:
        momentum = f", momentum {self.momentum:.4g}" if self.momentum else ""
        return f"{self.method}: step {self.step:.4g}{momentum}, batch {self.batch}; {self.steps} steps predicted"


class Advice(NamedTuple):
    """The constants of a loss with their error bars, and two plans: with whole gradients and with batches.

    `convexity` is m where the loss is strongly convex (`convex`), the local PL constant elsewhere. The plans are
    guarantees where `certified`; otherwise they use constants measured at one point, and `remarks` say so. `noise` is
    measured at the given parameters, `floor_noise` is tr C at the minimum where that is known; `distance` is that to
    the minimum, or its bound √(2 gap/m).
    """

    smoothness: Estimate
    convexity: Estimate
    convex: bool
    noise: GradientNoise
    floor_noise: Estimate
    gap: float
    distance: float
    minimum: float
    accuracy: float
    full: Plan
    batches: Plan
    remarks: tuple[str, ...]

    @property
    def certified(self) -> bool:
        return self.smoothness.certified and self.convexity.certified

    @property
    def step_limit(self) -> float:
        """2/L: above it gradient descent with whole gradients diverges on the quadratic model."""
        return 2 / self.smoothness.value

    @property
    def condition(self) -> float:
        return self.smoothness.value / self.convexity.value


class _RowLoss(eqx.Module):
    """loss(params, *row) as a function of the flat vector of the parameters."""

    loss: Callable
    rest: PyTree
    unravel: Callable = eqx.field(static=True)

    def __call__(self, w: Float[Array, " p"], *row: Array) -> Float[Array, ""]:
        return self.loss(eqx.combine(self.unravel(w), self.rest), *row)


def as_finite_sum(
    loss: Callable[..., Float[Array, ""]], params: PyTree, data: tuple[Num[Array | np.ndarray, "n ..."], ...]
) -> tuple[FiniteSum, Float[Array, " p"]]:
    """The mean of loss(params, *row) over the rows of `data` as a finite sum of one vector, and the vector of `params`.

    >>> two, w = as_finite_sum(lambda p, y: (p["w"] - y) ** 2 / 2, {"w": jnp.array(0.0)}, (np.array([1.0, 3.0]),))
    >>> two(w).item()
    2.5
    """
    if isinstance(loss, FiniteSum):
        return loss, jnp.asarray(params)
    moved, rest = eqx.partition(params, eqx.is_inexact_array)
    w, unravel = ravel_pytree(moved)
    return FiniteSum(_RowLoss(loss, rest, unravel), data), w


def advise(
    loss: Callable[..., Float[Array, ""]],
    params: PyTree,
    data: tuple[Num[Array | np.ndarray, "n ..."], ...] = (),
    *,
    accuracy: float | None = None,
    minimum: float = 0.0,
    key: PRNGKeyArray | None = None,
) -> Advice:
    """Recommend step size, momentum and batch for the mean of loss(params, *row) over `data`, or for a `FiniteSum`.

    `accuracy` is the gap l − l* to reach, 1% of the present one if not given. `minimum` is l* where the loss is not
    certain of it: 0 for a network that can fit its data. Whole gradients: Nesterov's method with η = 1/L and
    ρ = (√κ − 1)/(√κ + 1). Batches: the smallest b for which a step near 1/L has its floor η tr C/4b below half the
    accuracy, b = tr C/(2εL), so that no batch needs fewer steps for the same number of gradients.

    >>> from leadline.stochastic.problems.finite_sum import six_points
    >>> advice = advise(six_points(), jnp.zeros(1), accuracy=0.02)
    >>> advice.certified, advice.batches.batch, round(advice.batches.step, 3)
    (True, 5, 0.905)
    """
    problem, w = as_finite_sum(loss, params, data)
    known = problem.constants()
    here = float(problem(w))
    if not np.isfinite(here):
        raise ValueError(f"The loss is {here} at the given parameters; give some at which it is a finite number.")
    minimum = minimum if known.minimum is None else known.minimum
    gap = here - minimum
    if gap <= 0:
        raise ValueError(f"The loss {here:.6g} is not above its minimum {minimum:.6g}; give the true minimum.")
    accuracy = gap / 100 if accuracy is None else accuracy
    if not 0 < accuracy < gap:
        raise ValueError(f"accuracy = {accuracy:g} is not between 0 and the present gap {gap:.4g}; nothing to plan.")
    remarks = []
    smoothness = measure_smoothness(problem, w)
    convexity, convex = _convexity(problem, w, smoothness, minimum, remarks)
    at = w if known.minimiser is None else jnp.asarray(known.minimiser, w.dtype)
    key = jax.random.key(0) if key is None else key
    noise = _noise(problem, w, key)
    last = noise if known.minimiser is None else _noise(problem, at, key)
    if known.minimiser is None:
        remarks.append("the noise is measured at these parameters, not at the minimum, where the floor is decided")
    distance = (2 * gap / convexity.value) ** 0.5 if known.minimiser is None else float(jnp.linalg.norm(w - at))
    full = _full(problem.samples, smoothness.value, convexity.value, convex, gap, distance, accuracy)
    batches = _batches(problem, at, smoothness.value, convexity.value, last.trace, gap, accuracy, remarks)
    return Advice(
        smoothness,
        convexity,
        convex,
        noise,
        last.trace,
        gap,
        distance,
        minimum,
        accuracy,
        full,
        batches,
        tuple(remarks),
    )


def _convexity(
    problem: FiniteSum, w: Array, smoothness: Estimate, minimum: float, remarks: list[str]
) -> tuple[Estimate, bool]:
    """m where it is positive; elsewhere the local PL constant."""
    if problem.constants().strong_convexity:
        return measure_strong_convexity(problem, w), True
    m = measure_strong_convexity(problem, w)
    if m.low > 1e-9 * smoothness.value:
        remarks.append("strong convexity is measured at these parameters only")
        return m, True
    remarks.append(
        f"the loss is not strongly convex here (least curvature {m.value:.3g}); the PL constant at these parameters "
        "stands in for m, and Nesterov's rate is not guaranteed"
    )
    return measure_pl(problem, w, minimum=minimum), False


def _noise(problem: FiniteSum, w: Array, key: PRNGKeyArray) -> GradientNoise:
    most = None if problem.samples <= 2 * _MOST_ROWS else _MOST_ROWS
    return gradient_noise(problem.loss, w, *problem.arrays, most=most, key=key)


def _full(
    samples: int, smoothness: float, convexity: float, convex: bool, gap: float, distance: float, accuracy: float
) -> Plan:
    tuning = nesterov_tuning(smoothness, min(convexity, smoothness))
    if convex:
        steps = nesterov_steps(smoothness, min(convexity, smoothness), distance, accuracy)
        return Plan("Nesterov", tuning.step, tuning.momentum, samples, steps, 0.0)
    steps = gd_pl_steps(smoothness, min(convexity, smoothness), gap, accuracy)
    return Plan("gradient descent", tuning.step, 0.0, samples, steps, 0.0)


def _batches(
    problem: FiniteSum,
    w: Array,
    smoothness: float,
    convexity: float,
    noise: Estimate,
    gap: float,
    accuracy: float,
    remarks: list[str],
) -> Plan:
    """The batch at which noise and curvature limit the step alike."""
    trace = noise.value
    batch = int(max(1, np.ceil(trace / (2 * accuracy * smoothness))))
    if batch > problem.samples:
        remarks.append(
            f"at this accuracy the noise asks for batches of {batch}, more than the {problem.samples} examples: whole "
            "gradients are cheaper"
        )
        batch = problem.samples
    longest = 1 / _batch_smoothness(problem, w, smoothness, batch)
    step = min(longest, 2 * accuracy * batch / trace) if trace > 0 else longest
    left = np.log(2 * gap / accuracy) / -np.log1p(-min(step * convexity, 0.999))
    if w.size <= _DENSE:
        floor = noise_floor(step, batch, problem.hessian(w), problem.covariance(w))
    else:
        floor = step * trace / (4 * batch)
    return Plan("SGD", float(step), 0.0, batch, int(np.ceil(max(left, 1))), float(floor))


def _batch_smoothness(problem: FiniteSum, w: Array, smoothness: float, batch: int) -> float:
    """L + L_max/b where the examples know their smoothness; L + tr H/b by Hutchinson's estimate elsewhere."""
    if hasattr(problem.loss, "smoothness"):
        return smoothness + float(problem.sample_smoothness().max()) / batch
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(16, w.size))
    products = _products(problem, w, jnp.asarray(signs, w.dtype))
    trace = float(np.mean(np.sum(signs * np.asarray(products), axis=1)))
    return smoothness + max(trace, 0.0) / batch


@eqx.filter_jit
def _products(problem: Objective, w: Array, directions: Array) -> Array:
    return jax.lax.map(lambda v: problem.hessian_product(w, v), directions)


class Followed(NamedTuple):
    """A run that follows a plan: the losses seen and after how many steps."""

    steps: Float[np.ndarray, " looks"]
    values: Float[np.ndarray, " looks"]


def follow(
    plan: Plan, problem: FiniteSum, start: Float[Array, " p"], *, num_steps: int, looks: int = 60, key: PRNGKeyArray
) -> Followed:
    """Run a plan for `num_steps` steps from `start` and look at the whole loss about `looks` times.

    >>> from leadline.stochastic.problems.finite_sum import six_points
    >>> plan = Plan("SGD", 0.5, 0.0, 2, 20, 0.0)
    >>> run = follow(plan, six_points(), jnp.zeros(1), num_steps=20, looks=4, key=jax.random.key(0))
    >>> run.steps.tolist()
    [0.0, 5.0, 10.0, 15.0, 20.0]
    """
    every = max(1, num_steps // looks)
    num_steps = every * (num_steps // every)
    if plan.method == "SGD":
        indices = draw_indices(problem.samples, plan.batch, num_steps, key=key)
        points = sgd_run(problem, start, plan.step, indices, every=every).points
        values = _values(problem, points)
    else:
        values = _descent_values(problem, nesterov(plan.step, plan.momentum), start, num_steps)[::every]
    return Followed(every * np.arange(len(values), dtype=float), np.asarray(values))


@eqx.filter_jit
def _values(problem: Objective, points: Array) -> Array:
    return jax.lax.map(problem, points)


@eqx.filter_jit
def _descent_values(problem: Objective, rule, start: Array, num_steps: int) -> Array:
    return descend(problem, rule, start, num_steps).values
