"""The robust loss, the largest within a ball, between what an attack reaches and what certificates exclude."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from leadline._checks import require_numbers
from leadline.networks import dual_exponent

from .attacks.gradient_attacks import Inputs, Labels, Scores, pgd
from .certificates.interval_certificates import interval_margins
from .certificates.lipschitz_certificates import LipschitzBracket


class LossBracket(NamedTuple):
    """lower ≤ max loss ≤ upper, for each input; `attacked` where an attack changed the class, `certified` where no
    change can. Robust accuracy lies in [certified.mean(), 1 - attacked.mean()]."""

    lower: Float[np.ndarray, " n"]
    upper: Float[np.ndarray, " n"]
    attacked: Bool[np.ndarray, " n"]
    certified: Bool[np.ndarray, " n"]


def robust_loss_bracket(
    apply: Scores,
    params: PyTree,
    x: Inputs,
    y: Labels,
    eps: float,
    *,
    p: float = math.inf,
    lipschitz: LipschitzBracket | None = None,
    num_steps: int = 20,
    starts: int = 1,
    key: PRNGKeyArray | None = None,
) -> LossBracket:
    """max_{‖η‖_p ≤ eps} cross-entropy(f(x + η), y) from below by PGD and from above by certificates.

    Lower bounds of f_y - f_k give the upper end log(1 + Σ_k exp(-bound)): for each k the better of interval bounds over
    the box of radius eps, which holds every p-ball, and of f_y - f_k - L(f_y - f_k) eps₂ with the constants of
    `lipschitz`, eps₂ the Euclidean radius of the p-ball. For two classes and a linear model both ends agree where
    p = ∞, and with `lipschitz` where p = 2.

    >>> found = robust_loss_bracket(lambda w, x: x @ w, jnp.eye(2), jnp.array([[1.0, 0.0]]), jnp.array([0]), 0.25)
    >>> found.lower.round(3).tolist(), found.upper.round(3).tolist(), found.certified.tolist()
    ([0.474], [0.474], [True])
    """
    require_numbers("robust_loss_bracket", params=params, x=x)
    if not eps >= 0:
        raise ValueError(f"The radius eps is {eps}; give one that is not negative.")
    found = pgd(apply, params, x, y, eps, p=p, num_steps=num_steps, starts=starts, key=key)
    scores = np.asarray(apply(params, jnp.asarray(x)), np.float64)
    labels = np.asarray(y)
    bounds = np.array(interval_margins(apply, params, x, y, eps), np.float64)
    if lipschitz is not None and lipschitz.upper is not None:
        size = math.prod(np.shape(x)[1:])
        reach = eps * size ** max(0.0, 0.5 - 1 / p)
        constants = np.full((scores.shape[1],) * 2, math.sqrt(2) * lipschitz.upper)
        constants = constants if lipschitz.pairs is None else np.minimum(constants, lipschitz.pairs)
        margins = scores[np.arange(len(scores)), labels][:, None] - scores
        bounds = np.maximum(bounds, margins - constants[labels] * reach)
    bounds[np.arange(len(scores)), labels] = np.inf
    upper = np.logaddexp(0.0, np.logaddexp.reduce(-bounds, axis=1))
    return LossBracket(np.asarray(found.loss), upper, np.asarray(found.fooled), np.all(bounds > 0, axis=1))


def linear_robust_losses(
    weight: Float[Array | np.ndarray, " d"],
    bias: float | Float[Array, ""],
    x: Float[Array | np.ndarray, "n d"],
    signs: Float[Array | np.ndarray, " n"],
    eps: float,
    p: float = math.inf,
) -> Float[Array, " n"]:
    """max_{‖η‖_p ≤ eps} log(1 + exp(-y (w·(x + η) + b))) = log(1 + exp(-(y (w·x + b) - eps ‖w‖_q))), 1/p + 1/q = 1.

    Any decreasing loss of the margin has its worst case where the margin is least, which is eps ‖w‖_q lower: robust
    logistic regression is convex, with the dual norm inside the loss. Signs y are ±1.

    >>> linear_robust_losses(jnp.array([3.0, 4.0]), 0.0, jnp.array([[1.0, 0.5]]), jnp.array([1.0]), 1.0, p=2.0).tolist()
    [0.6931471805599453]
    """
    q = dual_exponent(p)
    shift = eps * jnp.linalg.norm(jnp.asarray(weight), ord=q)
    return jax.nn.softplus(-(jnp.asarray(signs) * (jnp.asarray(x) @ weight + bias) - shift))
