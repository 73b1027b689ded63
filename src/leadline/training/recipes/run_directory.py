"""Carrying out a recipe: in a directory of its own with configuration, metrics, checkpoints, weights and the result."""

import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray

from leadline import data, learning, training
from leadline._dependencies import source_digest
from leadline._files import is_regular, write_whole
from leadline._messages import BadInput
from leadline.data.sources.datasets import Dataset, say
from leadline.frameworks.opening import as_apply
from leadline.frameworks.with_state import WithState
from leadline.regularisation import ModalObjective
from leadline.training.fitting import Run
from leadline.training.objectives import LOSSES, Loss

from ..checkpoints import CHECKPOINTS
from ..metrics_file import METRICS
from ..remembered import Task
from .config_file import read_recipe
from .devices import join_cluster, mesh_from_environment, shard_from_environment
from .named_augmentations import augmented
from .named_models import build_model
from .named_optimisers import build_optimiser
from .settings import Recipe, TrainingSettings

CONFIG, WEIGHTS, RESULT = "config.toml", "weights.safetensors", "result.json"
_TRACES = (METRICS, "curves.svg", WEIGHTS, RESULT)
_ROWS = 1000  # test images evaluated at once

Images = tuple[Float[np.ndarray, "_ ..."], Int[np.ndarray, " _"]]  # with their labels


class RunExists(BadInput):
    """The directory holds a run that would be overwritten, or one of another recipe."""


@dataclass(frozen=True)
class Outcome:
    """What came of a recipe. `model` is the best on the held-out data, or the last where none were held out."""

    recipe: Recipe
    run: Run
    model: eqx.Module
    parameters: int
    test_accuracy: float
    test_loss: float
    seconds: float  #: of this call, without what it was resumed from

    def record(self) -> dict[str, Any]:
        """The outcome in numbers, as result.json has it; null for what is not finite."""
        return {
            "dataset": self.recipe.data.name,
            "model": self.recipe.kind,
            "parameters": self.parameters,
            "epochs": self.run.epochs,
            "reason": self.run.reason,
            "last": {n: _finite(values[-1]) for n, values in self.run.history.items() if n not in ("epoch", "step")},
            "test_accuracy": self.test_accuracy,
            "test_loss": _finite(self.test_loss),
            "seconds": round(self.seconds, 3),
        }


def train(
    recipe: Recipe,
    directory: str | Path | None = None,
    *,
    resume: bool = False,
    progress: bool = False,
    on_epoch: Callable[[dict[str, float]], None] | None = None,
    notice: Callable[[str], None] = say,
) -> Outcome:
    """Load the data, build the model, train it, test it; with a directory, keep all of it there.

    A directory that already has a run is not touched unless `resume` is set and the recipe is the same; the run then
    goes on from its last checkpoint, or begins if there is none. The environment says on which devices
    (`recipes.devices`); in a cluster the first process writes the directory, which all must be able to read.

    >>> from leadline.training.recipes import parse_recipe
    >>> recipe = parse_recipe('data.name = "digits"\\nmodel.kind = "linear"\\ntraining = {epochs = 3, rate = 0.01}')
    >>> train(recipe).test_accuracy > 0.8
    True
    """
    began = time.monotonic()
    writes = join_cluster()
    if directory is not None:
        directory = Path(directory)
        if writes:
            _claim(recipe, directory, resume)
    settings = recipe.training
    sample = data.load(recipe.data.name, recipe.data.path or None, notice=notice)
    model = first_model(recipe, sample)
    seen, unseen = seen_and_held(recipe, sample)
    loss = classification_loss(settings)
    modal = isinstance(model, WithState)
    how: dict[str, Any] = {"objective": ModalObjective(loss), "state": model.state} if modal else {"loss": loss}
    if recipe.augmentation.used:
        how = how | {
            "objective": augmented(
                recipe.augmentation, how.pop("objective", None), loss, seen[0].shape[1:], classes=len(sample.classes)
            )
        }
        how.pop("loss", None)
    run = training.fit(
        model.network if modal else model,
        seen,
        optimiser=build_optimiser(settings, max(len(seen[1]) // settings.batch, 1)),
        epochs=settings.epochs,
        batch=settings.batch,
        validation=unseen,
        patience=settings.patience or None,
        key=_keys(recipe).batches,
        directory=directory,
        keep=recipe.run.keep,
        every=recipe.run.every or None,
        resume=resume,
        progress=progress,
        on_epoch=on_epoch,
        mesh=mesh_from_environment(),
        shard=shard_from_environment(),
        **how,
    )
    chosen = _in_use(run, best=unseen is not None) if modal else run.model if unseen is None else run.best
    inputs, labels = jnp.asarray(sample.test_inputs), jnp.asarray(sample.test_labels)
    test_loss, accuracy = _test(chosen, inputs, labels, loss)
    size = sum(leaf.size for leaf in jax.tree.leaves(as_apply(chosen).params))
    outcome = Outcome(recipe, run, chosen, size, float(accuracy), float(test_loss), time.monotonic() - began)
    if directory is not None and writes:
        training.save_weights(directory / WEIGHTS, chosen)
        write_whole(directory / RESULT, (json.dumps(outcome.record(), indent=2) + "\n").encode())
    return outcome


def _in_use(run: Run, best: bool) -> WithState:
    """The network of a run with the state that belongs to it."""
    return WithState(run.best, run.best_state) if best else WithState(run.model, run.state)


def task_of(recipe: Recipe, notice: Callable[[str], None]) -> Task:
    """What `training.remembered` needs to know of a recipe; the data are verified, so that their name says all."""
    sample = data.load(recipe.data.name, recipe.data.path or None, notice=notice)
    about = {"recipe": recipe.values(), "source": source_digest(__name__)}
    name = f"{recipe.data.name}-{recipe.kind}"
    return Task(lambda: train(recipe, notice=notice).model, first_model(recipe, sample), name, about)


def training_images(recipe: Recipe, sample: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The training images of a recipe, before any are held out, and their labels, some drawn anew where it says so."""
    count = recipe.data.images or len(sample.train_labels)
    images, labels = sample.train_inputs[:count], sample.train_labels[:count]
    if share := recipe.data.random_labels:
        rng = np.random.default_rng(recipe.training.seed)
        chosen = rng.random(count) < share
        labels = np.where(chosen, rng.integers(len(sample.classes), size=count), labels).astype(labels.dtype)
    return images, labels


def seen_and_held(recipe: Recipe, sample: Dataset) -> tuple[Images, Images | None]:
    """The images and labels that are trained on, and those held out for validation, if any are."""
    images, labels = training_images(recipe, sample)
    if not (held := recipe.data.validation):
        return (images, labels), None
    part = learning.stratified_split(labels, (1 - held, held, 0.0), key=_keys(recipe).split)
    return (images[part.train], labels[part.train]), (images[part.validation], labels[part.validation])


def first_model(recipe: Recipe, sample: Dataset) -> eqx.Module:
    """The network of a recipe before the first step."""
    return build_model(recipe.model, sample.train_inputs.shape[1:], len(sample.classes), key=_keys(recipe).model)


class _Keys(NamedTuple):
    model: PRNGKeyArray
    split: PRNGKeyArray
    batches: PRNGKeyArray


def _keys(recipe: Recipe) -> _Keys:
    return _Keys(*jax.random.split(jax.random.key(recipe.training.seed), 3))


def classification_loss(settings: TrainingSettings) -> str | Loss:
    """The loss of scores against labels: cross-entropy, if asked with smoothed labels, or ‖f(x) - e_y‖².

    >>> loss = classification_loss(TrainingSettings(epochs=1, loss="squared"))
    >>> loss(jnp.array([[1.0, 0.0], [0.5, 0.5]]), jnp.array([0, 1])).tolist()
    [0.0, 0.5]
    """
    if settings.loss == "cross-entropy" and not settings.smoothing:
        return "cross-entropy"
    if settings.loss == "squared":
        return training.one_hot_squared_error

    def smoothed(outputs: Float[Array, "batch k"], labels: Num[Array, "batch ..."]) -> Float[Array, " batch"]:
        mixed = labels.ndim == 2  # rows of probabilities, from mixup
        targets = labels if mixed else jax.nn.one_hot(labels, outputs.shape[1], dtype=outputs.dtype)
        return optax.softmax_cross_entropy(outputs, optax.smooth_labels(targets, settings.smoothing))

    return smoothed


def _claim(recipe: Recipe, directory: Path, resume: bool) -> None:
    """Make the directory this run's: it must be free of another one, or hold this one to be resumed."""
    config = directory / CONFIG
    text = recipe.text or recipe.toml()
    traces = [name for name in _TRACES if is_regular(directory / name)]
    traces += [CHECKPOINTS] if _is_directory(directory / CHECKPOINTS) else []
    if is_regular(config) and resume:
        there, here = read_recipe(config).values(), recipe.values()
        for name in {**there, **here}:
            if there.get(name) != here.get(name):
                raise RunExists(
                    f"{directory} holds a run with {name} = {_show(there.get(name))}, not {_show(here.get(name))}; "
                    "resume it with the recipe it began with, or start in another directory."
                )
        return
    if traces and resume:
        raise RunExists(f"{directory} has {traces[0]} but no {CONFIG}; start in another directory.")
    if traces or (config.exists() and config.read_text(encoding="utf-8", errors="replace") != text):
        raise RunExists(f"{directory} already holds a run; resume it, or choose another directory.")
    write_whole(config, text.encode())


def _is_directory(path: Path) -> bool:
    """Whether there is a directory; RunExists where there is something else."""
    if path.is_dir():
        return True
    if os.path.lexists(path):
        raise RunExists(f"{path} is no directory; move it away, or start in another directory.")
    return False


@eqx.filter_jit
def _test(
    model: eqx.Module, inputs: Float[Array, "n ..."], labels: Int[Array, " n"], loss: str | Loss
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The mean loss and the share of right answers."""
    outputs = jax.lax.map(model, inputs, batch_size=_ROWS)
    function = LOSSES[loss] if isinstance(loss, str) else loss
    return jnp.mean(function(outputs, labels)), jnp.mean(jnp.argmax(outputs, axis=1) == labels)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _show(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value)
