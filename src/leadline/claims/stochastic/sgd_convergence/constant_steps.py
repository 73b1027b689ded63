"""SGD with a constant step: a geometric phase, then a floor; what is guaranteed, beside the exact moments."""

import numpy as np

from leadline import data, stochastic
from leadline.claims.scenarios.stochastic.noisy_regression import extreme_curvatures, regression_moments, six_moments
from leadline.evidence import Int, Real, at_most, claim, close, erratum, reference
from leadline.presentation import figure
from leadline.stochastic.sgd_bounds import distance_bound


@claim(sources=("penn",))
def sgd_rate_constant_step(
    key,
    share: Real(0.05, 1.0) = 1.0,
    batch: Int(1, 64) = 1,
    noise: Real(0.0, 2.0) = 0.5,
    condition: Real(1.0, 30.0, log=True) = 3.0,
    start: Real(0.0, 5.0) = 1.0,
):
    r"""Constant-step SGD converges to a floor.

    With step size η ≤ 1/(Lσ), after t updates the expected gap of SGD is at most F + (1 − ηm)ᵗ(gap₀ − F), F =
    ηLσ₀/(2m): linear convergence down to a floor proportional to the step size.

    $$E\, \mathrm{gap}_t \le F + (1 - \eta m)^t (\mathrm{gap}_0 - F), \quad F = \frac{\eta L \sigma_0}{2 m}$$

    Assumes: l is m-strongly convex and L-smooth; E‖gᵢ‖² ≤ σ₀ + σ‖g‖²; η ≤ 1/(Lσ).

    Check: Exact moments on least squares in three dimensions; η is `share` times the largest that the theorem allows.
    """
    problem = regression_moments(data.generator(key), 30, 3, noise, condition)
    form = stochastic.second_moment_form(problem.x, problem.y)
    sigma = 1.2 * form.least_slope
    smoothness, convexity = extreme_curvatures(problem)
    constants = {"smoothness": smoothness, "strong_convexity": convexity, "sigma0": form.offset(sigma), "batch": batch}
    eta = share * stochastic.largest_constant_step(smoothness=smoothness, sigma=sigma, batch=batch)
    steps = min(int(4 / (eta * convexity)) + 10, 4000)
    path = problem.path(problem.minimiser + start * np.ones(3), np.full(steps, eta), batch)
    bound = stochastic.constant_step_bound(np.arange(steps + 1), path.gaps[0], eta, **constants)
    yield at_most(path.gaps, bound, f"expected gap at t = 0 … {steps}", atol=1e-12 * path.gaps.max())
    if noise > 0:
        floor = problem.expected_gap(problem.stationary(eta, batch))
        yield at_most(floor, stochastic.guaranteed_floor(eta, **constants), "stationary expected gap, against F")
    six = six_moments()
    form = stochastic.second_moment_form(six.x, six.y)
    sigma, h = 1.2 * form.least_slope, six.hessian[0, 0]
    constants = {"smoothness": h, "strong_convexity": h, "sigma0": form.offset(sigma)}
    floors, limits = [], []
    for b in (1, 4, 16):
        step = stochastic.largest_constant_step(smoothness=h, sigma=sigma, batch=b)
        floors.append(six.expected_gap(six.stationary(step, b)))
        limits.append(stochastic.guaranteed_floor(step, **constants, batch=b))
        end = six.path(six.minimiser + 1, np.full(200, step), b).gaps[-1]
        yield close(end, floors[-1], f"six points, b = {b}: gap after 200 updates, against the floor", rtol=1e-9)
    yield reference(floors, [0.054408, 0.020389, 0.0058238], "six points: floors for b = 1, 4, 16", digits=5)
    yield reference(limits, [0.071955, 0.024420, 0.0067042], "six points: guaranteed floors F, b = 1, 4, 16", digits=5)
    coin = stochastic.LeastSquaresMoments(np.ones(2), np.array([1.0, -1.0]))
    updates, low = np.arange(9), coin.path(np.zeros(1), np.full(8, 0.5)).gaps
    ones = {"smoothness": 1.0, "strong_convexity": 1.0, "sigma0": 1.0}
    met = stochastic.constant_step_bound(updates, 0.0, 0.5, **ones)
    yield close(low[1], met[1], "two parabolas from w*: gap after one step, against the bound", atol=1e-15)
    time, ratio = np.arange(steps + 1), bound[-1] / max(path.gaps[-1], 1e-300)
    lines, points = {"bound": (time, bound)}, {"exact": (time, path.gaps)}
    title = f"Least squares, b = {batch}, η = {eta:.3g}"
    general = figure.curves(title, "updates", "expected gap", lines=lines, points=points, log="y")
    lines, points = {"bound": (updates, met)}, {"exact": (updates, low)}
    title = "Two parabolas from w*: the bound is met after one update"
    sharp = figure.curves(title, "updates", "expected gap", lines=lines, points=points)
    yield figure.beside(
        f"The exact gap of SGD stays under the bound and ends {ratio:.2g} times below it", general, sharp
    )


@claim(sources=("sheet",))
def sgd_constant_step_distance(
    key,
    share: Real(0.02, 0.98) = 0.5,
    noise: Real(0.0, 2.0) = 0.5,
    dim: Int(1, 4) = 2,
    samples: Int(20, 100) = 30,
    start: Real(0.0, 5.0) = 2.0,
):
    r"""Distance bound for constant-step SGD.

    If every example's loss is convex and Lₘₐₓ-smooth and η < 1/Lₘₐₓ, then E‖wᵗ − w*‖² ≤ Aᵗ‖w⁰ − w*‖² + B: an
    exponential phase, then a floor set by the noise at w*; without noise there, convergence is linear.

    $$A = 1 - 2 \eta m (1 - \eta L_{\mathrm{max}}), \quad B = \frac{\eta \sigma_*^2}{m (1 - \eta L_{\mathrm{max}})}$$

    Assumes: l is m-strongly convex; each lⁱ is convex and Lₘₐₓ-smooth; η < 1/Lₘₐₓ.
    """
    problem = regression_moments(data.generator(key), samples, dim, noise)
    largest = np.max(np.sum(problem.x**2, axis=1))
    level = np.mean(np.sum(problem.x**2, axis=1) * problem.residuals**2)
    constants = {"largest_smoothness": largest, "strong_convexity": extreme_curvatures(problem)[1], "noise": level}
    curves, points, ends = {}, {}, []
    for part in sorted({0.1 * share, share}):
        eta, name = part / largest, f"ηL_max = {part:.2g}"
        steps = min(int(5 / (eta * constants["strong_convexity"])) + 10, 6000)
        found = problem.path(problem.minimiser + start * np.ones(dim), np.full(steps, eta)).distances
        time = np.arange(steps + 1)
        bound = distance_bound(time, found[0], eta, **constants)
        within = at_most(found, bound, f"E‖wᵗ − w*‖² at every t, ηL_max = {part:.3g}", atol=1e-12 * found.max())
        yield within
        curves[name], points[name] = (time, bound), (time, found)
        ends.append(found[-1])
    fitted = regression_moments(data.generator(key), samples, dim, 0.0)
    run = fitted.path(fitted.minimiser + np.ones(dim), np.full(200, eta))
    rate = 1 - 2 * eta * extreme_curvatures(fitted)[1] * (1 - share)
    falls = dim * rate ** np.arange(201.0)
    linear = at_most(run.distances, falls, "without noise: E‖wᵗ − w*‖² ≤ Aᵗ‖w⁰ − w*‖²", rtol=1e-12, atol=1e-20)
    yield linear
    six = six_moments()
    h, sharpest, at_best = six.hessian[0, 0], 1.44, np.mean(six.x[:, 0] ** 2 * six.residuals**2)
    constants = {"largest_smoothness": sharpest, "strong_convexity": h, "noise": at_best}
    shares = np.array([0.1, 0.5, 0.9])
    limits = [six.stationary(s / sharpest)[0, 0] for s in shares]
    floors = [distance_bound(1e9, 1.0, s / sharpest, **constants) for s in shares]
    yield reference(limits, [0.00705, 0.04153, 0.09095], "six points: E‖w − w*‖² at ηL_max = 0.1, 0.5, 0.9", digits=4)
    yield reference(floors, [0.0150970, 0.135873, 1.22286], "six points: B at ηL_max = 0.1, 0.5, 0.9", digits=6)
    eta = 1 / h  # allowed by η ≤ 1/μ, but above 1/L_max
    after = six.path(six.minimiser, np.full(1, eta)).distances[1]
    wrong = at_most(
        after, eta * at_best / (h * (1 - eta * sharpest)), "six points from w*, η = 1/μ: E‖w¹ − w*‖² against B"
    )
    yield erratum(wrong, of=within, by="sheet", prints="the bound for every η ≤ 1/μ")
    a, c, eta = 1.0, 0.8, 0.5  # l¹ = aw²/2, l² = −cw²/2: m = (a − c)/2, and both gradients vanish at w*
    after = ((1 - eta * a) ** 2 + (1 + eta * c) ** 2) / 2
    wrong = at_most(after, 1 - eta * (a - c) * (1 - eta * a), "w²/2 and −0.4w² from w⁰ = 1: E‖w¹‖² against A")
    yield erratum(wrong, of=linear, by="sheet", prints="the bound without convexity of each example's loss")
    title = f"A tenth of the step: slower, and a floor {ends[1] / max(ends[0], 1e-300):.3g} times lower"
    yield figure.curves(title, "updates", "E‖wᵗ − w*‖²", lines=curves, points=points, log="xy")
