"""Minutes and memory as budgets: what fits, what is said of the rest, the same choices again; no clock is read."""

import json

import jax
import numpy as np
import pytest
from studies.sample_instruments import SAMPLES, sample
from studies.small_subjects import linear_subject

import leadline
from leadline import networks
from leadline.evidence import BadInput
from leadline.studies import as_subject, report as reports
from leadline.studies.budget import SHARES, Budget, PassCosts, memory_of, share
from leadline.studies.card import card_of
from leadline.studies.instruments import ORDER, instruments
from leadline.studies.measurements import pass_costs as probes
from leadline.studies.report import card_from, card_record
from leadline.studies.study_directory import StudyDirectory, fingerprint

SLOW = PassCosts(1e-3, 3e-3, 1e5, 1e6, 1e9)


def counting(subject, key):
    """Measure with as many rows as a second a row allows."""
    subject.budget.rows("plain", 1.0, subject.train.count)
    return SAMPLES["plain"].measure(subject, key)


@pytest.fixture
def counted(monkeypatch):
    monkeypatch.setattr(reports, "instruments", lambda: {"plain": sample("plain", measure=counting)})


def test_every_instrument_has_a_share_and_the_shares_are_the_whole():
    assert set(SHARES) == set(ORDER) == set(instruments())
    assert sum(SHARES.values()) == pytest.approx(1.0)
    assert share("one of next year") == 0.06


def test_all_is_taken_where_it_fits_and_a_power_of_two_where_it_does_not():
    budget = Budget(costs=SLOW)
    allowed = budget.seconds("curvature")
    assert budget.rows("curvature", allowed / 1001, 1000) == 1000
    assert budget.left_out == ()
    assert budget.rows("curvature", allowed / 999, 1000) == 512
    assert budget.left_out == ("looked at 512 of 1,000 rows: the budget of 3 minutes allows no more",)
    assert budget.rows("curvature", allowed / 999, 1000, of=50_000) == 512
    assert "512 of 50,000 rows" in budget.left_out[0]
    assert budget.rows("curvature", allowed, 1000, least=20) == 20
    assert budget.sizes == {"rows": 20}


def test_twice_the_minutes_allow_twice_the_rows():
    few, many = (Budget(m, costs=SLOW).rows("tangent", 1.0, 10**6) for m in (3, 6))
    assert many == 2 * few


def test_memory_limits_too_and_the_sentence_says_which_did():
    budget = Budget(memory="2GiB", costs=SLOW)
    assert budget.room == 2 * 2**30 - 1e9
    assert budget.count("curvature", "Lanczos vectors", 100, bytes=4e7) == 16
    assert budget.left_out == ("made do with 16 of 100 Lanczos vectors: the memory of 2 GiB allows no more",)
    assert not budget.fits("curvature", "the Fisher spectrum", bytes=1e10)
    assert budget.left_out[1] == "left out the Fisher spectrum: the memory of 2 GiB does not allow it"
    budget.begin()
    assert budget.fits("curvature", "the Fisher spectrum", bytes=1e8, seconds=1.0)
    assert budget.left_out == ()


@pytest.mark.parametrize("given", ["many", "4 GiBs", "-1", "0", "inf", 10, ""])
def test_a_memory_that_is_none_is_told_in_a_sentence(given):
    with pytest.raises(BadInput, match="as in 4GiB"):
        memory_of(given)


@pytest.mark.parametrize("minutes", [0, -1, float("inf"), float("nan")])
def test_minutes_that_are_none_are_told_in_a_sentence(minutes):
    with pytest.raises(BadInput, match="minutes"):
        Budget(minutes)


def test_a_card_carries_its_sizes_and_what_was_left_out_through_json_and_onto_its_page(counted):
    subject = linear_subject()
    subject.budget.restore(SLOW, 2**32)
    card = leadline.study(subject, minutes=1, progress=False).cards["plain"]
    assert card.sizes == {"rows": 2}
    assert card.left_out == ("looked at 2 of 90 rows: the budget of 1 minute allows no more",)
    assert card.left_out[0] in card._repr_html_()
    again = card_from(json.loads(json.dumps(card_record(card))))
    assert (again.sizes, again.left_out) == (card.sizes, card.left_out)


def test_a_study_that_goes_on_keeps_its_choices_though_the_machine_is_slower_now(counted, tmp_path):
    first, second, third = linear_subject(), linear_subject(), linear_subject()
    first.budget.restore(SLOW, 2**32)
    leadline.study(first, out=tmp_path, progress=False)
    second.budget.restore(SLOW._replace(forward=1.0, resident=3e9), 2**31)
    leadline.study(second, out=tmp_path, progress=False)
    assert second.budget.costs == SLOW
    assert second.budget.memory == 2**32
    third.budget.restore(SLOW._replace(forward=1.0), 2**31)
    leadline.study(third, out=tmp_path, minutes=5, progress=False)  # another budget is another study
    assert third.budget.costs.forward == 1.0


def test_a_damaged_record_of_the_budget_is_passed_over(tmp_path):
    subject = linear_subject()
    record = {"fingerprint": fingerprint(subject), "costs": {"forward": "fast"}, "memory": 1}
    (tmp_path / "budget.jsonl").write_text(json.dumps(record) + "\ntorn")
    subject.budget.restore(SLOW, 2**32)
    StudyDirectory(tmp_path).keep_budget(subject)
    again = linear_subject()
    StudyDirectory(tmp_path).keep_budget(again)
    assert again.budget.costs == SLOW


def test_the_budget_is_part_of_what_a_card_depends_on():
    subject = linear_subject()
    before = fingerprint(subject)
    subject.budget.limit(minutes=5)
    assert fingerprint(subject) != before


def test_the_probe_measures_time_and_memory_of_both_passes(monkeypatch):
    monkeypatch.setattr(probes, "_least_time", lambda work: (work(), 0.64)[1])
    x = np.random.default_rng(0).normal(size=(128, 30)).astype(np.float32)
    subject = as_subject(networks.MLP((30, 200, 3), key=jax.random.key(0)), (x, np.arange(128) % 3))
    found = probes.pass_costs(subject)
    assert found.forward == 0.64 / 128
    assert found.gradient == 0.64 / 64
    assert found.product == 2 * found.gradient
    assert 200 * 4 <= found.forward_bytes < found.gradient_bytes < 200 * 4 * 100  # the hidden units of a row, and more
    assert found.resident > 1e8
    monkeypatch.setattr(probes, "_least_time", lambda work: 1e-5)
    assert probes.pass_costs(subject).gradient == pytest.approx(3 * 1e-5 / 128)


def test_an_instrument_refuses_subjects_of_a_kind_that_it_does_not_take():
    card = sample("sequences", kinds=("sequence",))(linear_subject())
    assert card.skipped == "it takes a sequence, and this is a classifier"


def test_a_lack_of_memory_is_the_error_of_that_card():
    for error in (MemoryError(), RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 99 bytes.")):

        def measure(subject, key, error=error):
            raise error

        card = card_of(sample("large", measure=measure), linear_subject(), raising=False)
        assert card.finding.error.startswith("MemoryError: it needs more memory than there is")
