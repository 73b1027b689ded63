"""A finished training run read back from its directory: the network with its trained weights, its loss and its data."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from leadline import data, training
from leadline.data.datasets import say
from leadline.training.objectives import loss_called

from .config_file import RecipeError, read_recipe
from .named_models import build_model
from .run_directory import CONFIG, WEIGHTS, classification_loss, train, training_images
from .settings import Recipe

Images = Float[Array | np.ndarray, "n ..."]
Labels = Int[Array | np.ndarray, " n"]


class RowLosses(eqx.Module):
    """One loss per image: criterion(network(image), label), without weight decay."""

    criterion: Callable

    def __call__(self, network: eqx.Module, images: Images, labels: Labels) -> Float[Array, " n"]:
        return self.criterion(outputs_of(network, images), jnp.asarray(labels))


class TrainedRun(NamedTuple):
    """A recipe, the network it trained, the loss of rows without weight decay, and the images it was trained on."""

    recipe: Recipe
    network: eqx.Module
    losses: RowLosses
    images: Float[np.ndarray, "n ..."]
    labels: Int[np.ndarray, " n"]


def outputs_of(network: eqx.Module, images: Images) -> Float[Array, "n k"]:
    """The scores of all images."""
    return jax.vmap(network)(images)


def read_run(directory: str | Path, *, notice: Callable[[str], None] = say) -> TrainedRun:
    """The run that `leadline train` finished in this directory."""
    directory = Path(directory)
    if not directory.is_dir():
        raise RecipeError(f"There is no directory {directory}; give one that `leadline train` has written.")
    if not (directory / WEIGHTS).exists() or not (directory / CONFIG).exists():
        raise RecipeError(f"{directory} has no finished run; train one with `leadline train`.")
    recipe = read_recipe(directory / CONFIG)
    sample = data.load(recipe.data.name, recipe.data.path or None, notice=notice)
    like = build_model(recipe.model, sample.train_inputs.shape[1:], len(sample.classes), key=jax.random.key(0))
    return _run_of(recipe, training.load_weights(directory / WEIGHTS, like), sample)


def trained_here(recipe: Recipe, *, notice: Callable[[str], None] = say) -> TrainedRun:
    """The same for a recipe that is carried out now and kept nowhere.

    >>> from leadline.recipes import parse_recipe
    >>> run = trained_here(parse_recipe('data.name = "digits"\\nmodel.kind = "linear"\\ntraining.epochs = 1'))
    >>> run.losses(run.network, run.images[:3], run.labels[:3]).shape
    (3,)
    """
    sample = data.load(recipe.data.name, recipe.data.path or None, notice=notice)
    return _run_of(recipe, train(recipe, notice=notice).model, sample)


def _run_of(recipe: Recipe, network: eqx.Module, sample: data.Dataset) -> TrainedRun:
    criterion = loss_called(classification_loss(recipe.training))
    return TrainedRun(recipe, network, RowLosses(criterion), *training_images(recipe, sample))
