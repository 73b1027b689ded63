"""Losses of linear models, whose gradient is an input times a few numbers: xᵢ ⊗ eᵢ(w)."""

from collections.abc import Callable

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int

Vector = Float[Array, " p"]


def cross_entropy_of_scores(scores: Float[Array, " c"], label: Int[Array, ""]) -> Float[Array, ""]:
    """log Σ_c exp(s_c) − s_label."""
    return jax.nn.logsumexp(scores) - scores[label]


def logistic_of_score(scores: Float[Array, " 1"], sign: Float[Array, ""]) -> Float[Array, ""]:
    """log(1 + exp(−y s)), y = ±1."""
    return jax.nn.softplus(-sign * scores[0])


def half_square_of_score(scores: Float[Array, " 1"], target: Float[Array, ""]) -> Float[Array, ""]:
    """(s − y)²/2."""
    return (scores[0] - target) ** 2 / 2


class LinearLoss(eqx.Module):
    """ℓ(w; x, y) = φ(xᵀW, y) + (a/2)‖w‖², W = w as a (d, outputs) matrix; the loss of a `FiniteSum` over rows (x, y).

    Its gradient is x ⊗ ∇φ + a w: to remember it for every example takes n × outputs numbers instead of n × p, and
    the penalty's part, which is known, none.

    >>> import jax.numpy as jnp
    >>> loss = LinearLoss(half_square_of_score, jnp.array(0.0), 1)
    >>> loss.factor(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0]), jnp.array(1.0)).tolist()
    [2.0]
    """

    head: Callable = eqx.field(static=True)
    penalty: Float[Array, ""]
    outputs: int = eqx.field(static=True)

    def __call__(self, w: Vector, x: Float[Array, " d"], target: Array) -> Float[Array, ""]:
        return self.head(x @ w.reshape(-1, self.outputs), target) + self.penalty * (w @ w) / 2

    def factor(self, w: Vector, x: Float[Array, " d"], target: Array) -> Float[Array, " outputs"]:
        """∇φ(xᵀW, y)."""
        return jax.grad(self.head)(x @ w.reshape(-1, self.outputs), target)

    def lift(self, x: Float[Array, " d"], factor: Float[Array, " outputs"]) -> Vector:
        """x ⊗ ∇φ, flattened: the gradient without the penalty's part."""
        return (x[:, None] * factor).ravel()
