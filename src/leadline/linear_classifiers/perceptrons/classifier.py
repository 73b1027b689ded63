"""The linear threshold classifier f(x) = sgn(w·x + b) and the two ways to write its bias."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Num


class LinearThreshold(eqx.Module):
    """f(x) = sgn(w·x + b), with the value at w·x + b = 0 a choice: 0 (a point on the plane is an error), +1 or -1.

    The decision boundary {w·x + b = 0} has unit normal w/‖w‖. With 0/1 outputs the same classifier is
    1{w·x ≥ θ}, θ = -b, after relabelling y = 2t - 1 (`from_threshold`, `fires`).

    >>> unit = LinearThreshold(jnp.array([1.0, -1.0]), 0.5)
    >>> unit(jnp.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.5]])).tolist()
    [1.0, -1.0, 0.0]
    """

    weights: Float[Array, " d"]
    bias: Float[Array, ""]
    at_zero: int = eqx.field(static=True)

    def __init__(
        self,
        weights: Num[Array | np.ndarray, " d"],
        bias: int | float | Num[Array | np.ndarray, ""] = 0.0,
        at_zero: int = 0,
    ):
        if at_zero not in (-1, 0, 1):
            raise ValueError(f"LinearThreshold got at_zero={at_zero}; the value of sgn(0) must be -1, 0 or +1.")
        weights = jnp.asarray(weights)
        self.weights = weights if jnp.issubdtype(weights.dtype, jnp.floating) else weights.astype(float)
        self.bias = jnp.asarray(bias, self.weights.dtype)
        self.at_zero = at_zero

    def score(self, x: Num[Array | np.ndarray, "*n d"]) -> Float[Array, "*n"]:
        """w·x + b for each row."""
        return jnp.asarray(x) @ self.weights + self.bias

    def __call__(self, x: Num[Array | np.ndarray, "*n d"]) -> Float[Array, "*n"]:
        """sgn(w·x + b) for each row: -1, +1, or `at_zero` on the plane."""
        score = self.score(x)
        return jnp.where(score == 0, self.at_zero, jnp.sign(score))


def from_threshold(
    weights: Num[Array | np.ndarray, " d"], theta: int | float | Num[Array | np.ndarray, ""]
) -> LinearThreshold:
    """The 0/1 unit 1{w·x ≥ θ} as a sign unit: b = -θ and sgn(0) = +1, since it fires on the plane.

    >>> float(from_threshold(jnp.array([1.0, 1.0]), 2.0)(jnp.array([1.0, 1.0])))
    1.0
    """
    return LinearThreshold(weights, -jnp.asarray(theta), at_zero=1)


def fires(
    weights: Num[Array | np.ndarray, " d"],
    theta: int | float | Num[Array | np.ndarray, ""],
    x: Num[Array | np.ndarray, "*n d"],
) -> Bool[Array, "*n"]:
    """The 0/1 threshold form: t = 1{w·x ≥ θ} for each row.

    >>> fires(jnp.array([1.0, 1.0]), 2.0, jnp.array([[1.0, 1.0], [1.0, 0.0]])).tolist()
    [True, False]
    """
    return jnp.asarray(x) @ jnp.asarray(weights) >= theta


def with_constant(x: Num[Array | np.ndarray, "*n d"]) -> Num[Array, "*n d_plus_1"]:
    """x ↦ (x, 1): a constant last input, whose weight is then the bias.

    >>> with_constant(jnp.array([[2.0, 3.0]])).tolist()
    [[2.0, 3.0, 1.0]]
    """
    x = jnp.asarray(x)
    return jnp.concatenate([x, jnp.ones((*x.shape[:-1], 1), x.dtype)], axis=-1)


def absorb_bias(classifier: LinearThreshold) -> LinearThreshold:
    """The same classifier on (x, 1): weights (w, b), no bias.

    >>> absorb_bias(LinearThreshold(jnp.array([1.0, -1.0]), 0.5)).weights.tolist()
    [1.0, -1.0, 0.5]
    """
    weights = jnp.append(classifier.weights, classifier.bias)
    return LinearThreshold(weights, 0.0, classifier.at_zero)
