"""Arms: what they change, and where they cannot apply."""

import pytest

from leadline.regularisation import Arm, standard_arms
from leadline.regularisation.arms.arm import unfit


def test_every_standard_arm_but_none_changes_one_thing():
    first, *others = standard_arms()
    assert first == Arm("none")
    assert first.changes() == {}
    assert all(len(arm.changes()) == 1 for arm in others)
    assert len({arm.name for arm in others}) == len(others)


def test_early_stopping_is_within_400_of_1500_steps_and_never_at_none():
    (stopping,) = [arm for arm in standard_arms(1500) if arm.stop]
    assert stopping.stop == 400
    assert min(arm.stop for arm in standard_arms(1) if arm.stop) == 1


@pytest.mark.parametrize(
    ("arm", "given", "why"),
    [
        (Arm("a", normalisation="batch"), {"batch": 1}, "batches of two rows"),
        (Arm("a", dropout=0.5), {"layered": False}, "without dropout"),
        (Arm("a", stop=3), {"held": 0}, "validation rows"),
        (Arm("a", teacher="bag"), {}, "its teacher, bag,"),
        (Arm("a", normalisation="layer"), {"batch": 1}, ""),
    ],
)
def test_an_arm_that_cannot_apply_says_why(arm, given, why):
    said = unfit(arm, (Arm("none"), arm), **({"batch": 8, "layered": True, "held": 4} | given))
    assert why in said
    assert bool(said) == bool(why)


def test_a_teacher_must_come_before_its_student():
    teacher, student = Arm("bag", bag=2), Arm("student", teacher="bag")
    for arms, fits in (((teacher, student), True), ((student, teacher), False)):
        assert (unfit(student, arms, batch=8, layered=True, held=4) == "") is fits


@pytest.mark.parametrize("wrong", [{"decay": -1.0}, {"dropout": 1.0}, {"smoothing": 1.0}, {"bag": 0}, {"stop": 0}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match="The arm a has"):
        Arm("a", **wrong)
