"""`leadline regularise`: regularisers compared from the command line, once and resumably, and what it refuses."""

import json

import jsonschema
import numpy as np
import pytest
from documented_json import schema, strict

from leadline.regularisation.arms.arm_training import Trainer

QUICK = ("--steps", "6", "--hidden", "4", "--arm", "decay 0.03", "--arm", "early stopping")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(name="rows.csv", n=80, classes=("ill", "well"), poison=""):
    rng = np.random.default_rng(0)
    lines = ["height,weight,state"]
    for row in range(n):
        kind = row % len(classes)
        height, weight = rng.normal(size=2) + 2 * kind
        lines.append(f"{height:.3f},{poison if poison and row == 5 else round(weight, 3)},{classes[kind]}")
    with open(name, "w") as file:
        file.write("\n".join(lines) + "\n")
    return name


def test_the_record_is_as_documented_and_the_directory_has_it(leadline, tmp_path):
    found = leadline("regularise", table(), "--target", "state", *QUICK, "--json")
    assert found.code == 0
    record = strict(found.out)
    jsonschema.validate(record, schema("regularise"))
    assert [arm["name"] for arm in record["arms"]] == ["none", "decay 0.03", "early stopping"]
    assert record["rows"] == {"train": 51, "validation": 13, "test": 16}
    assert (record["readings"], record["refusals"], record["classes"]) == (1, 0, ["ill", "well"])
    place = tmp_path / "regularisers" / "rows"
    assert "<svg" in (place / "comparison.svg").read_text()
    assert json.loads((place / "result.json").read_text())["arms"] == record["arms"]


def test_what_is_finished_is_shown_again_and_other_settings_are_refused_and_counted(leadline, monkeypatch):
    words = ("regularise", table(), "--target", "state", *QUICK, "--out", "out")
    first = leadline(*words)
    assert first.code == 0
    assert "16 test rows, read once (0 further readings refused)" in first.out
    monkeypatch.setattr(Trainer, "train", None)  # nothing is trained any more
    assert leadline(*words).out == first.out
    for count in (1, 2):
        again = leadline(*words, "--seeds", "6")
        assert (again.code, again.out, again.err.count("\n")) == (2, "", 1)
        assert f"with another value of 'seeds', is refused (refusals so far: {count})" in again.err
    assert "(2 further readings refused)" in leadline(*words).out


@pytest.mark.slow
def test_a_comparison_that_was_interrupted_goes_on_with_the_arms_that_are_there(leadline, tmp_path, monkeypatch):
    words = ("regularise", table(), "--target", "state", *QUICK, "--json", "--out")
    whole = strict(leadline(*words, "whole").out)
    train, trained = Trainer.train, []

    def stopped(self, arm, teacher=None):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(arm.name)
        return train(self, arm, teacher)

    monkeypatch.setattr(Trainer, "train", stopped)
    found = leadline(*words, "cut")
    assert (found.code, found.out) == (130, "")
    assert not (tmp_path / "cut" / "test-readings.jsonl").exists()
    other = leadline(*words, "cut", "--seeds", "6")
    assert other.code == 2
    assert "has a comparison with another value of 'seeds'" in other.err
    trained.clear()
    resumed = strict(leadline(*words, "cut").out)
    assert trained == ["early stopping"]
    assert resumed["arms"] == whole["arms"]


@pytest.mark.slow
def test_a_damaged_arm_is_trained_anew(leadline, tmp_path, monkeypatch):
    words = ("regularise", table(), "--target", "state", *QUICK, "--json", "--out", "out")
    first = strict(leadline(*words).out)
    (tmp_path / "out" / "result.json").unlink()
    (file,) = (tmp_path / "out" / "arms").glob("decay*")
    file.write_bytes(file.read_bytes()[:100])
    assert strict(leadline(*words).out)["arms"] == first["arms"]


def test_an_arm_that_cannot_apply_is_said_and_left_out(leadline, tmp_path):
    recipe = 'data = {name = "digits", images = 60}\nmodel.kind = "linear"\ntraining = {epochs = 2, batch = 12}\n'
    (tmp_path / "linear.toml").write_text(recipe)
    found = leadline("regularise", "linear.toml", "--arm", "dropout 0.5", "--arm", "decay 0.01")
    assert found.code == 0
    assert "Left out: dropout 0.5: the network is built without dropout and normalisation." in found.out
    assert "500 test rows" in found.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "norm"),
    [('kind = "mlp", hidden = [5], dropout = 0.9', "batch norm"), ('kind = "conv", channels = [2]', "layer norm")],
)
def test_a_recipe_of_layers_takes_them_and_its_own_network(leadline, tmp_path, model, norm):
    recipe = f'data = {{name = "digits", images = 60}}\nmodel = {{{model}}}\ntraining = {{epochs = 2, batch = 12}}\n'
    (tmp_path / "mine.toml").write_text(recipe)
    found = leadline("regularise", "mine.toml", "--arm", "dropout 0.5", "--arm", norm, "--json")
    assert found.code == 0
    record = strict(found.out)
    assert record["left_out"] == []
    assert [arm["name"] for arm in record["arms"]] == ["none", "dropout 0.5", norm]
    assert record["num_steps"] == 8


@pytest.mark.parametrize(
    ("make", "more", "told"),
    [
        (table, ("--target", "stat"), "There is no column 'stat'; did you mean state?"),
        (table, (), "say with --target"),
        (lambda: table(classes=("ill",)), ("--target", "state"), "All rows are of one class, ill"),
        (lambda: table(n=10), ("--target", "state"), "8 rows to train on for 2 classes and 5 folds"),
        (lambda: table(poison="inf"), ("--target", "state"), "are not finite numbers; remove or repair"),
        (lambda: table(classes=("0.5", "0.7")), ("--target", "state"), "for classifiers alone, so give classes"),
        (lambda: table(classes=("1", "2")), ("--target", "height"), "whether the number is above its median"),
        (lambda: table(classes=[str(k) for k in range(70)]), ("--target", "state"), "different numbers in"),
        (
            table,
            ("--target", "state", "--arm", "dropuot 0.5"),
            "There is no arm 'dropuot 0.5'; did you mean dropout 0.5",
        ),
        (table, ("--target", "state", "--seeds", "4"), "--seeds"),
        (table, ("--target", "state", "--batch", "1000"), "A batch was to have 1000"),
        (lambda: "digitz", (), "There is no dataset 'digitz'; did you mean digits?"),
        (lambda: "none.csv", ("--target", "state"), "There is no file none.csv"),
        (lambda: "none.toml", (), "There is no file none.toml"),
    ],
)
def test_bad_input_is_one_sentence(leadline, tmp_path, make, more, told):
    found = leadline("regularise", make(), "--steps", "3", *more, "--out", tmp_path / "out")
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert told in found.err
    assert not (tmp_path / "out" / "settings.json").exists()  # the directory is free for the rows once repaired


def test_an_out_that_is_a_file_is_refused_and_untouched(leadline, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("precious")
    found = leadline("regularise", table(), "--target", "state", *QUICK, "--out", taken)
    assert found.code == 2
    assert taken.read_text() == "precious"
