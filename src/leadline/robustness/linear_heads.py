"""The last affine layer of a network as a linear classifier, where attack, certificate and truth must agree."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline._checks import require

from .attacks.deepfool_attack import deepfool
from .attacks.gradient_attacks import Inputs
from .certificates.interval_certificates import interval_radii
from .linear_distances import LinearScores, boundary_distances


class HeadCheck(NamedTuple):
    """Distances of what enters the last layer from another decision: by attack, by certificate, and exactly.

    `exact` and `deepfool` are in the 2-norm, `exact_box` and `certified_box` in the ∞-norm; `rounding` is what the
    number format may put between them. `whole`: the layer is the whole network.
    """

    exact: Float[np.ndarray, " n"]
    deepfool: Float[np.ndarray, " n"]
    exact_box: Float[np.ndarray, " n"]
    certified_box: Float[np.ndarray, " n"]
    rounding: float
    whole: bool


def check_head(chain: Any, x: Inputs) -> HeadCheck | None:
    """DeepFool and interval bounds on the last dense layer, for the features of x, beside the exact distances.

    `chain` is `dissection.dissect(...).chain`. None where the network is no chain that ends in a dense layer of two or
    more scores.

    >>> from leadline.networks.dissection import dissect
    >>> apply, w, x = lambda w, x: x @ w.T, jnp.array([[3.0, 4.0], [0.0, 0.0]]), jnp.array([[1.0, 1.0]])
    >>> found = check_head(dissect(apply, w, x).chain, x)
    >>> [round(float(v[0]), 3) for v in (found.exact, found.deepfool, found.exact_box, found.certified_box)]
    [1.4, 1.4, 1.0, 1.0]
    """
    require("check_head", x=x)
    if chain is None:
        return None
    last = chain[-1]
    if last.kind != "affine" or last.weight is None or len(last.weight) < 2:
        return None

    def enter(one: Array) -> Array:
        for step in chain.steps[:-1]:
            one = step(one)
        return one.reshape(-1)

    features = jax.jit(jax.vmap(enter))(jnp.asarray(x))
    bias = np.zeros(len(last.weight)) if last.bias is None else last.bias
    head = LinearScores(jnp.asarray(last.weight, features.dtype), jnp.asarray(bias, features.dtype))
    precise = LinearScores(*(np.asarray(part, np.float64) for part in head))
    h = np.asarray(features, np.float64)
    decided = precise(h).argmax(axis=1)
    exact, box = (np.asarray(boundary_distances(precise, h, p)).min(axis=1) for p in (2.0, math.inf))
    largest = 2 * float(box[np.isfinite(box)].max(initial=0.0)) or 1.0
    sure = interval_radii(_scores, head, features, decided, largest=largest, halvings=26)
    terms = (np.abs(h) @ np.abs(precise.weights).T + np.abs(precise.bias)).max()
    slope = np.median(np.linalg.norm(precise.weights - precise.weights.mean(axis=0), axis=1))
    rounding = 4 * h.shape[1] * float(np.finfo(features.dtype).eps) * float(terms / max(slope, 1e-30))
    whole = all(step.kind in ("affine", "reshape") for step in chain) and len(chain.affine) == 1
    found = deepfool(_scores, head, features)
    return HeadCheck(exact, np.asarray(found.on_boundary, float), box, sure, rounding, whole)


def _scores(head: LinearScores, inputs: Array) -> Array:
    return inputs @ head.weights.T + head.bias
