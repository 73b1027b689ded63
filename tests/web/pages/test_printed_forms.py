"""Printed forms beside what holds in their place."""

from leadline.evidence import Finding, at_most, close, exactly, printed
from leadline.evidence.gallery import comparison_rows
from leadline.web.pages.printed_forms import printed_groups


def groups(*comparisons):
    return printed_groups(comparison_rows(Finding("x", {}, 0, comparisons=comparisons)))


def test_the_same_quantity_comes_first():
    right = at_most(21.0, 77.0, "updates")
    (group,) = groups(
        right, at_most(21.0, 80.0, "updates with a bias"), printed(at_most(21.0, 20.5, "updates"), "eth", "fewer")
    )
    assert group["right"]["c"] == right


def test_then_the_same_number_by_another_name():
    right = close(0.10321, 0.10321, "half of the mean square")
    (group,) = groups(
        exactly(1, 1, "sum of squares against two"), right,
        printed(close(0.10321, 0.2, "sum of squares against one"), "penn", "½ Σ r²"),
    )  # fmt: skip
    assert group["right"]["c"] == right


def test_small_numbers_agree_by_chance_and_are_no_sign():
    (group,) = groups(exactly(1, 1, "rank"), printed(exactly(1, 2, "number of minima"), "penn", "two minima"))
    assert group["right"] is None


def test_then_much_the_same_words_and_of_these_the_last_one_before():
    first, second = (close(v, v, "largest error of the series") for v in (0.31, 0.32))
    (group,) = groups(first, second, printed(close(0.9, 0.5, "largest error of the printed series"), "cam", "series"))
    assert group["right"]["c"] == second


def test_forms_with_one_repair_are_one_group_and_equal_ones_are_told_once():
    right = close(0.25, 0.25, "share of the bias")
    wrong = close(0.0011, 0.25, "share of the bias")
    told = groups(right, *(printed(wrong, source, "b/m") for source in ("eth", "sheet", "eth")),
                  printed(close(0.3, 0.25, "share of the bias"), "penn", "b/√m"))  # fmt: skip
    assert [[w["sources"] for w in group["wrong"]] for group in told] == [[["eth", "sheet"], ["penn"]]]
    assert {w["mark"] for w in told[0]["wrong"]} == {"✗"}


def test_a_printed_form_that_does_not_fail_or_apply_is_marked_so():
    ((told,),) = ([g["wrong"] for g in groups(printed(exactly(2, 2, "two"), "eth", "2 = 2"))],)
    assert (told[0]["mark"], told[0]["tone"]) == ("✓", "warn")
    unmet = printed(exactly(1, 2, "one"), "eth", "1 = 2").given(False, "n is even")
    ((told,),) = ([g["wrong"] for g in groups(unmet)],)
    assert (told[0]["mark"], told[0]["sentence"]) == ("–", "inapplicable: needs that n is even")


def test_what_a_text_s_own_form_does_repairs_nothing():
    right = close(-4.1e-6, -4.1e-6, "standard form: x after 500 steps")
    (group,) = groups(
        close(0.8715, 0.8715, "penn: x after 500 steps"), close(0.8715, 0.8715, "x after 500 steps, as printed"), right,
        printed(close(0.8715, -4.1e-6, "x after 500 steps"), "penn", "the same recursion"),
    )  # fmt: skip
    assert group["right"]["c"] == right
