"""Figures drawn into files: only those that are not there yet, in several processes where they are many."""

import multiprocessing
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from leadline._files import write_whole
from leadline.evidence import worker
from leadline.evidence.execution import versions
from leadline.evidence.figure import Figure
from leadline.evidence.parameters import BadInput

_FIGURES_A_PROCESS = 8  # what one process draws in twice the time that another takes to start


def draw_all(figures: Mapping[Path, Figure], *, jobs: int = 1, advance: Callable[[], None] = lambda: None) -> None:
    """Draw each figure as SVG and PNG beside each other, under its path with these endings.

    What is there already is not drawn again. Other processes draw, up to `jobs`, where there is enough for two:
    vl-convert draws one figure at a time in a process. `advance` is called for each figure.
    """
    marks = {path: _mark(figure) for path, figure in figures.items()}
    left = [path for path in figures if not _is_drawn(path, marks[path])]
    for _ in range(len(figures) - len(left)):
        advance()
    processes = min(jobs, len(left) // _FIGURES_A_PROCESS)
    if processes > 1:
        _draw_elsewhere([(path, figures[path], marks[path]) for path in left], processes, advance)
        return
    for path in left:
        draw(path, figures[path], marks[path])
        advance()


def draw(path: Path, figure: Figure, mark: bytes) -> None:
    """Write both files whole or not at all; the mark at the end of the SVG, the later one, stands for both."""
    svg, png = _files(path)
    for file, content in ((png, figure.png()), (svg, figure.svg().encode() + mark)):
        write(file, content)


def write(file: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    try:
        write_whole(file, content)
    except OSError as error:
        raise BadInput(f"Cannot write {file} ({error.strerror}); make room or choose another --out.") from None


def _draw_elsewhere(left: list[tuple[Path, Figure, bytes]], processes: int, advance: Callable[[], None]) -> None:
    """Draw in other processes; after an error or Ctrl-C they finish the few figures that were handed to them."""
    spawning = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, spawning, initializer=worker.follow_parent)
    try:
        for drawn in as_completed([pool.submit(draw, *one) for one in left]):
            drawn.result()
            advance()
    except BrokenProcessPool:
        raise BadInput("A process that draws figures died, perhaps for lack of memory; use fewer --jobs.") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _files(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}.svg"), path.with_name(f"{path.name}.png")


def _mark(figure: Figure) -> bytes:
    """A comment that tells the figure, and what drew it, from any other."""
    return f"<!-- {figure.digest(versions(__name__))} -->\n".encode()


def _is_drawn(path: Path, mark: bytes) -> bool:
    """Whether the SVG has this mark, and no later PNG lies beside it, as an interrupted drawing leaves it."""
    svg, png = _files(path)
    try:
        return svg.read_bytes().endswith(mark) and png.stat().st_mtime_ns <= svg.stat().st_mtime_ns
    except OSError:
        return False
