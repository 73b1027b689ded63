"""One step of SGD lowers the loss in expectation: the descent lemma, alone and with bounds on the noise."""

from itertools import product
from typing import Annotated

import numpy as np

from leadline import data, stochastic
from leadline.claims.stochastic.noisy_regression import regression_moments
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed


class _LeastSquares:
    """Values at many w, single gradients at one w, and a bound on the curvature along moves u (rows) from w."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def value(self, w):
        return np.mean((w @ self.x.T - self.y) ** 2, axis=-1) / 2

    def gradients(self, w):
        return self.x * (self.x @ w - self.y)[:, None]

    def smoothness(self, w, moves):
        return np.linalg.eigvalsh(self.x.T @ self.x / len(self.x))[-1]


class _Logistic(_LeastSquares):
    def value(self, w):
        return np.mean(np.logaddexp(0, -self.y * (w @ self.x.T)), axis=-1)

    def gradients(self, w):
        return -(self.y / (1 + np.exp(self.y * (self.x @ w))))[:, None] * self.x

    def smoothness(self, w, moves):
        return super().smoothness(w, moves) / 4


class _Network(_LeastSquares):
    """½(a·tanh(Bx) − y)² with two inputs and three hidden units; w = (a, B)."""

    def _output(self, w):
        hidden = np.tanh(w[..., 3:].reshape(*w.shape[:-1], 3, 2) @ self.x.T)  # (..., hidden, n)
        return np.einsum("...h,...hn->...n", w[..., :3], hidden), hidden

    def value(self, w):
        return np.mean((self._output(w)[0] - self.y) ** 2, axis=-1) / 2

    def gradients(self, w):
        out, hidden = self._output(w)
        inner = (1 - hidden**2) * w[:3, None]
        slopes = np.concatenate([hidden, (inner[:, None] * self.x.T).reshape(6, -1)])
        return ((out - self.y) * slopes).T

    def smoothness(self, w, moves):
        """The largest curvature of the loss along any of the segments, on 200 points of each."""
        u = moves[:, None]
        points = w + np.linspace(0, 1, 200)[:, None] * u  # (moves, points, p)
        out, hidden = self._output(points)
        speed = u[..., 3:].reshape(*u.shape[:-1], 3, 2) @ self.x.T
        slope = 1 - hidden**2
        first = np.einsum("...h,...hn->...n", u[..., :3], hidden) + np.einsum(
            "...h,...hn->...n", points[..., :3], slope * speed
        )
        second = 2 * np.einsum("...h,...hn->...n", u[..., :3], slope * speed) - 2 * np.einsum(
            "...h,...hn->...n", points[..., :3], hidden * slope * speed**2
        )
        along = np.mean(first**2 + (out - self.y) * second, axis=-1) / np.sum(u**2, axis=-1)
        return max(float(along.max()), 0.0)


@claim(
    "sgd-descent-lemma",
    says=(
        "For a smooth loss the expected change in one step of SGD is at most −η⟨g, E ĝ⟩ + (Lη²/2) E‖ĝ‖²; for an "
        "isotropic quadratic it is equal."
    ),
    formula=r"E[l(w^+) \mid w] - l(w) \le -\eta \langle g, E \hat g \rangle + \tfrac{L \eta^2}{2} E \|\hat g\|^2",
    sources=("penn",),
    assumes=("l is L-smooth on the segments that the step can take",),
)
def sgd_descent_lemma(
    key,
    step: Annotated[float, Range(0.01, 3.0, log=True)] = 0.3,
    batch: Annotated[int, Range(1, 3)] = 2,
    scale: Annotated[float, Range(0.1, 3.0)] = 1.0,
):
    """All batches of 6 examples are enumerated at a random point; for the network L is measured along every step."""
    rng = data.generator(key)
    x, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    w = scale * rng.normal(size=9)
    cases = {
        "least squares": (_LeastSquares(x, y), w[:2]),
        "logistic": (_Logistic(x, np.sign(y)), w[:2]),
        "network": (_Network(x, y), w),
    }
    batches = np.array(list(product(range(6), repeat=batch)))
    etas = step * np.geomspace(0.1, 1.0, 8)
    slacks = {}
    for name, (loss, start) in cases.items():
        rows = loss.gradients(start)
        picked = rows[batches].mean(axis=1)
        sides = []
        for eta in etas:
            change = np.mean(loss.value(start - eta * picked)) - loss.value(start[None])[0]
            smoothness = loss.smoothness(start, -eta * picked)
            bound = -eta * rows.mean(axis=0) @ picked.mean(axis=0)
            bound += smoothness * eta**2 / 2 * np.mean(np.sum(picked**2, axis=1))
            sides.append((change, bound))
        change, bound = np.array(sides).T
        yield at_most(change, bound, f"expected change of the loss, {name}", atol=1e-12 * (1 + np.abs(change).max()))
        slacks[name] = (etas, bound - change)

    centres, curvature = rng.normal(size=(6, 3)), 1.7
    point = w[:3]
    rows = curvature * (point - centres)
    picked = rows[batches].mean(axis=1)
    after = np.mean(np.sum((point - step * picked - centres[:, None]) ** 2, axis=2)) * curvature / 2
    before = np.mean(np.sum((point - centres) ** 2, axis=1)) * curvature / 2
    bound = -step * rows.mean(axis=0) @ picked.mean(axis=0)
    bound += curvature * step**2 / 2 * np.mean(np.sum(picked**2, axis=1))
    yield close(after - before, bound, "isotropic quadratic: equality", atol=1e-12 * (before + after))
    least = min(float(s.min()) for _, s in slacks.values())
    yield figure.curves(
        f"The bound on the expected change of one step holds on all three losses (least slack {least:.2g})",
        x="step η",
        y="bound − expected change",
        points=slacks,
        log="xy",
    )


@claim(
    "sgd-descent-lemma-with-assumptions",
    says=(
        "With E‖gᵢ‖² ≤ σ₀ + σ‖g‖², the expected change in one step of SGD is at most −η(1 − ηLσ/2)‖g‖² + η²Lσ₀/2, so "
        "progress is guaranteed where ‖g‖² > ηLσ₀/(2 − ηLσ); the true region of progress is larger."
    ),
    formula=r"E[l(w^+) \mid w] - l(w) \le -\eta \left(1 - \tfrac{\eta L \sigma}{2}\right) \|g\|^2"
    r" + \tfrac{\eta^2 L \sigma_0}{2}",
    sources=("penn",),
    assumes=("E ĝ = g", "E‖gᵢ‖² ≤ σ₀ + σ‖g‖²"),
)
def sgd_descent_lemma_with_assumptions(
    key,
    samples: Annotated[int, Range(10, 100)] = 20,
    noise: Annotated[float, Range(0.05, 2.0)] = 0.5,
    slack: Annotated[float, Range(1.02, 10.0, log=True)] = 1.2,
    step: Annotated[float, Range(0.02, 0.95)] = 0.5,
):
    """Least squares in the plane with exact (σ₀, σ), σ = `slack` · σ_min; η = `step` · 2/(Lσ)."""
    rng = data.generator(key)
    problem = regression_moments(rng, samples, 2, noise)
    form = stochastic.second_moment_form(problem.x, problem.y)
    sigma = slack * form.least_slope
    sigma0 = form.offset(sigma)
    smoothness = float(np.linalg.eigvalsh(problem.hessian)[-1])
    eta = step * 2 / (smoothness * sigma)

    def true_change(v):
        rows = (v @ problem.x.T - problem.residuals)[..., None] * problem.x  # (..., n, 2)
        squares = np.einsum("...ni,ij,...nj->...n", rows, problem.hessian, rows)
        return -eta * form.gradient_square(v) + eta**2 / 2 * squares.mean(axis=-1)

    def bound(v):
        return stochastic.expected_decrease_bound(
            form.gradient_square(v), eta, smoothness=smoothness, sigma0=sigma0, sigma=sigma
        )

    edge = np.sqrt(eta * smoothness * sigma0 / (2 - eta * smoothness * sigma))  # ‖g‖ at which progress is guaranteed
    reach = 1.6 * edge / np.linalg.eigvalsh(problem.hessian)[0]
    points = rng.uniform(-reach, reach, size=(2000, 2))
    change, limit = true_change(points), bound(points)
    yield at_most(change, limit, "expected change of the loss at 2000 points", atol=1e-12 * np.abs(limit).max())
    axis = np.linspace(-reach, reach, 61)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    guaranteed, falls = form.gradient_square(grid) > edge**2, true_change(grid) < 0
    yield exactly(int(np.sum(guaranteed & ~falls)), 0, "points with guaranteed progress but without true progress")
    yield close(
        form.gradient_square(points[limit < 0]).min(initial=np.inf) >= edge**2, True, "the bound is negative only there"
    )
    yield at_least(
        np.mean(falls), np.mean(guaranteed), "share of the plane with true progress, over the guaranteed share"
    )
    yield printed(
        close(change, limit, "the last line as an equality", rtol=1e-6), "penn", "E[l(w⁺)|w] − l(w) = …, an equality"
    )
    shares = np.mean(~guaranteed), np.mean(~falls)
    yield figure.plane(
        f"Guaranteed progress (blue) leaves out {shares[0]:.1%} of the square, true progress (blue and white) only "
        f"{shares[1]:.1%}",
        x="v₁ = w₁ − w₁*",
        y="v₂",
        regions=(axis, axis, np.where(guaranteed, 1.0, np.where(falls, 0.0, -1.0))),
        points={"w*": np.zeros((1, 2))},
        domain=((-reach, reach), (-reach, reach)),
    )
