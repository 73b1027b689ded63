"""Logistic regression: the model and its fits, its gradient, and the forms of its loss."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning
from leadline.claims.neurons.plane_shapes import boundary
from leadline.evidence import (
    Range,
    at_least,
    at_most,
    claim,
    close,
    distributed_as,
    exactly,
    figure,
    model,
    printed,
)


@model(
    "logistic-regression",
    says=(
        "The log-odds of the classes are affine in x. Newton's method and gradient descent find the same fit, which "
        "misses the "
        "truth by the standard errors of the Fisher matrix. Separable data have no finite fit, which is reported."
    ),
    formula=(
        r"\log \frac{p(1|x)}{p(0|x)} = w \cdot x + b, \qquad p(1|x) = \sigma(w \cdot x + b), \qquad H = X^T "
        r"\mathrm{diag}(p(1-p)) X \succeq 0"
    ),
    sources=("eth", "penn", "cam"),
    assumes=("labels are 0 or 1", "for a finite fit: no plane separates the classes, be it with points on it"),
    shows=(
        "learning.fit_logistic", "learning.LogisticFit", "learning.descend_logistic", "learning.finite_fit_exists",
    ),
)  # fmt: skip
def logistic_regression(
    key,
    samples: Annotated[int, Range(2000, 8000)] = 5000,
    dim: Annotated[int, Range(2, 6)] = 3,
    strength: Annotated[float, Range(0.3, 1.5)] = 1.0,
    repeats: Annotated[int, Range(20, 60)] = 40,
):
    """Gaussian inputs and labels drawn from the model; w is random of length `strength`·√dim, b = 0.3."""
    from scipy.stats import chi2

    rng = data.generator(key)
    direction = rng.normal(size=dim)
    truth = np.append(strength * dim**0.5 * direction / np.linalg.norm(direction), 0.3)

    def sample():
        x = rng.normal(size=(samples, dim))
        return x, (rng.random(samples) < _sigmoid(x @ truth[:-1] + truth[-1])).astype(int)

    distances = []
    for _ in range(repeats):
        x, y = sample()
        fit = learning.fit_logistic(x, y)
        miss = np.append(fit.weights, fit.bias) - truth
        distances.append(miss @ np.linalg.solve(fit.covariance, miss))
    yield distributed_as(
        distances, chi2(dim + 1), f"(ŵ − w)ᵀ F (ŵ − w) of {repeats} fits, chi-square with {dim + 1} degrees"
    )
    errors = np.abs(miss) / np.sqrt(np.diag(fit.covariance))
    off = at_most(errors, 4.0, f"parameters' distance from the truth in standard errors, n = {samples}")
    yield replace(off, chance=6.4e-5 * (dim + 1))

    descended = learning.descend_logistic(x, y, steps=1500)
    yield close(
        np.append(descended.weights, descended.bias), np.append(fit.weights, fit.bias),
        "gradient descent against Newton's method", atol=1e-6,
    )  # fmt: skip
    rows = np.column_stack([x, np.ones(samples)])
    yield close(
        rows.T @ (fit.probability(x) - y) / samples, 0.0, "score equations Xᵀ(p − y) = 0 at the fit", atol=1e-10
    )
    few = rows[:200]
    loss = lambda w, r, s: learning.logistic(s * (r @ w)).sum()  # noqa: E731
    hessian = jax.hessian(loss)(jnp.asarray(truth), few, 2 * y[:200] - 1)
    p = _sigmoid(few @ truth)
    yield close(
        hessian, (few * (p * (1 - p))[:, None]).T @ few, "Hessian by autodiff against Xᵀ diag(p(1−p)) X", atol=1e-9
    )
    yield at_least(np.linalg.eigvalsh(hessian), 0.0, "its eigenvalues", atol=1e-9)

    x, y = x[:500], y[:500]
    apart = (x[:, 0] > 0).astype(int)
    yield exactly(learning.finite_fit_exists(x, apart), False, "a finite fit exists on separable labels")
    yield exactly(_refuses(lambda: learning.fit_logistic(x, apart)), "ValueError", "answer on separable labels")
    yield exactly(learning.finite_fit_exists(x, y), True, "a finite fit exists on the drawn labels")
    tamed = [np.linalg.norm(learning.fit_logistic(x, apart, ridge=r).weights) for r in (1e-1, 1e-2, 1e-3)]
    yield at_least(np.diff(tamed), 0.0, "growth of ‖w‖ on separable labels as a ridge term falls to 10⁻³", strict=True)
    far = np.array([10.0, 100.0, 1000.0])
    wrong = -np.asarray(learning.logistic(-far))  # log(1 - p) for an example of class 0 that scores `far`
    yield printed(
        at_least(wrong, 0.0, "cross-entropy of a class-0 example with score 10, 100, 1000"),
        "eth", "minus sign on the first term only: −y log p + (1 − y) log(1 − p)",
    )  # fmt: skip

    points = rng.normal(size=(400, 2))
    labels = (rng.random(400) < _sigmoid(2 * points[:, 0] + 2 * points[:, 1])).astype(int)
    flat = learning.fit_logistic(points, labels)
    axis = np.linspace(-3.2, 3.2, 45)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    x, y = sample()
    table = learning.reliability(fit.probability(x), y, 10)
    half = 1.96 * np.sqrt(table.confidence * (1 - table.confidence) / table.count)
    yield figure.beside(
        f"Logistic regression from {samples} examples is within {errors.max():.2g} standard errors of the truth, and "
        "calibrated",
        figure.plane(
            "probability of class 1 and the boundary p = 1/2 (400 points)", x="x₁", y="x₂",
            points={"class 1": points[labels == 1], "class 0": points[labels == 0]},
            sizes={"class 1": 22.0, "class 0": 22.0},
            lines={"p = 1/2": boundary(flat.weights, flat.bias, reach=6.0)},
            regions=(axis, axis, flat.probability(grid).reshape(45, 45)), domain=((-3.2, 3.2), (-3.2, 3.2)),
        ),
        figure.curves(
            f"reliability on {samples} fresh examples", x="predicted probability", y="share of class 1",
            lines={"calibrated": (np.array([0.0, 1.0]), np.array([0.0, 1.0]))},
            points={"ten bins": (table.confidence, table.accuracy, table.accuracy - half, table.accuracy + half)},
        ),
    )  # fmt: skip


@claim(
    "logistic-gradient",
    says=(
        "The gradient of one example's logistic loss is (σ(w·x) − y) x for y in {0, 1}, or equivalently −y′ σ(−y′ "
        "w·x) x for "
        "y′ = 2y − 1."
    ),
    formula=r"\nabla_w \ell = (\sigma(w \cdot x) - y)\, x = -y'\, \sigma(-y' w \cdot x)\, x",
    sources=("eth",),
)
def logistic_gradient(
    key,
    samples: Annotated[int, Range(10, 300)] = 100,
    dim: Annotated[int, Range(1, 30)] = 8,
    size: Annotated[float, Range(0.1, 5.0, log=True)] = 1.0,
):
    """Gaussian inputs and weights, the weights of standard deviation `size`."""
    rng = data.generator(key)
    x, w = rng.normal(size=(samples, dim)), size * rng.normal(size=dim)
    y = rng.integers(0, 2, samples)
    sign = 2 * y - 1
    formula = (_sigmoid(x @ w) - y)[:, None] * x
    signed = -(sign * _sigmoid(-sign * (x @ w)))[:, None] * x
    yield close(signed, formula, "signed form against the other", atol=1e-12)
    autodiff = jax.jacobian(lambda w: learning.logistic(sign * (x @ w)))(jnp.asarray(w))
    yield close(autodiff, formula, "autodiff against the formula", atol=1e-12)
    h = 1e-5

    def losses(v):
        return np.logaddexp(0, -sign * (x @ v))

    numeric = np.stack([(losses(w + h * e) - losses(w - h * e)) / (2 * h) for e in np.eye(dim)], axis=1)
    yield close(numeric, formula, "finite differences against the formula", atol=1e-6)


@claim(
    "logistic-loss-forms",
    says=(
        "−[y log p + (1−y) log(1−p)], −log σ(y′ w·x) and log(1 + exp(−y′ w·x)) are one loss, whose sum is the negative "
        "log-likelihood of independent labels. Only the softplus form survives large scores."
    ),
    formula=r"-[y \log p + (1-y)\log(1-p)] = -\log \sigma((2y-1)\, w \cdot x) = \log(1 + e^{-(2y-1) w \cdot x})",
    sources=("eth", "penn"),
)
def logistic_loss_forms(
    key,
    samples: Annotated[int, Range(20, 500)] = 60,
    reach: Annotated[float, Range(50.0, 1000.0, log=True)] = 1000.0,
):
    """The first form is computed as it stands, and with 1 − p = σ(−w·x), which takes away its cancellation."""
    rng = data.generator(key)
    z = np.linspace(-30, 30, 1201)
    for y in (0, 1):
        stable = np.asarray(learning.logistic((2 * y - 1) * z))
        p, q = _sigmoid(z), _sigmoid(-z)
        yield close(
            -(y * np.log(p) + (1 - y) * np.log(q)), stable, f"both terms, 1 − p as σ(−z), |z| ≤ 30, y = {y}", atol=1e-12
        )
        yield close(-np.log(q if y == 0 else p), stable, f"−log σ(y′z), |z| ≤ 30, y = {y}", atol=1e-12)
        error = np.abs(_as_written(z, y) - stable)
        # 1 - p is off by half a unit in the last place of 1, which is e^z times that relative to itself.
        bound = 1e-15 + 2 * np.finfo(float).eps * (1 + np.exp(np.abs(z)))
        yield at_most(error, bound, f"error of the form as written, y = {y}, against rounding × e^|z|")

    far = np.array([-reach, reach])
    yield exactly(
        [np.isfinite(_as_written(far, y)).all() for y in (0, 1)],
        False,
        f"form as written finite at ±{reach:.3g}, y = 0 and 1",
    )
    yield exactly(np.isfinite(np.asarray(learning.logistic(far))), True, f"softplus form finite at ±{reach:.3g}")

    x = rng.normal(size=(samples, 2))
    y = (rng.random(samples) < _sigmoid(x @ [1.0, -1.0])).astype(int)
    y[:4], x[:4] = (0, 1, 0, 1), [[0.1, 0.0], [0.0, 0.1], [-0.1, 0.0], [0.0, -0.1]]  # so that no line separates them
    fit = learning.fit_logistic(x, y)
    w = np.append(fit.weights, fit.bias)
    rows = np.column_stack([x, np.ones(samples)])

    def log_likelihood(v):
        p = _sigmoid(rows @ v)
        return float(np.log(np.where(y == 1, p, 1 - p)).sum())

    total = float(learning.logistic((2 * y - 1) * (rows @ w)).sum())
    yield close(total, -log_likelihood(w), "sum of the losses against the Bernoulli labels' log-likelihood", rtol=1e-10)
    near = [log_likelihood(w + 0.1 * e) for e in (*np.eye(3), *-np.eye(3))]
    yield at_least(log_likelihood(w), near, "log-likelihood at the fit against six neighbours")
    yield printed(
        at_most(log_likelihood(w), near, "log-likelihood at the fit against six neighbours"),
        "penn", "the log-probability of the labels is minimised",
    )  # fmt: skip
    p = _sigmoid(rows @ w)
    unbracketed = -(y * np.log(p)).sum() + ((1 - y) * np.log(1 - p)).sum()
    yield printed(
        close(unbracketed, total, "the sum without its brackets", rtol=1e-6),
        "penn", "−Σ y log p + (1 − y) log(1 − p), without brackets",
    )  # fmt: skip

    shown = np.linspace(-10, 60, 141)
    written, exact = _as_written(shown, 0), np.asarray(learning.logistic(-shown))
    breaks = shown[~np.isfinite(written)][0]
    away = np.linspace(1, 36.5, 72)
    miss = np.abs(_as_written(away, 0) - np.asarray(learning.logistic(-away)))
    yield figure.beside(
        f"The three forms agree until the one with 1 − p loses its digits: at w·x = {breaks:.3g} it is infinite",
        figure.curves(
            "loss of a class-0 example", x="w·x", y="loss",
            lines={"softplus": (shown, exact)},
            points={
                "as written": (shown[::6], written[::6]),
                "−log σ(−w·x)": (shown[3::6], -np.log(_sigmoid(-shown[3::6]))),
            },
        ),
        figure.curves(
            "error of the form as written", x="w·x", y="error", log="y",
            lines={"rounding × e^(w·x)": (away, np.finfo(float).eps / 2 * np.exp(away))},
            points={"measured": (away, miss)},
        ),
    )  # fmt: skip


def _sigmoid(z):
    """σ(z), in NumPy."""
    from scipy.special import expit

    return expit(z)


def _as_written(z, y):
    """−[y log p + (1 − y) log(1 − p)] with p = σ(z), in floating point as it stands."""
    p = _sigmoid(np.asarray(z))
    with np.errstate(divide="ignore", invalid="ignore"):
        return -(y * np.log(p) + (1 - y) * np.log(1 - p))


def _refuses(call) -> str:
    try:
        call()
    except ValueError:
        return "ValueError"
    return "an answer"
