"""Saddles delay, minima trap: escape times of gradient descent, and the share of students that never fit."""

from typing import Annotated

import numpy as np

from leadline import data, landscape
from leadline.evidence import Choice, Range, claim, close, figure, frequency, smaller

_WIDTHS = (1, 2, 4, 8, 20)


def _student_losses(rng, width, teacher, seeds, steps):
    """Mean squared errors over the variance of the labels: ReLU students of a ReLU teacher, gradient descent at 0.1.

    64 Gaussian points in the plane; the teacher has unit weights; both layers of the student are trained.
    """
    x = rng.normal(size=(64, 2))
    truth = rng.normal(size=(seeds, teacher, 2))
    truth /= np.linalg.norm(truth, axis=-1, keepdims=True)
    y = np.maximum(truth @ x.T, 0.0).sum(axis=1)
    w, a = 0.7 * rng.normal(size=(seeds, width, 2)), rng.normal(size=(seeds, 1, width)) / np.sqrt(width)
    for _ in range(steps):
        z = w @ x.T  # (seeds, width, points)
        active = z > 0
        h = z * active
        error = (a @ h)[:, 0] - y
        change = (active * error[:, None]) @ x * np.swapaxes(a, 1, 2)
        a = a - 0.1 / 64 * error[:, None] @ np.swapaxes(h, 1, 2)
        w = w - 0.1 / 64 * change
    return (error**2).mean(axis=1) / y.var(axis=1)


@claim(
    "saddles-slow-minima-trap",
    says=(
        "Gradient descent from distance d₀ leaves a strict saddle after about ln(1/d₀)/ln(1 + η|λ_min|) steps, a "
        "degenerate one of order q after a time of order d₀^{2−q}. Minima do not let go: of students as narrow as "
        "their teacher a large share never fits; the share falls with the width."
    ),
    formula=r"t \approx \frac{\ln(R/d_0)}{\ln(1 + \eta |\lambda_{\min}|)}, \quad "
    r"t_q \approx \frac{d_0^{2-q}}{(q-2)\, q\, c\, \eta}",
    sources=("cam",),
    assumes=("one negative eigenvalue, η below 1/λ_max", "trapped: above 1% of the label variance after the last step"),
    shows=("landscape.escape_times", "landscape.strict_escape_steps", "landscape.degenerate_escape_steps"),
)
def saddles_slow_minima_trap(
    key,
    curvature: Annotated[float, Range(0.02, 2.0, log=True)] = 0.5,
    dimension: Annotated[int, Range(2, 20)] = 5,
    order: Annotated[int, Choice(3, 4)] = 3,
    step: Annotated[float, Range(0.02, 0.05)] = 0.05,
    teacher: Annotated[int, Choice(1, 2, 3)] = 1,
    steps: Annotated[int, Range(800, 4000)] = 1000,
):
    """½wᵀHw + ¼‖w‖⁴ with λ_min = −`curvature` from random directions; Re z^`order` (3: the monkey saddle); 80 ReLU
    students of each width on 64 points of a teacher of `teacher` units, `steps` steps."""
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    spectrum = np.append(-curvature, rng.uniform(0.5, 10.0, dimension - 1))
    hessian = (basis * spectrum) @ basis.T
    distances = np.geomspace(1e-12, 1e-4, 9)
    direction = rng.normal(size=dimension)
    direction /= np.linalg.norm(direction)
    radius = 0.05 * np.sqrt(curvature)  # where the quartic term is still small

    def gradient(w):
        return w @ hessian + (w**2).sum(axis=1, keepdims=True) * w

    times = landscape.escape_times(gradient, distances[:, None] * direction, step=step, radius=radius, most=10**6)
    predicted = 1 / np.log1p(step * curvature)
    fitted = np.polyfit(np.log(1 / distances), times, 1)[0]
    yield close(fitted, predicted, "strict saddle: steps per unit of ln(1/d₀), against 1/ln(1 + η|λ_min|)", rtol=0.02)
    along = np.abs(direction @ basis[:, 0]) * distances
    expected = landscape.strict_escape_steps(along, radius, step, -curvature)
    yield close(times, expected, "the steps themselves, from the part of the start along the eigenvector", rtol=0.02)

    starts = np.geomspace(1e-3, 1e-2, 7) if order == 3 else np.geomspace(0.02, 0.1, 7)
    out = np.stack([starts * np.cos(np.pi / order), starts * np.sin(np.pi / order)], axis=1)

    def flat_gradient(w):
        power = order * np.conj(w[:, 0] + 1j * w[:, 1]) ** (order - 1)
        return np.stack([power.real, power.imag], axis=1)

    slow = landscape.escape_times(flat_gradient, out, step=step, radius=10.0, most=10**6)
    power = np.polyfit(np.log(starts), np.log(slow), 1)[0]
    yield close(
        power, 2.0 - order, f"saddle of order {order}: exponent of the escape time in d₀", atol=0.02 * (order - 2)
    )
    flow = landscape.degenerate_escape_steps(starts, 10.0, step, order, 1.0)
    yield close(slow, flow, "the steps themselves, against the flow", rtol=0.03)

    widths = [w for w in _WIDTHS if w >= teacher]
    widths = widths if teacher in widths else [teacher, *widths]
    errors = [_student_losses(rng, width, teacher, 80, steps) for width in widths]
    trapped = [e > 0.01 for e in errors]
    shares = [float(t.mean()) for t in trapped]
    yield smaller(trapped[-1], trapped[0], f"trapped students: of width {widths[-1]}, against width {teacher}")
    yield frequency(int(trapped[-1].sum()), 80, 0.1, f"share trapped at width {widths[-1]}", side="at most")
    yield figure.beside(
        f"A strict saddle costs {fitted * np.log(10):.3g} steps per decade of d₀, one of order {order} a power "
        f"d₀^{power:.2f}; students trapped: {shares[0]:.0%} at width {widths[0]}, {shares[-1]:.0%} at {widths[-1]}",
        figure.curves(
            "leaving a strict saddle", x="distance d₀ of the start", y="steps",
            lines={"ln(R/d₀)/ln(1 + η|λ|)": (distances, expected)}, points={"gradient descent": (distances, times)},
            log="x",
        ),
        figure.curves(
            f"leaving a saddle of order {order}", x="distance d₀ of the start", y="steps",
            lines={"flow": (starts, flow)}, points={"gradient descent": (starts, slow)}, log="xy",
        ),
        figure.curves(
            f"students of a teacher of width {teacher}, 80 seeds", x="width of the student", y="share trapped",
            points={"trapped": (widths, shares)},
        ),
        columns=3,
    )  # fmt: skip
