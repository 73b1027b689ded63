"""Figures as SVG inside a page: small, with a label, without collisions."""

import re

import numpy as np
import pytest

from leadline.presentation import figure
from leadline.presentation.inline_svg import described, inline_svg


@pytest.fixture(scope="module")
def chart():
    xs = np.linspace(0.1, 1, 30)
    return figure.curves("Slope 0.123456 & <more>", x="x", y="y", lines={"law": (xs, xs**2)}, points={"seen": (xs, xs)})


def test_a_drawing_is_shorter_than_vega_writes_it_and_keeps_its_words(chart):
    drawn = inline_svg(chart)
    assert len(drawn) < 0.8 * len(chart.svg())
    assert "Slope 0.123456 &amp; &lt;more&gt;</text>" in drawn
    assert drawn.count("<path") == chart.svg().count("<path")


def test_a_drawing_is_one_image_with_its_title_for_those_who_do_not_see_it(chart):
    assert inline_svg(chart).startswith(
        '<svg role="img" aria-label="Slope 0.123456 &amp; &lt;more&gt;. y over x; lines: law; points: seen." '
    )
    assert "graphics-symbol" not in inline_svg(chart)


def test_lengths_change_by_less_than_a_hundredth_of_a_pixel(chart):
    numbers = re.compile(r"-?\d+(?:\.\d+)?")
    drawn = (chart.svg(), inline_svg(chart))
    (before,), (after,) = (re.findall(r'role-mark.*?<path[^>]* d="([^"]+)"', s)[:1] for s in drawn)
    pairs = zip(numbers.findall(before), numbers.findall(after), strict=True)
    assert max(abs(float(a) - float(b)) for a, b in pairs) <= 0.005001


def test_the_ids_of_two_drawings_differ_and_are_the_same_every_time(chart):
    other = figure.curves("Another", x="x", y="y", lines={"law": ([0, 1], [0, 1])})
    ids = [set(re.findall(r' id="([^"]+)"', inline_svg(f))) for f in (chart, other, chart)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert ids[0] == ids[2]
    assert set(re.findall(r"url\(#([^)]+)\)", inline_svg(chart))) <= ids[0]


def test_a_label_names_axes_and_series_of_every_panel():
    bars = figure.bars("Two bars", "name", "height", values={"seen": {"a": 1.0, "b": 2.0}})
    line = figure.curves("A line", "t", "v", lines={"law": ([0, 1], [0, 1])})
    assert described(figure.beside("Both.", bars, line)) == "Both. height over name; bars: seen. v over t; lines: law."
