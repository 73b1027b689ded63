"""Training against changes of the inputs: on what an attack finds, or on what interval bounds cannot exclude."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline._checks import require_counts, require_numbers
from leadline.training import scan_steps

from .attacks.gradient_attacks import Inputs, Labels, Scores, pgd
from .certificates.interval_certificates import margin_bounds
from .input_boxes import EVERYWHERE, Box

RobustLoss = Callable[[Scores, PyTree, Array, Array, Array], Array]


class RobustlyTrained(NamedTuple):
    """The trained parameters and the mean robust loss of each epoch, at the budget of that time."""

    params: PyTree
    losses: Float[Array, " epochs"]


class AttackedLoss(eqx.Module):
    """The mean cross-entropy at what PGD finds, without a derivative through the attack; plain without inner steps."""

    inner: int
    p: float
    box: Box

    def __call__(self, apply: Scores, params: PyTree, x: Array, y: Array, eps: Array) -> Float[Array, ""]:
        if self.inner:
            found = pgd(apply, params, x, y, eps, p=self.p, num_steps=self.inner, box=self.box)
            x = jax.lax.stop_gradient(found.inputs)
        return optax.softmax_cross_entropy_with_integer_labels(apply(params, x), y).mean()


class IntervalLoss(eqx.Module):
    """The mean cross-entropy of worst-case logits, mixed with a share `clean` of the plain one."""

    clean: float
    box: Box

    def __call__(self, apply: Scores, params: PyTree, x: Array, y: Array, eps: Array) -> Float[Array, ""]:
        worst = worst_case_losses(apply, params, x, y, eps, self.box).mean()
        if not self.clean:
            return worst
        plain = optax.softmax_cross_entropy_with_integer_labels(apply(params, x), y).mean()
        return self.clean * plain + (1 - self.clean) * worst


def adversarial_training(
    apply: Scores,
    params: PyTree,
    x: Inputs,
    y: Labels,
    *,
    eps: float | Float[Array, ""],
    key: PRNGKeyArray,
    epochs: int = 60,
    batch: int = 64,
    inner: int = 7,
    p: float = math.inf,
    ramp: float = 0.0,
    rule: optax.GradientTransformation | None = None,
    box: Box = EVERYWHERE,
) -> RobustlyTrained:
    """Minimise the MEAN over the data of max_{‖η‖_p ≤ eps} cross-entropy(f(x + η), y) (Madry and others 2018).

    The inner maximum is approached by `inner` steps of PGD; by Danskin's theorem its gradient in the parameters is that
    at the maximiser, so no derivative goes through η. The result is as robust as its inner attack is strong, and costs
    inner + 1 times as much as plain training, which is inner = 0. `ramp` is the share of the updates during which eps
    grows from 0.

    >>> x = jnp.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> trained = adversarial_training(lambda w, x: x @ w, jnp.eye(2), x, jnp.array([0, 1]), eps=0.5, epochs=3, batch=2,
    ...     inner=2, key=jax.random.key(0))
    >>> bool(trained.losses[2] < trained.losses[0])
    True
    """
    require_numbers("adversarial_training", params=params, x=x)
    require_counts("adversarial_training", batch=batch)
    loss = AttackedLoss(inner, p, box)
    return train_robustly(apply, params, x, y, loss, eps=eps, key=key, epochs=epochs, batch=batch, ramp=ramp, rule=rule)


def interval_training(
    apply: Scores,
    params: PyTree,
    x: Inputs,
    y: Labels,
    *,
    eps: float | Float[Array, ""],
    key: PRNGKeyArray,
    epochs: int = 60,
    batch: int = 64,
    ramp: float = 0.5,
    clean: float = 0.5,
    rule: optax.GradientTransformation | None = None,
    box: Box = EVERYWHERE,
) -> RobustlyTrained:
    """Minimise the mean cross-entropy of worst-case logits, z_k = upper bound of f_k - f_y over the box (z_y = 0).

    It bounds the loss of every input in the box from above, so that what is learned is certified and not only attacked
    (Gowal and others 2018). eps grows linearly during the first share `ramp` of the updates; `clean` is the share of
    the plain loss in what is minimised.

    >>> x = jnp.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> trained = interval_training(lambda w, x: x @ w, jnp.eye(2), x, jnp.array([0, 1]), eps=0.5, epochs=3, batch=2,
    ...     key=jax.random.key(0))
    >>> bool(jnp.isfinite(trained.losses).all())
    True
    """
    require_numbers("interval_training", params=params, x=x)
    require_counts("interval_training", batch=batch)
    loss = IntervalLoss(clean, box)
    return train_robustly(apply, params, x, y, loss, eps=eps, key=key, epochs=epochs, batch=batch, ramp=ramp, rule=rule)


@eqx.filter_jit
def worst_case_losses(
    apply: Scores, params: PyTree, x: Inputs, y: Labels, eps: Any, box: Box = EVERYWHERE
) -> Float[Array, " n"]:
    """The cross-entropy of the worst logits within interval bounds: log(1 + Σ_{k≠y} exp(-lower bound of f_y - f_k)).

    An upper bound of the loss of every input within eps (in the maximum norm).

    >>> float(worst_case_losses(lambda w, x: x @ w, jnp.eye(2), jnp.zeros((1, 2)), jnp.array([0]), 0.0)[0].round(4))
    0.6931
    """
    margins = margin_bounds(apply, params, x, y, eps, box)
    rest = jax.nn.logsumexp(jnp.where(jnp.isinf(margins) & (margins > 0), -jnp.inf, -margins), axis=1)
    return jnp.logaddexp(0.0, rest)


def train_robustly(
    apply: Scores,
    params: PyTree,
    x: Inputs,
    y: Labels,
    loss: RobustLoss,
    *,
    eps: float | Float[Array, ""],
    key: PRNGKeyArray,
    epochs: int,
    batch: int,
    ramp: float = 0.0,
    rule: optax.GradientTransformation | None = None,
) -> RobustlyTrained:
    """Minimise a mean loss(apply, params, x, y, eps) over shuffled batches, by Adam at 1e-3 unless `rule` says else.

    eps rises linearly from 0 during the first share `ramp` of the updates. One compiled loop; the last, incomplete
    batch of an epoch is left out.
    """
    known = isinstance(eps, Tracer) or eps >= 0
    if not (known and epochs >= 1 and 0 <= ramp <= 1):
        raise ValueError(
            f"Got eps = {eps}, {epochs} epochs, ramp = {ramp}; give eps >= 0, epochs >= 1, 0 <= ramp <= 1."
        )
    if len(x) != len(y):
        raise ValueError(f"There are {len(x)} inputs and {len(y)} labels; give one label for each input.")
    dtype = jnp.result_type(*jax.tree.leaves(params))
    x, y = jnp.asarray(x, dtype), jnp.asarray(y)
    rule = _adam() if rule is None else rule
    batch = min(batch, len(x))
    return RobustlyTrained(*_train(apply, params, x, y, jnp.asarray(eps, dtype), key, loss, rule, epochs, batch, ramp))


@cache
def _adam() -> optax.GradientTransformation:
    """One and the same rule, so that it is compiled once."""
    return optax.adam(1e-3)


@eqx.filter_jit
def _train(apply, params, x, y, eps, key, loss, rule, epochs, batch, ramp):
    updates = len(x) // batch
    rising = max(round(ramp * epochs * updates), 1)

    def robust(w: PyTree, given: tuple, key: None, state: None) -> tuple[Array, None]:
        chosen, count = given
        share = jnp.minimum((count + 1) / rising, 1.0) if ramp > 0 else 1.0
        return loss(apply, w, x[chosen], y[chosen], (eps * share).astype(x.dtype)), None

    orders = jax.vmap(lambda key: jax.random.permutation(key, len(x))[: updates * batch])(jax.random.split(key, epochs))
    stream = orders.reshape(epochs * updates, batch), jnp.arange(epochs * updates)
    ran = scan_steps(robust, params, rule, stream)
    return ran.model, ran.measured.reshape(epochs, updates).mean(axis=1)
