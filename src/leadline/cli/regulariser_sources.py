"""What `leadline regularise` compares on: rows of a file, of a dataset by name, or a recipe with its network."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from leadline import data
from leadline._messages import BadInput, unknown
from leadline.data.sources.catalogue import image_datasets
from leadline.frameworks.with_state import WithState
from leadline.regularisation.arms.arm_training import MakeNetwork
from leadline.regularisation.arms.regulariser_comparison import HIDDEN
from leadline.regularisation.arms.seeded_rows import draw_rows
from leadline.studies.intake.parts import Parts
from leadline.studies.intake.tables import read_parts
from leadline.training import recipes
from leadline.training.recipes.run_directory import training_images
from leadline.training.recipes.settings import Conv, Mlp

NUM_STEPS = 1500


class Source(NamedTuple):
    """Rows with labels, what `compare_regularisers` is told beside them, and all that makes a comparison this one."""

    parts: Parts
    options: dict[str, Any]
    settings: dict[str, Any]

    @property
    def num_steps(self) -> int:
        return self.options["num_steps"]


def open_source(
    name: str,
    target: str | None,
    num_steps: int | None,
    hidden: list[int] | None,
    batch: int | None,
    folds: int,
    seed: int,
) -> Source:
    """The source of that name; BadInput, DataUnavailable or RecipeError says what is wrong with it."""
    if Path(name).suffix == ".toml":
        return _of_recipe(Path(name), num_steps, hidden, batch, folds)
    images = name in image_datasets()
    if images:
        found = data.load(name)
        parts = Parts((found.train_inputs, found.train_labels), (found.test_inputs, found.test_labels))
    elif Path(name).suffix:
        parts = read_parts(Path(name), target, seed=seed)
    else:
        raise BadInput(unknown("dataset", name, image_datasets()) + " A file has an ending: .csv, .parquet or .npz.")
    if parts.test is None:
        raise BadInput(f"{name} has {len(parts.train[0])} rows, too few to set a fifth of them apart for the test.")
    if max(len(parts.train), len(parts.test)) > 2:
        raise BadInput(f"{name} has a mask beside inputs and targets; a comparison takes rows with one label each.")
    widths = list(hidden or HIDDEN)
    options = {"num_steps": num_steps or NUM_STEPS, "batch": batch, "hidden": widths, "standardise": not images}
    settings = {"data": name, "target": target, "rows": _digest(parts), **options}
    return Source(parts, options, settings)


def _of_recipe(path: Path, num_steps: int | None, hidden: list[int] | None, batch: int | None, folds: int) -> Source:
    recipe = recipes.read_recipe(path)
    if hidden:
        raise BadInput(f"{path} says what network it trains; leave --hidden out, or change the recipe.")
    if recipe.training.loss != "cross-entropy":
        raise BadInput(f"{path} has the loss {recipe.training.loss}; regularisers are compared by cross-entropy.")
    sample = data.load(recipe.data.name, recipe.data.path or None)
    images, labels = training_images(recipe, sample)
    parts = Parts((images, labels), (sample.test_inputs, sample.test_labels))
    plain = replace(recipe.training, weight_decay=0.0, smoothing=0.0, patience=0)
    rows = draw_rows(labels, len(sample.classes), 1, folds=folds, key=jax.random.key(0)).train
    size = min(batch or plain.batch, rows)
    each = max(rows // size, 1)
    options = {
        "num_steps": num_steps or plain.epochs * each,
        "batch": size,
        "standardise": False,
        "optimiser": recipes.build_optimiser(plain, each),
        "make": _networks(recipe.model, images.shape[1:], len(sample.classes)),
    }
    told = {name: options[name] for name in ("num_steps", "batch", "standardise")}
    settings = {"data": str(path), "recipe": recipe.values(), "rows": _digest(parts), **told}
    return Source(parts, options, settings)


def _networks(model: Any, shape: tuple[int, ...], classes: int) -> MakeNetwork:
    """The recipe's network without its own regularisers, with those that an arm asks for where it can have some."""

    def bare(key: Any) -> tuple[Any, Any]:
        return recipes.build_model(model, shape, classes, key=key), None

    def layered(key: Any, *, dropout: float = 0.0, normalisation: str | None = None) -> tuple[Any, Any]:
        own = replace(model, dropout=dropout, normalisation=normalisation or "none")
        own = replace(own, input_dropout=0.0) if isinstance(own, Mlp) else own
        made = recipes.build_model(own, shape, classes, key=key)
        return (made.network, made.state) if isinstance(made, WithState) else (made, None)

    return layered if isinstance(model, Mlp | Conv) else bare


def _digest(parts: Parts) -> str:
    """A digest of all rows, so that a directory knows its data."""
    digest = hashlib.sha256()
    for array in (*parts.train, *(parts.test or ())):
        plain = np.ascontiguousarray(array)
        digest.update(f"{plain.dtype} {plain.shape}".encode() + plain.tobytes())
    return digest.hexdigest()[:16]
