"""A recipe's network as a loss of one example, for instruments that ask for losses and not for training runs."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline import data
from leadline.data.sources.datasets import say

from ..objectives import loss_called
from .run_directory import classification_loss, first_model, training_images
from .settings import Recipe


class RecipeLoss(NamedTuple):
    """loss(network, image, label) of one example, the untrained network, and the training images with their labels."""

    loss: Callable[..., Float[Array, ""]]
    network: PyTree
    data: tuple[np.ndarray, np.ndarray]


def row_loss(recipe: Recipe, *, notice: Callable[[str], None] = say) -> RecipeLoss:
    """What a recipe trains, before the first step.

    >>> import jax
    >>> from leadline.training.recipes import parse_recipe
    >>> seen = row_loss(parse_recipe('data.name = "digits"\\nmodel.kind = "linear"\\ntraining.epochs = 1'))
    >>> image, label = jax.tree.map(jax.numpy.asarray, (seen.data[0][0], seen.data[1][0]))
    >>> float(seen.loss(seen.network, image, label)) > 0
    True
    """
    sample = data.load(recipe.data.name, recipe.data.path or None, notice=notice)
    batch_loss = loss_called(classification_loss(recipe.training))

    def loss(network, image, label):
        return batch_loss(network(image)[None], label[None])[0]

    return RecipeLoss(loss, first_model(recipe, sample), training_images(recipe, sample))
