"""What a recipe consists of, table by table; each setting knows its type, its default and the values it may have."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

if TYPE_CHECKING:
    from ..remembered import Task

_INFINITE = float("inf")


def setting(
    default: Any = None,
    *,
    low: float = -_INFINITE,
    high: float = _INFINITE,
    above: float = -_INFINITE,
    names: Callable[[], Iterable[str]] | None = None,
) -> Any:
    """A field of a settings class: low <= value <= high, value > above, or one of the names; None: must be given."""
    return field(default=default, metadata={"low": low, "high": high, "above": above, "names": names})


def _datasets() -> Iterable[str]:
    from leadline.data.sources.catalogue import image_datasets

    return image_datasets()


def _activations() -> Iterable[str]:
    from leadline.networks import ACTIVATIONS

    return ACTIVATIONS


def _initialisers() -> Iterable[str]:
    from leadline.networks.initialisers import INITIALISERS

    return INITIALISERS


def _normalisations() -> Iterable[str]:
    return ("none", "batch", "layer", "rms", "group")


def _optimisers() -> Iterable[str]:
    from .named_optimisers import OPTIMISERS

    return OPTIMISERS


@dataclass(frozen=True)
class DataSettings:
    """[data]: which dataset, how many of its training images (the first; 0: all), and the share of these held out.

    `random_labels` is the share of training images whose label is drawn anew, uniformly.
    """

    name: str = setting(names=_datasets)
    path: str = setting("")
    images: int = setting(0, low=0)
    validation: float = setting(0.0, low=0, high=0.9)
    random_labels: float = setting(0.0, low=0, high=1)


@dataclass(frozen=True)
class Linear:
    """[model] kind = "linear": scores that are linear in the pixels."""

    init: str = setting("lecun", names=_initialisers)
    bias: bool = setting(True)


@dataclass(frozen=True)
class Mlp:
    """[model] kind = "mlp": fully connected layers of the `hidden` widths.

    `dropout` is the rate of the hidden units and `input_dropout` that of the inputs.
    """

    hidden: tuple[int, ...] = setting((512, 512), low=1, high=65536)
    activation: str = setting("relu", names=_activations)
    init: str = setting("he", names=_initialisers)
    gain: float = setting(1.0, low=0)
    bias: bool = setting(True)
    parametrisation: Literal["standard", "ntk", "mean-field"] = setting(
        "standard", names=lambda: ("standard", "ntk", "mean-field")
    )
    dropout: float = setting(0.0, low=0, high=0.99)
    input_dropout: float = setting(0.0, low=0, high=0.99)
    normalisation: str = setting("none", names=_normalisations)
    normalise: str = setting("before", names=lambda: ("before", "after"))

    @property
    def has_modes(self) -> bool:
        """Whether it has dropout or a normalisation."""
        return bool(self.dropout or self.input_dropout) or self.normalisation != "none"


@dataclass(frozen=True)
class Residual:
    """[model] kind = "residual": `depth` residual blocks of one width."""

    width: int = setting(128, low=1, high=65536)
    depth: int = setting(8, low=1, high=10000)
    activation: str = setting("relu", names=_activations)
    init: str = setting("he", names=_initialisers)


@dataclass(frozen=True)
class Dense:
    """[model] kind = "dense": `depth` layers of `growth` units, each reading all before it."""

    growth: int = setting(64, low=1, high=65536)
    depth: int = setting(4, low=1, high=1000)
    activation: str = setting("relu", names=_activations)
    init: str = setting("he", names=_initialisers)


@dataclass(frozen=True)
class Conv:
    """[model] kind = "conv": convolutions to so many `channels` each, pooling by 2 behind every `block` of them.

    The scores are linear in all that is left (`head` "dense"), or in the maximum or mean of each channel over the
    positions; `hidden` are the widths of dense layers before. `dropout` is the rate behind every pooling and hidden
    layer. A `normalisation` stands before each activation.
    """

    channels: tuple[int, ...] = setting((16, 32), low=1, high=4096)
    kernel: int = setting(3, low=1, high=63)
    block: int = setting(1, low=1, high=1000)
    head: str = setting("dense", names=lambda: ("dense", "max", "mean"))
    hidden: tuple[int, ...] = setting((), low=1, high=65536)
    activation: str = setting("relu", names=_activations)
    init: str = setting("he", names=_initialisers)
    dropout: float = setting(0.0, low=0, high=0.99)
    normalisation: str = setting("none", names=lambda: ("none", "batch", "layer", "group", "instance"))

    @property
    def has_modes(self) -> bool:
        """Whether it has dropout or a normalisation."""
        return bool(self.dropout) or self.normalisation != "none"


@dataclass(frozen=True)
class Recurrent:
    """[model] kind = "recurrent": `depth` layers of a `cell` with so many `units`, over an image as a sequence.

    The `steps` are its rows, or its pixels one by one. The scores are linear in what the last layer puts out at the
    end (`reading` "last") or in its mean over all steps. `lru` stands in residual blocks, with |λ| of 0.9 to 0.999.
    """

    cell: str = setting("gru", names=lambda: ("elman", "gru", "lstm", "mingru", "lru"))
    units: int = setting(128, low=1, high=65536)
    depth: int = setting(1, low=1, high=1000)
    bidirectional: bool = setting(False)
    steps: str = setting("rows", names=lambda: ("rows", "pixels"))
    reading: Literal["last", "mean"] = setting("last", names=lambda: ("last", "mean"))


#: The settings of each kind of model.
MODEL_KINDS: dict[str, type] = {
    "mlp": Mlp,
    "residual": Residual,
    "dense": Dense,
    "conv": Conv,
    "linear": Linear,
    "recurrent": Recurrent,
}
ModelSettings = Mlp | Residual | Dense | Conv | Linear | Recurrent


@dataclass(frozen=True)
class TrainingSettings:
    """[training]: how long, by which rule, and what is minimised."""

    epochs: int = setting(low=1, high=1_000_000)
    batch: int = setting(128, low=1)
    optimiser: str = setting("adam", names=_optimisers)
    rate: float = setting(0.001, above=0)
    momentum: float = setting(0.9, low=0, high=0.9999)
    schedule: str = setting("constant", names=lambda: ("constant", "cosine", "linear"))
    warmup: float = setting(0.0, low=0)
    weight_decay: float = setting(0.0, low=0)
    clip: float = setting(0.0, low=0)
    patience: int = setting(0, low=0)
    loss: str = setting("cross-entropy", names=lambda: ("cross-entropy", "squared"))
    smoothing: float = setting(0.0, low=0, high=0.99)
    seed: int = setting(0, low=0, high=2**31 - 1)


@dataclass(frozen=True)
class AugmentationSettings:
    """[augmentation]: random changes of the training images, drawn anew at every step; 0 leaves one out.

    `shift`, `elastic` and `cutout` are in pixels, `rotation` in degrees to either side, `flip` is the probability of
    the left-right mirror image, `zoom` and `contrast` are relative, `brightness` and `noise` in units of the pixels.
    `mixup` is the concentration of the mixing shares, Beta(a, a).
    """

    shift: int = setting(0, low=0, high=1024)
    flip: float = setting(0.0, low=0, high=1)
    rotation: float = setting(0.0, low=0, high=180)
    zoom: float = setting(0.0, low=0, high=4)
    elastic: float = setting(0.0, low=0, high=64)
    brightness: float = setting(0.0, low=0, high=1)
    contrast: float = setting(0.0, low=0, high=10)
    noise: float = setting(0.0, low=0, high=10)
    cutout: int = setting(0, low=0, high=1024)
    mixup: float = setting(0.0, low=0, high=10)

    @property
    def used(self) -> bool:
        """Whether any of them is above 0."""
        return any(vars(self).values())


@dataclass(frozen=True)
class RunSettings:
    """[run]: where the results go and which checkpoints are kept; it does not change what comes out."""

    directory: str = setting("")
    keep: int = setting(3, low=1, high=1000)
    every: int = setting(0, low=0)


@dataclass(frozen=True)
class Recipe:
    """A whole training run in words and numbers; `text` is the file it was read from."""

    data: DataSettings
    model: ModelSettings
    training: TrainingSettings
    run: RunSettings = RunSettings()
    augmentation: AugmentationSettings = AugmentationSettings()
    text: str = field(default="", compare=False, repr=False)

    @property
    def kind(self) -> str:
        """The kind of the model."""
        return next(kind for kind, settings in MODEL_KINDS.items() if isinstance(self.model, settings))

    def values(self) -> dict[str, Any]:
        """Every setting that shapes the result, as "table.key": value. A path and [run] do not: data are verified."""
        tables = {"data": self.data, "model": self.model, "training": self.training, "augmentation": self.augmentation}
        named = {f"{t}.{f.name}": getattr(s, f.name) for t, s in tables.items() for f in fields(s)}
        named.pop("data.path")
        return {"model.kind": self.kind} | named

    def task(self, notice: Callable[[str], None]) -> "Task":
        """What `training.remembered` needs to train the network of this recipe, or to find it."""
        from .run_directory import task_of

        return task_of(self, notice)

    def toml(self) -> str:
        """The recipe as a TOML text, every setting written out.

        >>> Recipe(DataSettings("digits"), Linear(), TrainingSettings(epochs=3)).toml().splitlines()[:3]
        ['[data]', 'name = "digits"', 'path = ""']
        """
        lines = []
        for table in ("data", "model", "training", "augmentation", "run"):
            part = getattr(self, table)
            values = ({"kind": self.kind} if table == "model" else {}) | vars(part)
            lines += [f"[{table}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items()), ""]
        return "\n".join(lines)


def types_of(settings: type) -> dict[str, Any]:
    """The type of each setting of a class."""
    hints = get_type_hints(settings)
    return {f.name: hints[f.name] for f in fields(settings)}
