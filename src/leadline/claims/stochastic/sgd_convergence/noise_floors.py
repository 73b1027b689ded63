"""Where SGD with a constant step ends: the sharp floor, on digits too, and no floor where every example is fitted."""

import jax
import numpy as np

from leadline import data, optimisation, stochastic
from leadline.claims.scenarios.stochastic.noisy_regression import extreme_curvatures, regression_moments
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, mean, reference
from leadline.presentation import figure


@claim(sources=("penn", "eth"))
def sgd_noise_floor(
    key, step_size: Real(0.05, 0.25, log=True) = 0.2, batch: OneOf(4, 16, 64) = 16, time: Real(10.0, 20.0) = 12.0
):
    r"""Sharp noise floor of SGD.

    SGD with a constant step size settles at the gap $\frac{\eta}{4b} \sum_j \frac{C_{jj}}{1 - \eta \lambda_j/2}$,
    where C is the covariance of single gradients at w* in the eigenbasis of the Hessian: about η tr C/(4b), whatever
    the Hessian. Nothing is fitted; the general guarantee is 2κ times larger.

    $$\mathrm{gap}_\infty = \frac{\eta}{4 b} \sum_j \frac{C_{jj}}{1 - \eta \lambda_j / 2}$$

    Assumes: the loss is nearly quadratic where the noise takes w (floor below 0.01); T η m ≥ 10.

    Check: 8 runs of softmax regression with ridge 0.01 on the 1797 digits, from w* for T = `time`/(ηm) steps, half of
    them burn-in; a random quadratic with additive noise is computed exactly.
    """
    from scipy.linalg import solve_discrete_lyapunov

    rng = data.generator(key)
    root, spread = rng.normal(size=(2, 5, 5))
    hessian, covariance = root @ root.T + 0.1 * np.eye(5), spread @ spread.T
    eta = 1.5 / np.linalg.eigvalsh(hessian)[-1]
    second = solve_discrete_lyapunov(np.eye(5) - eta * hessian, eta**2 * covariance / batch)
    gap, floor = np.trace(hessian @ second) / 2, stochastic.noise_floor(eta, batch, hessian, covariance)
    yield close(gap, floor, "additive noise on a quadratic: gap in equilibrium, against the formula", rtol=1e-10)
    problem = optimisation.digits_softmax(0.01)
    best, minimum, hessian, covariance = stochastic.softmax_equilibrium(problem)
    values = np.linalg.eigvalsh(hessian)
    trace = np.trace(covariance)
    etas = np.array([0.2, 0.05, 0.0125, *np.geomspace(0.01, 0.3, 40)])
    floors = stochastic.noise_floor(etas, 1, hessian, covariance)
    yield reference(trace, 2.60125, "digits: tr C at w*", digits=6)
    predicted = stochastic.noise_floor(step_size, batch, hessian, covariance)
    leading = step_size * trace / (4 * batch)
    what = "digits: full formula over η tr C/(4b), η = 0.2, 0.05, 0.0125"
    yield reference((floors / (etas * trace / 4))[:3], [1.060, 1.014, 1.003], what, digits=4)
    constants = {"smoothness": values[-1], "strong_convexity": values[0], "sigma0": trace}
    guaranteed = stochastic.guaranteed_floor(step_size, **constants, batch=batch)
    twice = 2 * values[-1] / values[0]
    yield close(guaranteed / leading, twice, "digits: general guarantee over the leading floor, against 2κ", rtol=1e-9)
    steps = 100 * round(time / (step_size * 0.01) / 100)
    where = {"num_steps": steps, "start": best, "minimum": minimum, "key": jax.random.fold_in(key, 1), "runs": 8}
    run = stochastic.measured_floor(problem, step_size, batch, **where)
    ratios = run.floor / predicted
    for side, limit in (("at most", 1.05), ("at least", 0.95)):
        what = f"digits: measured over predicted floor, {side} {limit}"
        yield mean(ratios, limit, what, side=side).given(predicted < 0.01, "the predicted floor is below 0.01")
    title = f"Floor of SGD on digits, predicted {predicted:.3g} without a fit, measured {run.floor.mean():.3g}"
    line, floors = etas[3:], floors[3:] / batch
    lines = {
        "(η/4b) Σ Cⱼⱼ/(1 − ηλⱼ/2)": (line, floors),
        "η tr C/(4b)": (line, line * trace / (4 * batch)),
        "general guarantee": (line, line * guaranteed / step_size),
    }
    points = {"8 runs": (np.full(8, step_size), run.floor)}
    yield figure.curves(title, "step size η", "gap in equilibrium", lines=lines, points=points, log="xy")


@claim(sources=("penn",))
def sgd_interpolation_linear_rate(
    key, ratio: Int(5, 30) = 8, dim: Int(1, 4) = 3, noise: Real(0.01, 2.0, log=True) = 0.1, share: Real(0.2, 1.0) = 1.0
):
    r"""Interpolation gives SGD a linear rate.

    If every example is fitted at w*, SGD with a constant step size η ≤ 1/(Lσ) converges linearly, by a factor of at
    most 1 − ηm per step, though its gradients are still noisy (σ > 1); noise s in the labels restores a floor
    proportional to s².

    $$\sigma_0 = 0 \;\Rightarrow\; E\, \mathrm{gap}_t \le (1 - \eta m)^t \mathrm{gap}_0$$

    Assumes: gᵢ(w*) = 0 for every i; η ≤ 1/(Lσ).

    Check: Exact moments for n = `ratio` · p Gaussian examples of least squares, with y = Xw exactly and with noise.
    """
    rng = data.generator(key)
    fitted = regression_moments(rng, ratio * dim, dim, 0.0)
    smoothness, convexity = extreme_curvatures(fitted)
    sigma = stochastic.second_moment_form(fitted.x, fitted.y).least_slope
    yield at_least(sigma, 1.0, "σ, even without noise at w*", strict=True)
    eta = share / (smoothness * sigma)
    factor = fitted.contraction(eta)
    yield at_most(factor, 1 - eta * convexity, "exact factor of the gap per step, in the end", rtol=1e-12)
    steps = min(int(np.log(1e-13) / np.log(factor)) + 20, 60_000)
    path = fitted.path(fitted.minimiser + np.ones(dim), np.full(steps, eta))
    bound = (1 - eta * convexity) ** np.arange(steps + 1.0) * path.gaps[0]
    yield at_most(path.gaps, bound, "expected gap at every t", rtol=1e-9, atol=1e-25)
    yield at_most(path.gaps[-1] / path.gaps[0], 1e-12, f"gap after {steps} updates, as a share of the first")
    errors = rng.normal(size=ratio * dim)
    problems = [stochastic.LeastSquaresMoments(fitted.x, fitted.y + s * errors) for s in (noise, 2 * noise)]
    floors = [noisy.expected_gap(noisy.stationary(eta)) for noisy in problems]
    yield close(floors[1] / floors[0], 4.0, "floor with noise 2s over that with s", rtol=1e-9)
    noisy, time = problems[0], np.arange(steps + 1)
    other = noisy.path(noisy.minimiser + np.ones(dim), np.full(steps, eta))
    title = f"Fitted exactly: linear to 10⁻¹² in {steps} updates; with noise {noise:g}: a floor at {floors[0]:.2g}"
    lines = {"(1 − ηm)ᵗ gap₀": (time, bound), "predicted floor": (time[[0, -1]], [floors[0]] * 2)}
    points = {"noise 0": (time, path.gaps), f"noise {noise:g}": (time, other.gaps)}
    yield figure.curves(title, "updates", "expected gap", lines=lines, points=points, log="y")
