"""DeepFool: walk to the nearest boundary of the linearised classifier, again and again, until the decision changes."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions
from leadline.networks import dual_exponent

from ..input_boxes import EVERYWHERE, Box
from .gradient_attacks import Inputs, Scores, require_scores
from .norm_projections import p_norm, steepest_direction


class DeepFooled(NamedTuple):
    """What DeepFool found: x + (1 + overshoot) η, its distance from x, the linearisations used, and whether it fools.

    `on_boundary` is the length of η alone, without the overshoot.
    """

    inputs: Float[Array, "n ..."]
    lengths: Float[Array, " n"]
    on_boundary: Float[Array, " n"]
    steps: Int[Array, " n"]
    fooled: Bool[Array, " n"]


def deepfool(
    apply: Scores,
    params: PyTree,
    x: Inputs,
    *,
    p: float = 2.0,
    overshoot: float = 0.02,
    max_steps: int = 50,
    box: Box = EVERYWHERE,
) -> DeepFooled:
    """A small change of each input that changes its decision (Moosavi-Dezfooli and others 2016), for p = 2 or ∞.

    With y the decision at x: linearise f at x + η, go to the nearest tie, Δη = |f_k − f_y|/‖w_k‖_q · u, u the steepest
    direction of w_k = ∇f_k − ∇f_y, k the class with the least |f_k − f_y|/‖w_k‖_q; stop when the decision at
    x + (1 + overshoot) η, clipped to the box, is not y, or after `max_steps` linearisations. One is exact for
    linear f.

    >>> w = jnp.array([[3.0, 4.0], [0.0, 0.0]])
    >>> found = deepfool(lambda w, x: x @ w.T, w, jnp.array([[1.0, 1.0]]))
    >>> round(float(found.on_boundary[0]), 4), found.steps.tolist(), found.fooled.tolist()
    (1.4, [1], [True])
    """
    require_scores("deepfool", apply, params, x)
    if not p > 1:
        raise ValueError(f"deepfool got p = {p}; its steps make sense for p above 1, such as 2 and infinity.")
    if not overshoot > 0:
        raise ValueError(
            f"deepfool got overshoot = {overshoot}; give one above 0, such as 0.02, to cross the boundary."
        )
    return _walk(CanonicalConvolutions(apply), params, jnp.asarray(x), p, overshoot, jnp.asarray(max_steps), box)


@eqx.filter_jit
def _walk(apply, params, x, p, overshoot, max_steps, box) -> DeepFooled:
    n = len(x)
    decided = jnp.argmax(apply(params, x), axis=1)

    def reached(eta: Array, factor: float) -> Array:
        return box.clip(x + factor * eta.reshape(x.shape))

    def linearised(at: Array) -> tuple[Array, Array]:
        f, pull = jax.vjp(lambda inputs: apply(params, inputs), at)
        k = f.shape[1]
        units = jnp.broadcast_to(jnp.eye(k, dtype=f.dtype)[:, None], (k, n, k))
        return f, jax.vmap(lambda unit: pull(unit)[0])(units).reshape(k, n, -1).swapaxes(0, 1)  # (n, k, d)

    def towards(eta: Array) -> Array:
        """The change of η that ties the linearised scores, and whether there is one."""
        f, slopes = linearised(reached(eta, 1.0))
        rows = jnp.arange(n)
        gaps, slopes = f - f[rows, decided][:, None], slopes - slopes[rows, decided][:, None]
        steep = p_norm(slopes, dual_exponent(p))
        own = (jnp.arange(f.shape[1]) == decided[:, None]) | (steep <= 0)
        reach = jnp.where(own, jnp.inf, jnp.abs(gaps) / jnp.where(own, 1, steep))
        k = jnp.argmin(reach, axis=1)
        tiny = jnp.finfo(f.dtype).eps * jnp.abs(f).max(axis=1) / jnp.where(own[rows, k], 1, steep[rows, k])
        length = jnp.where(jnp.isfinite(reach[rows, k]), reach[rows, k] + tiny, 0)
        return (length[:, None] * steepest_direction(slopes[rows, k], p)).astype(eta.dtype)

    def fooled(eta: Array) -> Array:
        return jnp.argmax(apply(params, reached(eta, 1 + overshoot)), axis=1) != decided

    def going(state: tuple) -> Array:
        _, _, done, round_ = state
        return ~done.all() & (round_ < max_steps)

    def walk(state: tuple) -> tuple:
        eta, steps, done, round_ = state
        eta = jnp.where(done[:, None], eta, eta + towards(eta))
        return eta, steps + ~done, done | fooled(eta), round_ + 1

    start = (jnp.zeros((n, math.prod(x.shape[1:])), x.dtype), jnp.zeros(n, int), jnp.zeros(n, bool), 0)
    eta, steps, done, _ = jax.lax.while_loop(going, walk, start)
    found = reached(eta, 1 + overshoot)
    lengths, on_boundary = (jnp.asarray(p_norm(change, p)) for change in ((found - x).reshape(n, -1), eta))
    return DeepFooled(found, lengths, on_boundary, steps, done)
