"""Nonlinear regression, its model manifold, and the fit as the nearest point of it."""

from typing import Annotated

import numpy as np

from leadline import data, sloppiness
from leadline.evidence import (
    Choice,
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

_FINE = 200


def _example(kind: str, n: int):
    """A model of the library at n inputs, its true weights, and fine inputs to draw it at."""
    if kind == "exponentials":
        return sloppiness.sum_of_exponentials(np.linspace(0.1, 4.0, n), 2), np.array([0.4, 2.0]), "time"
    if kind == "polynomial":
        return sloppiness.polynomial_model(np.linspace(-1.0, 1.0, n), 3), np.array([0.5, -1.0, 0.0, 1.5]), "x"
    if kind == "michaelis-menten":
        return sloppiness.michaelis_menten(np.geomspace(0.2, 10.0, n)), np.array([2.0, 1.5]), "concentration"
    return sloppiness.network_model(np.linspace(-2.0, 2.0, n), 1), np.array([1.0, 0.3, 1.5, 0.2]), "x"


@model(
    "nonlinear-regression",
    says=(
        "y = f(x; w) + N(0, σ²): the weights of greatest likelihood are those of least squares, whether σ is known or "
        "profiled. With residuals r = (y − f)/σ, Σr² is χ² with n degrees of freedom at the true weights, and n − p "
        "at the fit of a true model where noise is small."
    ),
    formula=r"-\ln p(y|w) = \frac{1}{2} \sum_i r_i^2 + n \ln \sigma + c, \quad r_i = \frac{y_i - f(x_i; w)}{\sigma}",
    sources=("penn",),
    assumes=("the noise is Gaussian, independent and of one σ",),
    shows=(
        "sloppiness.RegressionModel",
        "sloppiness.sum_of_exponentials",
        "sloppiness.polynomial_model",
        "sloppiness.michaelis_menten",
        "sloppiness.network_model",
    ),
)
def nonlinear_regression(
    key,
    kind: Annotated[str, Choice("exponentials", "polynomial", "michaelis-menten", "network")] = "exponentials",
    n: Annotated[int, Range(10, 60)] = 20,
    noise: Annotated[float, Range(0.0003, 0.01, log=True)] = 0.01,
    repeats: Annotated[int, Range(50, 400)] = 120,
):
    """`repeats` data sets from the same true weights, each fitted by Levenberg-Marquardt from the truth; the first also
    by minimising the two likelihoods with BFGS."""
    from scipy.optimize import minimize
    from scipy.stats import chi2

    rng = data.generator(key)
    regression, truth, axis = _example(kind, n)
    clean = regression.predict(truth)
    ys = clean + noise * rng.normal(size=(repeats, n))
    fits = [regression.fit(y, truth, noise) for y in ys]
    fit, y = fits[0], ys[0]

    def known(w):
        return regression.negative_log_likelihood(w, y, noise) / n, -regression.jacobian(w).T @ (
            y - regression.predict(w)
        ) / (n * noise**2)

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
        yield close(regression.cost(best, y), fit.chi_square * noise**2 / (2 * n), f"{name}: least cost", rtol=1e-8)
        yield close(
            regression.predict(best),
            fit.predictions,
            f"{name}: predictions of the likeliest weights",
            atol=1e-5 * noise,
        )
    sums = np.array([f.chi_square for f in fits])
    yield distributed_as(((ys - clean) ** 2).sum(1) / noise**2, chi2(n), f"Σr² at the true weights: χ²({n})")
    yield distributed_as(sums, chi2(fit.degrees), f"Σr² at the fit: χ²({fit.degrees}), {repeats} data sets")
    xs = np.linspace(regression.inputs[0], regression.inputs[-1], _FINE)
    wide = regression.at(xs)
    yield figure.beside(
        f"Least squares is maximum likelihood: Σr² = {fit.chi_square:.1f} on {fit.degrees} degrees of freedom, "
        f"p-value {fit.p_value:.2f}",
        figure.curves(
            f"{kind}: data and fit",
            x=axis,
            y="y",
            lines={"fit": (xs, wide.predict(fit.weights)), "truth": (xs, wide.predict(truth))},
            points={"data": (regression.inputs, y)},
        ),
        figure.curves(
            "residuals r = (y − f)/σ",
            x=axis,
            y="r",
            points={"residuals": (regression.inputs, fit.residuals)},
            bands={"±2": (regression.inputs[[0, -1]], [-2.0, -2.0], [2.0, 2.0])},
        ),
    )


@model(
    "model-manifold",
    says=(
        "The predictions of all weights form a manifold in data space of local dimension rank J ≤ min(n, p). Two equal "
        "rates of e^(−w₁t) + e^(−w₂t) are a fold, where a dimension is lost; rates 0 and ∞ are boundaries at a finite "
        "distance."
    ),
    formula=r"\mathcal{M} = \{ y(w) \} \subset R^n, \quad \dim = \operatorname{rank} J(w) \le \min(n, p)",
    sources=("penn",),
    shows=(
        "sloppiness.local_dimension",
        "sloppiness.boundary_limit",
        "sloppiness.manifold_grid",
        "sloppiness.wire_frame",
    ),
)
def model_manifold(
    key,
    n: Annotated[int, Range(1, 8)] = 3,
    terms: Annotated[int, Range(2, 4)] = 2,
    span: Annotated[float, Range(1.0, 4.0)] = 2.0,
    noise: Annotated[float, Range(0.01, 0.2, log=True)] = 0.05,
):
    """Sums of `terms` exponentials at n times up to `span`, at random well separated rates; the picture has two
    exponentials at three times."""
    rng = data.generator(key)
    regression = sloppiness.sum_of_exponentials(np.linspace(span / n, span, n), terms)
    rates = np.geomspace(0.3, 3.0, terms) * np.exp(rng.uniform(-0.1, 0.1, terms))
    inside = sloppiness.local_dimension(regression, rates)
    yield exactly(inside, min(n, terms), "dimension at generic rates")
    folded = np.append(rates[:-1], rates[-2])
    yield exactly(
        sloppiness.local_dimension(regression, folded), min(n, terms - 1), "dimension on the fold, two rates equal"
    )
    yield printed(
        exactly(inside, n, "dimension at generic rates").given(n > terms, "more data than weights"),
        "penn",
        "the dimension is bounded by n only",
    )
    exchanged = regression.predict(rates[::-1])
    yield close(exchanged, regression.predict(rates), "predictions with the rates exchanged", rtol=1e-12)
    for name, scales in (("∞", np.geomspace(10, 1000, 5)), ("0", np.geomspace(0.1, 1e-9, 5))):
        towards = scales / regression.inputs[0]
        limit = sloppiness.boundary_limit(regression, lambda rate: np.append(rates[:-1], rate), towards)
        rest = regression.predict(np.append(rates[:-1], 0.0)) - (1.0 if name == "∞" else 0.0)
        yield close(limit.points[-1], rest, f"predictions as a rate goes to {name}: a finite end", atol=1e-6)
        kept = int(np.sum(limit.singular_values[-1] > 1e-6 * limit.singular_values[-1, 0]))
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
    centre, axes = sloppiness.stretched_axes(grid.reshape(-1, 3))

    def seen(points):
        return sloppiness.camera_view((points - centre) @ axes, azimuth=-60.0, elevation=55.0)

    fine = -np.log(np.linspace(1.0, 1e-9, 80)) * 2 / span
    curves = {
        "fold w₁ = w₂": np.stack([fine, fine], 1),
        "boundary w₁ = 0": np.stack([0 * fine, fine], 1),
        "boundary w₂ = ∞": np.stack([fine, np.full(80, 1e3)], 1),
    }
    frame = sloppiness.wire_frame(seen(grid))
    views = {name: seen(regression.predict(w)) for name, w in curves.items()}
    marks = {"truth": regression.predict(truth), "data": y, "best fit": fit.predictions}
    stretch = np.linalg.norm(axes, axis=0)
    return figure.curves(
        f"Two exponentials at three times: a surface with a fold, thinner by {stretch[1] / stretch[0]:.0f} and "
        f"{stretch[2] / stretch[0]:.0f} in its 2nd and 3rd direction; fit {np.linalg.norm(y - fit.predictions):.2g} "
        f"from the data, truth {np.linalg.norm(y - marks['truth']):.2g}",
        x="data space, principal directions stretched to equal width",
        y="seen from above",
        lines={"manifold": (frame[:, 0], frame[:, 1])} | {k: (v[:, 0], v[:, 1]) for k, v in views.items()},
        points={name: tuple(seen(point[None]).T) for name, point in marks.items()},
    )


@claim(
    "fit-is-projection",
    says=(
        "The best fit is the point of the model manifold nearest to the data: the residual is normal to the tangent "
        "space there, Jᵀr = 0. The cost (1/2n) Σ r² is the mean squared error over 2σ², not half the sum."
    ),
    formula=r"J^T r = 0, \quad C = \frac{1}{2n} \sum_i r_i^2 = \frac{1}{2 n \sigma^2} \sum_i (y_i - f_i)^2",
    sources=("penn",),
    shows=("sloppiness.RegressionFit", "sloppiness.manifold_grid"),
)
def fit_is_projection(
    key,
    noise: Annotated[float, Range(0.01, 0.3, log=True)] = 0.1,
    slow: Annotated[float, Range(0.1, 0.8)] = 0.4,
    fast: Annotated[float, Range(1.0, 4.0)] = 2.0,
    span: Annotated[float, Range(1.0, 4.0)] = 2.0,
):
    """Two exponentials at three times, noisy data; the best of three fits against 10⁵ points of the manifold."""
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
    yield close(mean_square, cost * noise**2, "(1/2n) Σ(y − f)² against σ²C", rtol=1e-12)
    yield close(mean_square, total * noise**2 / 3, "(1/2n) Σ(y − f)² against (σ²/n) ½Σr²", rtol=1e-12)
    yield printed(
        close(mean_square, total, "(1/2n) Σ(y − f)² against ½Σr²", rtol=1e-6).given(
            distance > 1e-12, "the data are off the manifold"
        ),
        "penn",
        "(1/2n) Σ(ŷ − y)² = ½ Σ r²",
    )

    yield _perpendicular(regression, fit, y, distance, nearest)


def _perpendicular(regression, fit, y, distance, nearest):
    """The manifold around the fit, seen along its sloppy direction, a little from above."""
    normal = (y - fit.predictions) / max(distance, 1e-300)
    stiff, sloppy = np.linalg.svd(regression.jacobian(fit.weights))[0].T[:2]
    tilt = np.radians(15.0)
    axes = np.stack([stiff, np.cos(tilt) * normal + np.sin(tilt) * sloppy], 1)
    around = np.exp(np.linspace(-0.7, 0.7, 13))
    patch = sloppiness.manifold_grid(regression, *(w * around for w in fit.weights)) - fit.predictions
    frame, seen = sloppiness.wire_frame(patch @ axes), (y - fit.predictions) @ axes
    reach = 1.6 * max(distance, 0.05)
    return figure.plane(
        f"The fit is the foot of the perpendicular: {distance:.4g} from the data, the nearest of 10⁵ other points "
        f"{nearest:.4g}",
        x="stiff direction of the manifold",
        y="direction of the residual (tilted by 15°)",
        lines={"manifold": (frame[:, 0], frame[:, 1]), "normal line": ([0.0, seen[0]], [0.0, seen[1]])},
        points={"data": seen[None], "best fit": np.zeros((1, 2))},
        domain=((-reach, reach), (-reach, reach)),
    )
