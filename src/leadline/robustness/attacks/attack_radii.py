"""The smallest change of each input that an attack finds: an upper bound of its true radius."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from leadline._checks import require
from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions

from ..input_boxes import EVERYWHERE, Box
from .deepfool_attack import deepfool
from .gradient_attacks import Attack, AttackLoss, Inputs, Labels, Scores, pgd, require_scores
from .norm_projections import p_norm


class AttackRadii(NamedTuple):
    """`radii` (n,), ∞ where no attack succeeded; `inputs` lie that far from x and fool where it is finite."""

    radii: Float[np.ndarray, " n"]
    inputs: Float[np.ndarray, "n ..."]


def pgd_radii(
    apply: Scores,
    params: PyTree,
    x: Inputs,
    labels: Labels,
    *,
    p: float = 2.0,
    first: float | Float[Array | np.ndarray, " n"] = 1.0,
    halvings: int = 10,
    doublings: int = 6,
    num_steps: int = 20,
    starts: int = 1,
    key: PRNGKeyArray | None = None,
    box: Box = EVERYWHERE,
    loss: AttackLoss = "margin",
) -> AttackRadii:
    """Bisection over the budget of PGD, for each input its own: the smallest length at which it was fooled.

    The budget begins at `first` and doubles until PGD succeeds, at most `doublings` times; then the interval is halved
    `halvings` times. What is found is shortened along its segment to x while it still fools. Inputs that are wrongly
    classified have radius 0.

    >>> w = jnp.array([[3.0, 4.0], [0.0, 0.0]])
    >>> found = pgd_radii(lambda w, x: x @ w.T, w, jnp.array([[1.0, 1.0]]), jnp.array([0]))
    >>> round(float(found.radii[0]), 3)
    1.4
    """
    require_scores("pgd_radii", apply, params, x)
    x, labels = jnp.asarray(x), jnp.asarray(labels)
    n = len(x)

    def attacked(eps: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found: Attack = pgd(
            apply,
            params,
            x,
            labels,
            jnp.asarray(eps, x.dtype),
            p=p,
            num_steps=num_steps,
            starts=starts,
            key=key,
            box=box,
            loss=loss,
        )
        shorter, fooled, length = (np.asarray(part) for part in _shortened(apply, params, x, found.inputs, labels, p))
        return fooled, np.where(fooled, length, np.inf), shorter

    eps = np.broadcast_to(np.asarray(first, float), (n,)).copy()
    failed, radii, inputs = np.zeros(n), np.full(n, np.inf), np.array(x)
    left = halvings
    for turn in range(doublings + halvings):
        fooled, length, shorter = attacked(eps)
        better = length < radii
        radii = np.where(better, length, radii)
        inputs[better] = shorter[better]
        failed = np.where(fooled, failed, np.maximum(failed, eps))
        known = np.isfinite(radii)
        left -= known.all() or turn >= doublings
        if left < 0 or not (known.any() or turn < doublings):
            break
        failed = np.minimum(failed, radii)
        eps = np.where(known, (failed + np.where(known, radii, 0)) / 2, 2 * eps)
    return AttackRadii(radii, inputs)


def smallest_radii(
    apply: Scores,
    params: PyTree,
    x: Inputs,
    labels: Labels,
    *,
    p: float = 2.0,
    box: Box = EVERYWHERE,
    key: PRNGKeyArray | None = None,
    **options: Any,
) -> AttackRadii:
    """The better of DeepFool and the bisection over PGD for each input, which begins at DeepFool's length.

    `options` go to `pgd_radii`. Every radius is an upper bound of the true one: a larger budget can always be fooled.

    >>> w = jnp.array([[3.0, 4.0], [0.0, 0.0]])
    >>> round(float(smallest_radii(lambda w, x: x @ w.T, w, jnp.array([[1.0, 1.0]]), jnp.array([0])).radii[0]), 3)
    1.4
    """
    require_scores("smallest_radii", apply, params, x)
    x, labels = jnp.asarray(x), jnp.asarray(labels)
    quick = deepfool_radii(apply, params, x, labels, p=p, box=box)
    typical = np.median(quick.radii[np.isfinite(quick.radii)]) if np.isfinite(quick.radii).any() else 1.0
    first = np.where(np.isfinite(quick.radii) & (quick.radii > 0), quick.radii, typical or 1.0)
    slow = pgd_radii(apply, params, x, labels, p=p, first=first, box=box, key=key, **options)
    return best_of(quick, slow)


def deepfool_radii(
    apply: Scores,
    params: PyTree,
    x: Inputs,
    labels: Labels,
    *,
    p: float = 2.0,
    box: Box = EVERYWHERE,
    overshoot: float = 0.02,
) -> AttackRadii:
    """DeepFool's change of each input, shortened along its segment to x while the decision is still wrong.

    >>> w = jnp.array([[3.0, 4.0], [0.0, 0.0]])
    >>> found = deepfool_radii(lambda w, x: x @ w.T, w, jnp.array([[1.0, 1.0]]), jnp.array([0]))
    >>> round(float(found.radii[0]), 4)
    1.4
    """
    require_scores("deepfool_radii", apply, params, x)
    x, labels = jnp.asarray(x), jnp.asarray(labels)
    found = deepfool(apply, params, x, p=p, box=box, overshoot=overshoot)
    shorter, fooled, length = (np.asarray(part) for part in _shortened(apply, params, x, found.inputs, labels, p))
    return AttackRadii(np.where(fooled, length, np.inf), shorter)


def best_of(*found: AttackRadii) -> AttackRadii:
    """For each input the smallest of several radii.

    >>> near, far = (AttackRadii(np.array([r]), np.array([[r]])) for r in (1.0, 2.0))
    >>> best_of(far, near).radii.tolist()
    [1.0]
    """
    radii = np.stack([f.radii for f in found])
    winner = radii.argmin(axis=0)
    rows = np.arange(radii.shape[1])
    return AttackRadii(radii[winner, rows], np.stack([f.inputs for f in found])[winner, rows])


def radius_curve(radii: Float[np.ndarray, " n"], eps: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """The share of inputs that no change of length eps or less fools, as far as the attacks know: radii above eps.

    >>> radius_curve(np.array([0.5, 1.5]), np.array([0.0, 1.0, 2.0])).tolist()
    [1.0, 0.5, 0.0]
    """
    require("radius_curve", axes=1, radii=radii, eps=eps)
    return (np.asarray(radii)[None, :] > np.asarray(eps)[:, None]).mean(axis=1)


@eqx.filter_jit
def _shortened(apply, params, x, end, labels, p, rounds: int = 20) -> tuple[Array, Bool[Array, " n"], Array]:
    """The shortest multiple of end − x that fools, by bisection; whether `end` fools at all; its length."""

    def wide(t: Array) -> Array:
        return t.reshape(-1, *(1,) * (x.ndim - 1))

    def fools(t: Array) -> Array:
        return jnp.argmax(apply(params, x + wide(t) * (end - x)), axis=1) != labels

    def halve(interval: tuple, _: None) -> tuple[tuple, None]:
        inside, outside = interval
        middle = (inside + outside) / 2
        hit = fools(middle)
        return (jnp.where(hit, inside, middle), jnp.where(hit, middle, outside)), None

    apply = CanonicalConvolutions(apply)
    ones = jnp.ones(len(x), x.dtype)
    (_, outside), _ = jax.lax.scan(halve, (0 * ones, ones), None, length=rounds)
    wrong = fools(0 * ones)
    outside = jnp.where(wrong, 0, outside)
    shorter = x + wide(outside) * (end - x)
    return shorter, fools(outside), jnp.asarray(p_norm((shorter - x).reshape(len(x), -1), p))
