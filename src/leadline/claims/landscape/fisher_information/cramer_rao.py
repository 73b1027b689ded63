"""How well data determine parameters, and how well predictions: the Cramér-Rao bound, and a sloppy model under it."""

import jax
import numpy as np

from leadline import data
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, mean, reference
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.estimator_covariances import loewner_margin, whitened_errors
from leadline.presentation import figure

RATES = np.array([0.3, 0.6, 1.2, 2.4, 4.8])


def _ellipse(centre: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ellipse that holds 95% of a normal distribution in the plane."""
    angle = np.linspace(0, 2 * np.pi, 121)
    circle = np.sqrt(-2 * np.log(0.05)) * np.stack([np.cos(angle), np.sin(angle)])
    return tuple(centre[:, None] + np.linalg.cholesky(covariance) @ circle)


@claim(sources=("penn",))
def cramer_rao(
    key,
    samples: Int(48, 200) = 64,
    deviation: Real(0.005, 0.02, log=True) = 0.02,
    constant: Real(0.5, 2.0) = 1.0,
    repeats: Int(200, 1000, log=True) = 400,
):
    r"""Cramér–Rao bound.

    No unbiased estimator from n samples has n Cov below g⁻¹ in the Loewner order, where g is the Fisher information of
    one sample; maximum likelihood attains the bound as n grows. Where g is singular, only combinations in its range
    have unbiased estimators at all.

    $$n \, \mathrm{Cov}(\hat{w}) \succeq g(w)^{-1}$$

    Assumes: unbiased estimators; errors N(0, σ²), σ known.

    Check: Least squares and a badly weighted rival are compared exactly on a parabola. Maximum likelihood is tested on
    `repeats` fits of Vs/(K + s) with V = 1 and K = `constant`, and the singular case on y = (w₁ + w₂)x + w₃, which
    determines only the sum.
    """
    rng = data.generator(jax.random.fold_in(key, 0))
    A = sloppiness.polynomial_model(np.linspace(-1, 1, samples), 2).jacobian(np.zeros(3))
    bound = sloppiness.cramer_rao_bound(sloppiness.gaussian_root_jacobian(A, deviation), samples).matrix
    least_squares = deviation**2 * np.linalg.inv(A.T @ A)
    what = "parabola: covariance of least squares, against the bound"
    yield close(least_squares, bound, what, atol=1e-10 * bound.max())
    weights = rng.uniform(0.2, 1.0, size=samples)
    linear = np.linalg.solve(A.T * weights @ A, A.T * weights)  # unbiased: linear @ A = 1
    rival = loewner_margin(deviation**2 * linear @ linear.T, bound)
    what = "parabola, data weighted at random: smallest eigenvalue of B^{-1/2} Cov B^{-1/2} − 1"
    yield at_least(rival, 0.0, what, strict=True)

    def fitted(size, constant, noise):
        model, w = sloppiness.michaelis_menten(np.geomspace(0.1, 10.0, size)), np.array([1.0, constant])
        root = sloppiness.gaussian_root_jacobian(model.jacobian(w), noise)
        bound = sloppiness.cramer_rao_bound(root, size).matrix
        observed = model.predict(w) + noise * rng.normal(size=(repeats, size))
        fits = sloppiness.repeated_fits(model, observed, w)
        return bound, fits, whitened_errors(fits.weights, w, bound)

    sizes = np.array([8, 16, 32, 64, 128, 256])
    shares = [(fitted(int(size), 1.0, 0.15)[2] ** 2).sum(axis=1) / 2 for size in sizes]
    ratios = np.array([share.mean() for share in shares])
    yield mean(shares[-1], 1.0, "σ = 0.15, n = 256: squared error over the bound", deviation=1.0)
    bound, fits, z = fitted(samples, constant, deviation)
    yield exactly(np.mean(fits.converged), 1.0, "share of fits that converged")
    edges = sloppiness.wishart_edges(repeats - 1, 2)
    values = np.linalg.eigvalsh(np.cov(z.T))
    yield at_least(values[0], edges[0], f"{repeats} fits: smallest eigenvalue of n Cov over g⁻¹, chance allowed for")
    yield at_most(values[-1], edges[1], f"{repeats} fits: largest eigenvalue of n Cov over g⁻¹, chance allowed for")
    yield mean((z**2).sum(axis=1) / 2, 1.0, f"n = {samples}: squared error over the bound", deviation=1.0)
    x = rng.normal(size=samples)
    line = np.stack([x, np.ones(samples)], 1)
    root = sloppiness.gaussian_root_jacobian(np.column_stack([x, line]), deviation)
    sum_only = sloppiness.cramer_rao_bound(root, samples)
    known = deviation**2 * np.linalg.inv(line.T @ line)[0, 0]
    yield close(sum_only.variance(np.array([1.0, 1.0, 0.0])), known, "least variance of w₁ + w₂", rtol=1e-9)
    yield exactly(sum_only.variance(np.array([1.0, -1.0, 0.0])), np.inf, "least variance of w₁ − w₂")
    yield exactly(len(sum_only.undetermined), 1, "combinations that the data do not determine")
    lines = {"Cramér-Rao": _ellipse(np.array([1.0, constant]), bound)}
    lines["covariance of the fits"] = _ellipse(fits.weights.mean(axis=0), np.cov(fits.weights.T))
    title, points = f"95% ellipses, n = {samples}, σ = {deviation:.2g}", {"fits": fits.weights}
    ellipses = figure.plane(title, "V", "K", points=points, sizes={"fits": 10.0}, lines=lines)
    margin = 3.29 / np.sqrt(repeats)
    lines, points = {"attained": (sizes[[0, -1]], [1, 1])}, {"fits": (sizes, ratios, ratios - margin, ratios + margin)}
    title = f"Squared error over the bound, {repeats} fits, σ = 0.15"
    attained = figure.curves(title, "samples n", "ratio", lines=lines, points=points, log="x")
    title = f"Squared error of V s/(K + s): {ratios[0]:.2f} times the bound from 8 samples, {ratios[-1]:.2f} from 256"
    yield figure.beside(title, ellipses, attained)


@claim(sources=("penn",))
def estimation_versus_prediction(
    key,
    deviation: Real(0.002, 0.02, log=True) = 0.01,
    samples: Int(20, 60) = 30,
    terms: Int(3, 5) = 5,
    repeats: Int(100, 400, log=True) = 150,
):
    r"""Uncertain parameters, accurate predictions.

    A sloppy model leaves its parameters uncertain and still predicts well: five decay rates have relative errors
    dozens of times those of the predictions, whose variance at the data is pσ²/n on average, exactly so in the linear
    regime, whatever the eigenvalues of g.

    $$\frac{1}{n} \mathrm{tr}\left( J (J^T J)^{-1} J^T \right) \sigma^2 = \frac{p \sigma^2}{n}$$

    Assumes: the sum of exponentials with rates 0.3 … 4.8; small σ for the Monte Carlo check.

    Check: The rates are the first `terms` of 0.3, 0.6, 1.2, 2.4 and 4.8, observed at times from 0 to 5.
    """
    five = sloppiness.sum_of_exponentials(np.linspace(0, 5, 30), 5)
    eigenvalues = sloppiness.fisher_eigenvalues(sloppiness.gaussian_root_jacobian(five.jacobian(RATES), 1.0))
    stated = [1.25731, 3.60514e-2, 2.36034e-3, 2.18901e-4, 1.71956e-5]
    yield reference(eigenvalues, stated, "five rates, 30 times, σ = 1: eigenvalues of g", digits=6)
    rates = RATES[:terms]
    model = sloppiness.sum_of_exponentials(np.linspace(0, 5, samples), terms)
    J = model.jacobian(rates)
    unit = sloppiness.cramer_rao_bound(sloppiness.gaussian_root_jacobian(J), samples).matrix  # at σ = 1
    error = np.sqrt(np.diag(unit)) * deviation
    band = np.sqrt(np.einsum("np,pq,nq->n", J, unit, J)) * deviation
    yield close(np.mean(band**2), terms * deviation**2 / samples, "mean variance of the predictions, pσ²/n", rtol=1e-8)
    yield at_most(band, deviation, "standard deviation of a prediction, against one datum's")
    relative, typical = error / rates, np.sqrt(np.mean(band**2)) / np.mean(model.predict(rates))
    yield at_least(max(relative) / typical, 10.0, "worst relative error of a rate over that of a prediction")
    rng = data.generator(jax.random.fold_in(key, 1))
    small = 1e-3 / np.sqrt(np.linalg.eigvalsh(unit)[-1])
    observed = model.predict(rates) + small * rng.normal(size=(repeats, samples))
    fits = sloppiness.repeated_fits(model, observed, rates)
    yield exactly(np.mean(fits.converged), 1.0, "share of fits that converged")
    missed = np.sum((model.predict(fits.weights) - model.predict(rates)) ** 2, axis=1) / small**2
    what = f"{repeats} fits, σ = {small:.1e}: squared errors of the predictions over σ², p expected"
    yield mean(missed, terms, what, deviation=np.sqrt(2 * terms))
    z = (fits.weights[:, -1] - rates[-1]) / np.sqrt(unit[-1, -1]) / small
    yield mean(z**2, 1.0, "squared error of the fastest rate over its bound", deviation=np.sqrt(2))
    y = model.predict(rates) + deviation * rng.normal(size=samples)
    best = sloppiness.repeated_fits(model, y[None], rates)
    ratio, lines, points = np.linspace(0.2, 2.5, 600), {}, {}
    for index in (0, terms - 1):
        grid = best.weights[0, index] + np.linspace(-2.5, 2.5, 21) * error[index]
        grid, name = grid[grid > 0.02], f"rate {rates[index]:g}"
        start = np.tile(best.weights[0], (len(grid), 1))
        start[:, index] = grid
        fixed = np.arange(terms) == index
        held = sloppiness.repeated_fits(model, np.tile(y, (len(grid), 1)), start, fixed=fixed, most=60)
        rise = (held.squares - best.squares[0]) / deviation**2
        yield at_least(rise, 0.0, f"{name} held, others refitted: rise of Σr²", atol=1e-6)
        parabola = ((ratio * rates[index] - best.weights[0, index]) / error[index]) ** 2
        points[name] = (grid[rise < 6] / rates[index], rise[rise < 6])
        lines[name] = (ratio[parabola < 6], parabola[parabola < 6])
    title, rules = "Profile likelihoods: others refitted", {"95%": ("y", 3.84)}
    profiles = figure.curves(title, "rate over its true value", "rise of Σr²", lines=lines, points=points, rules=rules)
    fine = model.at(np.linspace(0, 7, 80))
    slopes, centre = fine.jacobian(rates), fine.predict(rates)
    spread = 10 * deviation * np.sqrt(np.einsum("np,pq,nq->n", slopes, unit, slopes))
    lines, points = {"prediction": (fine.inputs, centre)}, {"data": (model.inputs, y)}
    bands = {"± 10 s.d.": (fine.inputs, centre - spread, centre + spread)}
    title = "Prediction band of 10 standard deviations"
    predicted = figure.curves(title, "time", "Σ exp(−wₖt)", lines=lines, points=points, bands=bands)
    title = f"Rates known to {min(relative):.1%} to {max(relative):.1%}, predictions to {typical:.2%}"
    yield figure.beside(title, profiles, predicted)
