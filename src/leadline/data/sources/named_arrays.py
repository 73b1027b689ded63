"""Datasets beside labelled images as named arrays, and the file formats they come in; nothing is ever unpickled."""

import gzip
import hashlib
import plistlib
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.parsers.expat import ExpatError

import numpy as np
from jaxtyping import Shaped

from .image_files import Layout


class NamedArrays(Mapping):
    """Arrays of numbers under names: what every format of a dataset must agree on."""

    def __init__(self, arrays: Mapping[str, Shaped[np.ndarray, "..."]]):
        self._arrays = dict(arrays)

    def __getitem__(self, name: str) -> Shaped[np.ndarray, "..."]:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def _asdict(self) -> dict[str, np.ndarray]:
        return self._arrays

    def checksum(self) -> str:
        """SHA-256 of all arrays, each after its name, type and shape, in hexadecimal digits."""
        digest = hashlib.sha256()
        for name in sorted(self._arrays):
            array = np.asarray(self._arrays[name])
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def read_named_arrays(path: Path) -> NamedArrays:
    """The arrays of an .npz file."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return NamedArrays({name: arrays[name] for name in arrays.files})
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zlib.error, zipfile.BadZipFile):
        raise ValueError(f"{path} is damaged or not an array file of Leadline.") from None


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        raise ValueError(f"{path} is a damaged gzip file.") from None


def _read_text(files: list[Path]) -> NamedArrays:
    content = _content(files[0])
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{files[0]} is not a text in UTF-8.") from None
    return NamedArrays({"text": np.frombuffer(content, np.uint8)})


def _numbers(path: Path, skip: int = 0) -> np.ndarray:
    """A table of numbers with commas between them."""
    try:
        lines = _content(path).decode("utf-8").splitlines()[skip:]
        return np.array([[float(v) for v in line.split(",")] for line in lines if line.strip()])
    except ValueError as error:
        raise ValueError(f"{path} is not a table of numbers ({error}).") from None


def _read_two_columns(files: list[Path]) -> NamedArrays:
    table = _numbers(files[0], skip=1)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(f"{files[0]} does not have two columns.")
    return NamedArrays({"times": table[:, 0], "values": table[:, 1]})


def _read_tu_graphs(files: list[Path]) -> NamedArrays:
    """Graphs in the form of the Dortmund collection: edges in both directions, nodes and graphs numbered from 1."""
    edges, graph, labels, nodes = (_numbers(file).astype(np.int32) for file in files)
    edges = edges[edges[:, 0] < edges[:, 1]] - 1
    return NamedArrays(
        {
            "edges": edges[np.lexsort((edges[:, 1], edges[:, 0]))],
            "node_graph": graph[:, 0] - 1,
            "node_labels": nodes[:, 0],
            "graph_labels": labels[:, 0],
        }
    )


def _read_ply(files: list[Path]) -> NamedArrays:
    """The vertices of a binary PLY file that have x, y and z in single precision and nothing else."""
    path, content = files[0], _content(files[0])
    head, found, body = content.partition(b"end_header\n")
    lines = head.decode("ascii", "replace").split("\n")
    counts = [int(line.split()[2]) for line in lines if line.startswith("element vertex")]
    wanted = ["format binary_little_endian 1.0", *(f"property float {axis}" for axis in "xyz")]
    if (
        not found
        or len(counts) != 1
        or [line for line in lines if line.startswith(("format", "property float"))] != wanted
    ):
        raise ValueError(f"{path} is not a binary PLY file of points in space.")
    if len(body) < 12 * counts[0]:
        raise ValueError(f"{path} is cut off: it announces {counts[0]} points.")
    return NamedArrays({"points": np.frombuffer(body, "<f4", 3 * counts[0]).reshape(-1, 3).astype(np.float32)})


def _read_nifti(files: list[Path]) -> NamedArrays:
    """A NIfTI file with one byte for each cell."""
    path, content = files[0], _content(files[0])
    if len(content) < 352 or content[344:348] != b"n+1\0" or struct.unpack("<h", content[70:72]) != (2,):
        raise ValueError(f"{path} is not a NIfTI file of bytes.")
    shape = struct.unpack("<8h", content[40:56])[1:4]
    values = np.frombuffer(content, np.uint8, offset=352)
    if values.size != np.prod(shape):
        raise ValueError(f"{path} is cut off: it announces {np.prod(shape)} bytes and has {values.size}.")
    spacing = np.array(struct.unpack("<8f", content[76:108])[1:4])
    return NamedArrays({"values": values.reshape(shape, order="F"), "spacing": spacing})


def _member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """The content of a regular file of an archive."""
    file = tar.extractfile(member)
    if file is None:
        raise ValueError(f"{member.name} is no regular file.")
    return file.read()


def _read_invesalius(files: list[Path]) -> NamedArrays:
    """The volume of an InVesalius project: a tar archive with a property list and 16-bit numbers, z slowest."""
    path = files[0]
    try:
        with tarfile.open(path) as tar:
            members = {member.name.rsplit("/", 1)[-1]: member for member in tar if member.isfile()}
            about = plistlib.loads(_member(tar, members["main.plist"]))
            matrix, spacing = about["matrix"], np.array(about["spacing"], float)
            content = _member(tar, members[matrix["filename"]])
        shape, kind = tuple(map(int, matrix["shape"])), matrix["dtype"]
    except (tarfile.TarError, zlib.error, EOFError, KeyError, TypeError, ValueError, AttributeError, ExpatError):
        raise ValueError(f"{path} is damaged or not a project of InVesalius.") from None
    if kind != "int16" or len(shape) != 3 or spacing.shape != (3,):
        raise ValueError(f"{path} has a volume of kind {kind} and shape {shape}; three axes of int16 are needed.")
    values = np.frombuffer(content, "<i2", len(content) // 2)
    if values.size != np.prod(shape):
        raise ValueError(f"{path} is cut off: it announces {np.prod(shape)} cells and has {values.size}.")
    return NamedArrays({"values": values.astype(np.int16).reshape(shape).T, "spacing": spacing})


def _read_texts(files: list[Path]) -> NamedArrays:
    parts = [_read_text([file])["text"].tobytes().strip() for file in files]
    return NamedArrays({"text": np.frombuffer(b"\n".join(parts), np.uint8)})


def text_file(name: str) -> Layout:
    """A text in UTF-8."""
    return Layout((name,), _read_text)


def joined_texts(names: tuple[str, ...]) -> Layout:
    """Texts in UTF-8, one file each, as one text with a line between them."""
    return Layout(names, _read_texts)


def array_layout(name: str) -> Layout:
    """An .npz file of named arrays."""
    return Layout((name,), lambda files: read_named_arrays(files[0]))


def two_columns(name: str) -> Layout:
    """A CSV of times and values under a line of names."""
    return Layout((name,), _read_two_columns)


def tu_graphs(name: str) -> Layout:
    """Four files of the Dortmund collection."""
    parts = ("A", "graph_indicator", "graph_labels", "node_labels")
    return Layout(tuple(f"{name}_{part}.txt" for part in parts), _read_tu_graphs)


def ply_points(name: str) -> Layout:
    """The vertices of a PLY file."""
    return Layout((name,), _read_ply)


def nifti_volume(name: str) -> Layout:
    """A NIfTI volume, gzipped or not."""
    return Layout((name,), _read_nifti)


def invesalius_volume(name: str) -> Layout:
    """The volume of a project of InVesalius, which are Hounsfield units."""
    return Layout((name,), _read_invesalius)
