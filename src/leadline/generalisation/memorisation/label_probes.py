"""How fast an architecture fits labels: those of the data, and the same ones shuffled (Zhang et al. 2017)."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Num, PyTree

from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions
from leadline.training import RowLosses, scan_steps


class LabelProbe(NamedTuple):
    """Mean loss and share of right answers before every step, and each row's mean loss over the second half of them.

    Right answers are largest scores that are the label's; None where targets are not labels.
    """

    losses: Float[np.ndarray, " steps"]
    right: Float[np.ndarray, " steps"] | None
    row_losses: Float[np.ndarray, " n"]

    @property
    def fitted_after(self) -> int | None:
        """The first step at which every row is right; None where that never is."""
        if self.right is None:
            return None
        done = np.flatnonzero(self.right == 1.0)
        return int(done[0]) if done.size else None


def fit_labels(
    apply: Callable[[PyTree, Array], Array],
    params: PyTree,
    criterion: Callable[[Array, Array], Array],
    inputs: Num[np.ndarray, "n ..."],
    targets: Num[np.ndarray, "n ..."],
    *,
    num_steps: int = 200,
    rate: float = 3e-3,
) -> LabelProbe:
    """Adam on all rows at once for a fixed number of steps; what the loss and the answers were on the way.

    >>> x = np.eye(4, dtype=np.float32)
    >>> linear = lambda w, x: x @ w
    >>> loss = optax.softmax_cross_entropy_with_integer_labels
    >>> fit_labels(linear, jnp.zeros((4, 2)), loss, x, np.array([0, 1, 1, 0]), num_steps=20).fitted_after
    1
    """
    if num_steps < 1 or not rate > 0:
        raise ValueError(f"fit_labels got {num_steps} steps of rate {rate}; give 1 or more and a rate above 0.")
    losses, right, rows = _fit(
        CanonicalConvolutions(apply), params, criterion, jnp.asarray(inputs), jnp.asarray(targets), rate, num_steps
    )
    answers = None if right is None else np.asarray(right, float)
    return LabelProbe(np.asarray(losses, float), answers, np.asarray(rows, float))


@eqx.filter_jit
def _fit(apply, params, criterion, x, y, rate, steps) -> tuple[Array, Array | None, Array]:
    labels = y.ndim == 1 and jnp.issubdtype(y.dtype, jnp.integer)

    def losses(p, late, key, total):
        outputs = apply(p, x)
        rows = criterion(outputs, y)
        right = jnp.mean(jnp.argmax(outputs, 1) == y) if labels else None
        return RowLosses(rows, aux=right), total + late * rows

    late = jnp.arange(steps) >= steps // 2
    row = jax.eval_shape(lambda p: criterion(apply(p, x), y), params)  # in the precision in which the network computes
    ran = scan_steps(
        losses,
        params,
        optax.adam(rate),
        late,
        state=jnp.zeros(row.shape, row.dtype),
        measure=lambda seen: (seen.loss, seen.rows.aux),
    )
    return *ran.measured, ran.state / jnp.sum(late)
