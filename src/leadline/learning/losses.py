"""Losses, elementwise on arrays: regression in (prediction, target), classification in the margin z = y f(x)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

Numbers = Num[Array | np.ndarray, "..."] | float | int
Loss = Callable[..., Float[Array, "..."]]


def squared(prediction: Numbers, target: Numbers) -> Float[Array, "..."]:
    """r², r = target - prediction; slope in the prediction -2r. The best constant is the mean.

    >>> squared(1.0, jnp.array([1.0, 4.0])).tolist()
    [0.0, 9.0]
    """
    return _residual(prediction, target) ** 2


def half_squared(prediction: Numbers, target: Numbers) -> Float[Array, "..."]:
    """r²/2, the convention in which the slope is the negative residual."""
    return 0.5 * _residual(prediction, target) ** 2


def absolute(prediction: Numbers, target: Numbers) -> Float[Array, "..."]:
    """|r|; subgradient 0 at r = 0. The best constants are the medians."""
    r = _residual(prediction, target)
    return r * jnp.sign(r)  # jnp.abs has slope 1 at 0


def huber(prediction: Numbers, target: Numbers, delta: Numbers = 1.0) -> Float[Array, "..."]:
    """r²/2 for |r| ≤ δ and δ(|r| - δ/2) beyond: value and slope are continuous, the slope is r clipped to [-δ, δ].

    Huber 1964.

    >>> huber(0.0, jnp.array([0.5, 3.0])).tolist()
    [0.125, 2.5]
    """
    _positive("huber", "delta", delta)
    r = _residual(prediction, target)
    inside = jnp.clip(r, -delta, delta)
    return inside * (r - 0.5 * inside)


def epsilon_insensitive(prediction: Numbers, target: Numbers, epsilon: Numbers = 0.1) -> Float[Array, "..."]:
    """max(0, |r| - ε): residuals within ε are free, and their subgradient, at |r| = ε too, is 0 (Vapnik 1995).

    >>> epsilon_insensitive(0.0, jnp.array([0.5, 3.0]), epsilon=1.0).tolist()
    [0.0, 2.0]
    """
    if isinstance(epsilon, int | float) and not epsilon >= 0:
        raise ValueError(f"epsilon_insensitive got epsilon = {epsilon}; it must be at least 0.")
    return jax.nn.relu(jnp.abs(_residual(prediction, target)) - epsilon)


def pinball(prediction: Numbers, target: Numbers, tau: Numbers = 0.5) -> Float[Array, "..."]:
    """r (τ - 1{r < 0}): τ|r| above the prediction, (1-τ)|r| below; the best constants are the τ-quantiles.

    Half the absolute loss at τ = 1/2. At r = 0 the subgradient is that from above, -τ (Koenker and Bassett 1978).

    >>> pinball(0.0, jnp.array([2.0, -2.0]), tau=0.75).tolist()
    [1.5, 0.5]
    """
    if isinstance(tau, int | float) and not 0 < tau < 1:
        raise ValueError(f"pinball got the level tau = {tau}; it must lie strictly between 0 and 1.")
    r = _residual(prediction, target)
    return r * (tau - (r < 0))


def zero_one(z: Numbers) -> Float[Array, "..."]:
    """1{z ≤ 0}: an error, where a score of exactly 0 counts as one. Its slope is 0 wherever it has one.

    >>> zero_one(jnp.array([-1.0, 0.0, 2.0])).tolist()
    [1.0, 1.0, 0.0]
    """
    z = _floating(z)
    return (z <= 0).astype(z.dtype)


def perceptron_hinge(z: Numbers) -> Float[Array, "..."]:
    """max(0, -z), the loss whose subgradient steps are the perceptron's; 0 at z = 0, and so is its subgradient.

    >>> perceptron_hinge(jnp.array([-2.0, 0.5])).tolist()
    [2.0, 0.0]
    """
    return jax.nn.relu(-_floating(z))


def hinge(z: Numbers) -> Float[Array, "..."]:
    """max(0, 1 - z), the loss of the support vector machine; subgradient 0 at z = 1.

    >>> hinge(jnp.array([-2.0, 0.5, 2.0])).tolist()
    [3.0, 0.5, 0.0]
    """
    return jax.nn.relu(1 - _floating(z))


def exponential(z: Numbers) -> Float[Array, "..."]:
    """e⁻ᶻ, the loss of boosting. No form of it stays in range: it exceeds the largest double at z < -709."""
    return jnp.exp(-_floating(z))


def logistic(z: Numbers) -> Float[Array, "..."]:
    """log(1 + e⁻ᶻ) = softplus(-z): minus the log-probability of the label under p(y|x) = σ(y f(x)); log 2 at z = 0.

    >>> [round(float(v), 4) for v in logistic(jnp.array([0.0, -10000.0]))]
    [0.6931, 10000.0]
    """
    return jax.nn.softplus(-_floating(z))


def loss_slope(loss: Loss, at: Numbers, *others: Numbers) -> Float[Array, "..."]:
    """The derivative of an elementwise loss in its first argument (prediction or margin), element by element.

    At a kink it is the subgradient that the loss's docstring names.

    >>> loss_slope(hinge, jnp.array([0.0, 1.0, 2.0])).tolist(), loss_slope(huber, 0.0, jnp.array([0.5, 3.0])).tolist()
    ([-1.0, 0.0, 0.0], [-0.5, -1.0])
    """
    others = tuple(_floating(a) for a in others)
    shape = jnp.broadcast_shapes(*(jnp.shape(a) for a in (at, *others)))
    at = jnp.broadcast_to(_floating(at), shape)
    return jax.jvp(lambda u: loss(u, *others), (at,), (jnp.ones_like(at),))[1]


@dataclass(frozen=True)
class LossCard:
    """A loss with what is known of it.

    `kinks` are the residuals or margins without a derivative, at the default shape parameters. For losses of the
    margin: `dominates` is the least c with c·loss ≥ zero-one loss everywhere (None: there is none), and
    `calibrated` whether it is convex with a negative slope at 0 (Bartlett, Jordan and McAuliffe 2006).
    """

    value: Loss
    of: Literal["residual", "margin"]
    convex: bool
    kinks: tuple[float, ...] = ()
    dominates: float | None = None
    calibrated: bool = False


#: The losses by name, with their properties.
LOSSES: dict[str, LossCard] = {
    "squared": LossCard(squared, "residual", convex=True),
    "half_squared": LossCard(half_squared, "residual", convex=True),
    "absolute": LossCard(absolute, "residual", convex=True, kinks=(0.0,)),
    "huber": LossCard(huber, "residual", convex=True),
    "epsilon_insensitive": LossCard(epsilon_insensitive, "residual", convex=True, kinks=(-0.1, 0.1)),
    "pinball": LossCard(pinball, "residual", convex=True, kinks=(0.0,)),
    "zero_one": LossCard(zero_one, "margin", convex=False, kinks=(0.0,), dominates=1.0),
    "perceptron_hinge": LossCard(perceptron_hinge, "margin", convex=True, kinks=(0.0,)),
    "hinge": LossCard(hinge, "margin", convex=True, kinks=(1.0,), dominates=1.0, calibrated=True),
    "exponential": LossCard(exponential, "margin", convex=True, dominates=1.0, calibrated=True),
    "logistic": LossCard(logistic, "margin", convex=True, dominates=1 / math.log(2), calibrated=True),
}


def _residual(prediction: Numbers, target: Numbers) -> Float[Array, "..."]:
    return _floating(target) - _floating(prediction)


def _floating(values: Numbers) -> Float[Array, "..."]:
    """As a JAX array of its own floating-point type; whole numbers in the default one."""
    return jnp.asarray(values) * 1.0


def _positive(function: str, name: str, value: Numbers) -> None:
    if isinstance(value, int | float) and not value > 0:
        raise ValueError(f"{function} got {name} = {value}; it must be above 0.")
