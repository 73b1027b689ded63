"""Logistic regression: the model and its fits, its gradient, and the forms of its loss."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, Real, at_least, at_most, claim, close, distributed_as, exactly, model
from leadline.presentation import figure
from leadline.presentation.figure.plane_shapes import boundary


@model(sources=("eth", "penn", "cam"))
def logistic_regression(
    key, samples: Int(2000, 8000) = 5000, dim: Int(2, 6) = 3, strength: Real(0.3, 1.5) = 1.0, repeats: Int(20, 60) = 40
):
    r"""Logistic regression.

    The log-odds of the classes are affine in x. Newton's method and gradient descent find the same fit, which differs
    from the truth by the standard errors of the Fisher matrix. Separable data have no finite fit, which is reported.

    $$\log \frac{p(1|x)}{p(0|x)} = w \cdot x + b, \qquad p(1|x) = \sigma(w \cdot x + b), \qquad H = X^T
    \mathrm{diag}(p(1-p)) X \succeq 0$$

    Assumes: labels are 0 or 1; no plane separates the classes, not even weakly with points on it, for a finite fit.

    Check: The inputs are Gaussian and the labels are drawn from the model. w is random of length `strength` · √d in d
    dimensions, and b = 0.3.
    """
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
    what = f"(ŵ − w)ᵀ F (ŵ − w) of {repeats} fits, chi-square with {dim + 1} degrees"
    yield distributed_as(distances, chi2(dim + 1), what)
    errors = np.abs(miss) / np.sqrt(np.diag(fit.covariance))
    off = at_most(errors, 4.0, f"parameters' distance from the truth in standard errors, n = {samples}")
    yield replace(off, chance=6.4e-5 * (dim + 1))

    descended = learning.descend_logistic(x, y, num_steps=1500)
    by_newton, by_descent = (np.append(f.weights, f.bias) for f in (fit, descended))
    yield close(by_descent, by_newton, "weights by gradient descent against Newton's method", atol=1e-6)
    rows = np.column_stack([x, np.ones(samples)])
    score = rows.T @ (fit.probability(x) - y) / samples
    yield close(score, 0.0, "score equations Xᵀ(p − y) = 0 at the fit", atol=1e-10)
    few = rows[:200]
    loss = lambda w, r, s: learning.logistic(s * (r @ w)).sum()  # noqa: E731
    hessian = jax.hessian(loss)(jnp.asarray(truth), few, 2 * y[:200] - 1)
    p = _sigmoid(few @ truth)
    product = (few * (p * (1 - p))[:, None]).T @ few
    yield close(hessian, product, "Hessian by autodiff against Xᵀ diag(p(1−p)) X", atol=1e-9)
    yield at_least(np.linalg.eigvalsh(hessian), 0.0, "eigenvalues of the Hessian", atol=1e-9)

    x, y = x[:500], y[:500]
    apart = (x[:, 0] > 0).astype(int)
    yield exactly(learning.finite_fit_exists(x, apart), False, "a finite fit exists on separable labels")
    yield exactly(_refuses(lambda: learning.fit_logistic(x, apart)), "ValueError", "answer on separable labels")
    yield exactly(learning.finite_fit_exists(x, y), True, "a finite fit exists on the drawn labels")
    tamed = [np.linalg.norm(learning.fit_logistic(x, apart, ridge=r).weights) for r in (1e-1, 1e-2, 1e-3)]
    yield at_least(np.diff(tamed), 0.0, "growth of ‖w‖ on separable labels as a ridge term falls to 10⁻³", strict=True)

    points = rng.normal(size=(400, 2))
    labels = (rng.random(400) < _sigmoid(2 * points[:, 0] + 2 * points[:, 1])).astype(int)
    flat = learning.fit_logistic(points, labels)
    axis = np.linspace(-3.2, 3.2, 45)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    x, y = sample()
    table = learning.reliability(fit.probability(x), y, 10)
    half = 1.96 * np.sqrt(table.confidence * (1 - table.confidence) / table.count)
    plane = figure.plane(
        "probability of class 1 and the boundary p = 1/2 (400 points)",
        "x₁",
        "x₂",
        points={"class 1": points[labels == 1], "class 0": points[labels == 0]},
        sizes={"class 1": 22.0, "class 0": 22.0},
        lines={"p = 1/2": boundary(flat.weights, flat.bias, reach=6.0)},
        regions=(axis, axis, flat.probability(grid).reshape(45, 45)),
        domain=((-3.2, 3.2), (-3.2, 3.2)),
    )
    points = {"ten bins": (table.confidence, table.accuracy, table.accuracy - half, table.accuracy + half)}
    lines, title = {"calibrated": ([0.0, 1.0], [0.0, 1.0])}, f"reliability on {samples} fresh examples"
    diagram = figure.curves(title, "predicted probability", "share of class 1", lines=lines, points=points)
    title = f"The fit to {samples} examples is within {errors.max():.2g} standard errors of the truth, and calibrated"
    yield figure.beside(title, plane, diagram)


@claim(sources=("eth",))
def logistic_gradient(key, samples: Int(10, 300) = 100, dim: Int(1, 30) = 8, size: Real(0.1, 5.0, log=True) = 1.0):
    r"""Gradient of the logistic loss.

    The gradient of one example's logistic loss is (σ(w·x) − y) x for y in {0, 1}, or equivalently −y′ σ(−y′ w·x) x for
    y′ = 2y − 1.

    $$\nabla_w \ell = (\sigma(w \cdot x) - y)\, x = -y'\, \sigma(-y' w \cdot x)\, x$$

    Check: Inputs and weights are Gaussian, the weights with standard deviation `size`.
    """
    rng = data.generator(key)
    x, w = rng.normal(size=(samples, dim)), size * rng.normal(size=dim)
    y = rng.integers(0, 2, samples)
    sign = 2 * y - 1
    formula = (_sigmoid(x @ w) - y)[:, None] * x
    signed = -(sign * _sigmoid(-sign * (x @ w)))[:, None] * x
    yield close(signed, formula, "−y′ σ(−y′ w·x) x against (σ(w·x) − y) x", atol=1e-12)
    autodiff = jax.jacobian(lambda w: learning.logistic(sign * (x @ w)))(jnp.asarray(w))
    yield close(autodiff, formula, "gradient by autodiff against the formula", atol=1e-12)

    def losses(v):
        return np.logaddexp(0, -sign * (x @ v))

    steps = 1e-5 * np.eye(dim)
    numeric = np.stack([(losses(w + step) - losses(w - step)) / 2e-5 for step in steps], axis=1)
    yield close(numeric, formula, "gradient by finite differences against the formula", atol=1e-6)


@claim(sources=("eth", "penn"))
def logistic_loss_forms(key, samples: Int(20, 500) = 60, reach: Real(50.0, 1000.0, log=True) = 1000.0):
    r"""Three forms of the logistic loss.

    −[y log p + (1 − y) log(1 − p)], −log σ(y′ w·x) and $\log(1 + e^{-y' w \cdot x})$ with y′ = 2y − 1 are one loss,
    whose sum is the negative log-likelihood of independent labels. Only the softplus form survives large scores.

    $$-[y \log p + (1-y)\log(1-p)] = -\log \sigma((2y-1)\, w \cdot x) = \log(1 + e^{-(2y-1) w \cdot x})$$

    Check: The first form is computed as it stands, and with 1 − p = σ(−w·x), which removes its cancellation.
    """
    rng = data.generator(key)
    z = np.linspace(-30, 30, 1201)
    for y in (0, 1):
        stable = np.asarray(learning.logistic((2 * y - 1) * z))
        p, q = _sigmoid(z), _sigmoid(-z)
        both = -(y * np.log(p) + (1 - y) * np.log(q))
        yield close(both, stable, f"loss of both terms, 1 − p as σ(−z), |z| ≤ 30, y = {y}", atol=1e-12)
        yield close(-np.log(q if y == 0 else p), stable, f"−log σ(y′z), |z| ≤ 30, y = {y}", atol=1e-12)
        error = np.abs(_as_written(z, y) - stable)
        # 1 - p is off by half a unit in the last place of 1, which is e^z times that relative to itself.
        bound = 1e-15 + 2 * np.finfo(float).eps * (1 + np.exp(np.abs(z)))
        yield at_most(error, bound, f"error of the form as written, y = {y}, against rounding × e^|z|")
    far = np.array([-reach, reach])
    broken = [np.sum(~np.isfinite(_as_written(far, y))) for y in (0, 1)]
    yield at_least(broken, 1, f"values of the form as written that are not finite, of ±{reach:.3g}, y = 0 and 1")
    lost = np.sum(~np.isfinite(learning.logistic(far)))
    yield exactly(lost, 0, f"values of the softplus form that are not finite, of ±{reach:.3g}")
    x = rng.normal(size=(samples, 2))
    y = (rng.random(samples) < _sigmoid(x @ [1.0, -1.0])).astype(int)
    y[:4], x[:4] = (0, 1, 0, 1), [[0.1, 0.0], [0.0, 0.1], [-0.1, 0.0], [0.0, -0.1]]  # so that no line separates them
    fit = learning.fit_logistic(x, y)
    w = np.append(fit.weights, fit.bias)
    rows = np.column_stack([x, np.ones(samples)])

    def log_likelihood(v):
        p = _sigmoid(rows @ v)
        return np.log(np.where(y == 1, p, 1 - p)).sum()

    total = learning.logistic((2 * y - 1) * (rows @ w)).sum()
    yield close(total, -log_likelihood(w), "sum of the losses against the Bernoulli labels' log-likelihood", rtol=1e-10)
    near = [log_likelihood(w + 0.1 * e) for e in (*np.eye(3), *-np.eye(3))]
    yield at_least(log_likelihood(w), near, "log-likelihood at the fit against six neighbours")
    shown = np.linspace(-10, 60, 141)
    written, exact = _as_written(shown, 0), np.asarray(learning.logistic(-shown))
    breaks = shown[~np.isfinite(written)][0]
    away = np.linspace(1, 36.5, 72)
    miss = np.abs(_as_written(away, 0) - np.asarray(learning.logistic(-away)))
    some = shown[3::6]
    points = {"as written": (shown[::6], written[::6]), "−log σ(−w·x)": (some, -np.log(_sigmoid(-some)))}
    lines = {"softplus": (shown, exact)}
    forms = figure.curves("loss of a class-0 example", "w·x", "loss", lines=lines, points=points)
    lines = {"rounding × e^(w·x)": (away, np.finfo(float).eps / 2 * np.exp(away))}
    points, title = {"measured": (away, miss)}, "error of the form as written"
    error = figure.curves(title, "w·x", "error", log="y", lines=lines, points=points)
    title = f"The three forms agree until the one with 1 − p loses its digits: at w·x = {breaks:.3g} it is infinite"
    yield figure.beside(title, forms, error)


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
