"""Sliders and fields: the same values as the parameters they are made from."""

import pytest

from leadline.evidence import Choice, Parameter, Range
from leadline.web.pages.controls import POSITIONS, controls

RANGES = [
    Parameter("margin", float, 0.1, Range(0.005, 0.9, log=True)),
    Parameter("shift", float, 0.0, Range(-2.0, 3.0)),
    Parameter("samples", int, 200, Range(2, 5000)),
    Parameter("width", int, 64, Range(1, 4096, log=True)),
]


@pytest.mark.parametrize("parameter", RANGES, ids=lambda p: p.name)
def test_a_slider_stands_where_its_value_is(parameter):
    for position in range(0, POSITIONS + 1, 7):
        value = parameter.at(position / POSITIONS)
        (control,) = controls([parameter], {parameter.name: value})
        assert parameter.at(control.position / POSITIONS) == pytest.approx(
            value, abs=1 if parameter.type is int else 1e-5
        )
        assert parameter.type is int or abs(control.position - position) <= 1
        assert parameter.parse(control.value) == value


def test_ends_of_a_slider_are_those_of_the_range():
    (whole,) = controls([RANGES[2]], {"samples": 2})
    assert (whole.position, whole.low, whole.high, whole.whole) == (0, "2", "5000", True)
    (real,) = controls([RANGES[1]], {"shift": 3.0})
    assert (real.position, real.low, real.high, real.whole) == (POSITIONS, "-2.0", "3.0", False)
    (only,) = controls([Parameter("only", int, 3, Range(3, 3))], {})
    assert only.position == 0


def test_choices_and_switches_speak_as_the_command_line_does():
    order = Parameter("sampling_order", str, "cyclic", Choice("cyclic", "shuffle once"))
    depth = Parameter("depth", int, 2, Choice(1, 2, 4))
    bias = Parameter("bias", bool, False, Choice(False, True))
    told = controls([order, depth, bias], {"bias": True, "depth": 4})
    assert [c.kind for c in told] == ["choice", "choice", "switch"]
    assert [c.value for c in told] == ["cyclic", "4", "true"]
    assert told[0].label == "sampling order"
    assert told[1].options == ("1", "2", "4")
    assert all(p.parse(c.value) in p.domain.options for p, c in zip([order, depth, bias], told, strict=True))
