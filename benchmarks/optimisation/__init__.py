"""Long chains, sweeps and flows of optimisation, against the same loops in NumPy and PyTorch and against torchdiffeq.

Every side does the same arithmetic in double precision on the same indices. PyTorch has its gradients by autograd, as
its users do (SAGA in closed form); NumPy has them in closed form.
"""

import numpy as np

from ..harness.case import LEADLINE, Case, Inputs, Side, Work

ETA, RIDGE, RATE, SAGA_RATE = 0.1, 0.01, 0.17, 0.0276
FLOW_TIME, FLOW_RTOL, FLOW_ATOL = 20.0, 1e-6, 1e-9
ROWS, FEATURES, CLASSES = 1797, 65, 10


def chain(points: int, steps: int) -> Inputs:
    """Six points with one feature, and which of them each step takes."""
    return {
        "x": np.array([0.6, 0.8, 1.0, 1.2, 0.5, 1.1]),
        "y": np.array([1.0, -0.3, 0.4, 0.9, -0.6, 0.2]),
        "rows": np.random.default_rng(0).integers(points, size=steps).astype(np.int32),
    }


def bowl() -> Inputs:
    """A quadratic in 50 dimensions with condition number 1000, and 200 step sizes in its stable range."""
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 50)))[0]
    return {"matrix": basis * np.geomspace(1e-3, 1.0, 50) @ basis.T, "sizes": np.linspace(0.01, 1.99, 200)}


def digits(steps: int = 1) -> Inputs:
    """The digits with a constant feature, their labels, and which of them each step takes."""
    from sklearn.datasets import load_digits

    bundle = load_digits()
    x = np.concatenate([bundle.data / 16, np.ones((ROWS, 1))], axis=1)
    rows = np.random.default_rng(0).integers(ROWS, size=steps).astype(np.int32)
    return {"x": x, "y": bundle.target, "rows": rows}


def sides(make: str) -> tuple[Side, ...]:
    return (
        Side(LEADLINE, "benchmarks.optimisation.leadline_loops", make),
        Side("NumPy", "benchmarks.optimisation.numpy_loops", make),
        Side("PyTorch", "benchmarks.optimisation.torch_loops", make, "torch"),
    )


PATH, SWEEP, DESCENT, SAGA = 50_000, 1000, 200, 2 * ROWS

CASES = [
    Case("SGD step on six points", sides("path"), lambda: chain(6, PATH), tolerance=1e-6, asked=1.0, count=PATH),
    Case(
        "200 step sizes at once, quadratic of 50 dimensions",
        sides("sweep"),
        bowl,
        {"steps": SWEEP},
        tolerance=1e-6,
        asked=1.0,
        count=SWEEP,
        work=Work(2.0 * 200 * 50 * 50 * SWEEP, precision="float64"),
        reason="on one core the product of 200 x 50 with 50 x 50 takes 43 of 68 µs (23 GFlop/s in double precision; it "
        "is too small to be split), the values of the objective 14, transposing for both 13.",
    ),
    Case(
        "gradient step, softmax regression on digits",
        sides("descent"),
        digits,
        {"steps": DESCENT},
        tolerance=1e-6,
        asked=1.0,
        count=DESCENT,
        work=Work(4.0 * ROWS * FEATURES * CLASSES * DESCENT, precision="float64"),
        reason="products with a side of 10: on one core Xᵀ P takes 0.17 ms (14 GFlop/s) and X W 0.09 of 0.39 ms; "
        "exponentials take 0.05.",
    ),
    Case(
        "SAGA step, softmax regression on digits",
        sides("saga"),
        lambda: digits(SAGA),
        tolerance=1e-6,
        asked=1.0,
        count=SAGA,
    ),
    Case(
        "gradient flow of softmax regression on digits",
        (
            Side(LEADLINE, "benchmarks.optimisation.leadline_loops", "flow"),
            Side("torchdiffeq", "benchmarks.optimisation.torchdiffeq_flow", "flow", "torch"),
        ),
        digits,
        tolerance=1e-4,
    ),
]
