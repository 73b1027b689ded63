"""What a fit leaves open: bands of predictions, and how thin the manifold is across each datum."""

import numpy as np

from leadline import data
from leadline.evidence import Int, Real, at_least, at_most, close, instrument
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.manifolds.manifold_widths import dropped_widths, geometric_fit
from leadline.presentation import figure


@instrument(sources=("penn",))
def prediction_band(
    key,
    deviation: Real(0.0003, 0.004, log=True) = 0.004,
    degree: Int(1, 5) = 3,
    n: Int(8, 20) = 10,
    coverage: Real(0.5, 0.95) = 0.9,
):
    r"""Prediction band of near-optimal weights.

    The band is the set of values that f(x; w) takes over all weights with $C \le C_{\min} + \mathrm{tol}$: the width
    of the model manifold in the direction of a new datum, narrow among the data and wide outside. Linearised, it is
    $\pm\sqrt{2\, \mathrm{tol}\, \nabla f^T g^+ \nabla f}$, which is exact for linear models and unreliable along
    sloppy directions.

    $$\{ f(x; w) : C(w) \le C_{\mathrm{min}} + \mathrm{tol} \} \approx f(x; \hat w) \pm \sqrt{2\, \mathrm{tol}\, \nabla
    f^T g^{+} \nabla f}$$

    Check: A cubic or another polynomial, and $\sum_k a_k e^{-w_k t}$ with two terms at n times in [0.3, 2]; tol =
    z²/(2n).
    """
    from scipy.special import ndtri

    rng = data.generator(key)
    tol = ndtri((1 + coverage) / 2) ** 2 / (2 * n)
    line = sloppiness.polynomial_model(np.linspace(-1, 1, n), degree)
    y = deviation * rng.normal(size=n)
    best = line.fit(y, np.zeros(degree + 1)).weights
    where = np.array([-1.8, -0.4, 0.3, 1.5])
    exact = sloppiness.profile_band(line, y, best, where, tol, deviation)
    half = sloppiness.linear_half_width(line, best, where, tol, deviation)
    for side, found in (("upper", exact.high - exact.best), ("lower", exact.best - exact.low)):
        yield close(found, half, f"polynomial: {side} half of the profile, against the formula", rtol=1e-6)
    regression = sloppiness.sum_of_exponentials(np.linspace(0.3, 2.0, n), 2, amplitudes=True)
    truth, noise, xs = np.array([0.3, 1.5, 1.0, 1.0]), rng.normal(size=n), np.linspace(0.0, 6.0, 19)
    y = regression.predict(truth) + deviation * noise
    best = regression.fit(y, truth, deviation).weights
    least = regression.cost(best, y, deviation)
    band = sloppiness.profile_band(regression, y, best, xs, tol, deviation)
    linear = sloppiness.linear_half_width(regression, best, xs, tol, deviation)
    costs = regression.cost(np.stack([band.low_weights, band.high_weights]), y, deviation)
    yield close(costs, least + tol, "exponentials: cost at the ends of the band, against C_min + tol", rtol=1e-4)
    among = band.widths[(xs >= 0.3) & (xs <= 2.0)]
    what = "exponentials: width of the band at t = 6, against the widest among the data"
    yield at_least(band.widths[-1], among.max(), what)
    quiet, far = regression.predict(truth) + 1e-5 * noise, np.array([6.0])
    best = regression.fit(quiet, truth, 1e-5).weights
    small = sloppiness.profile_band(regression, quiet, best, far, tol, 1e-5)
    linearised = 2 * sloppiness.linear_half_width(regression, best, far, tol, 1e-5)
    what = "exponentials: width at t = 6 with noise of 10⁻⁵, against the linearised one"
    yield close(small.widths, linearised, what, rtol=0.01)
    true = regression.at(xs).predict(truth)
    title = (
        f"Fitted up to t = 2: band {among.min():.2g} wide there, {band.widths[-1]:.2g} at t = 6, "
        f"{band.widths[-1] / (2 * linear[-1]):.2f} times the linearised one; truth at most "
        f"{band.distance(true).max():.2g} outside"
    )
    bands = {f"profile, C ≤ C_min + {tol:.3f}": (xs, band.low, band.high)}
    bands["linearised"] = (xs, band.best - linear, band.best + linear)
    lines, points = {"best fit": (xs, band.best), "truth": (xs, true)}, {"data": (regression.inputs, y)}
    yield figure.curves(title, "time t", "f(t; w)", bands=bands, lines=lines, points=points)


@instrument(sources=("penn",))
def manifold_thinness(
    key, n: Int(6, 8) = 7, span: Real(1.0, 10.0, log=True) = 3.0, left: Real(-1.0, 0.5) = 0.0, rates: Int(60, 160) = 80
):
    r"""Hyper-ribbon widths of the model manifold.

    Fix the data one after the other and measure how wide the model manifold still is along the next: the widths fall
    geometrically, which makes the manifold a hyper-ribbon. The widths are exact for all mixtures of exponentials (by
    linear programs) and for polynomials of bounded weights (by pivoted QR).

    $$W_k = \max_{w, w'} | y_k(w) - y_k(w') | \text{ with } y_j(w) = y_j(w') = y_j^*, \; j < k; \quad W_k \sim W_1
    \Delta^{k-1}$$

    Check: Mixtures of $e^{-rt}$ are taken at n times up to `span`, with slices through the equal mixture of all rates.
    Polynomials have degree n − 1 and ‖w‖ ≤ 1 at n points of [`left`, 1].
    """
    times = np.linspace(span / n, span, n)
    curves = np.exp(-np.append(0.0, np.geomspace(0.03, 30.0, rates)) * times[:, None])
    exponentials = sloppiness.hull_widths(curves)
    features = np.vander(np.linspace(left, 1.0, n), n, increasing=True)
    polynomials = sloppiness.ball_widths(features)
    ranks, lines, factors = np.arange(1, n + 1), {}, []
    for name, found in (("exponentials", exponentials), ("polynomials", polynomials)):
        factor, fit = geometric_fit(found.widths)
        factors.append(factor)
        yield at_least(fit, 0.9, f"{name}: R² of log width on rank, factor {factor:.2f} a datum")
        yield at_most(factor, 1.0, f"{name}: factor of the width a datum", strict=True)
        yield at_most(found.widths[1:], found.widths[:-1], f"{name}: each width, against the one before", rtol=1e-9)
        level = np.exp(np.polyfit(ranks, np.log(found.widths), 1)[1])
        lines[f"{name}: {factor:.2f} a datum"] = (ranks, level * factor**ranks)
    equal = np.full(curves.shape[1], 1 / curves.shape[1])
    alone = [sloppiness.hull_width(curves, equal, i, [j for j in range(n) if j != i]) for i in range(n)]
    what = "width along the last datum, all others fixed, against the last of the widths"
    yield close(alone[exponentials.order[-1]], exponentials.widths[-1], f"exponentials: {what}", rtol=1e-3)
    volume = 2.0**n * abs(np.linalg.det(features))
    yield close(np.prod(polynomials.widths), volume, "polynomials: product of widths, against 2ⁿ |det J|", rtol=1e-6)
    last = dropped_widths(features)[polynomials.order[-1]]
    yield close(last, polynomials.widths[-1], f"polynomials: {what}", rtol=1e-6)
    points = {"exponentials, measured": (ranks, exponentials.widths)}
    points["polynomials, measured"] = (ranks, polynomials.widths)
    points["exponentials, each datum dropped"] = (ranks, np.sort(alone)[::-1])
    title = f"A hyper-ribbon: each datum fixed multiplies the width by {factors[0]:.2f} or {factors[1]:.2f}"
    along = "data fixed before, plus one"
    yield figure.curves(title, along, "width of the manifold", lines=lines, points=points, log="y")
