"""`leadline study` from the command line, with instruments that cost nothing, and once with the real ones (slow)."""

import json

import equinox as eqx
import jax
import jsonschema
import numpy as np
import pytest
from browser import browser, reading
from documented_json import schema, strict
from studies.sample_instruments import SAMPLES

from leadline.studies import report as reports
from leadline.training import save_weights


@pytest.fixture
def samples(monkeypatch, tmp_path):
    monkeypatch.setattr(reports, "instruments", lambda: {n: SAMPLES[n] for n in ("plain", "loud", "idle")})
    monkeypatch.chdir(tmp_path)


def test_a_study_prints_a_table_and_leaves_a_report(leadline, samples, tmp_path):
    found = leadline("study", "untrained")
    assert found.code == 0
    assert "There are 1297 rows" in found.out
    assert "Look at it." in found.out
    assert "studies/untrained/report.html" in found.out
    assert (tmp_path / "studies/untrained/report.html").exists()


def test_json_is_as_documented(leadline, samples, tmp_path):
    found = leadline("study", "untrained", "--json", "--out", tmp_path / "s")
    record = strict(found.out)
    jsonschema.validate(record, schema("study"))
    assert record["cards"][0]["finding"]["command"] == "leadline study untrained --only plain"
    jsonschema.validate(json.loads((tmp_path / "s" / "report.json").read_text()), schema("study"))


def test_two_subjects_are_shown_side_by_side(leadline, samples, tmp_path):
    np.savez(tmp_path / "rows.npz", x=np.random.default_rng(0).random((50, 8, 8)), y=np.arange(50) % 10)
    found = leadline("study", "untrained", "--against", "untrained", "--data", "rows.npz", "--out", "both")
    assert found.code == 0
    assert "both/against.html" in found.out
    assert found.out.count("There are 40 rows") == 2


NETWORKS = """
import jax.numpy as jnp

one = (lambda p, x: x.reshape(len(x), -1) @ p, jnp.ones((64, 10)))
two = (lambda p, x: (x.sum((1, 2)), x.reshape(len(x), -1) @ p), jnp.zeros((64, 10)))
"""


def test_what_is_said_of_the_second_network_reaches_it_and_not_the_first(leadline, samples, tmp_path):
    np.savez(tmp_path / "rows.npz", x=np.random.default_rng(0).random((50, 8, 8)), y=np.arange(50) % 10)
    (tmp_path / "nets.py").write_text(NETWORKS)
    own = ["--against-select", "1", "--against-optimiser", "sgd", "--against-step", "0.25", "--against-batch", "8"]
    words = ["nets.py:one", "--data", "rows.npz", "--step", "0.5", "--optimiser", "momentum", "--momentum", "0.9"]
    found = leadline("study", *words, "--against", "nets.py:two", *own, "--json", "--out", "both")
    record = strict(found.out)
    first, second = (record[name]["about"] for name in ("first", "second"))
    assert (first["optimiser"], first["step"], first["batch"], first["taken"]) == ("momentum", 0.5, None, "")
    assert (second["optimiser"], second["step"], second["batch"], second["taken"]) == ("sgd", 0.25, 8, "output 1")
    assert record["second"]["command"] == (
        "leadline study nets.py:two --data rows.npz --select 1 --step 0.25 --optimiser sgd --batch 8"
    )
    assert record["differences"]["not_compared"] == []


def test_weights_of_the_second_network_are_read(leadline, samples, tmp_path):
    from safetensors.numpy import save_file

    (tmp_path / "nets.py").write_text(f"{NETWORKS}pair = (lambda p, x: one[0](p['w'], x), {{'w': one[1]}})\n")
    np.savez(tmp_path / "rows.npz", x=np.random.default_rng(0).random((50, 8, 8)), y=np.arange(50) % 10)
    save_file({"w": np.full((64, 3), 2.0, np.float32)}, tmp_path / "w.safetensors")
    found = leadline(
        "study", "nets.py:one", "--data", "rows.npz", "--against", "nets.py:pair", "--against-weights", "w.safetensors"
    )
    assert found.code == 2
    assert found.err == (
        "leadline: w.safetensors is of another model: w is float32 (64, 3) there and float64 (64, 10) here.\n"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("digitz",), "digits"),
        (("untrained", "--against-step", "0.1"), "name that with --against"),
        (("untrained", "--against-weights", "w.pt"), "name that with --against"),
        (("untrained", "--against", "untrained", "--against-weights", "none.safetensors"), "There is no file"),
        (("untrained", "--against", "untrained", "--against-step", "0.1"), "optimiser"),
        (("untrained", "--only", "plane"), "plain"),
        (("untrained", "--data", "none.npz"), "There is no file none.npz"),
        (("untrained", "--weights", "none.safetensors"), "There is no file"),
        (("untrained", "--loss", "hinge"), "no loss called"),
        (("untrained", "--rows", "3"), "--rows"),
        (("untrained", "--out", "/dev/null/x"), "Cannot write"),
    ],
)
def test_bad_input_is_one_sentence_with_exit_code_2(leadline, samples, words, told):
    found = leadline("study", *words)
    assert found.code == 2
    assert told in found.err
    assert "Traceback" not in found.err
    assert len(found.err.strip().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("subject", ["digits", "linear", "untrained"])
def test_the_real_instruments_find_no_error_and_a_reader_finds_their_cards(leadline, subject, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = leadline("study", subject, "--json")
    assert found.code == 0
    record = strict(found.out)
    jsonschema.validate(record, schema("study"))
    assert "error" not in record["summary"]["verdicts"].values()
    page = tmp_path / "studies" / subject / "report.html"
    with browser() as chromium, reading(chromium, page.as_uri()) as seen:
        for name in record["summary"]["verdicts"]:
            seen.page.locator(f"nav a[href='#{name}']").click()
            assert seen.page.locator(f"#{name}").is_visible()
        for summary in seen.page.locator(".card > details > summary").all():
            summary.click()
        assert seen.complaints == []
        assert seen.requests == [page.as_uri()]


def card_of(record, instrument):
    (card,) = [card for card in record["cards"] if card["instrument"] == instrument]
    return card


@pytest.mark.slow
def test_a_network_trained_on_random_labels_is_certified_by_nothing_and_found_out(leadline, tmp_path):
    found = leadline(
        "study", "random-labels", "--only", "generalisation", "--only", "memorisation", "--json", "--out", tmp_path
    )
    record = strict(found.out)
    bounds = [
        c for c in card_of(record, "generalisation")["finding"]["comparisons"] if c["what"].startswith("lower end")
    ]
    assert len(bounds) >= 6
    assert {c["verdict"] for c in bounds} == {"vacuous"}
    assert "It has memorised" in card_of(record, "memorisation")["meaning"]["sentence"]
    assert record["summary"]["findings"][0]["instrument"] == "memorisation"


@pytest.mark.slow
def test_a_wide_network_is_lazy_and_a_narrow_one_in_mean_field_scale_learns_features(leadline, tmp_path):
    found = leadline("study", "wide", "--against", "narrow", "--only", "tangent", "--json", "--out", tmp_path)
    record = strict(found.out)
    assert card_of(record["first"], "tangent")["numbers"]["regime"] == "lazy"
    assert card_of(record["second"], "tangent")["numbers"]["regime"] == "feature learning"
    assert (tmp_path / "against.html").exists()


def test_a_pytorch_network_against_an_equinox_one_on_the_command_line(leadline, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    np.savez("rows.npz", x=np.random.default_rng(0).normal(size=(80, 4)), y=np.arange(80) % 3)
    (tmp_path / "theirs.py").write_text(
        "from torch import nn\nnet = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))\n"
    )
    (tmp_path / "ours.py").write_text(
        "import equinox as eqx, jax\nnet = eqx.nn.MLP(4, 3, 5, 1, key=jax.random.key(0))\n"
    )
    made = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    torch.save(made.state_dict(), "theirs.pt")
    mine = eqx.nn.MLP(4, 3, 5, 1, key=jax.random.key(7))
    mine = eqx.tree_at(lambda n: n.layers[0].weight, mine, 0 * mine.layers[0].weight)
    save_weights("ours.safetensors", mine)
    words = [
        "theirs.py:net",
        "--weights",
        "theirs.pt",
        "--against",
        "ours.py:net",
        "--against-weights",
        "ours.safetensors",
    ]
    found = leadline("study", *words, "--data", "rows.npz", "--only", "anatomy", "--json", "--out", "both")
    record = strict(found.out)
    assert found.code == 0
    assert (record["first"]["name"], record["second"]["name"]) == ("theirs.py:net", "ours.py:net")
    numbers = [record[name]["cards"][0]["numbers"] for name in ("first", "second")]
    expected = np.prod([np.linalg.norm(made[i].weight.detach().numpy(), 2) for i in (0, 2)])
    assert numbers[0]["lipschitz_upper"] == pytest.approx(expected, rel=1e-3)
    assert numbers[1]["lipschitz_upper"] == 0.0
