"""Softmax with a temperature, cross-entropy from logits, label smoothing, and the loss of label sets."""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num

from leadline._checks import require

Logits = Num[Array | np.ndarray, "... m"]
Convention = Literal["others", "all"]


def softmax(z: Logits, temperature: Num[Array, ""] | float = 1.0) -> Float[Array, "... m"]:
    """p_k = exp(z_k/T) / Σ_j exp(zⱼ/T), over the last axis, after the largest logit is subtracted.

    >>> softmax(jnp.log(jnp.array([1.0, 3.0]))).round(4).tolist()
    [0.25, 0.75]
    """
    return jax.nn.softmax(_scaled(z, temperature), axis=-1)


def log_softmax(z: Logits, temperature: Num[Array, ""] | float = 1.0) -> Float[Array, "... m"]:
    """log p_k = z_k/T - log Σ_j exp(zⱼ/T): finite for all finite logits, where log(softmax(z)) is not."""
    return jax.nn.log_softmax(_scaled(z, temperature), axis=-1)


def softmax_jacobian(z: Num[Array | np.ndarray, " m"], temperature: float = 1.0) -> Float[Array, "m m"]:
    """∂p_j/∂z_k = (diag(p) - p pᵀ)/T: symmetric, positive semidefinite, rows sum to 0.

    >>> softmax_jacobian(jnp.zeros(2)).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    require("softmax_jacobian", axes=1, z=z)
    p = softmax(z, temperature)
    return (jnp.diag(p) - jnp.outer(p, p)) / temperature


def soft_maximum(z: Logits, temperature: Num[Array, ""] | float = 1.0) -> Float[Array, "..."]:
    """T log Σ_k exp(z_k/T), between max z and max z + T log m.

    >>> round(float(soft_maximum(jnp.array([1.0, 2.0, 3.0]), 0.01)), 4)
    3.0
    """
    return temperature * jax.nn.logsumexp(_scaled(z, temperature), axis=-1)


def softmax_entropy(z: Logits, temperature: Num[Array, ""] | float = 1.0) -> Float[Array, "..."]:
    """H(p) = -Σ p_k log p_k in nats of p = softmax(z/T); it rises with T at the rate Var_p(z)/T³.

    >>> round(float(softmax_entropy(jnp.zeros(4))), 4)
    1.3863
    """
    return -(softmax(z, temperature) * log_softmax(z, temperature)).sum(-1)


def cross_entropy(
    logits: Logits,
    target: Int[Array | np.ndarray, "..."] | Float[Array | np.ndarray, "..."],
    temperature: Num[Array, ""] | float = 1.0,
) -> Float[Array, "..."]:
    """-Σ_k t_k log softmax_k(z/T), one number for each row of logits; averages and sums are the caller's.

    `target` is whole numbers y, one a row, for which it is log Σ_k exp(z_k/T) - z_y/T, or distributions t, one a
    row, for which it is H(t) + KL(t ‖ p). Gradient in the logits: (p - t)/T.

    >>> z = jnp.log(jnp.array([[1.0, 3.0], [1.0, 3.0]]))
    >>> [round(float(v), 4) for v in cross_entropy(z, jnp.array([1, 0]))]
    [0.2877, 1.3863]
    >>> [round(float(v), 4) for v in cross_entropy(z, jnp.array([[0.25, 0.75], [1.0, 0.0]]))]
    [0.5623, 1.3863]
    """
    logits, target = jnp.asarray(logits), jnp.asarray(target)
    log_p = log_softmax(logits, temperature)
    if target.shape == logits.shape:
        return -jnp.where(target == 0, 0.0, target * log_p).sum(-1)  # a class of probability 0 may be left out: 0 log 0
    if target.shape != logits.shape[:-1] or not jnp.issubdtype(target.dtype, jnp.integer):
        raise ValueError(
            f"cross_entropy got targets of shape {target.shape} and type {target.dtype} for logits {logits.shape}; "
            f"give whole numbers of shape {logits.shape[:-1]} or distributions of shape {logits.shape}."
        )
    return -jnp.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]


def smooth_labels(
    labels: Int[Array | np.ndarray, "*rows"], classes: int, epsilon: float, *, convention: Convention = "others"
) -> Float[Array, "*rows classes"]:
    """Targets with 1-ε on the label and ε/(m-1) on each other class (Szegedy et al. 2016).

    With `convention="all"`, as libraries have it, (1-ε) one-hot + ε/m: ε spread over all classes, the label included.

    >>> smooth_labels(jnp.array([2]), 3, 0.5).tolist()
    [[0.25, 0.25, 0.5]]
    """
    moved = others_epsilon(epsilon, classes) if convention == "all" else _smoothing(epsilon, classes)
    hot = jax.nn.one_hot(jnp.asarray(labels), classes, dtype=jnp.result_type(float))
    return hot * (1 - moved) + (1 - hot) * (moved / (classes - 1))


def others_epsilon(epsilon: float, classes: int) -> float:
    """ε (m-1)/m: what the convention "all" with ε takes from the label and gives to the other classes.

    >>> round(others_epsilon(0.1, 10), 12)
    0.09
    """
    return _smoothing(epsilon, classes) * (classes - 1) / classes


class SmoothingOptimum(NamedTuple):
    """Where the smoothed loss of free logits is least."""

    gap: float  # z_y - z_k, the same for all k ≠ y
    loss: float


def smoothing_optimum(classes: int, epsilon: float, *, convention: Convention = "others") -> SmoothingOptimum:
    """The least smoothed loss is the entropy of the targets, at the logit gap log((m-1)(1-ε)/ε).

    >>> [round(v, 4) for v in smoothing_optimum(10, 0.1)]
    [4.3944, 0.5448]
    """
    moved = others_epsilon(epsilon, classes) if convention == "all" else _smoothing(epsilon, classes)
    if not 0 < moved < 1:
        raise ValueError(f"smoothing_optimum got epsilon = {epsilon}; strictly between 0 and 1 the optimum is finite.")
    gap = np.log((classes - 1) * (1 - moved) / moved)
    loss = -(1 - moved) * np.log1p(-moved) - moved * np.log(moved / (classes - 1))
    return SmoothingOptimum(float(gap), float(loss))


def binary_cross_entropy(
    logits: Num[Array | np.ndarray, "..."], targets: Num[Array | np.ndarray, "..."]
) -> Float[Array, "..."]:
    """-[t log σ(z) + (1-t) log(1-σ(z))], entry by entry, as t softplus(-z) + (1-t) softplus(z); gradient σ(z) - t.

    The loss of a label set is its sum over the last axis; t may be any probability.

    >>> binary_cross_entropy(jnp.array([0.0, 10000.0]), jnp.array([1.0, 0.0])).round(4).tolist()[1]
    10000.0
    """
    z, t = jnp.asarray(logits) * 1.0, jnp.asarray(targets)
    return t * jax.nn.softplus(-z) + (1 - t) * jax.nn.softplus(z)


def multi_label_loss(
    logits: Num[Array | np.ndarray, "... m"], targets: Num[Array | np.ndarray, "... m"]
) -> Float[Array, "..."]:
    """The negative log-likelihood of m independent yes-or-no labels: binary cross-entropy summed over the last axis.

    >>> round(float(multi_label_loss(jnp.zeros(3), jnp.array([1.0, 0.0, 1.0]))), 4)
    2.0794
    """
    return binary_cross_entropy(logits, targets).sum(-1)


def _scaled(z: Logits, temperature: Num[Array, ""] | float) -> Float[Array, "... m"]:
    if isinstance(temperature, int | float) and not temperature > 0:
        raise ValueError(f"The temperature is {temperature}; it must be above 0.")
    return jnp.asarray(z) / temperature


def _smoothing(epsilon: float, classes: int) -> float:
    if classes < 2:
        raise ValueError(f"Label smoothing got {classes} classes; it needs at least 2.")
    if isinstance(epsilon, int | float) and not 0 <= epsilon <= 1:
        raise ValueError(f"Label smoothing got epsilon = {epsilon}; it must lie in [0, 1].")
    return epsilon
