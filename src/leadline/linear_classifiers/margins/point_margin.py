"""Margins of points, of data sets and of networks."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Num

from .labelled import signed_sample

Labels = Num[Array | np.ndarray, " n"]
Inputs = Float[Array | np.ndarray, "n d"]
Vector = Float[Array | np.ndarray, " d"]
Scalar = Float[Array | np.ndarray, ""] | float | int

_NO_DIRECTION = "The weight vector is zero, so there is no hyperplane and no margin; pass w with ‖w‖ > 0."
_NAN_DIRECTION = "The weights contain NaN, so no margin is defined; look at how they were trained."


def point_margins(w: Vector, b: Scalar, x: Inputs, y: Labels) -> Float[Array, " n"]:
    """Signed distance of every point from the hyperplane, y (w·x + b) / ‖w‖: positive iff correct.

    Unchanged by (w, b) ↦ c (w, b), c > 0. Pass b = 0 for the homogeneous variant. w = 0 is an error
    (raised at run time if this is called under `jax.jit`).

    >>> import jax.numpy as jnp
    >>> point_margins(jnp.array([3.0, 4.0]), -5.0, jnp.array([[3.0, 4.0], [0.0, 0.0]]), jnp.array([1, 1])).tolist()
    [4.0, -1.0]
    """
    w, x = jnp.asarray(w), jnp.asarray(x)
    # ‖w‖ is taken in units of the largest entry, so that squaring neither underflows nor overflows.
    largest = jnp.max(jnp.abs(w))
    if isinstance(largest, Tracer):
        largest = eqx.error_if(largest, ~(largest > 0), _NO_DIRECTION)
    elif not largest > 0:
        raise ValueError(_NO_DIRECTION if largest == 0 else _NAN_DIRECTION)
    # The score itself is not rescaled: a point exactly on the plane has margin exactly 0.
    return jnp.asarray(y) * (x @ w + b) / largest / jnp.linalg.norm(w / largest)


class DataMargin(NamedTuple):
    """How a hyperplane sits in a labelled sample."""

    margin: float  # γ, the least point margin
    radius: float  # R, the largest ‖x‖
    difficulty: float  # R² / γ², infinite unless the sample is separated
    separates: bool  # γ > 0
    points: Float[np.ndarray, " n"]  # the margin of each point
    support: Bool[np.ndarray, " n"]  # which points attain the least margin


def data_margin(w: Vector, b: Scalar, x: Inputs, y: Labels, *, ties: float = 1e-9) -> DataMargin:
    """The margin γ = min_i yᵢ (w·xᵢ + b)/‖w‖ of a sample; (w, b) separates it iff γ > 0.

    `ties`: points within ties * R of γ count as support points. R²/γ² bounds the perceptron's
    updates when b = 0 (Novikoff 1962). In double precision, on concrete arrays; for `jax.jit` use `point_margins`.

    >>> import jax.numpy as jnp
    >>> measured = data_margin(jnp.array([1.0, 0.0]), 0.0, jnp.array([[2.0, 0.0], [-1.0, 1.0]]), jnp.array([1, -1]))
    >>> measured.margin, measured.difficulty, measured.support.tolist()
    (1.0, 4.0, [False, True])
    """
    x, y = signed_sample(x, y)
    w = np.asarray(w, np.float64)
    largest = np.abs(w).max()
    if not largest > 0:
        raise ValueError(_NO_DIRECTION if largest == 0 else _NAN_DIRECTION)
    points = y * (x @ w + float(b)) / largest / np.linalg.norm(w / largest)
    margin, radius = float(points.min()), float(np.linalg.norm(x, axis=1).max())
    difficulty = (radius / margin) ** 2 if margin > 0 else float("inf")
    return DataMargin(margin, radius, difficulty, margin > 0, points, points <= margin + ties * radius)


def network_margins(
    network: Callable[[Array], Array],
    x: Float[Array | np.ndarray, "n ..."],
    y: Labels,
    *,
    last_weights: Float[Array | np.ndarray, "..."] | None = None,
) -> Float[Array, " n"]:
    """Margins of a network with one real output: y f(x), or y f(x)/‖w_L‖ given its last layer's weights.

    With `last_weights` w_L, where f(x) = w_L.h(x) + b_L, the result is the point margin in the space of the
    last hidden features h. `network` maps one input to a scalar (shape () or (1,)).

    >>> import jax.numpy as jnp
    >>> hidden = lambda x: jnp.abs(x)
    >>> head = jnp.array([3.0, -4.0])
    >>> network = lambda x: head @ hidden(x)
    >>> network_margins(network, jnp.eye(2), jnp.array([1, 1])).tolist()
    [3.0, -4.0]
    >>> [f"{m:.2f}" for m in network_margins(network, jnp.eye(2), jnp.array([1, 1]), last_weights=head)]
    ['0.60', '-0.80']
    """
    scores = jax.vmap(network)(jnp.asarray(x))
    if scores.size != len(scores):
        raise ValueError(f"The network's output has shape {scores.shape[1:]}, expected one number for each input.")
    margins = jnp.asarray(y) * scores.reshape(-1)
    if last_weights is None:
        return margins
    # The head is a hyperplane in feature space: score / ‖w‖ is its point margin at the feature w·x = score.
    norm = jnp.linalg.norm(jnp.ravel(jnp.asarray(last_weights)))
    if isinstance(norm, Tracer):
        norm = eqx.error_if(norm, ~(norm > 0), _NO_DIRECTION)
    elif not norm > 0:
        raise ValueError(_NO_DIRECTION)
    return margins / norm
