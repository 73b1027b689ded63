import ast
import inspect
import json
from dataclasses import replace

import numpy as np
import pytest
from studies.sample_instruments import SAMPLES, sample
from studies.small_subjects import linear_subject

import leadline
from leadline.evidence import BadInput, at_most
from leadline.studies import Meaning, NotApplicable, report as reports, run_study
from leadline.studies.instrument_contract import plain_numbers
from leadline.studies.instruments import ORDER, instruments
from leadline.studies.report import card_from, card_record, data_digest
from leadline.studies.study_directory import StudyDirectory, fingerprint


@pytest.fixture
def samples(monkeypatch):
    """The cheap instruments in place of the real ones; what is in the mapping may be changed by a test."""
    found = dict(SAMPLES)
    monkeypatch.setattr(reports, "instruments", lambda: found)
    return found


def test_every_file_among_the_instruments_is_one_and_they_come_in_order():
    found = instruments()
    assert list(found) == list(ORDER)
    assert all(found[name].name == name for name in found)
    assert all(i.question.endswith("?") for i in found.values())


def test_the_package_is_the_function_and_the_report_gives_the_numbers(samples):
    subject = linear_subject()
    report = leadline.study(subject, progress=False)
    assert report["plain"]["rows"] == 90
    assert report["plain"]["values"] == [0, 1, 2, 3, 4]
    assert "plain" in report._repr_html_()
    with pytest.raises(KeyError, match="plain"):
        report["plane"]


def test_an_instrument_is_callable_alone_and_then_raises_what_it_raises():
    subject = linear_subject()
    card = SAMPLES["plain"](subject)
    assert card["mean"] == pytest.approx(float(subject.train.inputs.mean()))
    assert "What does plain say?" in card._repr_html_()
    with pytest.raises(FloatingPointError):
        SAMPLES["broken"](subject)


def test_a_failing_instrument_does_not_stop_the_others(samples):
    cards = {card.name: card for card in run_study(linear_subject())}
    assert cards["broken"].finding.error == "FloatingPointError: the sum is not finite"
    assert [c.verdict for c in cards.values()] == ["holds", "holds", "fails", "error", "skipped"]


def test_a_finding_of_practice_that_fails_is_not_confirmed_and_no_failure_of_theory(samples):
    def compare(found, subject):
        yield at_most(1.0, 2.0, "a theorem")
        yield at_most(2.0, 1.0, "what is often found").as_empirical()

    card = sample("mixed", compare=compare)(linear_subject())
    assert card.verdict == "holds"
    assert {word: count for word, count in card.counts().items() if count} == {"holds": 1, "not confirmed": 1}
    assert "not confirmed" in card._repr_html_()


def test_what_matters_most_comes_first(samples):
    report = leadline.study(linear_subject(), progress=False)
    assert [card.name for card in report.main_findings()] == ["loud", "plain"]
    assert report.skipped() == {"idle": "the inputs are not images"}
    assert report.failed() == {"broken": "FloatingPointError: the sum is not finite"}


def test_advice_comes_with_its_evidence_and_what_would_change_most_comes_first(samples):
    def advises(sentence, weight, change, rests_on=""):
        return lambda found, subject: Meaning(sentence, weight, f"{sentence} Do it.", change, rests_on)

    samples.clear()
    samples["weighty"] = sample("weighty", interpret=advises("It matters.", 0.9, 0.0))
    samples["little"] = sample("little", interpret=advises("It is slow.", 0.4, 0.1, "rows"))
    samples["much"] = sample("much", interpret=advises("It is wrong.", 0.5, 0.6, "mean by two"))
    advice = leadline.study(linear_subject(), progress=False).advice()
    assert [a.instrument for a in advice] == ["much", "little", "weighty"]
    assert [a.evidence and a.evidence.what for a in advice] == ["mean by two routes", "rows, most rows", None]
    assert advice[2].finding == "It matters."


def test_a_card_tells_something_if_it_advises_weighs_or_fails_and_else_that_all_is_well():
    def unconfirmed(found, subject):
        yield at_most(2.0, 1.0, "what is often found").as_empirical()

    quiet = {"interpret": lambda found, subject: Meaning("As it should be.", 0.1)}
    subject = linear_subject()
    assert not SAMPLES["calm"](subject).tells
    assert SAMPLES["plain"](subject).tells
    assert sample("advises", interpret=lambda f, s: Meaning("Well.", 0.1, "Go on."))(subject).tells
    assert sample("unconfirmed", compare=unconfirmed, **quiet)(subject).tells
    assert not sample("idle", refuses=lambda subject: "there is nothing", **quiet)(subject).tells


def test_data_are_the_same_whatever_the_order_of_the_axes_of_an_input():
    x = np.random.default_rng(0).random((30, 5, 4, 3)).astype(np.float32)
    subject = linear_subject()
    first, second, other = (
        replace(subject, train=subject.train._replace(inputs=v, targets=np.arange(30) % 3))
        for v in (x, x.transpose(0, 3, 1, 2), x + 1)
    )
    assert data_digest(first) == data_digest(second)
    assert data_digest(first) != data_digest(other)
    swapped = replace(first, train=first.train._replace(targets=np.arange(1, 31) % 3))
    assert data_digest(first) != data_digest(swapped)


def test_an_unknown_instrument_is_told_with_the_nearest(samples):
    with pytest.raises(BadInput, match="plain"):
        leadline.study(linear_subject(), only=["plane"], progress=False)


def test_a_study_goes_on_where_it_stopped_and_runs_again_what_failed(samples, tmp_path):
    calls = []

    def counting(name):
        def measure(subject, key):
            calls.append(name)
            return SAMPLES[name].measure(subject, key)

        return replace(SAMPLES[name], measure=measure)

    samples.update({name: counting(name) for name in ("plain", "loud", "broken")})
    subject = linear_subject()
    leadline.study(subject, only=["plain", "broken"], out=tmp_path, progress=False)
    report = leadline.study(subject, out=tmp_path, progress=False)
    assert calls == ["plain", "broken", "loud", "broken"]
    assert report.verdicts() == {
        "plain": "holds",
        "calm": "holds",
        "loud": "fails",
        "broken": "error",
        "idle": "skipped",
    }
    assert json.loads((tmp_path / "report.json").read_text())["summary"]["verdicts"] == report.verdicts()


def test_every_card_is_on_the_disk_before_the_next_instrument_begins(samples, tmp_path):
    seen = []

    def looking(subject, key):
        seen.append([json.loads(line)["card"]["instrument"] for line in (tmp_path / "cards.jsonl").open()])
        assert (tmp_path / "report.html").exists()
        return SAMPLES["plain"].measure(subject, key)

    samples["late"] = sample("late", measure=looking)
    leadline.study(linear_subject(), only=["plain", "loud", "late"], out=tmp_path, progress=False)
    assert seen == [["plain", "loud"]]


def test_cards_of_another_subject_and_torn_lines_are_not_taken_up(samples, tmp_path):
    leadline.study(linear_subject(), only=["plain"], out=tmp_path, progress=False)
    with (tmp_path / "cards.jsonl").open("a") as file:
        file.write('{"fingerprint": "torn')
    directory = StudyDirectory(tmp_path)
    assert list(directory.done(linear_subject())) == ["plain"]
    assert directory.done(linear_subject(step_size=0.5, optimiser="sgd")) == {}


def test_a_fingerprint_depends_on_all_that_a_card_depends_on():
    subject = linear_subject()
    changed = [
        replace(subject, seed=1),
        replace(subject, rows=50),
        linear_subject(step_size=0.1, optimiser="sgd"),
        linear_subject(loss="squared"),
        replace(subject, train=subject.train._replace(inputs=subject.train.inputs + np.float32(1e-3))),
        replace(subject, test=None),
    ]
    assert len({fingerprint(s) for s in [subject, *changed]}) == len(changed) + 1
    assert fingerprint(linear_subject()) == fingerprint(subject)


def test_a_card_survives_its_way_through_json(samples):
    for card in run_study(linear_subject(), command="leadline study linear"):
        again = card_from(json.loads(json.dumps(card_record(card), allow_nan=False)))
        assert card_record(again) == card_record(card)


def test_numbers_are_plain_and_large_arrays_are_left_out():
    part = NotApplicable("a", "b")
    found = plain_numbers(
        {"a": np.float32(0.5), "big": np.zeros(5000), "parts": (part,), "none": None, "deep": {"x": np.arange(2)}}
    )
    assert found == {"a": 0.5, "parts": [{"what": "a", "why": "b"}], "none": None, "deep": {"x": [0, 1]}}


@pytest.mark.parametrize("name", ORDER)
def test_the_comparison_that_advice_rests_on_is_one_of_the_same_instrument(name):
    """Every `rests_on="..."` is how the text of a comparison begins, so that no advice loses its evidence."""
    tree = ast.parse(inspect.getsource(inspect.getmodule(instruments()[name].measure)))
    named = [k.value for k in ast.walk(tree) if isinstance(k, ast.keyword) and k.arg == "rests_on"]
    literal = [node.value for node in named if isinstance(node, ast.Constant)]
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    assert [
        text for text in literal if not any(t.startswith(text) and t != text for t in texts) and texts.count(text) < 2
    ] == []
