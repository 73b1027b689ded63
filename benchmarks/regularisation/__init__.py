"""Ridge regression with a thousand penalties: leave-one-out errors of all of them, against scikit-learn's RidgeCV."""

import numpy as np

from ..harness.case import LEADLINE, Case, Inputs, Side, Work

PENALTIES, ROWS, COLUMNS = 1000, 2000, 200


def ridge_path() -> Inputs:
    """Rows of correlated columns, a noisy linear target, and penalties over eight decades."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, COLUMNS)) * np.geomspace(1.0, 0.01, COLUMNS) + 1.0
    y = x @ rng.normal(size=COLUMNS) + rng.normal(size=ROWS)
    return {"x": x, "y": y, "alphas": np.geomspace(1e-4, 1e4, PENALTIES)}


CASES = [
    Case(
        "leave-one-out errors of 1,000 ridge penalties, 2,000 rows, 200 columns",
        (
            Side(LEADLINE, "benchmarks.regularisation.leadline_ridge", "leave_one_out"),
            Side("scikit-learn (RidgeCV)", "benchmarks.regularisation.sklearn_ridge", "leave_one_out"),
        ),
        ridge_path,
        tolerance=1e-8,
        asked=3.0,
        count=PENALTIES,
        # Residuals and leverages of every penalty and row: two products of (penalties, columns) with (columns, rows).
        work=Work(4.0 * PENALTIES * COLUMNS * ROWS, precision="float64"),
        reason="the singular value decomposition, once for all penalties, takes as long as the products; the quotient, "
        "its square and mean pass four times over 16 MB.",
    )
]
