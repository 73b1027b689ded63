"""Leadline's chains, sweeps and flows, called as a user calls them."""

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402

from leadline import optimisation, stochastic  # noqa: E402
from leadline.stochastic.problems.finite_sum import six_points  # noqa: E402

from ..harness.case import Inputs  # noqa: E402
from . import ETA, FLOW_ATOL, FLOW_RTOL, FLOW_TIME, RATE, RIDGE, SAGA_RATE  # noqa: E402


def path(inputs: Inputs):
    problem = six_points()
    return lambda: stochastic.sgd_run(problem, jnp.zeros(1), ETA, inputs["rows"]).last[0]


def sweep(inputs: Inputs, steps: int):
    objective = optimisation.Quadratic(jnp.asarray(inputs["matrix"]), jnp.zeros(50))
    sizes = jnp.asarray(inputs["sizes"])
    return lambda: optimisation.step_sweep(objective, optax.sgd, sizes, jnp.ones(50), steps)[:, -1].sum()


def descent(inputs: Inputs, steps: int):
    rule = optimisation.tunable(optax.sgd, learning_rate=RATE)
    softmax = optimisation.digits_softmax(RIDGE)
    return lambda: optimisation.descend(softmax, rule, jnp.zeros(650), steps).values[-1]


def saga(inputs: Inputs):
    softmax = optimisation.digits_softmax(RIDGE)
    problem, rows = stochastic.finite_softmax(softmax), jnp.asarray(inputs["rows"])
    return lambda: softmax(stochastic.saga(problem, jnp.zeros(650), SAGA_RATE, rows, every=len(rows)).last)


def flow(inputs: Inputs):
    """The whole point at the end, with the features first, as PyTorch has them."""
    softmax, times = optimisation.digits_softmax(RIDGE), jnp.array([0.0, FLOW_TIME])
    settings = {"rtol": FLOW_RTOL, "atol": FLOW_ATOL}
    return lambda: softmax(optimisation.gradient_flow(softmax, jnp.zeros(650), times, **settings).points[-1])
