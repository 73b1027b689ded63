"""Online learning on an interval: linear losses one after another, and the regret against the best fixed point."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PyTree

from leadline._checks import require
from leadline.training import apply_rule

from .descent import tunable


def play_online(
    rule: optax.GradientTransformation,
    slopes: Float[Array, " t"],
    start: float = 0.0,
    low: float = -1.0,
    high: float = 1.0,
) -> Float[Array, " t"]:
    """The points xₜ played against fₜ(x) = slopeₜ · x: each rule's step is followed by a projection on [low, high].

    >>> play_online(optax.sgd(0.75), jnp.array([1.0, 1.0, -1.0])).tolist()
    [0.0, -0.75, -1.0]
    """
    require("play_online", axes=1, slopes=slopes)
    return _play(rule, slopes, start, low, high)


@eqx.filter_jit
def _play(rule, slopes, start, low, high):
    def move(state: PyTree, slope: Array) -> tuple[PyTree, Array]:
        x, opt_state = state
        after, opt_state = apply_rule(rule, opt_state, x, slope * x, slope, lambda y: slope * y)
        return (jnp.clip(after, low, high), opt_state), x

    begin = jnp.asarray(start, slopes.dtype)
    return jax.lax.scan(move, (begin, rule.init(begin)), slopes)[1]


def average_regret(
    points: Float[np.ndarray, " t"], slopes: Float[np.ndarray, " t"], low: float = -1.0, high: float = 1.0
) -> Float[np.ndarray, " t"]:
    """(1/t) [Σ fₛ(xₛ) − min_x Σ fₛ(x)] after each t, for linear losses on [low, high].

    >>> average_regret(np.array([0.0, 0.0]), np.array([1.0, 1.0])).tolist()
    [1.0, 1.0]
    """
    require("average_regret", axes=1, points=points, slopes=slopes)
    total = np.cumsum(slopes)
    best = np.minimum(low * total, high * total)
    return (np.cumsum(slopes * points) - best) / np.arange(1, len(slopes) + 1)


def drifting_slopes(num_steps: int, large: float) -> Float[np.ndarray, " t"]:
    """C, −1, −1, C, −1, −1, …: losses on which Adam fails (Reddi, Kale and Kumar 2018); the best point is −1 if C > 2.

    >>> drifting_slopes(4, 3.0).tolist()
    [3.0, -1.0, -1.0, 3.0]
    """
    return np.where(np.arange(num_steps) % 3 == 0, large, -1.0)


def online_adaptive(
    learning_rate: float | Float[Array, ""], b2: float | Float[Array, ""], *, maximum: bool
) -> optax.GradientTransformation:
    """Adam (or, with `maximum`, AMSGrad) without first moment and corrections, at the online rate η/√t.

    >>> float(play_online(online_adaptive(0.5, 0.1, maximum=True), jnp.array([3.0, -1.0]))[1].round(4))
    -0.527
    """
    return tunable(_with_maximum if maximum else _without_maximum, learning_rate=learning_rate, b2=b2)


def _with_maximum(learning_rate: Array, b2: Array) -> optax.GradientTransformation:
    moments = optax.scale_by_amsgrad(0.0, b2, 0.0, bias_correction_mu=False, bias_correction_nu=False)
    return optax.chain(moments, _root_rate(learning_rate))


def _without_maximum(learning_rate: Array, b2: Array) -> optax.GradientTransformation:
    return optax.chain(optax.scale_by_rms(b2, 0.0, eps_in_sqrt=False), _root_rate(learning_rate))


def _root_rate(learning_rate: Array) -> optax.GradientTransformation:
    return optax.scale_by_schedule(lambda t: -learning_rate / jnp.sqrt(t + 1.0))
