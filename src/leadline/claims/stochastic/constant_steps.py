"""SGD with a constant step: a geometric phase, then a floor; what is guaranteed, beside the exact moments."""

from typing import Annotated

import numpy as np

from leadline import data, stochastic
from leadline.claims.stochastic.noisy_regression import extreme_curvatures, regression_moments, six_moments, thinned
from leadline.evidence import Range, at_most, claim, close, figure, printed


@claim(
    "sgd-rate-constant-step",
    says=(
        "With step η ≤ 1/(Lσ), after t updates the expected gap of SGD is at most F + (1 − ηm)ᵗ(gap₀ − F), F = "
        "ηLσ₀/(2m): linear convergence down to a floor proportional to the step."
    ),
    formula=r"E\, gap_t \le F + (1 - \eta m)^t (gap_0 - F), \quad F = \frac{\eta L \sigma_0}{2 m}",
    sources=("penn",),
    assumes=("l is m-strongly convex and L-smooth", "E‖gᵢ‖² ≤ σ₀ + σ‖g‖²", "η ≤ 1/(Lσ)"),
)
def sgd_rate_constant_step(
    key,
    share: Annotated[float, Range(0.05, 1.0)] = 1.0,
    batch: Annotated[int, Range(1, 64)] = 1,
    noise: Annotated[float, Range(0.0, 2.0)] = 0.5,
    condition: Annotated[float, Range(1.0, 30.0, log=True)] = 3.0,
    start: Annotated[float, Range(0.0, 5.0)] = 1.0,
):
    """Exact moments on least squares in three dimensions; η is `share` of the largest step that the theorem allows."""
    problem = regression_moments(data.generator(key), 30, 3, noise, condition)
    form = stochastic.second_moment_form(problem.x, problem.y)
    sigma = 1.2 * form.least_slope
    smoothness, convexity = extreme_curvatures(problem)
    constants = {
        "smoothness": smoothness, "strong_convexity": convexity, "sigma0": form.offset(sigma), "batch": batch
    }  # fmt: skip
    eta = share * stochastic.largest_constant_step(smoothness=smoothness, sigma=sigma, batch=batch)
    steps = min(int(4 / (eta * convexity)) + 10, 4000)
    path = problem.path(problem.minimiser + start * np.ones(3), np.full(steps, eta), batch)
    bound = stochastic.constant_step_bound(np.arange(steps + 1), path.gaps[0], eta, **constants)
    yield at_most(path.gaps, bound, f"expected gap at t = 0 … {steps}", atol=1e-12 * path.gaps.max())
    if noise > 0:
        floor = float(problem.expected_gap(problem.stationary(eta, batch)))
        yield at_most(floor, stochastic.guaranteed_floor(eta, **constants), "the floor itself")

    six = six_moments()
    form = stochastic.second_moment_form(six.x, six.y)
    sigma = 1.2 * form.least_slope
    floors, limits = [], []
    for b in (1, 4, 16):
        step = stochastic.largest_constant_step(smoothness=six.hessian[0, 0], sigma=sigma, batch=b)
        floors.append(float(six.expected_gap(six.stationary(step, b))))
        limits.append(stochastic.guaranteed_floor(
            step, smoothness=six.hessian[0, 0], strong_convexity=six.hessian[0, 0], sigma0=form.offset(sigma), batch=b
        ))  # fmt: skip
        run = six.path(six.minimiser + 1, np.full(200, step), b)
        yield close(
            run.gaps[-1], floors[-1], f"six points, b = {b}: gap after 200 updates, against the floor", rtol=1e-9
        )
    yield close(floors, [0.054408, 0.020389, 0.005824], "six points: floors for b = 1, 4, 16", atol=5e-7)
    yield close(limits, [0.071955, 0.024420, 0.006704], "six points: guaranteed floors F", atol=5e-7)

    coin = stochastic.LeastSquaresMoments(np.ones(2), np.array([1.0, -1.0]))
    first = coin.path(np.zeros(1), np.full(1, 0.5)).gaps[1]
    ones = {"smoothness": 1.0, "strong_convexity": 1.0, "sigma0": 1.0}
    yield close(
        first,
        stochastic.constant_step_bound(1, 0.0, 0.5, **ones),
        "two parabolas from w*: gap after one step",
        atol=1e-15,
    )
    late = stochastic.constant_step_bound(0, 0.0, 0.5, **ones)
    yield printed(
        at_most(first, late, "two parabolas from w*: gap after one step"), "penn", "exponent t after t + 1 updates"
    )
    time, exact, bound = thinned(np.arange(steps + 1), path.gaps, bound)
    low = coin.path(np.zeros(1), np.full(8, 0.5)).gaps
    updates = np.arange(1, 9)
    yield figure.beside(
        f"The exact gap of SGD stays under the bound and ends {bound[-1] / max(exact[-1], 1e-300):.2g} times below it",
        figure.curves(
            f"Least squares, b = {batch}, η = {eta:.3g}",
            x="updates",
            y="expected gap",
            lines={"bound": (time, bound)},
            points={"exact": (time, exact)},
            log="y",
        ),
        figure.curves(
            "Two parabolas from w*: the printed exponent is one too small",
            x="updates",
            y="expected gap",
            lines={
                "bound": (updates, stochastic.constant_step_bound(updates, 0.0, 0.5, **ones)),
                "as printed": (updates, stochastic.constant_step_bound(updates - 1, 0.0, 0.5, **ones)),
            },
            points={"exact": (updates, low[1:])},
        ),
    )


@claim(
    "sgd-constant-step-distance",
    says=(
        "If every example's loss is convex and L_max-smooth and η < 1/L_max, then E‖wᵗ − w*‖² ≤ Aᵗ‖w⁰ − w*‖² + B: an "
        "exponential phase, then a floor set by the noise at w*; without noise there, convergence is linear."
    ),
    formula=r"A = 1 - 2 \eta m (1 - \eta L_{max}), \quad B = \frac{\eta \sigma_*^2}{m (1 - \eta L_{max})}",
    sources=("sheet",),
    assumes=("l is m-strongly convex", "each lⁱ is convex and L_max-smooth", "η < 1/L_max"),
)
def sgd_constant_step_distance(
    key,
    share: Annotated[float, Range(0.02, 0.98)] = 0.5,
    noise: Annotated[float, Range(0.0, 2.0)] = 0.5,
    dim: Annotated[int, Range(1, 4)] = 2,
    samples: Annotated[int, Range(20, 100)] = 30,
    start: Annotated[float, Range(0.0, 5.0)] = 2.0,
):
    """Exact moments on least squares with η L_max = `share`; then the six points, with their reference numbers."""
    problem = regression_moments(data.generator(key), samples, dim, noise)
    largest = float(np.max(np.sum(problem.x**2, axis=1)))
    _, convexity = extreme_curvatures(problem)
    level = float(np.mean(np.sum(problem.x**2, axis=1) * problem.residuals**2))
    curves, points = {}, {}
    for part in sorted({0.1 * share, share}):
        eta = part / largest
        steps = min(int(5 / (eta * convexity)) + 10, 6000)
        path = problem.path(problem.minimiser + start * np.ones(dim), np.full(steps, eta))
        bound = stochastic.distance_bound(
            np.arange(steps + 1), path.distances[0], eta,
            largest_smoothness=largest, strong_convexity=convexity, noise=level,
        )  # fmt: skip
        yield at_most(
            path.distances, bound, f"E‖wᵗ − w*‖² at every t, ηL_max = {part:.3g}", atol=1e-12 * path.distances.max()
        )
        time, exact, bound = thinned(np.arange(steps + 1), path.distances, bound)
        curves[f"ηL_max = {part:.2g}"] = (time, bound)
        points[f"ηL_max = {part:.2g}"] = (time, exact)
    fitted = regression_moments(data.generator(key), samples, dim, 0.0)
    run = fitted.path(fitted.minimiser + np.ones(dim), np.full(200, eta))
    rate = 1 - 2 * eta * extreme_curvatures(fitted)[1] * (1 - share)
    yield at_most(
        run.distances,
        dim * rate ** np.arange(201.0),
        "without noise: a geometric fall with factor A",
        rtol=1e-12,
        atol=1e-20,
    )

    six = six_moments()
    h, sharpest, at_best = six.hessian[0, 0], 1.44, float(np.mean(six.x[:, 0] ** 2 * six.residuals**2))
    shares = np.array([0.1, 0.5, 0.9])
    limits = [float(six.stationary(s / sharpest)[0, 0]) for s in shares]
    floors = [
        float(stochastic.distance_bound(
            1e9, 1.0, s / sharpest, largest_smoothness=sharpest, strong_convexity=h, noise=at_best
        )) for s in shares
    ]  # fmt: skip
    yield close(limits, [0.00705, 0.04153, 0.09095], "six points: limits at ηL_max = 0.1, 0.5, 0.9", atol=1e-5)
    yield close(floors, [0.01510, 0.13587, 1.22286], "six points: B there", atol=1e-5)
    eta = 1 / h  # allowed by η ≤ 1/μ, but above 1/L_max
    wrong = eta * at_best / (h * (1 - eta * sharpest))
    after = six.path(six.minimiser, np.full(1, eta)).distances[1]
    yield printed(
        at_most(after, wrong, "six points from w*, η = 1/μ: E‖w¹ − w*‖² against B"), "sheet", "B for every η ≤ 1/μ"
    )
    ends = [float(p[1][-1]) for p in points.values()]
    yield figure.curves(
        f"A tenth of the step: slower, and a floor {ends[1] / max(ends[0], 1e-300):.3g} times lower",
        x="updates",
        y="E‖wᵗ − w*‖²",
        lines=curves,
        points=points,
        log="xy",
    )
