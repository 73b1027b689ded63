"""The geometry of the decision boundary {x : w·x + b = 0}."""

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Num

Vector = Num[Array | np.ndarray, " d"]
Points = Num[Array | np.ndarray, "*n d"]
Scalar = int | float | Num[Array | np.ndarray, ""]


def signed_distance(weights: Vector, bias: Scalar, x: Points) -> Float[Array, "*n"]:
    """(w·x + b)/‖w‖: the distance of x to the plane, positive on the side w points to (Hesse normal form).

    >>> float(signed_distance(jnp.array([3.0, 4.0]), 5.0, jnp.array([0.0, 0.0])))
    1.0
    """
    w = _nonzero(weights)
    return (jnp.asarray(x) @ w + bias) / jnp.linalg.norm(w)


def foot(weights: Vector, bias: Scalar, x: Points) -> Float[Array, "*n d"]:
    """The point of the plane nearest to x: x - (w·x + b) w/‖w‖².

    >>> foot(jnp.array([0.0, 2.0]), -2.0, jnp.array([3.0, 5.0])).tolist()
    [3.0, 1.0]
    """
    w = _nonzero(weights)
    x = jnp.asarray(x)
    return x - ((x @ w + bias) / (w @ w))[..., None] * w


def plane_offset(weights: Vector, bias: Scalar) -> Float[Array, ""]:
    """-b/‖w‖: where the plane cuts the line through the origin along w/‖w‖.

    >>> float(plane_offset(jnp.array([3.0, 4.0]), 5.0))
    -1.0
    """
    return -bias / jnp.linalg.norm(_nonzero(weights))


def absorbed_distance(weights: Vector, bias: Scalar, x: Points) -> Float[Array, "*n"]:
    """(w·x + b)/√(‖w‖² + b²): the distance of (x, 1) to the plane of (w, b) in R^(d+1).

    Smaller than the distance in input space by the factor √(1 + b²/‖w‖²).

    >>> round(float(absorbed_distance(jnp.array([3.0, 4.0]), 5.0, jnp.array([0.0, 0.0]))), 4)
    0.7071
    """
    w = _nonzero(weights)
    return (jnp.asarray(x) @ w + bias) / jnp.sqrt(w @ w + bias**2)


def _nonzero(weights: Vector) -> Float[Array, " d"]:
    weights = jnp.asarray(weights)
    if not jnp.issubdtype(weights.dtype, jnp.floating):
        weights = weights.astype(float)
    traced = isinstance(weights, Tracer)  # inside jit the values are not known: w = 0 then gives NaN
    if not traced and not jnp.any(weights != 0):
        raise ValueError("The weights are all 0, so w.x + b = 0 is no hyperplane; a distance needs w != 0.")
    return weights
