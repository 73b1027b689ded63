"""Figures: every kind is valid Vega-Lite, draws offline, and keeps its data."""

import altair
import numpy as np
import pytest

from leadline.evidence import Figure
from leadline.presentation import figure

X = np.linspace(0.1, 2.0, 5)
KINDS = {
    "curves": lambda: figure.curves(
        "t",
        x="x",
        y="y",
        lines={"theory": (X, X)},
        points={"run": (X, X, X - 0.1, X + 0.1)},
        bands={"band": (X, X - 0.2, X + 0.2)},
        steps={"count": (X, X)},
        rules={"here": ("x", 1.0), "level": ("y", 1.0)},
    ),
    "logarithmic": lambda: figure.curves("t", x="x", y="y", lines={"theory": (X, X**2)}, log="xy"),
    "histogram": lambda: figure.histogram("t", x="x", samples={"a": X, "b": X + 1}, lines={"law": (X, X)}, bins=4),
    "bars": lambda: figure.bars("t", x="x", y="y", values={"a": {"1": 1.0, "2": 10.0}, "b": {"1": 2.0}}, log=True),
    "heatmap": lambda: figure.heatmap("t", x="x", y="y", values=np.eye(3), text=True),
    "images": lambda: figure.images("t", images=[("a", np.eye(3)), ("b", np.ones((3, 3)))], columns=2),
    "plane": lambda: figure.plane(
        "t",
        x="x",
        y="y",
        points={"+": np.eye(2)},
        lines={"l": (X, X)},
        arrows={"w": ((0, 0), (1, 1))},
        circles={"s": np.eye(2)},
        labels=[(0, 1, "a")],
        regions=(X, X, np.add.outer(X, X)),
    ),
    "graph": lambda: figure.graph("t", nodes=[(0, 0, "a", 0.0), (1, 1, "b", 1.0)], edges=[(0, 1, -1.0)]),
    "beside": lambda: figure.beside("t", KINDS["curves"](), KINDS["plane"]()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_valid_vega_lite_and_draws_without_a_network(kind):
    drawn = KINDS[kind]()
    assert altair.Chart.from_dict(drawn.spec) is not None  # validates against the schema
    assert drawn.svg().startswith("<svg")
    assert drawn.png(scale=1).startswith(b"\x89PNG")
    assert Figure.from_json(drawn.to_json()) == drawn


def test_a_notebook_shows_the_figure():
    assert KINDS["heatmap"]()._repr_mimebundle_()["image/svg+xml"].startswith("<svg")


def test_values_that_cannot_be_drawn_are_left_out():
    drawn = figure.curves("t", x="x", y="y", lines={"a": ([1, 2, 3], [1, np.nan, np.inf])}, log="x")
    (rows,) = drawn.spec["datasets"].values()
    assert [r["x"] for r in rows] == [1]
    drawn = figure.curves("t", x="x", y="y", lines={"a": ([0, -1, 3], [1, 2, 3])}, log="x")
    (rows,) = drawn.spec["datasets"].values()
    assert [r["x"] for r in rows] == [3]


def test_a_histogram_integrates_to_one():
    drawn = figure.histogram("t", x="x", samples={"a": np.random.default_rng(0).normal(size=300)}, bins=20)
    (rows,) = drawn.spec["datasets"].values()
    assert sum((r["x2"] - r["x"]) * r["y"] for r in rows) == pytest.approx(1, abs=1e-4)


def test_a_line_and_points_of_one_name_share_one_legend_entry():
    drawn = figure.curves("t", x="x", y="y", lines={"d = 2": (X, X)}, points={"d = 2": (X, X), "d = 3": (X, X)})
    scale = drawn.spec["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == ["d = 2", "d = 3"]
