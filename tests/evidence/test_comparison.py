"""Algebra of comparisons: slack, verdict, errata, assumptions, JSON."""

import json
import math

import pytest
from hypothesis import given, settings, strategies as st

from leadline.evidence import (
    Comparison,
    Erratum,
    Inapplicable,
    Verdict,
    assume,
    at_least,
    at_most,
    close,
    erratum,
    exactly,
    reference,
)

numbers = st.floats(-1e9, 1e9, allow_nan=False)
positive = st.floats(1e-6, 1e6)


@given(numbers, numbers)
def test_at_most_holds_exactly_when_the_measurement_is_not_above_the_bound(m, b):
    assert (at_most(m, b, "x").verdict is Verdict.HOLDS) == (m <= b)
    assert (at_most(m, b, "x", strict=True).verdict is Verdict.HOLDS) == (m < b)


@given(numbers, numbers)
def test_at_least_is_at_most_mirrored(m, b):
    assert at_least(m, b, "x").slack == at_most(-m, -b, "x").slack


@given(numbers, numbers, positive)
def test_slack_does_not_depend_on_the_unit(m, b, unit):
    assert at_most(m * unit, b * unit, "x").slack == pytest.approx(at_most(m, b, "x").slack, rel=1e-9, abs=1e-9)


@given(numbers, numbers, positive, st.floats(0, 1))
def test_close_holds_exactly_within_the_tolerance_and_slack_stays_between_minus_one_and_one(m, p, atol, rtol):
    c = close(m, p, "x", atol=atol, rtol=rtol)
    assert (c.verdict is Verdict.HOLDS) == (abs(m - p) <= atol + rtol * abs(p))
    assert -1 <= c.slack <= 1


@given(st.lists(numbers, min_size=1, max_size=8), numbers)
def test_an_array_reports_its_worst_element(values, bound):
    c = at_most(values, bound, "x")
    assert c.cases == len(values)
    assert c.slack == min(at_most(v, bound, "x").slack for v in values)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=6), st.lists(st.integers(-5, 5), min_size=1, max_size=6))
def test_exactly_is_equality(a, b):
    n = min(len(a), len(b))
    assert (exactly(a[:n], b[:n], "x").verdict is Verdict.HOLDS) == (a[:n] == b[:n])


def test_exactly_tells_apart_whole_numbers_beyond_the_resolution_of_floats():
    assert exactly(2**60 + 1, 2**60, "x").verdict is Verdict.FAILS


def test_exactly_compares_words_and_truth_values():
    assert exactly("cyclic", "cyclic", "order").verdict is Verdict.HOLDS
    assert exactly(True, False, "separable").verdict is Verdict.FAILS


@pytest.mark.parametrize("make", [at_most, at_least, close])
def test_a_measurement_that_is_not_a_number_fails(make):
    c = make(math.nan, 1.0, "x")
    assert c.verdict is Verdict.FAILS
    assert c.slack == -math.inf


def test_a_bound_that_says_nothing_is_vacuous_but_a_violated_one_fails():
    assert at_most(0.3, 7.0, "risk", trivial=1.0).verdict is Verdict.VACUOUS
    assert at_most(0.3, 0.5, "risk", trivial=1.0).verdict is Verdict.HOLDS
    assert at_most(0.3, math.inf, "risk").verdict is Verdict.VACUOUS
    assert at_least(0.3, -math.inf, "risk").verdict is Verdict.VACUOUS
    assert at_most(math.inf, 7.0, "risk", trivial=1.0).verdict is Verdict.FAILS


def test_an_erratum_must_fail_and_knows_its_repair():
    right = at_most(2, 2, "x against 2")
    wrong = erratum(at_most(2, 1, "x"), of=right, by="eth", prints="x ≤ 1")
    assert wrong.verdict is Verdict.FAILS
    assert wrong.as_expected
    assert wrong.erratum == Erratum("eth", "x ≤ 1", "x against 2")
    assert Comparison.from_json(wrong.to_json()) == wrong
    assert not erratum(at_most(1, 2, "x"), of=right, by="eth", prints="x ≤ 2").as_expected


@pytest.mark.parametrize(("digits", "verdict"), [(3, "holds"), (4, "holds"), (5, "fails")])
def test_a_reference_is_reproduced_to_so_many_digits(digits, verdict):
    assert str(reference(0.123449, 0.1234, "x", digits=digits).verdict) == verdict  # off by 4.9e-5


def test_a_reference_of_zero_is_reproduced_to_so_many_decimals():
    assert str(reference(4e-4, 0.0, "x", digits=3).verdict) == "holds"
    assert str(reference(6e-4, 0.0, "x", digits=3).verdict) == "fails"


@given(st.booleans(), st.booleans())
def test_given_changes_nothing_when_met_and_is_inapplicable_when_not(met, holds):
    c = at_most(0 if holds else 2, 1, "x")
    d = c.given(met, "the data are separable")
    assert d == c if met else (d.verdict is Verdict.INAPPLICABLE and d.as_expected)


def test_assume_stops_with_the_assumption_in_words():
    assume(True, "all is well")
    with pytest.raises(Inapplicable, match="the data are separable"):
        assume(False, "the data are separable")


def test_empty_arrays_compare_nothing_and_are_refused():
    with pytest.raises(ValueError, match="compares nothing"):
        at_most([], 1, "x")
    with pytest.raises(ValueError, match="compares nothing"):
        exactly([], [], "x")


comparisons = st.builds(
    Comparison,
    what=st.text(max_size=20),
    relation=st.sampled_from(["at most", "close", "frequency"]),
    measured=st.one_of(st.floats(), st.integers(), st.booleans()),
    predicted=st.one_of(st.floats(), st.integers(), st.booleans()),
    slack=st.floats(allow_nan=False),
    cases=st.integers(1, 9),
    chance=st.floats(0, 1),
    interval=st.none() | st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)),
    says_nothing=st.booleans(),
    unmet=st.text(max_size=9),
    erratum=st.sampled_from([None, Erratum("eth", "x ≤ 1", "x")]),
)


@settings(max_examples=200)
@given(comparisons)
def test_a_comparison_round_trips_through_strict_json(c):
    text = json.dumps(c.to_json(), allow_nan=False)
    back = Comparison.from_json(json.loads(text))
    assert back == c or (math.isnan(float(c.measured)) or math.isnan(float(c.predicted)))
    assert back.to_json() == c.to_json()
    assert type(back.measured) is type(c.measured)


@pytest.mark.parametrize("make", [at_most, at_least, close, exactly])
def test_equal_infinities_agree(make):
    assert make(math.inf, math.inf, "x").verdict in (Verdict.HOLDS, Verdict.VACUOUS)
