"""Foregrounds on other backgrounds, and how much of a network's answer rests on the background."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray, PyTree

from leadline._checks import require_rows


def on_background(
    foreground: Float[Array, "*channels height width"],
    mask: Num[Array, "height width"] | Bool[Array, "height width"],
    background: Float[Array, "*channels height width"],
) -> Float[Array, "*channels height width"]:
    """m x + (1 − m) b: the foreground where the mask is 1, the background where it is 0.

    >>> on_background(jnp.ones((1, 2)), jnp.array([[True, False]]), jnp.zeros((1, 2))).tolist()
    [[1.0, 0.0]]
    """
    share = jnp.asarray(mask, foreground.dtype)
    return share * foreground + (1 - share) * background


class NewBackground(eqx.Module):
    """A step on images of two layers (2, height, width), foreground and mask: pasted on one of the `backgrounds`.

    >>> step = NewBackground(jnp.zeros((3, 2, 2)))
    >>> step(jax.random.key(0), jnp.ones((2, 2, 2))).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    backgrounds: Float[Array, "k height width"]

    def __init__(self, backgrounds: Float[Array | np.ndarray, "k height width"]):
        if not len(backgrounds):
            raise ValueError("NewBackground got no backgrounds; give at least one.")
        self.backgrounds = jnp.asarray(backgrounds)

    def __call__(self, key: PRNGKeyArray, layers: Float[Array, "2 height width"]) -> Float[Array, "height width"]:
        chosen = self.backgrounds[jax.random.randint(key, (), 0, len(self.backgrounds))]
        return on_background(layers[0], layers[1], chosen.astype(layers.dtype))


def gradient_share(
    apply: Callable[[PyTree, Any], Any],
    params: PyTree,
    images: Float[Array | np.ndarray, "n ..."],
    labels: Int[Array | np.ndarray, " _"],
    where: Num[Array | np.ndarray, "_ ..."] | Bool[Array | np.ndarray, "_ ..."],
) -> Float[Array, " n"]:
    """Σ_{p in where} |∂s/∂x_p| / Σ_p |∂s/∂x_p| of each image, s = f_y − log Σ exp f the log-probability of its label.

    >>> score = lambda w, x: jnp.stack([x @ w, -x @ w], axis=1)
    >>> w = jnp.array([3.0, 1.0])
    >>> gradient_share(score, w, jnp.zeros((1, 2)), jnp.array([0]), jnp.array([[False, True]])).tolist()
    [0.25]
    """
    require_rows("gradient_share", images=images, labels=labels, where=where)
    labels = jnp.asarray(labels)

    def total(x: Array) -> Array:
        return jnp.take_along_axis(jax.nn.log_softmax(apply(params, x)), labels[:, None], axis=1).sum()

    slopes = jnp.abs(jax.grad(total)(jnp.asarray(images))).reshape(len(labels), -1)
    inside = jnp.asarray(where, slopes.dtype).reshape(len(labels), -1)
    mass = slopes.sum(axis=1)
    return (slopes * inside).sum(axis=1) / jnp.where(mass > 0, mass, 1)
