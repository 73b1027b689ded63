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
from leadline.data.sources.datasets import Dataset, say

from ..metrics_file import METRICS, MetricsFile, columns_of
from ..objectives import loss_called
from .config_file import RecipeError, read_recipe
from .run_directory import CONFIG, WEIGHTS, Images, classification_loss, first_model, seen_and_held, train
from .settings import Recipe

Inputs = Float[Array | np.ndarray, "n ..."]
Labels = Int[Array | np.ndarray, " n"]


class RowLosses(eqx.Module):
    """One loss per image: criterion(network(image), label), without weight decay."""

    criterion: Callable

    def __call__(self, network: eqx.Module, images: Inputs, labels: Labels) -> Float[Array, " n"]:
        return self.criterion(outputs_of(network, images), jnp.asarray(labels))


class TrainedRun(NamedTuple):
    """A recipe, the network it trained, the loss of rows without weight decay, and the images it was trained on.

    `start` is the network before the first step, `tests` the test images and labels, `history` the metrics by epoch.
    """

    recipe: Recipe
    network: eqx.Module
    losses: RowLosses
    images: Float[np.ndarray, "n ..."]
    labels: Int[np.ndarray, " n"]
    start: eqx.Module
    tests: Images
    history: dict[str, np.ndarray]


def outputs_of(network: eqx.Module, images: Inputs) -> Float[Array, "n k"]:
    """The scores of all images."""
    return jax.vmap(network)(images)  # pyright: ignore[reportArgumentType] - this module is called


def read_run(directory: str | Path, *, notice: Callable[[str], None] = say) -> TrainedRun:
    """The run that `leadline train` finished in this directory."""
    directory = Path(directory)
    if not directory.is_dir():
        raise RecipeError(f"There is no directory {directory}; give one that `leadline train` has written.")
    if not (directory / WEIGHTS).exists() or not (directory / CONFIG).exists():
        raise RecipeError(f"{directory} has no finished run; train one with `leadline train`.")
    recipe = read_recipe(directory / CONFIG)
    sample = data.load(recipe.data.name, recipe.data.path or None, notice=notice)
    start = first_model(recipe, sample)
    network = training.load_weights(directory / WEIGHTS, start)
    return _run_of(recipe, network, start, columns_of(MetricsFile(directory / METRICS).read()), sample)


def trained_here(recipe: Recipe, *, notice: Callable[[str], None] = say) -> TrainedRun:
    """The same for a recipe that is carried out now and kept nowhere.

    >>> from leadline.training.recipes import parse_recipe
    >>> run = trained_here(parse_recipe('data.name = "digits"\\nmodel.kind = "linear"\\ntraining.epochs = 1'))
    >>> run.losses(run.network, run.images[:3], run.labels[:3]).shape
    (3,)
    """
    sample = data.load(recipe.data.name, recipe.data.path or None, notice=notice)
    outcome = train(recipe, notice=notice)
    return _run_of(recipe, outcome.model, first_model(recipe, sample), outcome.run.history, sample)


def untrained_here(recipe: Recipe, *, notice: Callable[[str], None] = say) -> TrainedRun:
    """The same before the first step: the network is the one that training would begin with."""
    sample = data.load(recipe.data.name, recipe.data.path or None, notice=notice)
    start = first_model(recipe, sample)
    return _run_of(recipe, start, start, {}, sample)


def _run_of(
    recipe: Recipe, network: eqx.Module, start: eqx.Module, history: dict[str, np.ndarray], sample: Dataset
) -> TrainedRun:
    criterion = loss_called(classification_loss(recipe.training))
    seen, _ = seen_and_held(recipe, sample)
    tests = (sample.test_inputs, sample.test_labels)
    return TrainedRun(recipe, network, RowLosses(criterion), *seen, start, tests, history)
