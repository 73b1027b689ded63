"""What a gradient check found, as a table for people."""

from dataclasses import dataclass

_HEAD = ("parameter", "shape", "entries", "error", "complex step", "best h", "kinks", "verdict")


@dataclass(frozen=True)
class ParameterCheck:
    """One parameter's gradient, supplied against measured; errors are relative to its largest entry."""

    name: str
    shape: tuple[int, ...]
    entries: int  # how many were measured
    passed: bool
    error: float  # the largest over the entries of the least over the steps
    complex_error: float | None  # against the complex step, None where the function is not analytic
    best_step: float  # the h at which the largest error is least
    worst: tuple[int, ...]  # the entry with the largest error
    supplied: float  # its gradient as supplied
    measured: float  # and by central differences
    measured_step: float  # at this h
    kinks: int  # entries whose stencil crosses a kink at some step
    set_aside: int  # entries not judged: a kink at every step
    fault: str  # what is wrong, where it can be told
    curve: tuple[float, ...]  # the largest error at each step

    @property
    def place(self) -> str:
        """The worst entry as one would write it in Python: weight[2, 0]."""
        return self.name + (f"[{', '.join(map(str, self.worst))}]" if self.worst else "")

    @property
    def message(self) -> str:
        """One line that says where and by how much the gradient is wrong; empty if it is not."""
        if self.passed:
            return ""
        found = (
            f"{self.place}: supplied {self.supplied:.6g}, measured {self.measured:.6g} at h = {self.measured_step:g}, "
            f"relative error {self.error:.2g}"
        )
        return f"{found}; {self.fault}" if self.fault else found


@dataclass(frozen=True)
class GradientReport:
    """The outcome of a gradient check; print it for a table."""

    parameters: tuple[ParameterCheck, ...]
    steps: tuple[float, ...]
    tolerance: float

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.parameters)

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the parameters whose gradient is wrong."""
        return tuple(check.name for check in self.parameters if not check.passed)

    @property
    def failure(self) -> str:
        """One line for each wrong gradient: the parameter, its worst entry, both numbers; empty if all are right."""
        return "\n".join(check.message for check in self.parameters if not check.passed)

    @property
    def error(self) -> float:
        return max(check.error for check in self.parameters)

    def __getitem__(self, name: str) -> ParameterCheck:
        for check in self.parameters:
            if check.name == name:
                return check
        known = ", ".join(check.name for check in self.parameters)
        raise ValueError(f"The report has no parameter '{name}'; it has {known}.")

    def __str__(self) -> str:
        rows = [_HEAD, *(_row(check) for check in self.parameters)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_HEAD))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(1, "-" * max(map(len, lines)))
        if self.passed:
            lines.append(f"All gradients that differences can judge agree with them within {self.tolerance:g}.")
        else:
            wrong = len(self.failed)
            lines.append(f"{wrong} of {len(self.parameters)} gradients {'is' if wrong == 1 else 'are'} wrong:")
            lines.append(self.failure)
        return "\n".join(lines)


def _row(check: ParameterCheck) -> tuple[str, ...]:
    return (
        check.name,
        "x".join(map(str, check.shape)) or "number",
        str(check.entries),
        f"{check.error:.1e}",
        "-" if check.complex_error is None else f"{check.complex_error:.1e}",
        f"{check.best_step:.0e}",
        f"{check.kinks} ({check.set_aside} set aside)" if check.kinks else "0",
        "WRONG" if not check.passed else "not judged" if check.set_aside == check.entries else "ok",
    )
