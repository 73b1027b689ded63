"""Figures as SVG: small, with a title, without collisions in a page, and drawn only once."""

import os
import re

import numpy as np
import pytest

from leadline.presentation import figure
from leadline.web import drawings
from leadline.web.drawings import Drawings, draw


@pytest.fixture(scope="module")
def chart():
    xs = np.linspace(0.1, 1, 30)
    return figure.curves("Slope 0.123456 & <more>", x="x", y="y", lines={"law": (xs, xs**2)}, points={"seen": (xs, xs)})


def test_a_drawing_is_shorter_than_vega_writes_it_and_keeps_its_words(chart):
    drawn = draw(chart)
    assert len(drawn) < 0.8 * len(chart.svg())
    assert "Slope 0.123456 &amp; &lt;more&gt;</text>" in drawn
    assert drawn.count("<path") == chart.svg().count("<path")


def test_a_drawing_is_one_image_with_its_title_for_those_who_do_not_see_it(chart):
    assert draw(chart).startswith('<svg role="img" aria-label="Slope 0.123456 &amp; &lt;more&gt;" ')
    assert "graphics-symbol" not in draw(chart)


def test_lengths_change_by_less_than_a_hundredth_of_a_pixel(chart):
    numbers = re.compile(r"-?\d+(?:\.\d+)?")
    (before,), (after,) = (re.findall(r'role-mark.*?<path[^>]* d="([^"]+)"', s)[:1] for s in (chart.svg(), draw(chart)))
    pairs = zip(numbers.findall(before), numbers.findall(after), strict=True)
    assert max(abs(float(a) - float(b)) for a, b in pairs) <= 0.005001


def test_the_ids_of_two_drawings_differ_and_are_the_same_every_time(chart):
    other = figure.curves("Another", x="x", y="y", lines={"law": ([0, 1], [0, 1])})
    ids = [set(re.findall(r' id="([^"]+)"', draw(f))) for f in (chart, other, chart)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert ids[0] == ids[2]
    assert set(re.findall(r"url\(#([^)]+)\)", draw(chart))) <= ids[0]


def test_what_was_drawn_is_not_drawn_again(chart, tmp_path, monkeypatch):
    first = Drawings(tmp_path).svg(chart)
    monkeypatch.setattr(drawings, "draw", lambda _: pytest.fail("it was drawn again"))
    assert Drawings(tmp_path).svg(chart) == first


def test_the_drawings_that_were_not_used_for_longest_are_removed_when_they_are_too_many(tmp_path):
    for age, name in enumerate("abc"):
        (tmp_path / f"{name}.svg").write_text("x" * 100)
        os.utime(tmp_path / f"{name}.svg", (1000 - age, 1000 - age))
    Drawings(tmp_path).prune(most=250)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.svg", "b.svg"]
