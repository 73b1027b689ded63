"""Fashion-MNIST, read from the files of Debian's package dataset-fashion-mnist or of a directory of your own."""

import gzip
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, UInt8

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
PARTS = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")


class FashionMnist(NamedTuple):
    """70000 images of clothes in 10 classes, 28x28 pixels in [0, 1]."""

    train_images: Float[np.ndarray, "train 28 28"]
    train_labels: Int[np.ndarray, " train"]
    test_images: Float[np.ndarray, "test 28 28"]
    test_labels: Int[np.ndarray, " test"]


def fashion_mnist() -> FashionMnist:
    """Load Fashion-MNIST (Xiao, Rasul and Vollgraf 2017): 60000 training and 10000 test images, as float32.

    The four gzip files train-images-idx3-ubyte.gz, ... are read from the directory in the environment variable
    LEADLINE_FASHION_MNIST, or from where Debian's package dataset-fashion-mnist puts them.
    """
    directory = Path(os.environ.get("LEADLINE_FASHION_MNIST") or DEBIAN)
    files = [directory / f"{part}-ubyte.gz" for part in PARTS]
    if not all(file.is_file() for file in files):
        raise FileNotFoundError(
            f"Fashion-MNIST is not in {directory}: install Debian's package dataset-fashion-mnist, or set "
            "LEADLINE_FASHION_MNIST to a directory with its four gzip files."
        )
    train_images, train_labels, test_images, test_labels = map(read_idx, files)
    return FashionMnist(
        train_images.astype(np.float32) / 255,
        train_labels.astype(int),
        test_images.astype(np.float32) / 255,
        test_labels.astype(int),
    )


def read_idx(path: Path) -> UInt8[np.ndarray, "..."]:
    """Read a gzip-compressed IDX file of unsigned bytes: 00 00 08 rank, the sizes as big-endian uint32, the bytes."""
    with gzip.open(path) as file:
        content = file.read()
    if content[:3] != b"\x00\x00\x08":
        raise ValueError(
            f"{path} is not an IDX file of unsigned bytes; it begins with {content[:4].hex()} instead of 000008."
        )
    rank = content[3]
    shape = np.frombuffer(content, ">u4", rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)
