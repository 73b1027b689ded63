"""Augmentation as part of what `training.fit` minimises: drawn anew at every step, compiled, off in validation."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree

from leadline._shapes import output_shape
from leadline.training.engine.objective import Objective
from leadline.training.objectives import Loss, Supervised, loss_called

from .pipelines import Pipeline, Step, require_scale


def _first(batch: Any) -> Any:
    return batch[0]


class Augmented(eqx.Module):
    """The objective l(f(T x), y) with a random T for every row of every batch.

    `steps` are functions (key, example) → example. They act on the inputs of a pair (inputs, targets) before
    `objective` sees them, which is by default that of a `loss`; `where` says which array of a batch of another form is
    meant. With `mixup` > 0 pairs of rows are mixed afterwards (`mixup`); labels become rows of probabilities, so the
    loss must take these, and no accuracy is measured on them; `classes` says how many there are where the model has a
    state and takes more than an input. Validation in `fit` sees the rows as they are.

    >>> import numpy as np
    >>> from leadline import networks, training
    >>> from leadline.convolution.augmentation import Shift
    >>> x = np.zeros((64, 6, 6), "float32")
    >>> x[:32, 2], x[32:, :, 2] = 1.0, 1.0  # horizontal and vertical bars
    >>> net = networks.MLP((36, 32, 2), key=jax.random.key(0))
    >>> run = training.fit(net, (x, np.repeat([0, 1], 32)), objective=Augmented(Shift(2)), optimiser=optax.adam(0.01),
    ...                    epochs=40, batch=16, key=jax.random.key(1))
    >>> moved = np.roll(x, (2, 2), (1, 2))
    >>> bool((jax.vmap(run.model)(moved).argmax(1) == np.repeat([0, 1], 32)).all())
    True
    """

    step: Pipeline
    objective: Objective
    mixing: float
    classes: int | None
    where: Callable[[Any], Any] = eqx.field(static=True)
    inference: bool

    def __init__(
        self,
        *steps: Step,
        loss: str | Loss = "cross-entropy",
        objective: Objective | None = None,
        mixup: float = 0.0,
        classes: int | None = None,
        where: Callable[[Any], Any] = _first,
    ):
        require_scale("Augmented", mixup=mixup)
        if objective is None:
            soft = mixup and loss == "cross-entropy"
            objective = Supervised(soft_cross_entropy if soft else loss_called(loss))
        elif loss != "cross-entropy":
            raise ValueError("Augmented got a loss beside an objective, which has its own; give one of them.")
        if mixup and where is not _first:
            raise ValueError("Augmented got mixup and a batch of its own form; give pairs (inputs, targets) for mixup.")
        self.step, self.objective, self.mixing, self.where = Pipeline(*steps), objective, mixup, where
        self.classes = classes
        self.inference = False

    def __call__(self, model: PyTree, batch: Any, key: PRNGKeyArray | None, state: PyTree) -> tuple[Any, PyTree]:
        if self.inference:
            return self.objective(model, batch, key, state)
        if key is None:
            raise ValueError("Augmented got no key to draw with; pass one, or set its inference to True.")
        own, mixing, rest = jax.random.split(key, 3)
        rows = jnp.asarray(self.where(batch))
        moved = jax.vmap(self.step)(jax.random.split(own, len(rows)), rows)
        batch = eqx.tree_at(self.where, batch, moved)
        if self.mixing:
            inputs, targets = (jnp.asarray(part) for part in batch)
            if _are_labels(targets):
                count = self.classes or output_shape(model, inputs[0]).shape[-1]
                targets = jax.nn.one_hot(targets, count, dtype=inputs.dtype)
            batch = mixup(mixing, inputs, targets, self.mixing)
        return self.objective(model, batch, rest, state)


def mixup(
    key: PRNGKeyArray, inputs: Num[Array, "n ..."], targets: Num[Array, "n ..."], concentration: float
) -> tuple[Float[Array, "n ..."], Float[Array, "n ..."]]:
    """(λ xᵢ + (1 − λ) xⱼ, λ yᵢ + (1 − λ) yⱼ) with λ ~ Beta(a, a) for each row i and j another row (Zhang et al. 2018).

    Targets are numbers, or rows of probabilities; j runs through a random permutation.

    >>> x, y = mixup(jax.random.key(0), jnp.eye(4), jnp.eye(4), 0.5)
    >>> bool((x == y).all()), x.sum(1).round(4).tolist()
    (True, [1.0, 1.0, 1.0, 1.0])
    >>> mixup(jax.random.key(0), jnp.eye(2), jnp.array([0, 1], "int32"), 0.5)
    Traceback (most recent call last):
    ValueError: mixup got targets of type int32 and shape (2,), of which no mean can be taken; give rows of ...
    """
    if not concentration > 0:
        raise ValueError(f"mixup got concentration = {concentration}; give a number above 0.")
    for name, part in (("targets", targets), ("inputs", inputs)):
        if not jnp.issubdtype(part.dtype, jnp.floating):
            raise ValueError(
                f"mixup got {name} of type {part.dtype} and shape {part.shape}, of which no mean can be taken; give "
                + ("rows of probabilities, jax.nn.one_hot(labels, classes)." if name == "targets" else "real numbers.")
            )
    shares, order = jax.random.split(key)
    share = jax.random.beta(shares, concentration, concentration, (len(inputs),), inputs.dtype)
    other = jax.random.permutation(order, len(inputs))

    def mixed(part: Array) -> Array:
        mine = share.reshape(-1, *[1] * (part.ndim - 1)).astype(part.dtype)
        return mine * part + (1 - mine) * part[other]

    return mixed(inputs), mixed(targets)


def soft_cross_entropy(outputs: Float[Array, "batch k"], targets: Num[Array, "batch ..."]) -> Float[Array, " batch"]:
    """−Σⱼ yⱼ log softmax(f)ⱼ for targets that are labels or rows of probabilities.

    >>> scores = jnp.array([[0.0, 0.0]])
    >>> [round(float(soft_cross_entropy(scores, t)[0]), 4) for t in (jnp.array([1]), jnp.array([[0.3, 0.7]]))]
    [0.6931, 0.6931]
    """
    if _are_labels(targets):
        return optax.softmax_cross_entropy_with_integer_labels(outputs, targets)
    return optax.softmax_cross_entropy(outputs, targets)


def _are_labels(targets: Array) -> bool:
    return targets.ndim == 1 and jnp.issubdtype(targets.dtype, jnp.integer)
