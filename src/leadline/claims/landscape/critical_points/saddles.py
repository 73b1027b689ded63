"""Saddles delay, minima trap: escape times of gradient descent, and the share of students that never fit."""

import numpy as np

from leadline import data
from leadline.evidence import Int, OneOf, Real, claim, close, frequency, smaller
from leadline.landscape.critical_points.saddle_escape import degenerate_escape_steps, escape_times, strict_escape_steps
from leadline.presentation import figure

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


@claim(sources=("cam",))
def saddles_slow_minima_trap(
    key,
    curvature: Real(0.02, 2.0, log=True) = 0.5,
    dimension: Int(2, 20) = 5,
    order: OneOf(3, 4) = 3,
    step_size: Real(0.02, 0.05) = 0.05,
    teacher: OneOf(1, 2, 3) = 1,
    num_steps: Int(800, 4000) = 1000,
):
    r"""Saddles slow down, minima trap.

    From distance d₀ along the eigenvector of $\lambda_{\min}$, gradient descent is R away from a strict saddle after
    about $\ln(R/d_0)/\ln(1 + \eta|\lambda_{\min}|)$ steps, and from a degenerate one of order q after a number of
    order $d_0^{2-q}$. Minima do not let go: of students as narrow as their teacher a large share never fits, and this
    share falls with the width.

    $$t \approx \frac{\ln(R/d_0)}{\ln(1 + \eta |\lambda_{\min}|)}, \quad t_q \approx \frac{d_0^{2-q}}{(q-2)\, q\, c\,
    \eta}$$

    Assumes: one negative eigenvalue, η below $1/\lambda_{\max}$; a run counts as trapped if its loss is above 1% of
    the label variance after the last step.

    Check: Escape is timed on ½wᵀHw + ¼‖w‖⁴ with $\lambda_{\min}$ = −`curvature` from random directions, and on
    $\mathrm{Re}\, z^q$ with q = `order` (3 is the monkey saddle). At each width, 80 ReLU students are trained for
    `num_steps` steps on 64 points of a teacher of `teacher` units.
    """
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    spectrum = np.append(-curvature, rng.uniform(0.5, 10.0, dimension - 1))
    hessian = (basis * spectrum) @ basis.T
    distances, direction = np.geomspace(1e-12, 1e-4, 9), rng.normal(size=dimension)
    direction /= np.linalg.norm(direction)
    radius = 0.05 * np.sqrt(curvature)  # where the quartic term is still small

    def gradient(w):
        return w @ hessian + (w**2).sum(axis=1, keepdims=True) * w

    options = {"step_size": step_size, "max_steps": 10**6}
    times = escape_times(gradient, distances[:, None] * direction, radius=radius, **options)
    predicted = 1 / np.log1p(step_size * curvature)
    fitted = np.polyfit(np.log(1 / distances), times, 1)[0]
    yield close(fitted, predicted, "strict saddle: steps per unit of ln(1/d₀), against 1/ln(1 + η|λ_min|)", rtol=0.02)
    along = np.abs(direction @ basis[:, 0]) * distances
    expected = strict_escape_steps(along, radius, step_size, -curvature)
    yield close(times, expected, "strict saddle: steps to leave, d₀ measured along the eigenvector of λ_min", rtol=0.02)
    starts = np.geomspace(1e-3, 1e-2, 7) if order == 3 else np.geomspace(0.02, 0.1, 7)
    out = np.outer(starts, [np.cos(np.pi / order), np.sin(np.pi / order)])

    def flat_gradient(w):
        power = order * np.conj(w[:, 0] + 1j * w[:, 1]) ** (order - 1)
        return np.stack([power.real, power.imag], axis=1)

    slow = escape_times(flat_gradient, out, radius=10.0, **options)
    power = np.polyfit(np.log(starts), np.log(slow), 1)[0]
    degenerate = f"saddle of order {order}"
    yield close(power, 2.0 - order, f"{degenerate}: exponent of the escape time in d₀", atol=0.02 * (order - 2))
    flow = degenerate_escape_steps(starts, 10.0, step_size, order, 1.0)
    yield close(slow, flow, f"{degenerate}: steps to leave, against gradient flow", rtol=0.03)
    widths = [w for w in _WIDTHS if w >= teacher]
    widths = widths if teacher in widths else [teacher, *widths]
    trapped = [_student_losses(rng, width, teacher, 80, num_steps) > 0.01 for width in widths]
    shares = [t.mean() for t in trapped]
    what = f"trapped students: of width {widths[-1]}, against width {teacher}"
    yield smaller(trapped[-1], trapped[0], what).as_empirical()
    what = f"share of students trapped at width {widths[-1]}"
    yield frequency(trapped[-1].sum(), 80, 0.1, what, side="at most").as_empirical()
    lines, points = {"ln(R/d₀)/ln(1 + η|λ|)": (distances, expected)}, {"gradient descent": (distances, times)}
    strict = figure.curves("leaving a strict saddle", "distance d₀", "steps", lines=lines, points=points, log="x")
    lines, points = {"flow": (starts, flow)}, {"gradient descent": (starts, slow)}
    flat = figure.curves(f"leaving a {degenerate}", "distance d₀", "steps", lines=lines, points=points, log="xy")
    title, points = f"students of a teacher of width {teacher}, 80 seeds", {"trapped": (widths, shares)}
    students = figure.curves(title, "width of the student", "share trapped", points=points)
    title = (
        f"A strict saddle costs {fitted * np.log(10):.3g} steps per decade of d₀, one of order {order} a power "
        f"d₀^{power:.2f}; students trapped: {shares[0]:.0%} at width {widths[0]}, {shares[-1]:.0%} at {widths[-1]}"
    )
    yield figure.beside(title, strict, flat, students, columns=3)
