"""How well data determine parameters, and how well predictions: the Cramér-Rao bound, and a sloppy model under it."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, sloppiness
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, mean, printed

RATES = np.array([0.3, 0.6, 1.2, 2.4, 4.8])


def _ellipse(centre: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ellipse that holds 95% of a normal law in the plane."""
    angle = np.linspace(0, 2 * np.pi, 121)
    circle = np.sqrt(-2 * np.log(0.05)) * np.stack([np.cos(angle), np.sin(angle)])
    x, y = centre[:, None] + np.linalg.cholesky(covariance) @ circle
    return x, y


@claim(
    "cramer-rao",
    says=(
        "No unbiased estimator from n samples has n Cov below g⁻¹ in the Loewner order, g the Fisher information of "
        "one sample; maximum likelihood attains it as n grows. Where g is singular, only combinations in its range "
        "have unbiased estimators at all."
    ),
    formula=r"n \, \mathrm{Cov}(\hat{w}) \succeq g(w)^{-1}",
    sources=("penn",),
    assumes=("unbiased estimators", "errors N(0, σ²), σ known"),
    shows=(
        "sloppiness.cramer_rao_bound",
        "sloppiness.loewner_margin",
        "sloppiness.repeated_fits",
        "sloppiness.whitened_errors",
        "sloppiness.wishart_edges",
    ),
)
def cramer_rao(
    key,
    samples: Annotated[int, Range(48, 200)] = 64,
    deviation: Annotated[float, Range(0.005, 0.02, log=True)] = 0.02,
    constant: Annotated[float, Range(0.5, 2.0)] = 1.0,
    repeats: Annotated[int, Range(200, 1000, log=True)] = 400,
):
    """Least squares and a badly weighted rival on a parabola, exactly; `repeats` fits of V s/(K + s), V = 1,
    K = `constant`; and y = (w₁ + w₂)x + w₃, which determines only the sum."""
    rng = data.generator(jax.random.fold_in(key, 0))
    points = np.linspace(-1, 1, samples)
    parabola = sloppiness.polynomial_model(points, 2)
    A = parabola.jacobian(np.zeros(3))
    bound = sloppiness.cramer_rao_bound(sloppiness.gaussian_root_jacobian(A, deviation), samples).matrix
    least_squares = deviation**2 * np.linalg.inv(A.T @ A)
    yield close(least_squares, bound, "parabola: covariance of least squares", atol=1e-10 * bound.max())
    weights = rng.uniform(0.2, 1.0, size=samples)
    linear = np.linalg.solve(A.T * weights @ A, A.T * weights)  # unbiased: linear @ A = 1
    rival = sloppiness.loewner_margin(deviation**2 * linear @ linear.T, bound)
    yield at_least(rival, 0.0, "weighted at random: smallest eigenvalue of B^{-1/2} Cov B^{-1/2} − 1", strict=True)

    truth = np.array([1.0, constant])

    def fitted(size, constant, noise):
        model, w = sloppiness.michaelis_menten(np.geomspace(0.1, 10.0, size)), np.array([1.0, constant])
        root = sloppiness.gaussian_root_jacobian(model.jacobian(w), noise)
        bound = sloppiness.cramer_rao_bound(root, size).matrix
        observed = model.predict(w) + noise * rng.normal(size=(repeats, size))
        fits = sloppiness.repeated_fits(model, observed, w)
        return bound, fits, sloppiness.whitened_errors(fits.weights, w, bound)

    sizes = np.array([8, 16, 32, 64, 128, 256])
    shares = [(fitted(int(size), 1.0, 0.15)[2] ** 2).sum(axis=1) / 2 for size in sizes]
    ratios = np.array([share.mean() for share in shares])
    yield mean(shares[-1], 1.0, "σ = 0.15, n = 256: squared error over the bound", deviation=1.0)
    bound, fits, z = fitted(samples, constant, deviation)
    yield close(np.mean(fits.converged), 1.0, "share of fits that converged")
    edges = sloppiness.wishart_edges(repeats - 1, 2)
    values = np.linalg.eigvalsh(np.cov(z.T))
    yield at_least(values[0], edges[0], f"{repeats} fits: smallest eigenvalue of n Cov over g⁻¹, chance allowed for")
    yield at_most(values[-1], edges[1], "largest eigenvalue of n Cov over g⁻¹, chance allowed for")
    yield mean((z**2).sum(axis=1) / 2, 1.0, f"n = {samples}: squared error over the bound", deviation=1.0)

    x = rng.normal(size=samples)
    sum_only = sloppiness.cramer_rao_bound(
        sloppiness.gaussian_root_jacobian(np.stack([x, x, np.ones(samples)], 1), deviation), samples
    )
    line = np.stack([x, np.ones(samples)], 1)
    known = deviation**2 * np.linalg.inv(line.T @ line)[0, 0]
    yield close(sum_only.variance(np.array([1.0, 1.0, 0.0])), known, "least variance of w₁ + w₂", rtol=1e-9)
    yield exactly(np.isinf(sum_only.variance(np.array([1.0, -1.0, 0.0]))), True, "none of w₁ − w₂ is finite")
    yield exactly(len(sum_only.undetermined), 1, "combinations that the data do not determine")

    # In units of w that are u times smaller the numbers grow u-fold, variances u²-fold, 1/det g u⁴-fold.
    unit = 10 * np.sqrt(np.linalg.inv(samples * bound)[1, 1])
    covariance, information = unit**2 * np.cov(fits.weights.T), np.linalg.inv(samples * bound) / unit**2
    yield printed(
        at_least(samples * covariance[0, 0], 1 / np.linalg.det(information), f"n Var(V̂), V in units of {1 / unit:.2g}"),
        "penn",
        "the variance is at least the inverse of the determinant of g: units decide whether it is",
    )
    ellipses = {
        "Cramér-Rao": _ellipse(truth, bound),
        "covariance of the fits": _ellipse(fits.weights.mean(axis=0), np.cov(fits.weights.T)),
    }
    yield figure.beside(
        f"Fits of V s/(K + s), σ = 0.15: squared error {ratios[0]:.2f} times the Cramér-Rao bound from 8 samples, "
        f"{ratios[-1]:.2f} from 256",
        figure.plane(
            f"95% ellipses, n = {samples}, σ = {deviation:.2g}",
            x="V",
            y="K",
            points={"fits": fits.weights},
            sizes={"fits": 10.0},
            lines=ellipses,
        ),
        figure.curves(
            f"Squared error over the bound, {repeats} fits, σ = 0.15",
            x="samples n",
            y="ratio",
            lines={"attained": (sizes[[0, -1]], [1.0, 1.0])},
            points={"fits": (sizes, ratios, *(ratios + side * 3.29 / np.sqrt(repeats) for side in (-1, 1)))},
            log="x",
        ),
    )


@claim(
    "estimation-versus-prediction",
    says=(
        "A sloppy model leaves its parameters uncertain and still predicts well: five decay rates have relative errors "
        "dozens of times those of the predictions, whose variance at the data is pσ²/n in the mean, exactly in the "
        "linear regime, whatever the eigenvalues of g."
    ),
    formula=r"\frac{1}{n} \mathrm{tr}\left( J (J^T J)^{-1} J^T \right) \sigma^2 = \frac{p \sigma^2}{n}",
    sources=("penn",),
    assumes=("the sum of exponentials with rates 0.3 … 4.8", "small σ for the Monte Carlo check"),
    shows=("sloppiness.cramer_rao_bound", "sloppiness.repeated_fits", "sloppiness.sum_of_exponentials"),
)
def estimation_versus_prediction(
    key,
    deviation: Annotated[float, Range(0.002, 0.02, log=True)] = 0.01,
    samples: Annotated[int, Range(20, 60)] = 30,
    terms: Annotated[int, Range(3, 5)] = 5,
    repeats: Annotated[int, Range(100, 400, log=True)] = 150,
):
    """Σ e^{−wₖt}, the first `terms` of the rates 0.3, 0.6, 1.2, 2.4, 4.8, `samples` times from 0 to 5."""
    reference = sloppiness.sum_of_exponentials(np.linspace(0, 5, 30), 5)
    eigenvalues = sloppiness.fisher_eigenvalues(sloppiness.gaussian_root_jacobian(reference.jacobian(RATES), 1.0))
    stated = [1.25731, 3.60514e-2, 2.36034e-3, 2.18901e-4, 1.71956e-5]
    yield close(eigenvalues, stated, "five rates, 30 times, σ = 1: eigenvalues of g", rtol=1e-5)

    rates = RATES[:terms]
    model = sloppiness.sum_of_exponentials(np.linspace(0, 5, samples), terms)
    J = model.jacobian(rates)
    unit = sloppiness.cramer_rao_bound(sloppiness.gaussian_root_jacobian(J), samples).matrix  # at σ = 1
    error = np.sqrt(np.diag(unit)) * deviation
    band = np.sqrt(np.einsum("np,pq,nq->n", J, unit, J)) * deviation
    yield close(np.mean(band**2), terms * deviation**2 / samples, "mean variance of the predictions, pσ²/n", rtol=1e-8)
    yield at_most(np.max(band), deviation, "largest standard deviation of a prediction, against one datum's")
    sloppy = float(np.max(error / rates))
    typical = float(np.sqrt(np.mean(band**2)))
    yield at_least(
        sloppy / (typical / np.mean(model.predict(rates))),
        10.0,
        "worst relative error of a rate over that of a prediction",
    )

    rng = data.generator(jax.random.fold_in(key, 1))
    small = 1e-3 / float(np.sqrt(np.linalg.eigvalsh(unit)[-1]))
    observed = model.predict(rates) + small * rng.normal(size=(repeats, samples))
    fits = sloppiness.repeated_fits(model, observed, rates)
    yield close(np.mean(fits.converged), 1.0, "share of fits that converged")
    missed = np.sum((model.predict(fits.weights) - model.predict(rates)) ** 2, axis=1) / small**2
    what = f"{repeats} fits, σ = {small:.1e}: squared errors of the predictions over σ², p expected"
    yield mean(missed, terms, what, deviation=np.sqrt(2 * terms))
    z = (fits.weights - rates) / np.sqrt(np.diag(unit)) / small
    yield mean(z[:, -1] ** 2, 1.0, "squared error of the fastest rate over its bound", deviation=np.sqrt(2))

    y = model.predict(rates) + deviation * rng.normal(size=samples)
    best = sloppiness.repeated_fits(model, y[None], rates)
    profiles = {}
    for index in (0, terms - 1):
        grid = best.weights[0, index] + np.linspace(-2.5, 2.5, 21) * error[index]
        grid = grid[grid > 0.02]
        fixed = np.arange(terms) == index
        start = np.tile(best.weights[0], (len(grid), 1))
        start[:, index] = grid
        held = sloppiness.repeated_fits(model, np.tile(y, (len(grid), 1)), start, fixed=fixed, most=60)
        rise = (held.squares - best.squares[0]) / deviation**2
        yield at_least(rise, 0.0, f"rate {rates[index]:g} held, others refitted: rise of Σr²", atol=1e-6)
        profiles[f"rate {rates[index]:g}"] = (grid / rates[index], rise)
    ratio = np.linspace(0.2, 2.5, 600)
    high = 6.0
    parabolas = {}
    for index in (0, terms - 1):
        rise = ((ratio * rates[index] - best.weights[0, index]) / error[index]) ** 2
        parabolas[f"rate {rates[index]:g}"] = (ratio[rise < high], rise[rise < high])
    fine = model.at(np.linspace(0, 7, 80))
    spread = np.sqrt(np.einsum("np,pq,nq->n", fine.jacobian(rates), unit, fine.jacobian(rates))) * deviation
    centre = fine.predict(rates)
    yield figure.beside(
        f"σ = {deviation:.2g}: rates known to {np.min(error / rates):.1%} to {sloppy:.1%}, predictions to "
        f"{typical / np.mean(model.predict(rates)):.2%}",
        figure.curves(
            "Profile likelihoods: others refitted",
            x="rate over its true value",
            y="rise of Σr²",
            lines=parabolas,
            points={name: (g[r < high], r[r < high]) for name, (g, r) in profiles.items()},
            rules={"95%": ("y", 3.84)},
        ),
        figure.curves(
            "Prediction band of 10 standard deviations",
            x="time",
            y="Σ exp(−wₖt)",
            lines={"prediction": (fine.inputs, centre)},
            points={"data": (model.inputs, y)},
            bands={"± 10 s.d.": (fine.inputs, centre - 10 * spread, centre + 10 * spread)},
        ),
    )
