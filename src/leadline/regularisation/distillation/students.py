"""Knowledge distillation: a student learns the tempered probabilities of a teacher."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray, PyTree

from leadline._checks import require_numbers, require_rows
from leadline.learning import cross_entropy, softmax
from leadline.training import RowLosses, fit
from leadline.training.fitting import Run

Model = TypeVar("Model", bound=PyTree)
Logits = Float[Array | np.ndarray, "_ _"]


def distillation_loss(
    student: Float[Array | np.ndarray, "*rows m"],
    teacher: Float[Array | np.ndarray, "*rows m"],
    temperature: Num[Array, ""] | float = 1.0,
) -> Float[Array, "*rows"]:
    """-T² Σ_y softmax(F/T)_y log softmax(G/T)_y with the logits G of the student and F of the teacher, row by row.

    Its gradient in G is T (softmax(G/T) - softmax(F/T)); the factor T² keeps its size as T grows, where it tends to
    (G - F)/m for centred logits (Hinton, Vinyals and Dean 2015). It is least where softmax(G/T) = softmax(F/T).

    >>> z = jnp.log(jnp.array([[0.25, 0.75]]))
    >>> [round(float(v), 4) for v in distillation_loss(z, z)]  # the teacher's entropy
    [0.5623]
    """
    return temperature**2 * cross_entropy(student, softmax(teacher, temperature), temperature)


class Distilled(eqx.Module):
    """The objective (1 - h) T² H(softmax(F/T), softmax(G/T)) + h H(e_y, softmax(G)) of a student, for `training.fit`.

    Rows are {"inputs", "teacher"}, the logits F, and {"labels"} as well where the share h of hard labels is above 0.

    >>> objective = Distilled(temperature=2.0)
    >>> rows = {"inputs": jnp.zeros((1, 2)), "teacher": jnp.zeros((1, 2))}
    >>> [round(float(v), 4) for v in objective(lambda x: x, rows, None, None)[0].losses]
    [2.7726]
    """

    temperature: float | Float[Array, ""] = 1.0
    hard: float = eqx.field(static=True, default=0.0)

    def __check_init__(self) -> None:
        if isinstance(self.temperature, int | float) and not self.temperature > 0:
            raise ValueError(f"Distilled got temperature {self.temperature}; it must be above 0.")
        if not 0 <= self.hard <= 1:
            raise ValueError(f"Distilled got a share hard = {self.hard} of the label term; it must lie in [0, 1].")

    def __call__(
        self, model: Callable, rows: dict[str, Array], key: PRNGKeyArray | None, state: PyTree
    ) -> tuple[RowLosses, PyTree]:
        outputs = jax.vmap(model)(rows["inputs"])
        losses = distillation_loss(outputs, rows["teacher"], self.temperature)
        if self.hard:
            losses = (1 - self.hard) * losses + self.hard * cross_entropy(outputs, rows["labels"])
        agreed = jnp.argmax(outputs, axis=1) == jnp.argmax(rows["teacher"], axis=1)
        return RowLosses(losses, None, {"agreement": agreed.astype(outputs.dtype)}), state


def distil(
    student: Model,
    inputs: Num[Array | np.ndarray, "_ ..."],
    teacher: Logits | Callable,
    *,
    temperature: float = 1.0,
    labels: Int[Array | np.ndarray, " _"] | None = None,
    hard: float = 0.0,
    optimiser: optax.GradientTransformation,
    epochs: int,
    batch: int = 128,
    key: PRNGKeyArray,
    **options: Any,
) -> Run[Model]:
    """Train a student on inputs that need no labels, towards a teacher: its logits, or a network.

    Several networks as one teacher are a `DeepEnsemble`. The loss is that of `Distilled`; `labels` are used only where
    the share `hard` of their term is above 0. `options` are those of `training.fit`: a directory, a bar. The history
    has the agreement with the teacher besides the loss.

    >>> from leadline.networks import MLP
    >>> big, small = (MLP((2, width, 3), key=jax.random.key(width)) for width in (64, 4))
    >>> x = np.random.default_rng(0).normal(size=(256, 2)).astype(np.float32)
    >>> run = distil(small, x, big, temperature=2.0, optimiser=optax.adam(0.02), epochs=40, batch=64,
    ...              key=jax.random.key(0))
    >>> bool(run.history["agreement"][-1] > 0.8)
    True
    """
    if hard and labels is None:
        raise ValueError(f"distil got a share hard = {hard} of the label term and no labels; give labels or hard=0.")
    logits = _logits(teacher, inputs) if callable(teacher) else teacher
    rows = {"inputs": jnp.asarray(inputs), "teacher": jnp.asarray(logits)}
    if hard:
        rows["labels"] = jnp.asarray(labels)
    require_rows("distil", **rows)
    require_numbers("distil", **rows)
    objective = Distilled(temperature, hard)
    batch = min(batch, len(rows["inputs"]))
    return fit(student, rows, objective=objective, optimiser=optimiser, epochs=epochs, batch=batch, key=key, **options)


def _logits(teacher: Callable, inputs: Num[Array | np.ndarray, "n ..."], batch: int = 1024) -> np.ndarray:
    """The teacher's logits, so many rows at a time."""
    parts = [_of_rows(teacher, jnp.asarray(inputs[start : start + batch])) for start in range(0, len(inputs), batch)]
    return np.concatenate([np.asarray(part) for part in parts])


@eqx.filter_jit
def _of_rows(teacher: Callable, inputs: Array) -> Array:
    return jax.vmap(teacher)(inputs)
