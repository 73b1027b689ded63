"""What a network fits first: rows with clean labels, then those whose labels were corrupted."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray, PyTree

from leadline._checks import require_counts, require_numbers, require_rows
from leadline.data import batch_sequence
from leadline.training import scan_steps


class FittingOrder(NamedTuple):
    """Shares of the labels as given that are predicted after each epoch, of clean and of corrupted rows.

    `true` is the share of corrupted rows that are predicted as their true labels have it, where these are known.
    """

    clean: Float[np.ndarray, " epochs"]
    corrupted: Float[np.ndarray, " epochs"]
    true: Float[np.ndarray, " epochs"] | None

    @property
    def lead(self) -> float:
        """The largest lead of clean over corrupted rows: 1 where all signal comes before any noise."""
        return float(np.max(self.clean - self.corrupted))

    @property
    def lead_at(self) -> int:
        """The epoch, from 1, after which the lead is largest."""
        return int(np.argmax(self.clean - self.corrupted)) + 1


def fitting_order(
    apply: Callable[[PyTree, Array], Array],
    params: PyTree,
    inputs: Num[Array | np.ndarray, "n ..."],
    labels: Int[Array | np.ndarray, " n"],
    corrupted: Bool[Array | np.ndarray, " n"],
    *,
    epochs: int,
    batch: int = 64,
    optimiser: optax.GradientTransformation | None = None,
    true_labels: Int[Array | np.ndarray, " n"] | None = None,
    key: PRNGKeyArray,
) -> FittingOrder:
    """Train on labels of which some are corrupted, and follow the training accuracy of both kinds of rows.

    `corrupted` marks the rows whose label is not that of the data. Cross-entropy in shuffled batches, by default
    Adam at 0.001. A lead of the clean rows says that stopping early keeps signal and leaves noise (Arpit et al. 2017).

    >>> import jax
    >>> x = jnp.eye(4)
    >>> order = fitting_order(lambda w, x: x @ w, jnp.zeros((4, 2)), x, np.array([0, 1, 0, 1]),
    ...                       np.array([False, False, False, True]), epochs=3, batch=4, key=jax.random.key(0))
    >>> order.clean.tolist(), order.corrupted.tolist()
    ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    """
    require_rows("fitting_order", inputs=inputs, labels=labels, corrupted=corrupted)
    require_numbers("fitting_order", inputs=inputs)
    require_counts("fitting_order", epochs=epochs, batch=batch)
    mask = np.asarray(corrupted, bool)
    if mask.all() or not mask.any():
        raise ValueError(f"fitting_order got {mask.sum()} corrupted rows of {len(mask)}; give some of each kind.")
    rule = optax.adam(1e-3) if optimiser is None else optimiser
    truth = labels if true_labels is None else true_labels
    rows, y, true = jnp.asarray(inputs), jnp.asarray(labels), jnp.asarray(truth)
    found = _follow(apply, params, rule, rows, y, true, jnp.asarray(mask), epochs, min(batch, len(mask)), key)
    clean, wrong, right = (np.asarray(part, float) for part in found)
    return FittingOrder(clean, wrong, None if true_labels is None else right)


@eqx.filter_jit
def _follow(apply, params, rule, x, y, true, mask, epochs, batch, key):
    steps = len(y) // batch
    stream = batch_sequence(len(y), batch, epochs * steps, key=key)

    def losses(params, chosen, key, state):
        return optax.softmax_cross_entropy_with_integer_labels(apply(params, x[chosen]), y[chosen]), state

    def accuracies(seen):
        said = jnp.argmax(apply(seen.after.parameters, x), axis=1)

        def share(hits, among):
            return jnp.sum(hits & among) / jnp.sum(among)

        return share(said == y, ~mask), share(said == y, mask), share(said == true, mask)

    return scan_steps(losses, params, rule, stream, record=accuracies, every=steps).recorded
