import gzip
import struct

import numpy as np
import pytest

from leadline import data

NAMES = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")


def idx(values):
    values = np.asarray(values, np.uint8)
    header = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    return gzip.compress(header + values.tobytes())


def test_images_and_labels_are_read_from_the_directory_given(tmp_path, monkeypatch):
    images = np.random.default_rng(0).integers(0, 256, (3, 28, 28))
    labels = np.array([9, 0, 4])
    for name in NAMES:
        (tmp_path / f"{name}-ubyte.gz").write_bytes(idx(images if "images" in name else labels))
    monkeypatch.setenv("LEADLINE_FASHION_MNIST", str(tmp_path))
    loaded = data.fashion_mnist()
    assert np.allclose(loaded.train_images * 255, images, atol=1e-4)
    assert loaded.test_labels.tolist() == [9, 0, 4]
    assert loaded.test_images.dtype == np.float32


def test_missing_files_are_named_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("LEADLINE_FASHION_MNIST", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="install Debian's package dataset-fashion-mnist"):
        data.fashion_mnist()


def test_a_file_of_another_format_is_refused(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"PNG!" + bytes(20)))
    with pytest.raises(ValueError, match="is not an IDX file"):
        data.read_idx(path)
