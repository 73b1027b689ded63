"""Drawing into files: what is there stays, what is many is shared, and what goes wrong is told as it is here."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from leadline.evidence import BadInput, Figure
from leadline.presentation import drawing, figure

MANY = 2 * drawing._FIGURES_A_PROCESS


def curve(title="a line", ys=(1.0, 2.0)) -> Figure:
    return figure.curves(title, x="x", y="y", lines={"y": ((0.0, 1.0), ys)})


class Deadly(Figure):
    """A figure that ends the process to which it is sent."""

    def __reduce__(self):
        return os._exit, (3,)


@pytest.fixture
def drawn(monkeypatch):
    """The names of what is drawn in this process."""
    names = []
    draw = drawing.draw

    def note(path, *rest):
        names.append(path.name)
        draw(path, *rest)

    monkeypatch.setattr(drawing, "draw", note)
    return names


def test_a_figure_that_is_there_is_not_drawn_again(tmp_path, drawn):
    advanced = []
    for _ in range(2):
        drawing.draw_all({tmp_path / "rate-0.5": curve()}, advance=lambda: advanced.append(1))
    assert (drawn, len(advanced)) == (["rate-0.5"], 2)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["rate-0.5.png", "rate-0.5.svg"]
    assert (tmp_path / "rate-0.5.png").read_bytes() == curve().png()
    assert ElementTree.parse(tmp_path / "rate-0.5.svg").getroot().tag.endswith("svg")


def test_another_figure_takes_the_place_of_the_one_that_was_there(tmp_path, drawn):
    for shown in (curve(), curve(ys=(2.0, 1.0)), curve("another")):
        drawing.draw_all({tmp_path / "a": shown})
    assert drawn == ["a"] * 3
    assert "another" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize("change", ["remove the PNG", "a later PNG", "damage the SVG"])
def test_a_figure_of_which_one_file_is_not_its_own_is_drawn_again(tmp_path, drawn, change):
    drawing.draw_all({tmp_path / "a": curve()})
    svg, png = tmp_path / "a.svg", tmp_path / "a.png"
    if change == "remove the PNG":
        png.unlink()
    elif change == "a later PNG":
        os.utime(png, (time.time() + 60,) * 2)
    else:
        svg.write_bytes(svg.read_bytes()[:-40])
    drawing.draw_all({tmp_path / "a": curve()})
    assert drawn == ["a", "a"]


def test_few_figures_are_drawn_here_whatever_the_jobs(tmp_path, drawn):
    drawing.draw_all({tmp_path / f"{i}": curve(f"{i}") for i in range(3)}, jobs=4)
    assert drawn == ["0", "1", "2"]


def test_many_figures_are_drawn_by_other_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(Figure, "png", lambda self: pytest.fail("drawn here"))
    advanced = []
    figures = {tmp_path / f"{i}": curve(f"{i}") for i in range(MANY)}
    drawing.draw_all(figures, jobs=2, advance=lambda: advanced.append(1))
    assert len(advanced) == MANY
    assert {f.name for f in tmp_path.iterdir()} == {f"{i}.{kind}" for i in range(MANY) for kind in ("svg", "png")}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_figure_that_cannot_be_drawn_is_the_same_error_here_and_elsewhere(tmp_path, jobs):
    wrong = Figure("wrong", {"mark": "no such mark", "config": {}})
    with pytest.raises(ValueError, match="Vega-Lite to PNG conversion failed"):
        drawing.draw_all({tmp_path / f"{i}": wrong for i in range(MANY)}, jobs=jobs)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_directory_that_cannot_be_written_to_is_said_in_one_sentence(tmp_path, jobs):
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match=r"^Cannot write .*; make room or choose another --out\.$"):
        drawing.draw_all({tmp_path / "file" / f"{i}": curve() for i in range(MANY)}, jobs=jobs)


def test_the_death_of_a_process_is_said_in_one_sentence(tmp_path):
    with pytest.raises(BadInput, match="draws figures died"):
        drawing.draw_all({tmp_path / f"{i}": Deadly("t", curve().spec) for i in range(MANY)}, jobs=2)


INTERRUPTED = """
import sys
from pathlib import Path
from leadline.presentation import drawing, figure

if __name__ == "__main__":
    some = figure.curves("t", x="x", y="y", lines={"y": ((0.0, 1.0), (1.0, 2.0))})
    try:
        drawing.draw_all({Path(sys.argv[1]) / f"{i}": some for i in range(400)}, jobs=2)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.slow
def test_ctrl_c_ends_the_drawing_without_a_traceback_or_half_a_file(tmp_path):
    script, out = tmp_path / "script.py", tmp_path / "out"
    script.write_text(INTERRUPTED)
    process = subprocess.Popen(
        [sys.executable, script, out],
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while len(list(Path(out).glob("*.svg"))) < 4 and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert len(list(out.glob("*.svg"))) < 400
    assert list(out.glob("*.part")) == []
