"""One step of the Kalman filter: a belief moved by the dynamics, and conditioned on an observation."""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from .covariances import applied, inverse, log_determinant, product, sandwich, turned
from .state_space import LinearGaussian


class Belief(NamedTuple):
    """A normal distribution of the state: all that the past says about what follows."""

    mean: Float[Array, " d"]
    covariance: Float[Array, "d d"]


class Filtered(NamedTuple):
    """The posterior of hₜ given x₁, …, xₜ, for each t; predictions are those of t given what was before it."""

    means: Float[Array, "T d"]
    covariances: Float[Array, "T d d"]
    predicted_means: Float[Array, "T d"]
    predicted_covariances: Float[Array, "T d d"]
    innovations: Float[Array, "T k"]  # xₜ − C E[hₜ | past]; 0 where xₜ is missing
    innovation_covariances: Float[Array, "T k k"]
    gains: Float[Array, "T d k"]
    log_likelihoods: Float[Array, " T"]  # ln p(xₜ | past)

    @property
    def log_likelihood(self) -> Float[Array, ""]:
        """ln p(x₁, …, x_T)."""
        return self.log_likelihoods.sum()


class Step(NamedTuple):
    belief: Belief
    innovation: Float[Array, " k"]
    spread: Float[Array, "k k"]
    gain: Float[Array, "d k"]
    log_likelihood: Float[Array, ""]


def moved(
    model: LinearGaussian, mean: Float[Array, "... d"], covariance: Float[Array, "... d d"]
) -> tuple[Array, Array]:
    """Mean and covariance of the next state: A μ and A V Aᵀ + Q."""
    return applied(model.A, mean), sandwich(model.A, covariance) + model.Q


def observed(model: LinearGaussian, x: Float[Array, "... k"]) -> tuple[Array, Array, Array]:
    """Which numbers are there; C without the rows of the others, R with unit variance in their places."""
    seen = ~jnp.isnan(x)
    C = jnp.where(seen[..., :, None], model.C, 0.0)
    both = seen[..., :, None] & seen[..., None, :]
    return seen, C, jnp.where(both, model.R, jnp.eye(len(model.R), dtype=model.R.dtype))


def conditioned(
    model: LinearGaussian, mean: Float[Array, "... d"], P: Float[Array, "... d d"], x: Float[Array, "... k"]
) -> Step:
    """One observation taken into account, of a state with this predicted mean and covariance."""
    seen, C, R = observed(model, x)
    innovation = jnp.where(seen, jnp.where(seen, x, 0.0) - applied(C, mean), 0.0)
    S = sandwich(C, P) + R
    precision = inverse(S)
    gain = product(product(P, turned(C)), precision)
    kept = jnp.eye(P.shape[-1], dtype=P.dtype) - product(gain, C)
    covariance = sandwich(kept, P) + sandwich(gain, R)
    distance = (innovation * applied(precision, innovation)).sum(-1)
    # A missing number has innovation 0 and variance 1: only its share of the constant is left to leave out.
    constant = seen.sum(-1) * math.log(2 * math.pi)
    log_likelihood = -0.5 * (distance + log_determinant(S) + constant)
    return Step(Belief(mean + applied(gain, innovation), covariance), innovation, S, gain, log_likelihood)
