"""Where SGD with a constant step ends: the sharp floor, on digits too, and no floor where every example is fitted."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, optimisation, stochastic
from leadline.claims.stochastic.noisy_regression import extreme_curvatures, regression_moments, thinned
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, mean


@claim(
    "sgd-noise-floor",
    says=(
        "SGD with a constant step settles at the gap (η/4b) Σⱼ Cⱼⱼ/(1 − ηλⱼ/2), C the covariance of single gradients "
        "at w* in the eigenbasis of the Hessian: about η tr C/(4b), whatever the Hessian. Nothing is fitted; the "
        "general guarantee is 2κ times larger."
    ),
    formula=r"gap_\infty = \frac{\eta}{4 b} \sum_j \frac{C_{jj}}{1 - \eta \lambda_j / 2}",
    sources=("penn", "eth"),
    assumes=("the loss is nearly quadratic where the noise takes w (floor below 0.01)", "T η m ≥ 10"),
    shows=("stochastic.noise_floor", "stochastic.measured_floor", "stochastic.softmax_equilibrium"),
)
def sgd_noise_floor(
    key,
    step: Annotated[float, Range(0.05, 0.25, log=True)] = 0.2,
    batch: Annotated[int, Choice(4, 16, 64)] = 16,
    time: Annotated[float, Range(10.0, 20.0)] = 12.0,
):
    """Softmax regression with ridge 0.01 on the 1797 digits, 8 runs from w* for T = `time`/(ηm) steps, half of them
    burn-in; and a random quadratic with additive noise, exactly. The whole table: `floor_table` in the library."""
    from scipy.linalg import solve_discrete_lyapunov

    rng = data.generator(key)
    root, spread = rng.normal(size=(2, 5, 5))
    hessian, covariance = root @ root.T + 0.1 * np.eye(5), spread @ spread.T
    eta = 1.5 / np.linalg.eigvalsh(hessian)[-1]
    second = solve_discrete_lyapunov(np.eye(5) - eta * hessian, eta**2 * covariance / batch)
    yield close(
        np.trace(hessian @ second) / 2,
        stochastic.noise_floor(eta, batch, hessian, covariance),
        "additive noise on a quadratic: gap in equilibrium",
        rtol=1e-10,
    )

    problem = optimisation.digits_softmax(0.01)
    best, minimum, hessian, covariance = stochastic.softmax_equilibrium(problem)
    values = np.linalg.eigvalsh(hessian)
    trace = float(np.trace(covariance))
    etas = np.array([0.2, 0.05, 0.0125, *np.geomspace(0.01, 0.3, 40)])
    floors = stochastic.noise_floor(etas, 1, hessian, covariance)
    yield close(trace, 2.60125, "digits: tr C at w*", atol=5e-6)
    predicted = stochastic.noise_floor(step, batch, hessian, covariance)
    leading = step * trace / (4 * batch)
    yield close(
        (floors / (etas * trace / 4))[:3],
        [1.060, 1.014, 1.003],
        "full formula over η tr C/(4b), η = 0.2, 0.05, 0.0125",
        atol=1e-3,
    )
    guaranteed = stochastic.guaranteed_floor(
        step, smoothness=values[-1], strong_convexity=values[0], sigma0=trace, batch=batch
    )
    yield close(
        guaranteed / leading,
        2 * values[-1] / values[0],
        "general guarantee over the leading floor, against 2κ",
        rtol=1e-9,
    )
    steps = 100 * round(time / (step * 0.01) / 100)
    run = stochastic.measured_floor(
        problem, step, batch, steps=steps, start=best, minimum=minimum, key=jax.random.fold_in(key, 1), runs=8
    )
    ratios = run.floor / predicted
    regime = "the predicted floor is below 0.01"
    for side, limit in (("at most", 1.05), ("at least", 0.95)):
        what = f"digits: measured over predicted floor, {side} {limit}"
        yield mean(ratios, limit, what, side=side).given(predicted < 0.01, regime)
    yield figure.curves(
        f"Floor of SGD on digits, predicted {predicted:.3g} without a fit, measured {run.floor.mean():.3g} "
        f"(ratio {ratios.mean():.3f})",
        x="step η",
        y="gap in equilibrium",
        lines={
            "(η/4b) Σ Cⱼⱼ/(1 − ηλⱼ/2)": (etas[3:], floors[3:] / batch),
            "η tr C/(4b)": (etas[3:], etas[3:] * trace / (4 * batch)),
            "general guarantee": (etas[3:], etas[3:] * guaranteed / step),
        },
        points={"8 runs": (np.full(8, step), run.floor)},
        log="xy",
    )


@claim(
    "sgd-interpolation-linear-rate",
    says=(
        "If every example is fitted at w*, SGD with a constant step η ≤ 1/(Lσ) converges linearly, by a factor of at "
        "most 1 − ηm a step, though its gradients are still noisy (σ > 1); noise s in the labels restores a floor "
        "proportional to s²."
    ),
    formula=r"\sigma_0 = 0 \;\Rightarrow\; E\, gap_t \le (1 - \eta m)^t gap_0",
    sources=("penn",),
    assumes=("g_i(w*) = 0 for every i", "η ≤ 1/(Lσ)"),
)
def sgd_interpolation_linear_rate(
    key,
    ratio: Annotated[int, Range(5, 30)] = 8,
    dim: Annotated[int, Range(1, 4)] = 3,
    noise: Annotated[float, Range(0.01, 2.0, log=True)] = 0.1,
    share: Annotated[float, Range(0.2, 1.0)] = 1.0,
):
    """n = `ratio` · p Gaussian examples of least squares, y = Xw exactly and with noise; exact moments."""
    rng = data.generator(key)
    fitted = regression_moments(rng, ratio * dim, dim, 0.0)
    smoothness, convexity = extreme_curvatures(fitted)
    form = stochastic.second_moment_form(fitted.x, fitted.y)
    sigma = form.least_slope
    yield at_least(sigma, 1.0, "σ, even without noise at w*", strict=True)
    eta = share / (smoothness * sigma)
    factor = fitted.contraction(eta)
    yield at_most(factor, 1 - eta * convexity, "exact factor a step, in the end", rtol=1e-12)
    steps = min(int(np.log(1e-13) / np.log(factor)) + 20, 60_000)
    path = fitted.path(fitted.minimiser + np.ones(dim), np.full(steps, eta))
    bound = (1 - eta * convexity) ** np.arange(steps + 1.0) * path.gaps[0]
    yield at_most(path.gaps, bound, "expected gap at every t", rtol=1e-9, atol=1e-25)
    yield at_most(path.gaps[-1] / path.gaps[0], 1e-12, f"gap after {steps} updates, as a share of the first")

    errors = rng.normal(size=ratio * dim)
    floors = []
    for level in (noise, 2 * noise):
        noisy = stochastic.LeastSquaresMoments(fitted.x, fitted.y + level * errors)
        floors.append(float(noisy.expected_gap(noisy.stationary(eta))))
    yield close(floors[1] / floors[0], 4.0, "floor with noise 2s over that with s", rtol=1e-9)
    noisy = stochastic.LeastSquaresMoments(fitted.x, fitted.y + noise * errors)
    other = noisy.path(noisy.minimiser + np.ones(dim), np.full(steps, eta))
    time, exact, bound, stuck = thinned(np.arange(steps + 1), path.gaps, bound, other.gaps)
    yield figure.curves(
        f"Fitted exactly: linear to 10⁻¹² in {steps} updates; with noise {noise:g}: a floor at {floors[0]:.2g}",
        x="updates",
        y="expected gap",
        lines={"(1 − ηm)ᵗ gap₀": (time, bound), "predicted floor": (time[[0, -1]], [floors[0]] * 2)},
        points={"noise 0": (time, exact), f"noise {noise:g}": (time, stuck)},
        log="y",
    )
