"""Text, graphs, series, points and volumes: from files, packages and the cache, always with the recorded content."""

import dataclasses
import gzip
import io
import os
import pickle
import plistlib
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from leadline import data
from leadline.data.sources import acquisition, named_arrays
from leadline.data.sources.catalogue import CATALOGUE
from leadline.data.sources.datasets import array_file, availability

SHARED = Path(os.environ.get("LEADLINE_DATA", "/nowhere"))
NILE = b"year,volume\n1871,1120\n1872,1160\n1873,963\n"


def checksum_of(name, files):
    layout = CATALOGUE[name].layouts[0]
    return layout.read(files).checksum()


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A Nile of three years in place of the real one, an empty cache, and a pip that knows it; its commands."""
    monkeypatch.setenv("LEADLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LEADLINE_DATA", raising=False)
    (tmp_path / "nile.csv").write_bytes(NILE)
    checksum = checksum_of("nile", [tmp_path / "nile.csv"])
    monkeypatch.setitem(CATALOGUE, "nile", dataclasses.replace(CATALOGUE["nile"], checksum=checksum))
    commands = []

    def run(command, folder, seconds=0):
        commands.append(command)
        with zipfile.ZipFile(folder / "statsmodels-0.14.4-any.whl", "w") as wheel:
            wheel.writestr("statsmodels/datasets/nile/nile.csv", NILE)
            wheel.writestr("../outside.csv", b"1,2")

    monkeypatch.setattr(acquisition, "run_client", run)
    return commands


def test_a_series_comes_from_a_wheel_is_kept_and_read_again(small, tmp_path):
    said = []
    series = data.load("nile", notice=said.append)
    assert series.times.tolist() == [1871, 1872, 1873]
    assert series.values.tolist() == [1120, 1160, 963]
    assert said == ["Fetching nile: PyPI package statsmodels (11 MB) ..."]
    assert small[0][-1] == "statsmodels==0.14.4"
    assert not (tmp_path / "outside.csv").exists()
    assert data.load("nile", notice=pytest.fail).values.tolist() == series.values.tolist()
    assert availability("nile").state == "cached"


def flipped(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 255
    file.write_bytes(content)


def other_numbers(file):
    np.savez(file, times=np.arange(3.0), values=np.arange(3.0))


@pytest.mark.parametrize(
    "damage", [flipped, other_numbers, lambda f: f.write_bytes(f.read_bytes()[:-9]), lambda f: f.write_bytes(b"")]
)
def test_a_corrupted_cache_file_is_found_said_and_fetched_again(small, damage):
    data.load("nile", notice=lambda _: None)
    damage(array_file("nile"))
    said = []
    assert data.load("nile", notice=said.append).values.tolist() == [1120, 1160, 963]
    assert said[0].endswith(" It is fetched anew.")
    assert len(small) == 2
    data.load("nile", notice=pytest.fail)


def test_a_wheel_with_other_content_or_none_is_not_accepted(small, monkeypatch):
    monkeypatch.setitem(CATALOGUE, "nile", dataclasses.replace(CATALOGUE["nile"], checksum="0" * 64))
    with pytest.raises(data.DataUnavailable, match="does not hold the canonical nile: its checksum"):
        data.load("nile", notice=lambda _: None)
    assert not array_file("nile").exists()

    def broken(command, folder, seconds=0):
        (folder / "x.whl").write_bytes(b"no wheel")

    monkeypatch.setattr(acquisition, "run_client", broken)
    with pytest.raises(data.DataUnavailable, match="cannot be read as a wheel"):
        data.load("nile", notice=lambda _: None)


def test_a_users_file_is_taken_from_a_path_and_from_leadline_data(small, tmp_path, monkeypatch):
    assert data.load("nile", tmp_path).values.tolist() == [1120, 1160, 963]
    array_file("nile").unlink()
    (tmp_path / "nile.csv").rename(tmp_path / "plain.csv")
    (tmp_path / "nile.csv.gz").write_bytes(gzip.compress(NILE))
    monkeypatch.setenv("LEADLINE_DATA", str(tmp_path))
    assert availability("nile").state == "given"
    assert data.load("nile", notice=pytest.fail).times.shape == (3,)
    assert small == []


def test_what_no_package_has_is_told_with_the_file_to_put(small, monkeypatch):
    with pytest.raises(data.DataUnavailable) as absent:
        data.load("cora")
    assert str(absent.value) == (
        "Cannot get cora, which no package has: put cora.npz into a directory and name it in LEADLINE_DATA."
    )
    assert availability("cora") == ("missing", "put cora.npz into a directory and name it in LEADLINE_DATA", None)
    monkeypatch.setattr(acquisition.importlib.util, "find_spec", lambda name: None)
    assert availability("ant-surface").where.startswith("install pip, or put ant.ply (gzipped or not) into a directory")


def test_nothing_is_unpickled(small, tmp_path):
    objects = io.BytesIO()
    np.savez(objects, edges=np.array([print], object))
    for content in (objects.getvalue(), pickle.dumps(1)):
        (tmp_path / "cora.npz").write_bytes(content)
        with pytest.raises(data.DataUnavailable, match="is damaged or not an array file"):
            data.load("cora", tmp_path / "cora.npz")


def test_the_karate_club_is_zacharys():
    graph = data.load("karate")
    assert graph.edges.shape == (78, 2)
    assert (graph.edges[:, 0] < graph.edges[:, 1]).all()
    degrees = np.bincount(graph.edges.ravel(), minlength=34)
    assert (degrees[0], degrees[33], degrees[32], degrees.min()) == (16, 17, 12, 1)
    assert np.bincount(graph.labels).tolist() == [17, 17]
    assert (graph.labels[0], graph.labels[33]) == (0, 1)
    adjacency = np.zeros((34, 34))
    adjacency[tuple(graph.edges.T)] = 1
    adjacency += adjacency.T
    assert np.trace(np.linalg.matrix_power(adjacency, 3)) == 6 * 45  # triangles
    np.testing.assert_array_equal(graph.features(), np.eye(34))
    with pytest.raises(ValueError, match="karate, which is bundled"):
        data.load("karate", ".")


def test_a_text_is_encoded_by_its_vocabulary():
    text = data.Text("small", "abba c", tuple(" abc"))
    assert text.decode(text.encode("cab")) == "cab"
    assert text.encode("ab ").tolist() == [1, 2, 0]
    with pytest.raises(ValueError, match="'z' is no character of small"):
        text.encode("az")


def test_graphs_of_one_list_become_graphs_of_their_own(tmp_path):
    parts = {
        "A": "1, 2\n2, 1\n4, 5\n5, 4\n3, 5\n5, 3\n",
        "graph_indicator": "1\n1\n2\n2\n2\n",
        "graph_labels": "1\n-1\n",
        "node_labels": "0\n2\n1\n0\n2\n",
    }
    layout = named_arrays.tu_graphs("X")
    for part, content in parts.items():
        (tmp_path / f"X_{part}.txt").write_text(content)
    found = CATALOGUE["mutag"].make("X", layout.read([tmp_path / name for name in layout.files]))
    assert [graph.edges.tolist() for graph in found.graphs] == [[[0, 1]], [[0, 2], [1, 2]]]
    assert found.labels.tolist() == [1, -1]
    np.testing.assert_array_equal(found.graphs[1].features(), np.eye(3)[[1, 0, 2]])


def test_points_and_volumes_are_read_as_written(tmp_path):
    points = np.random.default_rng(0).normal(size=(5, 3)).astype("<f4")
    head = "ply\nformat binary_little_endian 1.0\nelement vertex 5\n"
    head += "".join(f"property float {axis}\n" for axis in "xyz") + "end_header\n"
    (tmp_path / "p.ply").write_bytes(head.encode() + points.tobytes() + b"faces")
    read = named_arrays.ply_points("p.ply").read
    np.testing.assert_array_equal(read([tmp_path / "p.ply"])["points"], points)
    values = np.random.default_rng(1).integers(0, 256, (2, 3, 4)).astype(np.uint8)
    header = bytearray(352)
    header[40:56] = struct.pack("<8h", 3, 2, 3, 4, 1, 1, 1, 1)
    header[70:72], header[344:348] = struct.pack("<h", 2), b"n+1\0"
    header[76:108] = struct.pack("<8f", 1, 1.5, 2, 3, 1, 1, 1, 1)
    volume = bytes(header) + values.tobytes(order="F")
    (tmp_path / "v.nii.gz").write_bytes(gzip.compress(volume))
    arrays = named_arrays.nifti_volume("v.nii").read([tmp_path / "v.nii.gz"])
    np.testing.assert_array_equal(arrays["values"], values)
    made = CATALOGUE["brain"].make("v", arrays)
    np.testing.assert_allclose(made.values, values / 255, rtol=1e-6)
    assert made.spacing.tolist() == [1.5, 2, 3]


def project(path, values, **about):
    """A project of InVesalius with this volume, whose property list says what is `about` it."""
    matrix = {"dtype": "int16", "filename": "matrix.dat", "shape": list(values.shape)} | about
    parts = {"main.plist": plistlib.dumps({"matrix": matrix, "spacing": [0.5, 1, 2.5]}), "matrix.dat": values.tobytes()}
    with tarfile.open(path, "w:gz") as tar:
        for name, content in parts.items():
            member = tarfile.TarInfo(f"folder/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def test_a_computed_tomography_is_read_in_hounsfield_units_with_x_first(tmp_path):
    values = np.random.default_rng(2).integers(-1024, 3000, (4, 3, 2)).astype("<i2")  # (z, y, x) in the file
    project(tmp_path / "head.inv3", values)
    made = CATALOGUE["head-ct"].make("v", named_arrays.invesalius_volume("head.inv3").read([tmp_path / "head.inv3"]))
    np.testing.assert_array_equal(made.values, values.T)
    assert made.values.dtype == np.float32
    assert made.spacing.tolist() == [0.5, 1, 2.5]


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ({"dtype": "float32"}, "three axes of int16 are needed"),
        ({"shape": [4, 3]}, "three axes of int16 are needed"),
        ({"shape": [4, 3, 9]}, "cut off: it announces 108 cells and has 24"),
        ({"filename": "other.dat"}, "damaged or not a project of InVesalius"),
    ],
)
def test_a_project_that_does_not_hold_its_volume_is_told(tmp_path, about, told):
    project(tmp_path / "head.inv3", np.zeros((4, 3, 2), "<i2"), **about)
    with pytest.raises(ValueError, match=told):
        named_arrays.invesalius_volume("head.inv3").read([tmp_path / "head.inv3"])


@pytest.mark.parametrize(
    ("layout", "content", "told"),
    [
        (named_arrays.invesalius_volume, b"no tar", "damaged or not a project of InVesalius"),
        (named_arrays.text_file, b"\xff\xfe", "not a text in UTF-8"),
        (named_arrays.text_file, gzip.compress(b"some text", mtime=0)[:-4], "damaged gzip"),
        (named_arrays.two_columns, b"a,b\n1,x\n", "not a table of numbers"),
        (named_arrays.two_columns, b"a,b\n1,2,3\n", "two columns"),
        (named_arrays.two_columns, b"", "two columns"),
        (named_arrays.ply_points, b"ply\nformat ascii 1.0\nend_header\n", "not a binary PLY"),
        (named_arrays.nifti_volume, bytes(400), "not a NIfTI file"),
        (named_arrays.array_layout, b"PK", "damaged or not an array file"),
    ],
)
def test_files_of_another_format_are_told(tmp_path, layout, content, told):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ValueError, match=told):
        layout("x").read([tmp_path / "x"])


@pytest.mark.parametrize(
    ("name", "nodes", "features", "classes", "unknown"), [("cora", 2708, 1433, 7, 0), ("citeseer", 3327, 3703, 6, 15)]
)
def test_the_citation_graphs_have_planetoids_split(name, nodes, features, classes, unknown, tmp_path, monkeypatch):
    if not (SHARED / f"{name}.npz").exists():
        pytest.skip(f"LEADLINE_DATA has no {name}.npz")
    monkeypatch.setenv("LEADLINE_CACHE", str(tmp_path))
    graph = data.load(name, notice=pytest.fail)
    assert (graph.nodes, graph.feature_count, graph.labels.max() + 1) == (nodes, features, classes)
    assert (graph.labels == -1).sum() == unknown
    assert (len(graph.train), len(graph.validation), len(graph.test)) == (20 * classes, 500, 1000)
    assert np.bincount(graph.labels[graph.train]).tolist() == [20] * classes
    assert not set(graph.train) & set(graph.validation) | set(graph.train) & set(graph.test)
    assert graph.features().sum() == len(graph.feature_indices)
    assert graph.edges.max() < nodes


def test_tinyshakespeare_is_the_known_text(tmp_path, monkeypatch):
    if not (SHARED / "tinyshakespeare.txt.gz").exists():
        pytest.skip("LEADLINE_DATA has no tinyshakespeare.txt.gz")
    monkeypatch.setenv("LEADLINE_CACHE", str(tmp_path))
    text = data.load("tinyshakespeare", notice=pytest.fail)
    assert text.text.startswith("First Citizen:\nBefore we proceed any further, hear me speak.")
    assert (len(text.text), len(text.vocabulary)) == (1_115_394, 65)
    assert text.decode(text.encode(text.text[:500])) == text.text[:500]
