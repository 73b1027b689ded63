"""A comparison of regularisers as numbers for JSON and as a picture."""

from typing import Any

import numpy as np

from leadline.evidence import Figure
from leadline.presentation import figure
from leadline.regularisation.arms.regulariser_comparison import ArmResult, RegulariserComparison

REFERENCE = "reference run"
_FEW = 6  # arms whose two panels stand side by side


def comparison_record(found: RegulariserComparison) -> dict[str, Any]:
    """Sizes, every arm with its numbers seed by seed, and what was left out, as `result.json` has them."""
    train, validation, test = found.sizes
    return {
        "rows": {"train": train, "validation": validation, "test": test},
        "classes": list(found.classes),
        "seeds": len(found.results[0].test_error),
        "best": found.best.arm.name,
        "arms": [_arm(result) for result in found.results],
        "left_out": [{"arm": name, "why": why} for name, why in found.left_out.items()],
    }


def verdict(against: dict[str, Any] | None) -> str:
    """What the corrected p-value says of an arm: better, worse or undecided; nothing of `none` itself."""
    if against is None:
        return ""
    if against["adjusted"] > 0.05:
        return "undecided"
    return "better" if against["mean"] < 0 else "worse"


def _arm(result: ArmResult) -> dict[str, Any]:
    against = None
    if result.against is not None:
        difference = result.against.difference
        against = {"mean": difference.mean, "low": difference.low, "high": difference.high}
        against |= {"p": difference.p_value, "adjusted": result.against.adjusted}
    numbers = {
        "test_error": result.test_error,
        "train_error": result.train_error,
        "gap": result.gap,
        "calibration_error": result.calibration_error,
        "log_loss": result.log_loss,
    }
    return {
        "name": result.arm.name,
        "changes": result.arm.changes(),
        **{name: {"mean": float(values.mean()), "seeds": values.tolist()} for name, values in numbers.items()},
        "against": against,
        "verdict": verdict(against),
    }


def comparison_figure(found: RegulariserComparison, stated: dict[str, float] | None = None) -> Figure:
    """Test errors with their spread over seeds, and the paired differences to none with their intervals.

    `stated` are errors that were expected, drawn as lines.
    """
    better = [result for result in found.results if result.better]
    count = len(found.results) - 1
    named = "No arm is" if not better else f"{len(better)} of {count} arms are" if count > 1 else "The arm is"
    title = f"{named} better than none after Holm's correction; the least error: {found.best.arm.name}"
    errors = {result.arm.name: spread(result.test_error) for result in found.results}
    differences = {
        result.arm.name: (d.mean, d.low, d.high)
        for result in found.results
        if result.against is not None
        for d in [result.against.difference]
    }
    return figure.beside(
        title,
        figure.categories(
            f"Test error, mean and standard error of {len(found.results[0].test_error)} seeds",
            "",
            "test error",
            lines={} if stated is None else {REFERENCE: in_order(found, stated)},
            points={"measured": errors},
        ),
        figure.categories(
            "Test error less that of none, paired 95% intervals",
            "",
            "difference in test error",
            points={"measured": differences},
            rules={"none": ("y", 0.0)},
        ),
        columns=2 if count < _FEW else 1,
    )


def in_order(found: RegulariserComparison, stated: dict[str, float]) -> dict[str, float]:
    """What is stated of each arm, in the order of the arms; NaN, which is not drawn, where nothing is."""
    return {result.arm.name: stated.get(result.arm.name, np.nan) for result in found.results}


def spread(values: np.ndarray) -> tuple[float, float, float]:
    """The mean over seeds, and one standard error below and above it."""
    middle, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    return middle, middle - error, middle + error
