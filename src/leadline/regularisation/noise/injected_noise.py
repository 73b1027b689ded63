"""Noise in inputs, weights and targets during training, as an objective for `training.fit`; off in validation."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree

from leadline._shapes import output_shape
from leadline.training import RowLosses
from leadline.training.objectives import Loss, Sample, Supervised, loss_called

from ..penalties.norms import matrices

#: a number, or a function of the step's number (an Optax schedule)
Scale = float | Float[Array, ""] | Callable[[Any], Any]


class NoiseInjection(eqx.Module):
    """The objective l(f(x + s₁ξ₁; θ + s₂ξ₂), ỹ) with Gaussian noise that is drawn anew at every step.

    `inputs` is s₁, `weights` s₂, for the arrays that `group` marks (one draw for a batch; `matrices` leaves biases
    alone); targets that are numbers get noise of deviation `targets`, and labels are with that probability drawn anew
    from all classes. Each is a number or a function of the step's number, such as an Optax schedule; for that, give
    `fit` the state `jnp.array(0)`, which counts the steps. Validation is without noise: there `inference` is True.

    >>> noisy = NoiseInjection("squared", inputs=0.5)
    >>> rows, _ = noisy(lambda x: x, (jnp.zeros(4), jnp.zeros(4)), jax.random.key(0), None)
    >>> quiet, _ = eqx.nn.inference_mode(noisy)(lambda x: x, (jnp.zeros(4), jnp.zeros(4)), None, None)
    >>> bool((rows.losses > 0).all()), quiet.losses.tolist()
    (True, [0.0, 0.0, 0.0, 0.0])
    """

    loss: Loss = eqx.field(static=True)
    inputs: Scale
    weights: Scale
    targets: Scale
    group: Callable[[PyTree], PyTree] = eqx.field(static=True)
    inference: bool

    def __init__(
        self,
        loss: str | Loss = "cross-entropy",
        *,
        inputs: Scale = 0.0,
        weights: Scale = 0.0,
        targets: Scale = 0.0,
        group: Callable[[PyTree], PyTree] = matrices,
    ):
        for name, scale in (("inputs", inputs), ("weights", weights), ("targets", targets)):
            if isinstance(scale, int | float) and not scale >= 0:
                raise ValueError(f"NoiseInjection got {name} = {scale}; give 0 or more.")
        self.loss = loss_called(loss)
        self.inputs, self.weights, self.targets, self.group = inputs, weights, targets, group
        self.inference = False

    def __call__(
        self, model: PyTree, batch: tuple[Any, Any], key: PRNGKeyArray | None, state: PyTree
    ) -> tuple[RowLosses, PyTree]:
        sample = Sample(*batch)
        if self.inference:
            return Supervised(self.loss)(model, sample, key, state)
        if key is None:
            raise ValueError("NoiseInjection got no key to draw noise with; pass one, or set its inference to True.")
        own = jax.random.split(key, 3)
        x = noisy_inputs(sample.inputs, _at(self.inputs, state), key=own[0])
        moved = noisy_weights(model, _at(self.weights, state), group=self.group, key=own[1])
        y = jnp.asarray(sample.targets)
        if not _is_zero(self.targets):
            scale = _at(self.targets, state)
            classes = output_shape(model, x[0]).shape[-1:]
            y = noisy_labels(y, scale, classes[0], key=own[2]) if _labels(y) else noisy_inputs(y, scale, key=own[2])
        rows, _ = Supervised(self.loss)(moved, Sample(x, y), key, state)
        return rows, state if state is None else state + 1


def noisy_inputs(
    x: Num[Array | np.ndarray, "n ..."], scale: float | Float[Array, ""], *, key: PRNGKeyArray
) -> Num[Array, "n ..."]:
    """x + s ξ with ξ ~ N(0, I); as it is where s is the number 0.

    >>> noisy_inputs(jnp.array([1, 2]), 0.0, key=jax.random.key(0)).tolist()
    [1, 2]
    """
    x = jnp.asarray(x)
    if _is_zero(scale):
        return x
    kind = x.dtype if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.zeros(()).dtype
    return x + jnp.asarray(scale, kind) * jax.random.normal(key, x.shape, kind)


def noisy_weights(
    model: PyTree, scale: float | Float[Array, ""], *, group: Callable[[PyTree], PyTree] = matrices, key: PRNGKeyArray
) -> PyTree:
    """θ + s ξ with ξ ~ N(0, I) on the arrays that `group` marks; the others, and what is no array, as they are.

    >>> moved = noisy_weights({"kernel": jnp.zeros((2, 2)), "bias": jnp.zeros(2)}, 1.0, key=jax.random.key(0))
    >>> bool((moved["kernel"] != 0).all()), moved["bias"].tolist()
    (True, [0.0, 0.0])
    """
    if _is_zero(scale):
        return model
    chosen, rest = eqx.partition(model, group(model))
    xi = optax.tree.random_like(key, chosen)
    return eqx.combine(jax.tree.map(lambda a, noise: a + jnp.asarray(scale, a.dtype) * noise, chosen, xi), rest)


def noisy_labels(
    labels: Num[Array, " n"], probability: float | Float[Array, ""], classes: int, *, key: PRNGKeyArray
) -> Num[Array, " n"]:
    """Each label with this probability drawn anew from all classes, its own among them.

    >>> noisy_labels(jnp.array([3, 1]), 0.0, 4, key=jax.random.key(0)).tolist()
    [3, 1]
    """
    if isinstance(probability, int | float) and not 0 <= probability <= 1:
        raise ValueError(f"noisy_labels got the probability {probability} of a new label; give a number from 0 to 1.")
    which, what = jax.random.split(key)
    drawn = jax.random.randint(what, labels.shape, 0, classes, labels.dtype)
    return jnp.where(jax.random.bernoulli(which, probability, labels.shape), drawn, labels)


def _labels(y: Array) -> bool:
    return y.ndim == 1 and jnp.issubdtype(y.dtype, jnp.integer)


def _is_zero(scale: Any) -> bool:
    return isinstance(scale, int | float) and scale == 0


def _at(scale: Scale, state: PyTree) -> Any:
    if not callable(scale):
        return scale
    if state is None:
        raise ValueError(
            "NoiseInjection got a schedule and no state; give fit the state jnp.array(0), the step's number."
        )
    return scale(state)
