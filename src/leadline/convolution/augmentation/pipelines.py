"""Transformations one after the other, some of the time, on a batch, and as a set of copies beside the originals."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Num, PRNGKeyArray, Shaped

from leadline._checks import require_counts, require_rows

#: (key, example) -> example, whatever is drawn drawn from the key
Step = Callable[[PRNGKeyArray, Array], Array]


class Pipeline(eqx.Module):
    """Steps (key, example) → example one after the other, each with a key of its own.

    A step is any such function; those of this package are small modules. A pipeline is itself a step.

    >>> from leadline.convolution.augmentation import Flip, Shift
    >>> moves = Pipeline(Shift(1), Flip("left-right"))
    >>> moves(jax.random.key(0), jnp.eye(4)).shape
    (4, 4)
    """

    steps: tuple[Step, ...]

    def __init__(self, *steps: Step):
        self.steps = steps

    def __call__(self, key: PRNGKeyArray, example: Num[Array, "..."]) -> Num[Array, "..."]:
        for place, step in enumerate(self.steps):
            example = step(jax.random.fold_in(key, place), example)
        return example


class Sometimes(eqx.Module):
    """A step with this probability, and the example as it is otherwise; the step must keep the shape.

    >>> kept = Sometimes(lambda key, x: -x, 0.0)
    >>> kept(jax.random.key(0), jnp.ones(2)).tolist()
    [1.0, 1.0]
    """

    step: Step
    probability: float

    def __init__(self, step: Step, probability: float):
        require_probability("Sometimes", probability=probability)
        self.step, self.probability = step, probability

    def __call__(self, key: PRNGKeyArray, example: Num[Array, "..."]) -> Num[Array, "..."]:
        which, own = jax.random.split(key)
        changed = self.step(own, example)
        if changed.shape != example.shape:
            raise ValueError(
                f"Sometimes got a step that makes {changed.shape} of {example.shape}; give one that keeps the shape."
            )
        return jnp.where(jax.random.bernoulli(which, self.probability), changed, example)


class ChannelsLast(eqx.Module):
    """A step for images (..., height, width) on one image (height, width, channels), as files and data sets have it.

    >>> from leadline.convolution.augmentation import Flip
    >>> flip = ChannelsLast(Flip("left-right", 1.0))
    >>> flip(jax.random.key(0), jnp.arange(6.0).reshape(1, 2, 3)).tolist()
    [[[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]]
    """

    step: Step

    def __call__(self, key: PRNGKeyArray, example: Num[Array, "height width channels"]) -> Num[Array, "..."]:
        return jnp.moveaxis(self.step(key, jnp.moveaxis(example, -1, 0)), 0, -1)


@eqx.filter_jit
def augment(step: Step, examples: Num[Array | np.ndarray, "n ..."], *, key: PRNGKeyArray) -> Num[Array, "n ..."]:
    """A step on every row, each with a key of its own, in one compiled call.

    >>> from leadline.convolution.augmentation import Cutout
    >>> augment(Cutout(2), jnp.ones((3, 4, 4)), key=jax.random.key(0)).sum((1, 2)).tolist()
    [12.0, 12.0, 12.0]
    """
    examples = jnp.asarray(examples)
    return jax.vmap(step)(jax.random.split(key, len(examples)), examples)


class Copies(NamedTuple):
    """Examples with their labels, and which of the given examples each is made of."""

    examples: Num[np.ndarray, "m ..."]
    labels: Shaped[np.ndarray, "m ..."]
    origin: Int[np.ndarray, " m"]


def augmented_copies(
    step: Step,
    examples: Num[Array | np.ndarray, "n ..."],
    labels: Shaped[Array | np.ndarray, "_ ..."],
    copies: int,
    *,
    identity: bool = True,
    key: PRNGKeyArray,
) -> Copies:
    """{(xᵢ, yᵢ)} ∪ {(T xᵢ, yᵢ)}: the examples (unless `identity` is False) and so many random copies of each.

    n rows become (K + 1) n. Split into training and validation rows before: copies of one example on both sides of a
    split tell nothing about new ones. `regularisation.virtual_examples` makes copies by a fixed list of
    transformations; in training, `Augmented` draws new ones at every step and keeps none.

    >>> from leadline.convolution.augmentation import Shift
    >>> found = augmented_copies(Shift(1), np.ones((2, 3, 3)), np.array([0, 1]), 2, key=jax.random.key(0))
    >>> found.examples.shape, found.origin.tolist()
    ((6, 3, 3), [0, 1, 0, 1, 0, 1])
    """
    require_rows("augmented_copies", examples=examples, labels=labels)
    require_counts("augmented_copies", copies=copies)
    examples, labels = np.asarray(examples), np.asarray(labels)
    origin = np.tile(np.arange(len(examples)), copies)
    made = np.asarray(augment(step, examples[origin], key=key))
    if identity:
        if made.shape[1:] != examples.shape[1:]:
            raise ValueError(
                f"augmented_copies got a step that makes {made.shape[1:]} of {examples.shape[1:]}; give one that keeps "
                "the shape, or identity=False."
            )
        made, origin = np.concatenate([examples.astype(made.dtype), made]), np.append(np.arange(len(examples)), origin)
    return Copies(made, labels[origin], origin)


def require_probability(where: str, **probabilities: Any) -> None:
    """ValueError where a number is not between 0 and 1.

    >>> require_probability("Flip", probability=1.5)
    Traceback (most recent call last):
    ValueError: Flip got probability = 1.5; give a number between 0 and 1.
    """
    for name, value in probabilities.items():
        if isinstance(value, int | float) and not 0 <= value <= 1:
            raise ValueError(f"{where} got {name} = {value}; give a number between 0 and 1.")


def require_scale(where: str, **scales: Any) -> None:
    """ValueError where a size is negative or not finite.

    >>> require_scale("Gain", decibels=-1.0)
    Traceback (most recent call last):
    ValueError: Gain got decibels = -1.0; give a number of 0 or more.
    """
    for name, value in scales.items():
        if isinstance(value, int | float) and not 0 <= value < float("inf"):
            raise ValueError(f"{where} got {name} = {value}; give a number of 0 or more.")
