"""Gradient attacks on a classifier: one step (FGSM), and projected gradient ascent with restarts (PGD).

Scores are apply(params, inputs), (n, k) for a batch of n; labels are whole numbers. Budget and step are data, so that
one compiled program serves all of them.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from leadline._arrays import namespace
from leadline._checks import require_axes, require_numbers, require_rows
from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions

from ..input_boxes import EVERYWHERE, Box
from .norm_projections import project, random_in_ball, steepest_direction

Scores = Callable[[PyTree, Array], Array]
AttackLoss = Literal["cross-entropy", "margin", "targeted"]
Inputs = Float[Array | np.ndarray, "n ..."]
Labels = Int[Array | np.ndarray, " n"]
Budget = float | Float[Array | np.ndarray, ""] | Float[Array | np.ndarray, " n"]


class Attack(NamedTuple):
    """What an attack found in n inputs.

    `inputs` fool the classifier where `fooled`; elsewhere they are those of the largest loss met. `loss` is the largest
    loss met on the way, and `best` (starts, steps + 1, n) how it grew from each start.
    """

    inputs: Float[Array, "n ..."]
    fooled: Bool[Array, " n"]
    loss: Float[Array, " n"]
    best: Float[Array, "starts steps1 n"]


def require_scores(function: str, apply: Scores, params: PyTree, x: Inputs) -> None:
    """ValueError where the parameters or inputs hold NaN, or where apply has not one row of scores for each input.

    >>> require_scores("deepfool", lambda w, x: x @ w, jnp.ones(2), jnp.ones((3, 2)))
    Traceback (most recent call last):
    ValueError: deepfool got scores of shape (3,) for inputs (3, 2); give apply, params and inputs with scores (n, k).
    """
    require_rows(function, x=x)
    require_numbers(function, params=params, x=x)
    scores = eqx.filter_eval_shape(apply, params, x).shape
    if len(scores) != 2 or scores[0] != len(x):
        raise ValueError(
            f"{function} got scores of shape {scores} for inputs {np.shape(x)}; give apply, params and inputs with "
            "scores (n, k)."
        )


def runner_up_margin(scores: Float[Array | np.ndarray, "n k"], labels: Labels) -> Float[Array | np.ndarray, " n"]:
    """f_y − max_{k≠y} f_k: above 0 where the label has the largest score.

    >>> runner_up_margin(jnp.array([[1.0, 3.0, 2.0]]), jnp.array([1])).tolist()
    [1.0]
    """
    require_axes("runner_up_margin", 2, scores=scores)
    require_axes("runner_up_margin", 1, labels=labels)
    xp = namespace(scores)
    own = xp.arange(scores.shape[1]) == labels[:, None]
    return xp.where(own, scores, 0).sum(axis=1) - xp.where(own, -math.inf, scores).max(axis=1)


def attack_losses(scores: Float[Array, "n k"], labels: Labels, loss: AttackLoss) -> Float[Array, " n"]:
    """What an attack makes large: −log softmax_y, max_{k≠y} f_k − f_y, or log softmax_t for targets t as labels.

    >>> attack_losses(jnp.array([[1.0, 3.0]]), jnp.array([1]), "margin").tolist()
    [-2.0]
    """
    require_axes("attack_losses", 2, scores=scores)
    require_axes("attack_losses", 1, labels=labels)
    if loss == "cross-entropy":
        return optax.softmax_cross_entropy_with_integer_labels(scores, labels)
    if loss == "margin":
        return -jnp.asarray(runner_up_margin(scores, labels))
    if loss == "targeted":
        return -optax.softmax_cross_entropy_with_integer_labels(scores, labels)
    raise ValueError(f"There is no attack loss '{loss}'; give cross-entropy, margin or targeted.")


def fgsm(
    apply: Scores,
    params: PyTree,
    x: Inputs,
    labels: Labels,
    eps: Budget,
    *,
    box: Box = EVERYWHERE,
    loss: AttackLoss = "cross-entropy",
    p: float = math.inf,
) -> Float[Array, "n ..."]:
    """x + eps · sign(∇ₓ loss), clipped to the box: one step of ascent (Goodfellow and others 2015).

    With another p the step is the steepest one of that norm. Optimal for scores linear in x; sign(0) = 0.

    >>> w = jnp.array([[0.0, 0.0], [1.0, -2.0]])
    >>> fgsm(lambda w, x: x @ w.T, w, jnp.array([[1.0, 0.0]]), jnp.array([1]), 0.5).tolist()
    [[0.5, 0.5]]
    """
    require_numbers("fgsm", params=params, x=x)
    x, labels, eps = _checked(x, labels, eps)
    return _one_step(CanonicalConvolutions(apply), params, x, labels, eps, box, loss, p)


@eqx.filter_jit
def _one_step(apply, params, x, labels, eps, box, loss, p):
    _, slope, _ = _loss_and_slope(apply, params, x, labels, loss)
    eta = eps[:, None] * steepest_direction(slope, p)
    return box.clip(x + eta.reshape(x.shape))


def pgd(
    apply: Scores,
    params: PyTree,
    x: Inputs,
    labels: Labels,
    eps: Budget,
    *,
    p: float = math.inf,
    num_steps: int = 40,
    step_size: Budget | None = None,
    starts: int = 1,
    key: PRNGKeyArray | None = None,
    box: Box = EVERYWHERE,
    loss: AttackLoss = "cross-entropy",
    onto: Callable = project,
) -> Attack:
    """η ← Proj_eps(η + a d(∇ loss)), then x + η clipped to the box; the best iterate of all starts is kept.

    d is the steepest direction of the p-norm (p = 1, 2, ∞), a = `step_size`, 2.5 eps/steps unless given. The first
    start is x itself, further ones are uniform in the ball, drawn by `key`. `eps` and `step_size` are numbers, or one
    for each input. `onto` is the map onto the ball (Madry and others 2018).

    >>> w = jnp.array([[0.0, 0.0], [1.0, -2.0]])
    >>> found = pgd(lambda w, x: x @ w.T, w, jnp.array([[1.0, 0.0]]), jnp.array([1]), 0.5, num_steps=5)
    >>> found.inputs.tolist(), found.fooled.tolist()
    ([[0.5, 0.5]], [True])
    """
    require_numbers("pgd", params=params, x=x)
    x, labels, eps = _checked(x, labels, eps)
    if starts > 1 and key is None:
        raise ValueError(f"pgd got {starts} starts and no key; pass key=jax.random.key(seed) to draw them.")
    if num_steps < 1 or starts < 1:
        raise ValueError(f"pgd got {num_steps} steps and {starts} starts; give at least 1 of each.")
    step_size = (
        2.5 * eps / num_steps if step_size is None else jnp.broadcast_to(jnp.asarray(step_size, x.dtype), labels.shape)
    )
    key = jax.random.key(0) if key is None else key
    return _ascend(
        CanonicalConvolutions(apply), params, x, labels, eps, step_size, key, box, p, num_steps, starts, loss, onto
    )


@eqx.filter_jit
def _ascend(apply, params, x, labels, eps, step, key, box, p, steps, starts, loss, onto) -> Attack:
    n, shape = len(x), x.shape
    eta = jnp.zeros((n, math.prod(shape[1:])), x.dtype)
    if starts > 1:
        drawn = random_in_ball(key, (starts - 1, *eta.shape), eps, p).astype(x.dtype)
        eta = jnp.concatenate([eta[None], drawn]).reshape(starts * n, -1)
    x = jnp.tile(x, (starts, *(1,) * (x.ndim - 1)))  # (starts * n, ...)
    labels, eps, step = (jnp.tile(a, starts) for a in (labels, eps, step))

    def clipped(eta: Array) -> Array:
        return box.clip(x + eta.reshape(x.shape))

    def ascend(state: tuple, _: None) -> tuple[tuple, Array]:
        at, kept, kept_fooled, kept_value, highest = state
        values, slope, fooled = _loss_and_slope(apply, params, at, labels, loss)
        better = (fooled & ~kept_fooled) | ((fooled == kept_fooled) & (values > kept_value))
        kept = jnp.where(better.reshape(-1, *(1,) * (x.ndim - 1)), at, kept)
        kept_value, highest = jnp.where(better, values, kept_value), jnp.maximum(highest, values)
        eta = (at - x).reshape(len(x), -1) + step[:, None] * steepest_direction(slope, p)
        return (clipped(onto(eta, eps, p)), kept, kept_fooled | fooled, kept_value, highest), highest

    kind = jax.eval_shape(apply, params, x).dtype  # of the scores: a network may compute in another than its inputs'
    lowest = jnp.full(len(x), -jnp.inf, kind)
    first = (clipped(eta), x, jnp.zeros(len(x), bool), lowest, lowest)
    # one look more than there are steps: the last step is taken in vain, and the program has one pass, not two
    (_, kept, fooled, values, _), path = jax.lax.scan(ascend, first, None, length=steps + 1)
    path = path.reshape(steps + 1, starts, n).swapaxes(0, 1)
    fooled, values = fooled.reshape(starts, n), values.reshape(starts, n)
    winner = jnp.argmax(jnp.where(fooled == fooled.any(0), values, -jnp.inf), axis=0)
    chosen = kept.reshape(starts, *shape)[winner, jnp.arange(n)]
    return Attack(chosen, fooled.any(0), path[:, -1].max(0), path)


def _loss_and_slope(apply, params, x, labels, loss) -> tuple[Array, Array, Array]:
    """Losses, their gradients in x as rows of numbers, and whether the classifier is fooled, by one pass."""

    def total(x: Array) -> tuple[Array, tuple[Array, Array]]:
        scores = apply(params, x)
        values = attack_losses(scores, labels, loss)
        decided = jnp.argmax(scores, axis=1)
        return values.sum(), (values, decided == labels if loss == "targeted" else decided != labels)

    slope, (values, fooled) = jax.grad(total, has_aux=True)(x)
    return values, slope.reshape(len(x), -1), fooled


def _checked(x: Inputs, labels: Labels, eps: Budget) -> tuple[Array, Array, Array]:
    x, labels = jnp.asarray(x), jnp.asarray(labels)
    if len(x) != len(labels):
        raise ValueError(f"There are {len(x)} inputs and {len(labels)} labels; give one label for each input.")
    return x, labels, jnp.broadcast_to(jnp.asarray(eps, x.dtype), labels.shape)
