"""What copies are worth: the training size at which real rows reach the same error, and advice for a network."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree

from leadline._checks import require, require_counts, require_rows
from leadline.data import generator
from leadline.regularisation import virtual_sample_size
from leadline.training.objectives import Loss, loss_called

from .pipelines import Step, augment


class TrainingSize(NamedTuple):
    """The number of real rows that reach an error, and its interval."""

    size: float
    low: float
    high: float


def effective_training_size(
    sizes: Sequence[int] | Num[np.ndarray, " _"],
    errors: Float[Array | np.ndarray, "_ _"],
    reached: Float[Array | np.ndarray, " _"],
    *,
    confidence: float = 0.95,
    draws: int = 1000,
    key: PRNGKeyArray,
) -> TrainingSize:
    """n_eff = e⁻¹(ē): the mean error e(n) against real rows, made non-increasing, inverted at the mean error reached.

    `errors` are those of models fitted to so many real rows (`regularisation.learning_curve`), `reached` those of
    models fitted to fewer rows and their copies; column r of both is one draw of the rows. Between sizes log e is
    linear in log n; an error outside the curve gives its first or last size. The interval is a bootstrap of the draws.

    >>> curve = np.array([[0.4, 0.4], [0.2, 0.2], [0.1, 0.1]])
    >>> effective_training_size([10, 20, 40], curve, np.array([0.2, 0.2]), key=jax.random.key(0))
    TrainingSize(size=20.0, low=20.0, high=20.0)
    """
    errors, reached, sizes = np.asarray(errors, float), np.asarray(reached, float), np.asarray(sizes, float)
    require("effective_training_size", axes=2, errors=errors)
    require_counts("effective_training_size", draws=draws, sizes=sizes)
    if errors.shape != (len(sizes), len(reached)):
        raise ValueError(
            f"effective_training_size got errors of shape {errors.shape} for {len(sizes)} sizes and {len(reached)} "
            "repeats; give a row for each size and a column for each repeat."
        )
    if len(sizes) < 2 or np.any(np.diff(sizes) <= 0):
        raise ValueError(f"effective_training_size got sizes {sizes.tolist()}; give two or more, from small to large.")
    rng = generator(key)
    chosen = rng.integers(len(reached), size=(draws, len(reached)))
    found = [_inverted(sizes, errors[:, rows].mean(axis=1), reached[rows].mean()) for rows in chosen]
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return TrainingSize(_inverted(sizes, errors.mean(axis=1), reached.mean()), float(low), float(high))


def _inverted(sizes: np.ndarray, errors: np.ndarray, error: float) -> float:
    tiny = np.finfo(float).tiny
    falling = np.log(np.maximum(np.minimum.accumulate(errors), tiny))
    return float(np.exp(np.interp(-np.log(max(error, tiny)), -falling, np.log(sizes))).round(9))


class AugmentationWorth(NamedTuple):
    """What random copies of rows would add for a network, before it is trained on them."""

    rows: int
    copies: int
    correlation: float  #: ρ, of the losses of two copies of one row
    size: float  #: nK/(1 + (K − 1)ρ): independent rows that the copies are worth for a mean of losses
    loss: float  #: mean loss of the rows as they are
    moved_loss: float  #: mean loss of their copies
    agreement: float  #: share of copies whose largest output is that of their row
    advice: str

    @property
    def gain(self) -> float:
        """How many times the rows: 1 where copies tell nothing new, K where each is as good as a new row."""
        return self.size / self.rows


def augmentation_worth(
    apply: Callable[[PyTree, Any], Any],
    params: PyTree,
    x: Num[Array | np.ndarray, "n ..."],
    y: Num[Array | np.ndarray, "_ ..."],
    step: Step,
    *,
    loss: str | Loss = "cross-entropy",
    copies: int = 8,
    key: PRNGKeyArray,
) -> AugmentationWorth:
    """Whether to train this network on random copies of its rows, from its losses on them.

    Where a network is invariant to the step, copies have the loss of their row: ρ = 1, they are worth n rows, and
    augmentation adds nothing. Where losses on copies vary as between rows, ρ = 0 and each is worth a new row; if they
    are larger than on the rows themselves, that is what training on copies repairs. It is the effect on a mean of
    losses, not yet on the error after training (`effective_training_size` measures that); and labels must be kept
    (`label_transitions`).

    >>> from leadline.convolution.augmentation import Shift
    >>> x = jax.random.normal(jax.random.key(0), (50, 6, 6))
    >>> y = (x.mean((1, 2)) > 0).astype(int)
    >>> mean = lambda scale, x: scale * jnp.stack([-x.mean((1, 2)), x.mean((1, 2))], axis=1)
    >>> worth = augmentation_worth(mean, 5.0, x, y, Shift(2, wrap=True), key=jax.random.key(1))
    >>> round(worth.gain, 3), worth.agreement
    (1.0, 1.0)
    """
    require_rows("augmentation_worth", x=x, y=y)
    require_counts("augmentation_worth", least=2, copies=copies, rows=len(x))
    function = loss_called(loss)
    x, y = jnp.asarray(x), jnp.asarray(y)

    def measured(inputs: Array) -> tuple[np.ndarray, np.ndarray]:
        outputs = jnp.asarray(apply(params, inputs))
        said = outputs.argmax(axis=-1) if outputs.ndim > 1 and outputs.shape[-1] > 1 else jnp.sign(outputs)
        return np.asarray(function(outputs, y), float), np.asarray(said).reshape(len(y), -1)

    plain, said = measured(x)
    moved = [measured(augment(step, x, key=own)) for own in jax.random.split(key, copies)]
    losses = np.stack([row for row, _ in moved], axis=1)  # (n, copies)
    agreement = float(np.mean([(other == said).all(axis=1).mean() for _, other in moved]))
    found = virtual_sample_size(losses)
    rise = losses.mean(axis=1) - plain
    certain = bool(rise.mean() > 2 * rise.std(ddof=1) / np.sqrt(len(rise)))
    size = float(min(found.size, len(x) * copies))
    worth = AugmentationWorth(
        len(x), copies, found.correlation, size, float(plain.mean()), float(losses.mean()), agreement, ""
    )
    return worth._replace(advice=_advice(worth, certain))


def _advice(worth: AugmentationWorth, rises: bool) -> str:
    told = f"{worth.copies} copies count as {worth.gain:.2g} rows for the mean loss (ρ = {worth.correlation:.2f})"
    if worth.gain < 1.05 and not rises:
        return f"{told}: the network hardly notices these changes, so training on them would add little."
    if rises:
        return (
            f"{told}, and the loss rises from {worth.loss:.3g} to {worth.moved_loss:.3g}: train on such copies if the "
            "labels stay and if such inputs will be met."
        )
    return (
        f"{told}, at a loss of {worth.moved_loss:.3g} beside {worth.loss:.3g}: the network has learned these changes."
    )
