"""What differs between two reports, and when nothing is compared."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from studies.sample_instruments import sample
from studies.small_subjects import linear_subject, three_clouds

import leadline
from leadline.evidence import at_most, frequency
from leadline.studies import Meaning, Report, comparison_html
from leadline.studies.pages.differences import Differences, Estimate, differences, estimates
from leadline.studies.report import describe_subject


def of_share(right, rows=400, gap=(0.1, 0.05, 0.15), bound=1.0):
    """The card of an instrument that found `right` of `rows`, and a gap with its interval."""
    value, low, high = gap
    numbers = {
        "rows": rows,
        "gap": value,
        "gap_interval": [low, high],
        "test": {"share": right / rows, "low": right / rows - 0.02, "high": right / rows + 0.02},
        "speed": 3.0,
    }

    def compare(found, subject):
        yield frequency(right, rows, right / rows, "share right, as said")
        yield at_most(value, bound, "gap, bound")

    meaning = Meaning("So it is.", 0.3)
    made = sample("shares", measure=lambda s, k: numbers, compare=compare, interpret=lambda f, s: meaning)
    return replace(made, draw=lambda found, subject: ())(linear_subject())


def report(name, *cards, **about):
    return Report(name, describe_subject(linear_subject()) | about, {card.name: card for card in cards})


def test_a_number_has_the_interval_that_stands_beside_it_and_none_where_none_does():
    found = estimates(of_share(300))
    assert found["gap"] == Estimate(0.1, 0.05, 0.15)
    assert found["test"] == Estimate(0.75, pytest.approx(0.73), pytest.approx(0.77))
    assert found["speed"] == Estimate(3.0)
    assert found["share right, as said"].low < 0.75 < found["share right, as said"].high


def test_an_interval_that_does_not_hold_the_number_is_not_its_own():
    assert estimates(of_share(300, gap=(0.5, 0.05, 0.15)))["gap"] == Estimate(0.5)


def test_numbers_differ_only_beyond_their_uncertainty():
    first, near, far = (report("n", of_share(k)) for k in (300, 304, 100))
    assert differences(first, near).numbers == ()
    found = differences(first, far)
    assert {pair.name for pair in found.numbers} == {"test", "share right, as said"}
    assert found.verdicts == ()


def test_verdicts_that_differ_are_named_by_card_and_by_comparison():
    found = differences(report("n", of_share(300)), report("m", of_share(300, bound=0.01)))
    assert [(v.what, v.first, v.second) for v in found.verdicts] == [
        ("", "holds", "fails"),
        ("gap, bound", "holds", "fails"),
    ]


def test_what_only_one_report_has_is_told_with_the_reason_of_the_other():
    idle = sample("shares", refuses=lambda subject: "there are no images")(linear_subject())
    found = differences(report("n", of_share(300)), report("m", idle))
    assert [(v.first, v.second) for v in found.only] == [("holds", "left out: there are no images")]
    assert found.numbers == found.verdicts == ()
    assert "left out: there are no images" in comparison_html(report("n", of_share(300)), report("m", idle))
    assert differences(report("n", of_share(300)), report("m")).only[0].second == "not run"


@pytest.mark.parametrize(
    ("about", "told"), [({"data_digest": "other", "data": "fashion"}, "fashion"), ({"loss": "squared"}, "squared")]
)
def test_other_data_or_another_loss_are_said_and_nothing_is_compared(about, told):
    first, second = report("n", of_share(300)), report("m", of_share(100, bound=0.01), **about)
    found = differences(first, second)
    assert told in found.not_compared[0]
    assert found.numbers == found.verdicts == found.only == ()
    page = comparison_html(first, second)
    assert "are not compared" in page
    assert "The numbers of both" not in page


def test_the_record_is_strict_json_with_intervals():
    record = differences(report("n", of_share(300)), report("m", of_share(100))).to_json()
    assert record["numbers"][0]["first"].keys() == {"value", "low", "high"}
    assert record["not_compared"] == []


def test_one_network_in_two_frameworks_differs_in_nothing():
    torch = pytest.importorskip("torch")
    rows = three_clouds(), three_clouds(60, seed=1)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    weights = [np.asarray(p.detach()) for p in net.parameters()]

    def apply(params, x):
        first, bias, last, shift = params
        return jax.nn.relu(x @ first.T + bias) @ last.T + shift

    reports = [
        leadline.study(model, *rows, only=["anatomy", "signal"], progress=False) for model in (net, (apply, weights))
    ]
    assert differences(*reports) == Differences((), (), (), ())
    ours, theirs = (report["anatomy"] for report in reports)
    assert ours["lipschitz_upper"] == pytest.approx(theirs["lipschitz_upper"], rel=1e-5)
