"""A progress bar with the loss, the speed and the time left."""

import time
from types import TracebackType
from typing import Any


class Bar:
    """Shows epochs done; silent unless `shown`."""

    def __init__(self, epochs: int, done: int, examples: int, *, shown: bool):
        self.epochs, self.done, self.examples, self.shown = epochs, done, examples, shown
        self.began, self.first = time.monotonic(), done
        self.bar: Any = None

    def __enter__(self) -> "Bar":
        if self.shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self.bar = Progress(
                TextColumn("epoch"),
                MofNCompleteColumn(),
                BarColumn(),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self.bar.start()
            self.task = self.bar.add_task("compiling", total=self.epochs, completed=self.done)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.stop()

    def within(self, share: float, loss: float) -> None:
        """A share of the present epoch has been seen."""
        self._show(self.done + min(share, 1.0), f"loss {loss:.4g}")

    def epoch(self, done: int, record: dict[str, float]) -> None:
        """So many epochs are done; the last one came out like this."""
        self.done = done
        text = f"loss {record['loss']:.4g}"
        if "validation_accuracy" in record:
            text += f", validation accuracy {record['validation_accuracy']:.4f}"
        elif "validation_loss" in record:
            text += f", validation loss {record['validation_loss']:.4g}"
        self._show(done, text)

    def _show(self, done: float, text: str) -> None:
        if self.bar is not None:
            speed = (done - self.first) * self.examples / max(time.monotonic() - self.began, 1e-9)
            self.bar.update(self.task, completed=done, description=f"{text}, {speed:,.0f} examples/s")
