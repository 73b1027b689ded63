"""The Kalman smoother: the exact posterior of every state given all observations, past and future."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from ..linear_recurrences.prefix_scans import prefix_scan
from .covariances import applied, product, pseudo_inverse, sandwich
from .filtering import Method, kalman_filter
from .state_space import LinearGaussian
from .updates import Belief, Filtered


class Smoothed(NamedTuple):
    """The posterior of hₜ given all observations, for each t."""

    means: Float[Array, "T d"]
    covariances: Float[Array, "T d d"]
    gains: Float[Array, "T d d"]  # Cₜ = VₜAᵀPₜ₊₁⁻¹; 0 at the end
    log_likelihood: Float[Array, ""]


def kalman_smoother(
    model: LinearGaussian, xs: Real[Array | np.ndarray, "T ..."], *, method: Method = "loop"
) -> Smoothed:
    """p(hₜ | x₁, …, x_T) for every t, by a backward pass over the filter (Rauch, Tung and Striebel 1965).

    Cₜ = VₜAᵀPₜ₊₁⁻¹, mₜ = μₜ + Cₜ(mₜ₊₁ − Aμₜ), Sₜ = Vₜ + Cₜ(Sₜ₊₁ − Pₜ₊₁)Cₜᵀ, from m_T = μ_T and S_T = V_T; where
    Pₜ₊₁ is singular its pseudo-inverse. `method` is that of `kalman_filter`, and both passes follow it.

    >>> from leadline.sequences import linear_gaussian
    >>> found = kalman_smoother(linear_gaussian(0.5, 1.0, 0.75, 1.0), np.array([np.nan, 2.0]))
    >>> found.means[:, 0].tolist()
    [0.5, 1.0]
    """
    filtered = kalman_filter(model, xs, method=method)
    return _SMOOTHERS[method](model, filtered)


def _backward_gains(model: LinearGaussian, filtered: Filtered) -> Float[Array, "T d d"]:
    ahead = pseudo_inverse(filtered.predicted_covariances[1:])
    gains = product(product(filtered.covariances[:-1], model.A.T), ahead)
    return jnp.concatenate([gains, jnp.zeros_like(model.A)[None]])


@jax.jit
def _smooth_loop(model: LinearGaussian, filtered: Filtered) -> Smoothed:
    gains = _backward_gains(model, filtered)

    def step(later: Belief, here: tuple) -> tuple[Belief, Belief]:
        gain, mean, covariance, predicted, P = here
        found = Belief(mean + applied(gain, later.mean - predicted), covariance + sandwich(gain, later.covariance - P))
        return found, found

    last = Belief(filtered.means[-1], filtered.covariances[-1])
    ahead = filtered.predicted_means[1:], filtered.predicted_covariances[1:]
    rows = gains[:-1], filtered.means[:-1], filtered.covariances[:-1], *ahead
    _, found = jax.lax.scan(step, last, rows, reverse=True)
    means = jnp.concatenate([found.mean, last.mean[None]])
    covariances = jnp.concatenate([found.covariance, last.covariance[None]])
    return Smoothed(means, covariances, gains, filtered.log_likelihood)


@jax.jit
def _smooth_scan(model: LinearGaussian, filtered: Filtered) -> Smoothed:
    E = _backward_gains(model, filtered)
    ahead = jnp.concatenate([filtered.predicted_means[1:], filtered.means[-1:]])  # the last meets a gain of 0
    P = jnp.concatenate([filtered.predicted_covariances[1:], filtered.covariances[-1:]])
    g = filtered.means - applied(E, ahead)
    L = filtered.covariances - sandwich(E, P)

    def combine(early: tuple, late: tuple) -> tuple:
        (E1, g1, L1), (E2, g2, L2) = early, late
        return product(E1, E2), applied(E1, g2) + g1, sandwich(E1, L2) + L1

    _, means, covariances = prefix_scan(combine, (E, g, L), reverse=True).prefixes
    return Smoothed(means, covariances, E, filtered.log_likelihood)


_SMOOTHERS = {"loop": _smooth_loop, "scan": _smooth_scan}
