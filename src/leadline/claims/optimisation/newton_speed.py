"""Newton's method near a minimiser, where digits double, and gradient descent as Newton with a round Hessian."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation import plain_problems
from leadline.claims.optimisation.line_search_zigzag import ellipse
from leadline.evidence import Range, at_least, at_most, claim, close, figure


@claim(
    "newton-quadratic-convergence",
    says=(
        "Near a minimiser with H ≥ mI and M-Lipschitz Hessian a Newton step squares the error: ‖w⁺ − w*‖ ≤ "
        "(M/2m)‖w − w*‖², so correct digits double. Only near: on log cosh full steps diverge from |w| > 1.0886."
    ),
    formula=r"\|w^+ - w^*\| \le \frac{M}{2m} \|w - w^*\|^2",
    sources=("penn",),
    assumes=("H ≥ mI near w*", "M-Lipschitz Hessian", "a start near enough"),
)
def newton_quadratic_convergence(
    key,
    penalty: Annotated[float, Range(0.01, 0.7, log=True)] = 0.1,
    dimension: Annotated[int, Range(1, 20)] = 4,
):
    """Softmax regression on the 1797 digits from 0; logistic regression, whose M is known; log cosh."""
    digits = optimisation.digits_softmax(penalty)
    norms = optimisation.descend(digits, optimisation.newton(), jnp.zeros(650), 7).gradient_norms
    above = norms[norms > 1e-13]
    order = float(np.log(above[-1] / above[-2]) / np.log(above[-2] / above[-3]))
    yield close(
        order, 2.0, "order of convergence on digits, from the last three gradient norms above rounding", atol=0.2
    )
    if penalty == 0.1:
        known = [4.4e-1, 9.1e-2, 4.1e-3, 1.6e-5, 2.8e-10]
        yield close(norms[:5], known, "‖g‖ along the run at a = 0.1", rtol=0.025)
        yield at_most(norms[5], 3e-16, "‖g‖ after five steps")

    rng = data.generator(key)
    y = rng.choice([-1.0, 1.0], 60)
    x = rng.normal(size=(60, dimension)) + 0.5 * y[:, None]
    loss = plain_problems.logistic(x, y, penalty)
    bend = float(np.mean(np.linalg.norm(x, axis=1) ** 3)) / (6 * np.sqrt(3))  # |σ″| ≤ 1/(6√3)
    w, path = np.zeros(dimension), [np.zeros(dimension)]
    for _ in range(8):
        s = np.exp(-np.logaddexp(0.0, -x @ w))
        w = w - np.linalg.solve((x.T * (s * (1 - s))) @ x / 60 + penalty * np.eye(dimension), loss.gradient(w))
        path.append(w)
    away, gap = np.linalg.norm(np.array(path) - loss.minimiser, axis=1), loss.gap(np.array(path))
    yield at_most(away[1:], bend / (2 * penalty) * away[:-1] ** 2, "‖w⁺ − w*‖ on logistic regression", atol=1e-12)
    squares = loss.smoothness * bend**2 / (2 * penalty**4) * gap[:-1] ** 2
    yield at_most(gap[1:], squares, "gap after a step, against C gap², C = LM²/(2m⁴)", atol=1e-14)

    edge = 1.0886591  # sinh 2w = 4w: the step overshoots to −w
    yield close(
        np.sinh(2 * edge) - 4 * edge, 0.0, "log cosh: the step from ±1.08866 goes to its mirror image", atol=1e-5
    )
    inside, outside = (_log_cosh_newton(edge + shift) for shift in (-0.01, 0.01))
    yield at_most(abs(inside), 1e-9, "log cosh from 1.0787: |w| in the end")
    yield at_least(abs(outside), 10.0, "log cosh from 1.0987: |w| once it runs away", strict=True)
    shown = np.maximum(norms, 1e-17)
    t = np.arange(len(shown))
    last = len(above) - 1
    doubling = -np.log10(shown[last]) / 2.0 ** (last - t[: last + 1])
    yield figure.curves(
        f"Digits softmax regression, a = {penalty:.3g}: correct digits double per step (measured order {order:.2f})",
        x="Newton step",
        y="−log₁₀ ‖g‖",
        lines={"doubling": (t[: last + 1], doubling)},
        points={"measured": (t, -np.log10(shown))},
    )


def _log_cosh_newton(w: float) -> float:
    for _ in range(60):
        w -= np.sinh(2 * w) / 2
        if abs(w) > 10:
            break
    return w


@claim(
    "gd-as-isotropic-newton",
    says=(
        "Gradient descent with step η is Newton's method with (1/η)I for the Hessian: it minimises a model whose "
        "contours are circles, and is Newton's method itself exactly when H = (1/η)I."
    ),
    formula=r"w - \eta g = \operatorname{argmin}_v \; l(w) + \langle g, v - w \rangle + \tfrac{1}{2 \eta} \|v - w\|^2",
    sources=("sheet",),
)
def gd_as_isotropic_newton(
    key,
    step: Annotated[float, Range(0.001, 10.0, log=True)] = 0.1,
    dimension: Annotated[int, Range(2, 30)] = 4,
    condition: Annotated[float, Range(1.5, 100.0, log=True)] = 8.0,
    steps: Annotated[int, Range(1, 20)] = 10,
):
    """Iterates of both on a logistic regression; then quadratics with H = (1/η)I and with this κ."""
    rng = data.generator(key)
    loss = plain_problems.drawn_logistic(rng, 50, dimension, condition)
    eta = step / loss.smoothness
    start = rng.normal(size=dimension)
    path, isotropic = loss.descent(start, eta, steps), jnp.eye(dimension) / eta
    w, points = start, [start]
    for _ in range(steps):
        w = w + np.asarray(optimisation.modified_newton_step(isotropic, jnp.asarray(loss.gradient(w))))
        points.append(w)
    yield close(
        np.array(points),
        path,
        "iterates of Newton with (1/η)I, against gradient descent",
        atol=1e-12 * (1 + np.abs(path).max()),
    )
    v = path[1] + 0.3 * np.linalg.norm(path[1] - start) * rng.normal(size=(100, dimension))
    g = loss.gradient(start)
    model = (v - start) @ g + np.sum((v - start) ** 2, 1) / (2 * eta)
    yield at_least(model, -eta * (g @ g) / 2, "circular model at 100 points, against its value at the step", rtol=1e-12)
    bowl = plain_problems.quadratic(np.eye(dimension) / eta)
    yield at_most(
        np.linalg.norm(bowl.descent(start, eta, 1)[1]), 1e-12 * np.linalg.norm(start), "H = (1/η)I: one step solves it"
    )
    bent = plain_problems.drawn_quadratic(rng, dimension, condition)
    hessian = np.stack([bent.gradient(e) for e in np.eye(dimension)])
    newton = np.asarray(optimisation.modified_newton_step(jnp.asarray(hessian), jnp.asarray(bent.gradient(start))))
    apart = np.linalg.norm(newton + bent.gradient(start) / condition) / np.linalg.norm(newton)
    yield at_least(apart, 1e-6, "another H, step 1/L: relative distance of the two steps", strict=True)

    curvature, point = np.array([[1.0, 0.0], [0.0, condition]]), np.array([1.5, 0.9])
    slope_here, radius = curvature @ point, 1 / condition
    lower = point - radius * slope_here
    yield figure.plane(
        f"Descent (step 1/L) minimises a circular model, Newton the true one (κ = {condition:.3g})",
        x="w₁",
        y="w₂",
        points={"w": point[None], "after gradient descent": lower[None], "after Newton": np.zeros((1, 2))},
        lines={
            "contour of the circular model": ellipse(np.eye(2) / radius, radius * slope_here @ slope_here / 2, lower),
            "contour of the true model": ellipse(curvature, point @ curvature @ point / 2),
        },
        domain=((-2.2, 3.2), (-2.7, 2.7)),
    )
