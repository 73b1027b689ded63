"""`leadline study` from the command line, with instruments that cost nothing, and once with the real ones (slow)."""

import json

import jsonschema
import numpy as np
import pytest
from browser import browser, reading
from documented_json import schema, strict
from studies.sample_instruments import SAMPLES

from leadline.studies import report as reports


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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("digitz",), "digits"),
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
