"""What a fit leaves open: bands of predictions, and how thin the manifold is across each datum."""

from typing import Annotated

import numpy as np

from leadline import data, sloppiness
from leadline.evidence import Range, at_least, at_most, close, figure, instrument


@instrument(
    "prediction-band",
    says=(
        "The values that f(x; w) takes over all weights with C ≤ C_min + tol: the width of the model manifold in the "
        "direction of a new datum, narrow among the data and wide outside. Linearised it is ±√(2 tol ∇fᵀg⁺∇f), exact "
        "for linear models and unreliable along sloppy directions."
    ),
    formula=r"\{ f(x; w) : C(w) \le C_{min} + tol \} \approx f(x; \hat w) "
    r"\pm \sqrt{2\, tol\, \nabla f^T g^{+} \nabla f}",
    sources=("penn",),
    shows=("sloppiness.profile_band", "sloppiness.linear_half_width", "sloppiness.PredictionBand"),
)
def prediction_band(
    key,
    deviation: Annotated[float, Range(0.0003, 0.004, log=True)] = 0.004,
    degree: Annotated[int, Range(1, 5)] = 3,
    n: Annotated[int, Range(8, 20)] = 10,
    coverage: Annotated[float, Range(0.5, 0.95)] = 0.9,
):
    """A polynomial, where the formula is exact, and Σ aₖ e^(−wₖt) with two terms at n times of [0.3, 2], with the
    tolerance of one weight combination at the given coverage, tol = z²/(2n)."""
    from scipy.special import ndtri

    rng = data.generator(key)
    tol = float(ndtri((1 + coverage) / 2) ** 2 / (2 * n))
    line = sloppiness.polynomial_model(np.linspace(-1, 1, n), degree)
    y = deviation * rng.normal(size=n)
    best = line.fit(y, np.zeros(degree + 1)).weights
    where = np.array([-1.8, -0.4, 0.3, 1.5])
    exact = sloppiness.profile_band(line, y, best, where, tol, deviation)
    half = sloppiness.linear_half_width(line, best, where, tol, deviation)
    yield close(exact.high - exact.best, half, "polynomial: upper half of the profile, against the formula", rtol=1e-6)
    yield close(exact.best - exact.low, half, "polynomial: lower half of the profile, against the formula", rtol=1e-6)

    regression = sloppiness.sum_of_exponentials(np.linspace(0.3, 2.0, n), 2, amplitudes=True)
    truth = np.array([0.3, 1.5, 1.0, 1.0])
    noise = rng.normal(size=n)
    y = regression.predict(truth) + deviation * noise
    fit = regression.fit(y, truth, deviation)
    least = regression.cost(fit.weights, y, deviation)
    xs = np.linspace(0.0, 6.0, 19)
    band = sloppiness.profile_band(regression, y, fit.weights, xs, tol, deviation)
    linear = sloppiness.linear_half_width(regression, fit.weights, xs, tol, deviation)
    ends = np.stack([band.low_weights, band.high_weights])
    yield close(
        regression.cost(ends, y, deviation),
        least + tol,
        "exponentials: cost at the ends, the tolerance used up",
        rtol=1e-4,
    )
    inside = (xs >= 0.3) & (xs <= 2.0)
    yield at_least(band.widths[-1], band.widths[inside].max(), "width at t = 6, against the widest among the data")
    quiet = regression.predict(truth) + 1e-5 * noise
    best = regression.fit(quiet, truth, 1e-5).weights
    far = np.array([6.0])
    small = sloppiness.profile_band(regression, quiet, best, far, tol, 1e-5)
    yield close(
        small.widths,
        2 * sloppiness.linear_half_width(regression, best, far, tol, 1e-5),
        "width at t = 6 with noise of 10⁻⁵, against the linearised one",
        rtol=0.01,
    )
    true = regression.at(xs).predict(truth)
    ratio = band.widths[-1] / (2 * linear[-1])
    yield figure.curves(
        f"Fitted up to t = 2: band {band.widths[inside].min():.2g} wide there, "
        f"{band.widths[-1]:.2g} at t = 6, {ratio:.2f} times the linearised one; truth at most "
        f"{band.distance(true).max():.2g} outside",
        x="time t",
        y="f(t; w)",
        bands={
            f"profile, C ≤ C_min + {tol:.3f}": (xs, band.low, band.high),
            "linearised": (xs, band.best - linear, band.best + linear),
        },
        lines={"best fit": (xs, band.best), "truth": (xs, true)},
        points={"data": (regression.inputs, y)},
    )


@instrument(
    "manifold-thinness",
    says=(
        "Fix the data one after the other and measure how wide the model manifold still is along the next: the widths "
        "fall geometrically, a hyper-ribbon. Exact for all mixtures of exponentials (linear programs) and polynomials "
        "of bounded weights (pivoted QR)."
    ),
    formula=r"W_k = \max_{w, w'} | y_k(w) - y_k(w') | \text{ with } y_j(w) = y_j(w') = y_j^*, \; j < k; "
    r"\quad W_k \sim W_1 \Delta^{k-1}",
    sources=("penn",),
    shows=("sloppiness.hull_widths", "sloppiness.ball_widths", "sloppiness.dropped_widths", "sloppiness.geometric_fit"),
)
def manifold_thinness(
    key,
    n: Annotated[int, Range(6, 8)] = 7,
    span: Annotated[float, Range(1.0, 10.0, log=True)] = 3.0,
    left: Annotated[float, Range(-1.0, 0.5)] = 0.0,
    rates: Annotated[int, Range(60, 160)] = 80,
):
    """Mixtures of e^(−rt) at n times up to `span`, slices through the equal mixture of all rates; polynomials of degree
    n − 1 with ‖w‖ ≤ 1 at n points of [left, 1]."""
    times = np.linspace(span / n, span, n)
    curves = np.exp(-np.append(0.0, np.geomspace(0.03, 30.0, rates)) * times[:, None])
    exponentials = sloppiness.hull_widths(curves)
    features = np.vander(np.linspace(left, 1.0, n), n, increasing=True)
    polynomials = sloppiness.ball_widths(features)
    factors = {}
    for name, found in (("exponentials", exponentials), ("polynomials", polynomials)):
        factor, fit = sloppiness.geometric_fit(found.widths)
        factors[name] = factor
        yield at_least(fit, 0.9, f"{name}: R² of log width on rank, factor {factor:.2f} a datum")
        yield at_most(factor, 1.0, f"{name}: factor a datum", strict=True)
        yield at_most(found.widths[1:], found.widths[:-1], f"{name}: each width at most the one before", rtol=1e-9)
    equal = np.full(curves.shape[1], 1 / curves.shape[1])
    alone = [sloppiness.hull_width(curves, equal, i, [j for j in range(n) if j != i]) for i in range(n)]
    yield close(alone[exponentials.order[-1]], exponentials.widths[-1], "the last, all others fixed", rtol=1e-3)
    dropped = sloppiness.dropped_widths(features)
    yield close(
        np.prod(polynomials.widths),
        2.0**n * abs(np.linalg.det(features)),
        "polynomials: product of the widths, against 2ⁿ |det J|",
        rtol=1e-6,
    )
    yield close(
        dropped[polynomials.order[-1]], polynomials.widths[-1], "polynomials: the last, all others fixed", rtol=1e-6
    )
    ranks = np.arange(1, n + 1)
    lines = {}
    for name, found in (("exponentials", exponentials), ("polynomials", polynomials)):
        level = np.exp(np.polyfit(ranks, np.log(found.widths), 1)[1])
        lines[f"{name}: {factors[name]:.2f} a datum"] = (ranks, level * factors[name] ** ranks)
    yield figure.curves(
        f"A hyper-ribbon: with each datum fixed the next width is {factors['exponentials']:.2f} (exponentials) or "
        f"{factors['polynomials']:.2f} (polynomials) of the last",
        x="data fixed before, plus one",
        y="width of the manifold",
        lines=lines,
        points={
            "exponentials, measured": (ranks, exponentials.widths),
            "polynomials, measured": (ranks, polynomials.widths),
            "exponentials, each datum dropped": (ranks, np.sort(alone)[::-1]),
        },
        log="y",
    )
