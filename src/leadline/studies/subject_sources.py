"""Subjects by what a user types: a run directory, a recipe, a `file.py:object`, a built-in name; and their data."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from leadline import data as datasets, training
from leadline._messages import unknown
from leadline.data.sources.catalogue import image_datasets
from leadline.data.sources.datasets import say
from leadline.evidence import BadInput
from leadline.frameworks.opening import as_apply
from leadline.training import recipes
from leadline.training.recipes.run_directory import CONFIG, WEIGHTS

from .intake.arrangement import needs_example
from .intake.parts import Parts, parts_of
from .intake.tables import read_parts
from .named_functions import called, loaded_file
from .subject import Subject, TrainingHistory
from .subject_making import as_subject

_RECIPES = Path(__file__).parent / "recipes"
UNTRAINED = "untrained"  # the default network before its training
OF_A_NETWORK = ("weights", "select", "optimiser", "step", "momentum", "batch")  # what a request says of it, if anything
TRAINING = "training"  # where, in the directory of a study, the network is trained


@dataclass(frozen=True)
class SubjectRequest:
    """What a user asks to be studied. `model` is a run directory, a recipe, `file.py:object` or a built-in name."""

    model: str = "digits"
    data: str | None = None
    target: str | None = None
    weights: Path | None = None
    loss: str | None = None
    step: float | None = None
    batch: int | None = None
    rows: int = 1000
    seed: int = 0
    optimiser: str | None = None
    momentum: float | None = None
    select: str | None = None

    @property
    def name(self) -> str:
        """A short name, fit for a directory."""
        path, _, attribute = self.model.partition(".py:")
        return attribute or Path(path).resolve().name.removesuffix(".toml")

    def options(self) -> dict[str, Any]:
        """What of it `as_subject` takes as it is."""
        place = self.select
        return {
            "select": int(place) if place is not None and place.removeprefix("-").isdecimal() else place,
            "optimiser": self.optimiser,
            "step_size": self.step,
            "momentum": self.momentum,
            "batch": self.batch,
            "rows": self.rows,
            "seed": self.seed,
        }

    def command(self) -> str:
        """The command line that asks for this."""
        options = {
            "data": self.data,
            "target": self.target,
            "weights": self.weights,
            "loss": self.loss,
            "select": self.select,
            "step": self.step,
            "optimiser": self.optimiser,
            "momentum": self.momentum,
            "batch": self.batch,
        }
        given = "".join(f" --{name} {value}" for name, value in options.items() if value is not None)
        rows = "" if self.rows == SubjectRequest.rows else f" --rows {self.rows}"
        return f"leadline study {self.model}{given}{rows}" + (f" --seed {self.seed}" if self.seed else "")


def built_in() -> list[str]:
    """The names of the subjects that come with Leadline."""
    return [*sorted(file.stem for file in _RECIPES.glob("*.toml")), UNTRAINED]


def open_subject(
    wish: SubjectRequest, directory: Path | None = None, *, progress: bool = False, notice: Callable[[str], None] = say
) -> Subject:
    """The subject that a user asks for; one that is given as a recipe is trained first, in `directory`, resumably."""
    try:
        return _opened(wish, directory, progress, notice)
    except datasets.DataUnavailable as mistake:
        raise BadInput(str(mistake)) from None
    except training.Diverged as failure:
        raise BadInput(f"The training of {wish.model} diverged: {failure}") from None


def _opened(wish: SubjectRequest, directory: Path | None, progress: bool, notice: Callable[[str], None]) -> Subject:
    path = Path(wish.model)
    if ".py:" in wish.model or path.suffix == ".py":
        return _of_object(wish, notice)
    if path.is_dir():
        return _of_run(wish, recipes.read_run(path, notice=notice), wish.name)
    if path.suffix == ".toml":
        return _of_recipe(wish, recipes.read_recipe(path), directory, progress, notice)
    if wish.model == UNTRAINED:
        return _of_run(wish, recipes.untrained_here(_recipe("digits"), notice=notice), UNTRAINED)
    if wish.model in built_in():
        return _of_recipe(wish, _recipe(wish.model), directory, progress, notice)
    if path.parent != Path() or path.suffix:
        raise BadInput(f"There is no {wish.model}; give a run directory, a recipe.toml, file.py:object or a name.")
    raise BadInput(unknown("subject", wish.model, built_in()))


def _recipe(name: str) -> recipes.Recipe:
    return recipes.read_recipe(_RECIPES / f"{name}.toml")


def _of_recipe(
    wish: SubjectRequest, recipe: recipes.Recipe, directory: Path | None, progress: bool, notice: Callable[[str], None]
) -> Subject:
    if wish.weights is not None:
        return _of_run(wish, recipes.untrained_here(recipe, notice=notice), wish.name)
    if directory is None:
        return _of_run(wish, recipes.trained_here(recipe, notice=notice), wish.name)
    place = directory / TRAINING
    finished = (place / WEIGHTS).exists() and recipes.read_recipe(place / CONFIG).values() == recipe.values()
    if not finished:
        recipes.train(recipe, place, resume=(place / CONFIG).exists(), progress=progress, notice=notice)
    return _of_run(wish, recipes.read_run(place, notice=notice), wish.name)


def _of_run(wish: SubjectRequest, run: recipes.TrainedRun, name: str) -> Subject:
    settings = run.recipe.training
    trained = bool(run.history)
    past = (
        TrainingHistory(
            start=as_apply(run.start).params if trained else None,
            optimiser=settings.optimiser,
            step=settings.rate,
            momentum=settings.momentum if settings.optimiser in ("momentum", "nesterov") else 0.0,
            batch=settings.batch,
            weight_decay=settings.weight_decay,
            constant_step=settings.schedule == "constant" and not settings.warmup and not settings.clip,
            epochs=len(run.history["loss"]),
            losses=np.asarray(run.history["loss"], float),
            init=getattr(run.recipe.model, "init", None),
        )
        if trained
        else TrainingHistory(init=getattr(run.recipe.model, "init", None))
    )
    parts = Parts((run.images, run.labels), run.tests)
    if wish.data is not None:
        parts = _parts(wish, say)
    loss = wish.loss or ("cross-entropy" if settings.loss == "cross-entropy" and not settings.smoothing else None)
    subject = as_subject(
        _weighted(run.network, wish.weights),
        *parts,
        loss=loss or run.losses.criterion,
        past=past,
        name=name,
        data=wish.data or run.recipe.data.name,
        **wish.options(),
    )
    return replace(subject, loss=settings.loss) if loss is None else subject


def _of_object(wish: SubjectRequest, notice: Callable[[str], None]) -> Subject:
    found = _object(wish.model)
    if callable(found) and not isinstance(found, eqx.Module) and _takes_nothing(found):
        found = called(found, wish.model)
    if isinstance(found, Subject):
        own = [name for name in OF_A_NETWORK if getattr(wish, name) is not None]
        if own:
            raise BadInput(f"{wish.model} is a Subject, which has its {own[0]} already; leave --{own[0]} out.")
        return found
    if callable(found) and type(found).__name__ == "function":
        raise BadInput(f"{wish.model} is a function; give the pair (f, params), or a function without arguments.")
    if wish.data is None:
        raise BadInput(f"{wish.model} needs data; give --data: the name of a dataset, a file, or file.py:object.")
    return as_subject(
        _weighted(found, wish.weights),
        *_parts(wish, notice),
        loss=wish.loss,
        name=wish.name,
        data=wish.data,
        **wish.options(),
    )


def _weighted(model: Any, weights: Path | None) -> Any:
    """The model with the weights of a safetensors file, or of one that PyTorch wrote, if one is given."""
    if weights is None:
        return model
    if needs_example(model):
        from leadline.frameworks.torch_modules.weights import with_weights

        try:
            return with_weights(model[0] if isinstance(model, tuple) else model, weights)
        except (ValueError, OSError) as mistake:
            raise BadInput(str(mistake)) from None
    if isinstance(model, tuple) and len(model) == 2:
        module, values = model
        stateful = isinstance(module, eqx.Module)
        return (_weighted(module, weights), values) if stateful else (module, _weighted(values, weights))
    try:
        return training.load_weights(weights, model)
    except FileNotFoundError as absent:
        raise BadInput(str(absent)) from None


def _parts(wish: SubjectRequest, notice: Callable[[str], None]) -> Parts:
    source = wish.data or ""
    if ".py:" in source:
        found = _object(source)
        found = called(found, source) if callable(found) and _takes_nothing(found) else found
        return parts_of(found, source, seed=wish.seed, most=wish.rows, notice=notice)
    if source in image_datasets():
        return parts_of(datasets.load(source, notice=notice), source)
    if Path(source).suffix:
        return read_parts(Path(source), wish.target, seed=wish.seed)
    if source in datasets.CATALOGUE:
        raise BadInput(f"{source} has no labelled images; a study takes {', '.join(image_datasets())} by name.")
    raise BadInput(unknown("dataset", source, image_datasets()))


def _object(place: str) -> Any:
    """The object of `file.py:name`; its module is run once."""
    file, _, name = place.rpartition(":")
    if not file or not name:
        raise BadInput(f"{place} names no object; give it as {file or place}:NAME.")
    module = loaded_file(Path(file))
    if not hasattr(module, name):
        own = [n for n, value in vars(module).items() if not n.startswith("_") and not inspect.ismodule(value)]
        raise BadInput(unknown(f"object in {file}", name, own))
    return getattr(module, name)


def _takes_nothing(function: Callable) -> bool:
    if isinstance(function, eqx.Module):
        return False
    try:
        return not any(p.default is p.empty for p in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
