"""Reading a recipe from TOML; a mistake is told in one sentence with the file and the line."""

import math
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from leadline._files import reading
from leadline._messages import BadInput, brief, reason, unknown

from .settings import (
    MODEL_KINDS,
    AugmentationSettings,
    Conv,
    DataSettings,
    Mlp,
    Recipe,
    Recurrent,
    RunSettings,
    TrainingSettings,
    types_of,
)

_TABLES = {"data": DataSettings, "model": None, "training": TrainingSettings}
_TABLES |= {"augmentation": AugmentationSettings, "run": RunSettings}
_REQUIRED = ("data", "model", "training")
_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    bool: "true or false",
    tuple[int, ...]: "a whole number or a list of them",
}


class RecipeError(BadInput):
    """What is wrong with a recipe, in one sentence with its file and line."""


def example() -> str:
    """A commented recipe to start from."""
    return (Path(__file__).parent / "example.toml").read_text(encoding="utf-8")


def read_recipe(path: str | Path) -> Recipe:
    """The recipe in a TOML file; RecipeError, or UnreadableFile, says what is wrong and where."""
    try:
        with reading(path, "TOML", "`leadline train --example` prints a recipe to start from"):
            return parse_recipe(Path(path).read_text(encoding="utf-8"), str(path))
    except FileNotFoundError as absent:
        raise RecipeError(str(absent)) from None


def parse_recipe(text: str, file: str = "the recipe") -> Recipe:
    """The recipe that a TOML text describes.

    >>> recipe = parse_recipe('data.name = "digits"\\nmodel.kind = "linear"\\ntraining.epochs = 5')
    >>> recipe.kind, recipe.training.batch
    ('linear', 128)
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        told = re.fullmatch(r"(.*?) \(at line (\d+), column (\d+)\)", str(error), re.S)
        why, line = (told[1], int(told[2])) if told else (str(error), len(text.splitlines()))
        raise RecipeError(f"{file}, line {max(line, 1)}: this is not TOML: {brief(why)}.") from None
    except (ValueError, RecursionError) as error:  # thousands of digits, or of nested brackets
        raise RecipeError(f"{file} is no recipe: {reason(error)}.") from None
    return _Reader(text, file).recipe(tables)


class _Reader:
    """One text being read: its mistakes are told with its name and lines."""

    def __init__(self, text: str, file: str):
        self.text, self.file = text, file

    def recipe(self, tables: Mapping[str, Any]) -> Recipe:
        for name, content in tables.items():
            if name not in _TABLES:
                raise self.mistake(name, None, unknown("table", name, _TABLES))
            if not isinstance(content, dict):
                raise self.mistake(name, None, f"{name} is a table, [{name}], not a value.")
        for name in _REQUIRED:
            if name not in tables:
                raise RecipeError(
                    f"{self.file} has no table [{name}]; `leadline train --example` shows a whole recipe."
                )
        model = dict(tables["model"])
        kind = model.pop("kind", None)
        if kind is None:
            raise self.mistake("model", None, f"[model] needs kind, one of {', '.join(MODEL_KINDS)}.")
        kind = self.chosen("model", "kind", kind, MODEL_KINDS)
        recipe = Recipe(
            data=self.settings("data", DataSettings, tables["data"]),
            model=self.settings("model", MODEL_KINDS[kind], model, of=f" of the kind {kind}"),
            training=self.settings("training", TrainingSettings, tables["training"]),
            run=self.settings("run", RunSettings, tables.get("run", {})),
            augmentation=self.settings("augmentation", AugmentationSettings, tables.get("augmentation", {})),
            text=self.text,
        )
        self.consistent(recipe)
        return recipe

    def settings(self, table: str, cls: type, given: Mapping[str, Any], of: str = "") -> Any:
        types = types_of(cls)
        for key in given:
            if key not in types:
                raise self.mistake(table, key, unknown(f"key in [{table}]{of}", key, types))
        values = {}
        for declared in fields(cls):
            key = declared.name
            if key in given:
                values[key] = self.value(table, key, given[key], types[key], declared.metadata)
            elif declared.default is None:
                raise self.mistake(table, None, f"[{table}] needs {key}, {_WORDS[types[key]]}.")
        return cls(**values)

    def value(self, table: str, key: str, value: Any, kind: Any, domain: Mapping[str, Any]) -> Any:
        """A value in its setting's type, checked against its range or its names."""
        if domain["names"] is not None:
            return self.chosen(table, key, value, domain["names"]())
        if kind is float and type(value) is int and abs(value) <= sys.float_info.max:
            value = float(value)
        listed = kind == tuple[int, ...]
        if listed and type(value) is int:
            value = [value]  # a list of one
        numbers: list[Any] = value if isinstance(value, list) else [value]
        if not (value is numbers and all(type(v) is int for v in numbers) if listed else type(value) is kind):
            raise self.mistake(table, key, f"{key} = {_show(value)} is not {_WORDS[kind]}.")
        if kind in (str, bool):
            return value
        for number in numbers:
            if not (
                abs(number) <= sys.float_info.max
                and domain["low"] <= number <= domain["high"]
                and number > domain["above"]
            ):
                raise self.mistake(table, key, f"{key} = {_show(value)} is out of range; give {_range(domain)}.")
        return tuple(numbers) if listed else value

    def chosen(self, table: str, key: str, value: Any, names: Iterable[str]) -> str:
        if not isinstance(value, str):
            raise self.mistake(table, key, f"{key} = {_show(value)} is not {_WORDS[str]}.")
        if value not in list(names):
            raise self.mistake(table, key, unknown(key, value, names))
        return value

    def consistent(self, recipe: Recipe) -> None:
        """Settings that are fine each by itself must also fit each other and the dataset."""
        from leadline.data.sources.catalogue import describe

        t = recipe.training
        known = describe(recipe.data.name)
        if recipe.data.images > known.train:
            raise self.mistake(
                "data", "images", f"images = {recipe.data.images} is more than the {known.train} training images."
            )
        images = recipe.data.images or known.train
        train = images - round(images * recipe.data.validation)
        if t.batch > train:
            raise self.mistake("training", "batch", f"batch = {t.batch} is more than the {train} training images.")
        if recipe.data.path and known.bundled:
            raise self.mistake("data", "path", f"{known.name} is bundled; leave path out.")
        if t.patience and not recipe.data.validation:
            raise self.mistake("training", "patience", "patience needs data held out: set validation in [data].")
        if t.warmup >= t.epochs:
            raise self.mistake("training", "warmup", f"warmup = {t.warmup:g} must be less than epochs = {t.epochs}.")
        if isinstance(recipe.model, Conv):
            self.fitting(recipe.model, known.shape, len(known.classes))
        if isinstance(recipe.model, Mlp | Conv):
            self.normalising(recipe.model, t.batch)
        if recipe.augmentation.mixup and t.loss != "cross-entropy":
            raise self.mistake("augmentation", "mixup", 'mixup is for loss = "cross-entropy".')
        if t.smoothing and t.loss != "cross-entropy":
            raise self.mistake("training", "smoothing", 'smoothing is for loss = "cross-entropy".')

        if isinstance(recipe.model, Recurrent) and recipe.model.bidirectional and recipe.model.cell == "lru":
            raise self.mistake("model", "bidirectional", "lru stands in residual blocks of one direction.")

    def fitting(self, model: Conv, shape: tuple[int, ...], classes: int) -> None:
        """A convolutional network must fit the images, before a directory is made for it."""
        from leadline import convolution

        from .named_models import conv_layers

        if model.kernel % 2 == 0:
            raise self.mistake("model", "kernel", f"kernel = {model.kernel} has no centre; give an odd number.")
        height, width, *colours = shape
        try:
            convolution.stack_costs(conv_layers(model, classes), (math.prod(colours), height, width))
        except ValueError as error:
            told = f"{len(model.channels)} convolutions in blocks of {model.block} do not fit {height} x {width} pixels"
            raise self.mistake("model", "channels", f"{told}: {error}") from None

    def normalising(self, model: Mlp | Conv, batch: int) -> None:
        """A normalisation must fit the widths and the batch, before a directory is made for it."""
        if model.normalisation == "batch" and batch < 2 and (isinstance(model, Mlp) or model.hidden):
            raise self.mistake("training", "batch", 'batch = 1 has no variance for normalisation = "batch"; give 2.')
        conv = model.channels if isinstance(model, Conv) else ()
        for key, widths in (("channels", conv), ("hidden", model.hidden)):
            for width in widths if model.normalisation == "group" else ():
                groups = min(8, width) if conv else 8
                if width % groups:
                    raise self.mistake("model", key, f"{key} = {width} does not divide into {groups} groups.")

    def mistake(self, table: str, key: str | None, sentence: str) -> RecipeError:
        line = line_of(self.text, table, key)
        return RecipeError(f"{self.file}, line {line}: {sentence}" if line else f"{self.file}: {sentence}")


def line_of(text: str, table: str, key: str | None = None) -> int | None:
    """The line, from 1, on which a key of a table is set, or that of the table if there is no key to be found.

    >>> line_of("# a recipe\\n[data]\\nname = 'digits'", "data", "name")
    3
    """
    bare = rf"[\"']?{re.escape(table)}[\"']?"
    quoted = rf"[\"']?{re.escape(key or '')}[\"']?"
    header, inside, fallback = re.compile(rf"\s*\[\s*{bare}\s*\]"), False, None
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\[[^\[\],=]*\]\s*(#.*)?$", line):
            inside = header.match(line) is not None
            if inside:
                fallback = fallback or number
        elif key and inside and re.match(rf"\s*{quoted}\s*[=.]", line):
            return number
        elif re.match(rf"\s*{bare}\s*[=.]", line) and not inside:
            if key and re.match(rf"\s*{bare}\s*\.\s*{quoted}\s*[=.]|\s*{bare}\s*=.*[{{,]\s*{quoted}\s*=", line):
                return number
            fallback = fallback or number
    return fallback


def _range(domain: Mapping[str, Any]) -> str:
    low, high, above = domain["low"], domain["high"], domain["above"]
    least = f"more than {above:g}" if math.isfinite(above) else f"{low:g} or more"
    return f"{low:g} to {high:g}" if math.isfinite(high) else least


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{brief(value)}"' if isinstance(value, str) else brief(value)
