"""Nonlinear regression, its model manifold, and the fit as the nearest point of it."""

import numpy as np

from leadline import data
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, distributed_as, erratum, exactly, model
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.manifolds.model_manifolds import camera_view, stretched_axes, wire_frame
from leadline.presentation import figure

_MODELS = ("sum_of_exponentials", "polynomial_model", "michaelis_menten", "network_model")


def _example(kind: str, n: int):
    """A model of the library at n inputs, its true weights, and the name of its input."""
    if kind == "exponentials":
        return sloppiness.sum_of_exponentials(np.linspace(0.1, 4.0, n), 2), np.array([0.4, 2.0]), "time"
    if kind == "polynomial":
        return sloppiness.polynomial_model(np.linspace(-1.0, 1.0, n), 3), np.array([0.5, -1.0, 0.0, 1.5]), "x"
    if kind == "michaelis-menten":
        return sloppiness.michaelis_menten(np.geomspace(0.2, 10.0, n)), np.array([2.0, 1.5]), "concentration"
    return sloppiness.network_model(np.linspace(-2.0, 2.0, n), 1), np.array([1.0, 0.3, 1.5, 0.2]), "x"


@model(sources=("penn",), shows=tuple(f"landscape.sloppiness.{name}" for name in _MODELS))
def nonlinear_regression(
    key,
    kind: OneOf("exponentials", "polynomial", "michaelis-menten", "network") = "exponentials",
    n: Int(10, 60) = 20,
    noise: Real(0.0003, 0.01, log=True) = 0.01,
    repeats: Int(50, 400) = 120,
):
    r"""Nonlinear regression with Gaussian noise.

    y = f(x; w) + N(0, σ²): the weights of greatest likelihood are those of least squares, whether σ is known or
    profiled. With residuals r = (y − f)/σ, Σr² is χ² with n degrees of freedom at the true weights, and with n − p at
    the fit of a true model where the noise is small.

    $$-\ln p(y|w) = \frac{1}{2} \sum_i r_i^2 + n \ln \sigma + c, \quad r_i = \frac{y_i - f(x_i; w)}{\sigma}$$

    Assumes: the noise is Gaussian, independent and of one σ.

    Check: `repeats` data sets are drawn from the same true weights, and each is fitted by Levenberg–Marquardt from the
    truth. The first is also fitted by minimising the two negative log-likelihoods with BFGS.
    """
    from scipy.optimize import minimize
    from scipy.stats import chi2

    rng = data.generator(key)
    regression, truth, axis = _example(kind, n)
    clean = regression.predict(truth)
    ys = clean + noise * rng.normal(size=(repeats, n))
    fits = [regression.fit(y, truth, noise) for y in ys]
    fit, y = fits[0], ys[0]

    def known(w):
        slope = -regression.jacobian(w).T @ (y - regression.predict(w)) / (n * noise**2)
        return regression.negative_log_likelihood(w, y, noise) / n, slope

    def profiled(w):
        misses = y - regression.predict(w)
        square = np.mean(misses**2)
        return np.log(square) / 2, -regression.jacobian(w).T @ misses / (n * square)

    scale = np.linalg.inv(np.linalg.cholesky(regression.metric(fit.weights, noise))).T / np.sqrt(n)
    for name, objective in (("σ known", known), ("σ profiled", profiled)):

        def whitened(u, objective=objective):
            value, slope = objective(truth + scale @ u)
            return value, scale.T @ slope

        found = minimize(whitened, np.zeros(len(truth)), jac=True, options={"gtol": 1e-11})
        best = truth + scale @ found.x
        least = fit.chi_square * noise**2 / (2 * n)
        yield close(regression.cost(best, y), least, f"{name}: least cost, against that of least squares", rtol=1e-8)
        what = f"{name}: predictions of the likeliest weights, against those of least squares"
        yield close(regression.predict(best), fit.predictions, what, atol=1e-5 * noise)
    sums = [f.chi_square for f in fits]
    yield distributed_as(((ys - clean) ** 2).sum(1) / noise**2, chi2(n), f"Σr² at the true weights: χ²({n})")
    yield distributed_as(sums, chi2(fit.degrees), f"Σr² at the fit: χ²({fit.degrees}), {repeats} data sets")
    inputs = regression.inputs
    xs = np.linspace(inputs[0], inputs[-1], 200)
    wide = regression.at(xs)
    lines = {"fit": (xs, wide.predict(fit.weights)), "truth": (xs, wide.predict(truth))}
    fitted = figure.curves(f"{kind}: data and fit", axis, "y", lines=lines, points={"data": (inputs, y)})
    points, bands = {"residuals": (inputs, fit.residuals)}, {"±2": (inputs[[0, -1]], [-2.0, -2.0], [2.0, 2.0])}
    residuals = figure.curves("residuals r = (y − f)/σ", axis, "r", points=points, bands=bands)
    title = f"Least squares is maximum likelihood: Σr² = {fit.chi_square:.1f}, p-value {fit.p_value:.2f}"
    yield figure.beside(title, fitted, residuals)


@model(sources=("penn",), shows=("landscape.sloppiness.manifold_grid",))
def model_manifold(
    key, n: Int(1, 8) = 3, terms: Int(2, 4) = 2, span: Real(1.0, 4.0) = 2.0, noise: Real(0.01, 0.2, log=True) = 0.05
):
    r"""Model manifold in data space.

    The predictions of all weights form a manifold in data space of local dimension rank J ≤ min(n, p). Two equal rates
    of $e^{-w_1 t} + e^{-w_2 t}$ are a fold, where a dimension is lost; rates 0 and ∞ are boundaries at a finite
    distance.

    $$\mathcal{M} = \{ y(w) \} \subset R^n, \quad \dim = \operatorname{rank} J(w) \le \min(n, p)$$

    Check: The times are n up to `span`, the rates random and well separated.
    """
    rng = data.generator(key)
    regression = sloppiness.sum_of_exponentials(np.linspace(span / n, span, n), terms)
    rates = np.geomspace(0.3, 3.0, terms) * np.exp(rng.uniform(-0.1, 0.1, terms))
    yield exactly(sloppiness.local_dimension(regression, rates), min(n, terms), "dimension at generic rates")
    folded = sloppiness.local_dimension(regression, np.append(rates[:-1], rates[-2]))
    yield exactly(folded, min(n, terms - 1), "dimension on the fold, two rates equal")
    exchanged = regression.predict(rates[::-1])
    yield close(exchanged, regression.predict(rates), "predictions with the rates exchanged", rtol=1e-12)
    for name, scales in (("∞", np.geomspace(10, 1000, 5)), ("0", np.geomspace(0.1, 1e-9, 5))):
        towards = scales / regression.inputs[0]
        limit = sloppiness.boundary_limit(regression, lambda rate: np.append(rates[:-1], rate), towards)
        rest = regression.predict(np.append(rates[:-1], 0.0)) - (1.0 if name == "∞" else 0.0)
        yield close(limit.points[-1], rest, f"predictions as a rate goes to {name}: a finite end", atol=1e-6)
        kept = np.sum(limit.singular_values[-1] > 1e-6 * limit.singular_values[-1, 0])
        yield at_most(kept, min(n, terms - 1), f"directions ln w left as a rate goes to {name}")
    yield _surface(rng, span, noise)


def _surface(rng, span, noise):
    """Two exponentials at three times, seen from a camera: truth, data, best fit, fold and boundaries."""
    regression = sloppiness.sum_of_exponentials(np.linspace(span / 3, span, 3), 2)
    truth = np.array([0.4, 2.0])
    y = regression.predict(truth) + noise * rng.normal(size=3)
    fit = regression.fit(y, truth, noise)
    levels = -np.log(np.linspace(1.0, 1e-9, 17)) * 2 / span  # even steps of e^{−wt} in the middle of the times
    grid = sloppiness.manifold_grid(regression, levels, levels)
    centre, axes = stretched_axes(grid.reshape(-1, 3))

    def seen(points):
        return camera_view((points - centre) @ axes, azimuth=-60.0, elevation=55.0)

    fine = -np.log(np.linspace(1.0, 1e-9, 80)) * 2 / span
    curves = {
        "fold w₁ = w₂": np.stack([fine, fine], 1),
        "boundary w₁ = 0": np.stack([0 * fine, fine], 1),
        "boundary w₂ = ∞": np.stack([fine, np.full(80, 1e3)], 1),
    }
    lines = {"manifold": tuple(wire_frame(seen(grid)).T)}
    lines |= {name: tuple(seen(regression.predict(w)).T) for name, w in curves.items()}
    marks = {"truth": regression.predict(truth), "data": y, "best fit": fit.predictions}
    points = {name: tuple(seen(point[None]).T) for name, point in marks.items()}
    stretch = np.linalg.norm(axes, axis=0)
    title = (
        f"Two exponentials at three times: a surface with a fold, thinner by {stretch[1] / stretch[0]:.0f} and "
        f"{stretch[2] / stretch[0]:.0f} in its 2nd and 3rd direction; fit {np.linalg.norm(y - fit.predictions):.2g} "
        f"from the data, truth {np.linalg.norm(y - marks['truth']):.2g}"
    )
    along = "data space, principal directions stretched to equal width"
    return figure.curves(title, along, "seen from above", lines=lines, points=points)


@claim(sources=("penn",), shows=("landscape.sloppiness.manifold_grid",))
def fit_is_projection(
    key,
    noise: Real(0.01, 0.3, log=True) = 0.1,
    slow: Real(0.1, 0.8) = 0.4,
    fast: Real(1.0, 4.0) = 2.0,
    span: Real(1.0, 4.0) = 2.0,
):
    r"""Best fit as nearest manifold point.

    The best fit is the point of the model manifold nearest to the data: the residual is normal to the tangent space
    there, Jᵀr = 0. The cost $\frac{1}{2n} \sum_i r_i^2$ is the mean squared error over 2σ², not half the sum.

    $$J^T r = 0, \quad C = \frac{1}{2n} \sum_i r_i^2 = \frac{1}{2 n \sigma^2} \sum_i (y_i - f_i)^2$$
    """
    rng = data.generator(key)
    regression = sloppiness.sum_of_exponentials(np.linspace(span / 3, span, 3), 2)
    truth = np.array([slow, fast])
    y = regression.predict(truth) + noise * rng.normal(size=3)
    fits = [regression.fit(y, start, noise) for start in (truth, np.array([0.2, 8.0]), np.array([0.9, 1.1]))]
    fit = min(fits, key=lambda f: f.chi_square)
    tangents = regression.jacobian(fit.weights)
    yield at_most(np.linalg.norm(tangents.T @ (y - fit.predictions)), 1e-8, "‖Jᵀ(y − f)‖ at the best fit")
    distance = np.linalg.norm(y - fit.predictions)
    samples = regression.predict(np.exp(rng.uniform(np.log(1e-3), np.log(1e3), size=(100_000, 2))))
    nearest = np.linalg.norm(samples - y, axis=1).min()
    yield at_least(nearest, distance, "nearest of 10⁵ points of the manifold, against the best fit", atol=1e-9)
    cost = regression.cost(fit.weights, y, noise)
    mean_square, total = np.mean((y - fit.predictions) ** 2) / 2, fit.chi_square / 2
    yield close(mean_square, cost * noise**2, "(1/2n) Σ(y − f)², against σ²C", rtol=1e-12)
    right = close(mean_square, total * noise**2 / 3, "(1/2n) Σ(y − f)², against (σ²/n) ½Σr²", rtol=1e-12)
    yield right
    wrong = close(mean_square, total, "(1/2n) Σ(y − f)², against ½Σr²", rtol=1e-6)
    wrong = erratum(wrong, of=right, by="penn", prints="(1/2n) Σ(ŷ − y)² = ½ Σ r²")
    yield wrong.given(distance > 1e-12, "the data are off the manifold")
    yield _perpendicular(regression, fit, y, distance, nearest)


def _perpendicular(regression, fit, y, distance, nearest):
    """The manifold around the fit, seen along its sloppy direction, a little from above."""
    normal = (y - fit.predictions) / max(distance, 1e-300)
    stiff, sloppy = np.linalg.svd(regression.jacobian(fit.weights))[0].T[:2]
    tilt = np.radians(15.0)
    axes = np.stack([stiff, np.cos(tilt) * normal + np.sin(tilt) * sloppy], 1)
    around = np.exp(np.linspace(-0.7, 0.7, 13))
    patch = sloppiness.manifold_grid(regression, *(w * around for w in fit.weights)) - fit.predictions
    frame, seen = wire_frame(patch @ axes), (y - fit.predictions) @ axes
    reach = 1.6 * max(distance, 0.05)
    title = f"The fit is {distance:.4g} from the data, at right angles; the nearest of 10⁵ other points {nearest:.4g}"
    lines = {"manifold": tuple(frame.T), "normal line": ([0.0, seen[0]], [0.0, seen[1]])}
    points, domain = {"data": seen[None], "best fit": np.zeros((1, 2))}, ((-reach, reach), (-reach, reach))
    axes = "stiff direction of the manifold", "direction of the residual (tilted by 15°)"
    return figure.plane(title, *axes, lines=lines, points=points, domain=domain)
