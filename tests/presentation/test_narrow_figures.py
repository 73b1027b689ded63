"""Figures for a phone, and charts over names."""

import re

import numpy as np

from leadline.presentation import figure
from leadline.presentation.inline_svg import inline_svg


def width(drawn):
    return float(re.search(r' width="([\d.]+)"', inline_svg(drawn))[1])


def test_curves_bars_and_panels_have_the_width_of_a_phone():
    xs = np.arange(30.0)
    lines = figure.curves(
        "A long title " * 6, "x", "y", lines={"a name that is long": (xs, xs)}, points={"b": (xs, xs)}
    )
    bars = figure.bars("Bars", "x", "y", values={"a": {f"name {k}": 1.0 for k in range(20)}})
    heat = figure.heatmap("Heat", "x", "y", values=np.ones((20, 20)))
    for drawn in (lines, bars, heat, figure.beside("All", lines, bars)):
        assert width(drawn) > 360
        assert width(figure.narrow(drawn)) < 345
        assert figure.narrow(drawn).title == drawn.title


def test_pictures_stay_as_they_are():
    assert figure.narrow(figure.images("Two", images=[("a", np.eye(8)), ("b", np.eye(8))])) is None


def test_predictions_over_names_are_level_lines_and_measurements_points_with_their_intervals():
    drawn = figure.categories(
        "Bounds",
        "",
        "error",
        lines={"bound": {"a": 0.5, "b": 2.0}},
        points={"measured": {"a": (0.1, 0.05, 0.2), "b": 0.0}},
        rules={"chance": ("y", 0.9)},
        log=True,
    )
    marks = {
        layer["mark"]["type"]: layer for layer in drawn.spec["layer"] if layer["mark"]["type"] in ("tick", "point")
    }
    rows = {kind: drawn.spec["datasets"][layer["data"]["name"]] for kind, layer in marks.items()}
    assert [(row["x"], row["y"]) for row in rows["tick"]] == [("a", 0.5), ("b", 2.0)]
    assert [(row["x"], row["y"]) for row in rows["point"]] == [("a", 0.1)], "zero has no place on a logarithmic axis"
    assert drawn.spec["title"]["subtitle"] == "lines: predicted, points: measured"


def test_names_that_do_not_fit_beside_each_other_are_slanted():
    for names, slanted in ((("none", "early stopping", "batch norm"), True), (("a", "b"), False)):
        drawn = figure.categories("Names", "", "y", points={"measured": dict.fromkeys(names, 1.0)})
        assert ('"labelAngle": -40' in str(drawn.spec).replace("'", '"')) is slanted
