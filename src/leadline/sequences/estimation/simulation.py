"""Paths of a linear-Gaussian model, and of the same model with other observation noise of the same covariance."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from leadline._checks import require_counts
from leadline._messages import unknown

from .covariances import root
from .state_space import LinearGaussian


class Noise(NamedTuple):
    """A distribution of mean 0 and variance 1: draw(key, shape, dtype) and ln of its density."""

    draw: Callable[..., Array]
    log_density: Callable[[Array], Array]


POINTS, AROUND = math.sqrt(0.96), 0.2  # the two points, and the deviation of the normal noise around them


def _two_points(key: PRNGKeyArray, shape: tuple[int, ...], dtype: jax.typing.DTypeLike) -> Array:
    sign, around = jax.random.split(key)
    return POINTS * jax.random.rademacher(sign, shape, dtype) + AROUND * jax.random.normal(around, shape, dtype)


def _two_points_density(z: Array) -> Array:
    parts = jnp.stack([z - POINTS, z + POINTS]) / AROUND
    return jax.nn.logsumexp(-0.5 * parts**2, axis=0) - math.log(2 * AROUND * math.sqrt(2 * math.pi))


#: Observation noise by name, each of variance 1.
NOISES: dict[str, Noise] = {
    "gaussian": Noise(jax.random.normal, lambda z: -0.5 * (z**2 + math.log(2 * math.pi))),
    "uniform": Noise(
        lambda key, shape, dtype: jax.random.uniform(key, shape, dtype, -math.sqrt(3), math.sqrt(3)),
        lambda z: jnp.where(jnp.abs(z) <= math.sqrt(3), -math.log(2 * math.sqrt(3)), -jnp.inf),
    ),
    "laplace": Noise(
        lambda key, shape, dtype: jax.random.laplace(key, shape, dtype) / math.sqrt(2),
        lambda z: -math.sqrt(2) * jnp.abs(z) - math.log(2) / 2,
    ),
    "two points": Noise(_two_points, _two_points_density),
}


def noise_called(function: str, name: str) -> Noise:
    """The noise of that name, or ValueError."""
    if name not in NOISES:
        raise ValueError(f"{function}: " + unknown("noise", name, NOISES))
    return NOISES[name]


class Paths(NamedTuple):
    """Simulated states h₁, …, h_T and observations x₁, …, x_T of n paths."""

    states: Float[Array, "n T d"]
    observations: Float[Array, "n T k"]


def simulate(
    model: LinearGaussian, length: int, *, paths: int = 1, noise: str = "gaussian", key: PRNGKeyArray
) -> Paths:
    """Draw h₀, then hₜ₊₁ = A hₜ + ξₜ and xₜ = C hₜ + νₜ for t = 1, …, length; each path on its own.

    `noise` of the observations is "gaussian", "uniform", "laplace" or "two points" (±√0.96 and N(0, 0.04) around
    them), all with covariance R: for all but the first the Kalman filter is the best linear estimator only.

    >>> from leadline.sequences import linear_gaussian
    >>> drawn = simulate(linear_gaussian(0.9, 1.0, 0.1, 1.0), 50, paths=3, key=jax.random.key(0))
    >>> drawn.states.shape, drawn.observations.shape
    ((3, 50, 1), (3, 50, 1))
    """
    require_counts("simulate", length=length, paths=paths)
    noise_called("simulate", noise)
    return _simulated(model, length, paths, noise, key)


@functools.partial(jax.jit, static_argnums=(1, 2, 3))
def _simulated(model: LinearGaussian, length: int, paths: int, noise: str, key: PRNGKeyArray) -> Paths:
    d, k, dtype = len(model.A), len(model.C), model.A.dtype
    start_key, state_key, noise_key = jax.random.split(key, 3)
    start = model.mean + jax.random.normal(start_key, (paths, d), dtype) @ root(model.covariance).T
    moves = jax.random.normal(state_key, (length, paths, d), dtype) @ root(model.Q).T

    def step(h: Float[Array, "n d"], move: Float[Array, "n d"]) -> tuple[Array, Array]:
        h = h @ model.A.T + move
        return h, h

    _, states = jax.lax.scan(step, start, moves)
    states = jnp.swapaxes(states, 0, 1)
    errors = NOISES[noise].draw(noise_key, (paths, length, k), dtype) @ root(model.R).T
    return Paths(states, states @ model.C.T + errors)
