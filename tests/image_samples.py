"""Small stand-ins for the real datasets, and the files they come in."""

import gzip
import struct
from pathlib import Path

import numpy as np

from leadline.data.sources.image_files import CIFAR_BINARY, IDX, ByteImages


def sample(shape, train=6, test=4, seed=0) -> ByteImages:
    rng = np.random.default_rng(seed)
    images = [rng.integers(0, 256, (n, *shape), np.uint8) for n in (train, test)]
    labels = [rng.integers(0, 10, n, np.uint8) for n in (train, test)]
    return ByteImages(images[0], labels[0], images[1], labels[1])


def idx(values) -> bytes:
    values = np.asarray(values, np.uint8)
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def idx_files(folder: Path, images: ByteImages, *, gzipped=True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in zip(IDX.files, images, strict=True):
        content = idx(values)
        (folder / f"{name}{'.gz' if gzipped else ''}").write_bytes(gzip.compress(content) if gzipped else content)
    return folder


def cifar_binary(folder: Path, images: ByteImages) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    parts = [*zip(np.split(images.train_inputs, 5), np.split(images.train_labels, 5), strict=True), images[2:]]
    for name, (pixels, labels) in zip(CIFAR_BINARY.files, parts, strict=True):
        planes = pixels.transpose(0, 3, 1, 2).reshape(len(labels), -1)
        (folder / name).write_bytes(np.hstack([labels[:, None], planes]).tobytes())
    return folder
