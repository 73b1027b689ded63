"""Errata beside what holds in their place."""

from leadline.evidence import Finding, at_most, close, erratum, exactly
from leadline.presentation.gallery import comparison_rows
from leadline.web.pages.erratum_pairs import erratum_pairs


def pairs(*comparisons):
    return erratum_pairs(comparison_rows(Finding("x", {}, 0, comparisons=comparisons)))


def test_an_erratum_stands_beside_the_comparison_it_names():
    right, other = at_most(21.0, 77.0, "updates"), at_most(21.0, 80.0, "updates with a bias")
    wrong = erratum(at_most(21.0, 20.5, "updates, fewer"), of=right, by="eth", prints="fewer")
    (pair,) = pairs(other, right, wrong)
    assert pair["right"]["c"] == right
    assert pair["wrong"][0]["sentence"] == "measured 21 ≤ 20.5: fails, as it must"


def test_errata_with_one_repair_are_one_pair_and_equal_ones_are_shown_once():
    right = close(0.25, 0.25, "share of the bias")
    wrong = close(0.0011, 0.25, "share of the bias")
    shown = pairs(
        right,
        *(erratum(wrong, of=right, by=source, prints="b/m") for source in ("eth", "sheet", "eth")),
        erratum(close(0.3, 0.25, "share of the bias"), of=right, by="penn", prints="b/√m"),
    )
    assert [[w["sources"] for w in pair["wrong"]] for pair in shown] == [[["eth", "sheet"], ["penn"]]]
    assert {w["mark"] for w in shown[0]["wrong"]} == {"✗"}


def test_an_erratum_that_does_not_fail_or_apply_is_marked_so():
    right = exactly(1, 1, "one")
    holds = erratum(exactly(2, 2, "two"), of=right, by="eth", prints="2 = 2")
    ((pair,),) = ([p["wrong"] for p in pairs(right, holds)],)
    assert (pair[0]["mark"], pair[0]["tone"]) == ("✓", "warn")
    unmet = erratum(exactly(1, 2, "one"), of=right, by="eth", prints="1 = 2").given(False, "n is even")
    ((pair,),) = ([p["wrong"] for p in pairs(right, unmet)],)
    assert (pair[0]["mark"], pair[0]["sentence"]) == ("–", "inapplicable: needs that n is even")
