"""`leadline stress`, `leadline audit` and `leadline landscape`: studies from the command line."""

import jsonschema
import pytest
from documented_json import schema, strict


@pytest.mark.slow
def test_an_optimiser_of_ones_own_is_put_through_every_trial(leadline, tmp_path):
    rule = tmp_path / "rule.py"
    rule.write_text("import optax\n\ndef make(step, momentum=0.0):\n    return optax.sgd(step, momentum)\n")
    found = leadline("stress", f"{rule}:make", "--set", "momentum=0.5", "--json", "--out", tmp_path / "page")
    assert found.code == 0
    record = strict(found.out)
    jsonschema.validate(record, schema("check"))
    assert [f["id"] for f in record["findings"]] == [
        "worst-chain",
        "sharp-huber",
        "conditioning",
        "three-cycle",
        "drift",
        "digits",
    ]
    assert record["findings"][0]["command"] == f"leadline stress {rule}:make --set momentum=0.5"
    assert "<figure>" in (tmp_path / "page" / "index.html").read_text()


def test_bad_input_is_one_sentence(leadline, tmp_path):
    for arguments, told in (
        (("adam",), "names no function"),
        (("optax.adma",), "adam"),
        (("optax.adam", "--set", "b9=1"), "b9"),
        (("optax.adam", "--set", "b1"), "does not say NAME=VALUE"),
        ((f"{tmp_path}/none.py:make",), "There is no file"),
    ):
        found = leadline("stress", *arguments)
        assert found.code == 2
        assert told in found.err
        assert "Traceback" not in found.err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rates", "noise", "atlas", "paths", "sloppiness", "double-descent"])
def test_an_audit_comes_out_as_theory_says(leadline, name):
    found = leadline("audit", name, "--json")
    assert found.code == 0
    jsonschema.validate(strict(found.out), schema("check"))


def test_an_unknown_audit_is_told_with_the_known_ones(leadline):
    found = leadline("audit", "rate")
    assert found.code == 2
    assert "rates" in found.err


@pytest.mark.slow
def test_the_surface_around_two_trained_networks(leadline, tmp_path):
    recipe = tmp_path / "small.toml"
    recipe.write_text('data.name = "digits"\nmodel = {kind = "mlp", hidden = [16]}\ntraining.epochs = 5\n')
    for name in ("a", "b"):
        assert leadline("train", recipe, "--out", tmp_path / name).code == 0
    found = leadline("landscape", tmp_path / "a", tmp_path / "b", "--rows", "200", "--json", "--out", tmp_path / "page")
    assert found.code == 0
    record = strict(found.out)
    jsonschema.validate(record, schema("check"))
    assert [f["id"] for f in record["findings"]] == ["spectrum", "gradients", "sharpness", "surface", "connection"]
    assert "<figure>" in (tmp_path / "page" / "index.html").read_text()


def test_a_directory_without_a_run_is_refused_in_a_sentence(leadline, tmp_path):
    for directory, told in ((tmp_path, "no finished run"), (tmp_path / "none", "There is no directory")):
        found = leadline("landscape", directory)
        assert found.code == 2
        assert told in found.err
        assert "Traceback" not in found.err
