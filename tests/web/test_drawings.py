"""Figures of pages: drawn only once, and those that nobody used go first."""

import os

import pytest

from leadline.presentation import figure
from leadline.web import drawings
from leadline.web.drawings import Drawings


def test_what_was_drawn_is_not_drawn_again(tmp_path, monkeypatch):
    chart = figure.curves("A line", x="x", y="y", lines={"law": ([0, 1], [0, 1])})
    first = Drawings(tmp_path).svg(chart)
    monkeypatch.setattr(drawings, "inline_svg", lambda _: pytest.fail("it was drawn again"))
    assert Drawings(tmp_path).svg(chart) == first


def test_the_drawings_that_were_not_used_for_longest_are_removed_when_they_are_too_many(tmp_path):
    for age, name in enumerate("abc"):
        (tmp_path / f"{name}.svg").write_text("x" * 100)
        os.utime(tmp_path / f"{name}.svg", (1000 - age, 1000 - age))
    Drawings(tmp_path).prune(most=250)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.svg", "b.svg"]
