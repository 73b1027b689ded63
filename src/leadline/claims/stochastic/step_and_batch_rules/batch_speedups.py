"""What a larger batch buys: a lower plateau, and larger steps up to the critical batch."""

import numpy as np
from scipy.optimize import brentq

from leadline import data, stochastic
from leadline.claims.scenarios.stochastic.noisy_regression import regression_data
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, reference
from leadline.presentation import figure
from leadline.stochastic.moments.batch_rules import (
    batch_speedup,
    gaussian_critical_batch,
    gaussian_largest_step,
    gaussian_moment_map,
    gaussian_sigma,
)


@claim(sources=("penn",))
def sgd_rate_minibatch(
    key,
    share: Real(0.05, 1.0) = 1.0,
    small: Real(0.005, 0.05, log=True) = 0.02,
    noise: Real(0.1, 2.0) = 0.5,
    dim: Int(1, 4) = 3,
):
    r"""Mini-batch SGD rate.

    With batch size b the guaranteed floor is ηLσ₀/(2mb) and the contraction 1 − ηm is unchanged, for step sizes up to
    $\frac{1}{L(1 + (\sigma - 1)/b)}$: the plateau falls as 1/b.

    $$F_b = \frac{\eta L \sigma_0}{2 m b}, \qquad \eta \le \frac{1}{L (1 + (\sigma - 1)/b)}$$

    Assumes: l is m-strongly convex and L-smooth; E‖gᵢ‖² ≤ σ₀ + σ‖g‖².

    Check: Exact moments on least squares for b = 1 to 256; plateaus at `small` times the largest step size for b = 1.
    """
    rng = data.generator(key)
    problem = stochastic.LeastSquaresMoments(*regression_data(rng, 12 * dim, dim, noise))
    form = stochastic.second_moment_form(problem.x, problem.y)
    sigma = 1.2 * form.least_slope
    values = np.linalg.eigvalsh(problem.hessian)
    constants = {"smoothness": values[-1], "strong_convexity": values[0], "sigma0": form.offset(sigma)}
    batches = 2 ** np.arange(9)
    fixed = small * stochastic.largest_constant_step(smoothness=values[-1], sigma=sigma)
    plateaus, guaranteed = [], []
    for b in map(int, batches):
        eta = share * stochastic.largest_constant_step(smoothness=values[-1], sigma=sigma, batch=b)
        path = problem.path(problem.minimiser + 1, np.full(200, eta), b)
        bound = stochastic.constant_step_bound(np.arange(201), path.gaps[0], eta, batch=b, **constants)
        yield at_most(path.gaps, bound, f"b = {b}: expected gap at t = 0 … 200", atol=1e-12 * path.gaps.max())
        plateaus.append(problem.expected_gap(problem.stationary(fixed, b)))
        guaranteed.append(stochastic.guaranteed_floor(fixed, batch=b, **constants))
    fitted = np.polyfit(np.log(batches), np.log(plateaus), 1)[0]
    yield close(fitted, -1.0, "slope of the plateau in b, at one small step size", atol=0.02)
    yield at_most(plateaus, guaranteed, "plateaus, against the guaranteed floors")
    title = f"At one step size the plateau falls with slope {fitted:.3f} in the batch"
    lines = {"guaranteed floor": (batches, guaranteed)}
    points = {"exact plateau": (batches, plateaus)}
    yield figure.curves(title, "batch b", "expected gap in equilibrium", lines=lines, points=points, log="xy")


@claim(sources=("penn",))
def batch_size_linear_speedup(key, dim: Int(30, 300) = 150, condition: Real(10.0, 1000.0, log=True) = 100.0):
    r"""Linear speed-up and critical batch size.

    The guaranteed step size $\frac{b}{L(b + \sigma - 1)}$ speeds up linearly for b ≪ σ, then saturates. For Gaussian
    least squares the truth is sharper: SGD is stable up to about min(2b/tr H, 2/L), so that the critical batch size is
    tr H/L, and σ − 1 is pessimistic by up to a factor κ.

    $$\frac{\eta}{b} \sum_j \frac{\lambda_j}{2 - \eta \lambda_j (1 + 1/b)} < 1, \quad \eta L \left(1 + \tfrac1b\right)
    < 2$$

    Assumes: least squares with Gaussian inputs, for the sharp form.

    Check: `dim` eigenvalues, evenly spaced in the logarithm from 1 to 1/κ; the moment maps are exact.
    """
    spectrum = np.geomspace(1.0, 1 / condition, dim)
    critical = gaussian_critical_batch(spectrum)
    batches = 2 ** np.arange(0, 15)
    largest = np.array([gaussian_largest_step(spectrum, b) for b in batches])

    def radius(eta, b):
        return np.abs(np.linalg.eigvalsh(gaussian_moment_map(spectrum, eta, b))).max()

    around = [(radius(0.999 * e, b), radius(1.001 * e, b)) for e, b in zip(largest[::3], batches[::3], strict=True)]
    stable = at_most([a for a, _ in around], 1.0, "spectral radius 0.1% below the largest step size", strict=True)
    yield stable
    yield at_least([a for _, a in around], 1.0, "spectral radius 0.1% above the largest step size", strict=True)
    trace = spectrum.sum()
    yield at_most(largest, np.minimum(2 * batches / trace, 2.0), "largest step size, against min(2b/tr H, 2/L)")
    least = 2 / (trace / batches + 2 + 2 / batches)
    yield at_least(largest, least, "largest step size, against 2/(tr H/b + 2L(1 + 1/b))")
    known, what = np.geomspace(1.0, 0.01, 30), "30 eigenvalues from 1 to 0.01: largest step size"
    table = [gaussian_largest_step(known, b) for b in (1, 2, 4, 8, 16, 64, 4096)]
    yield reference(table[:3], [0.2533, 0.4700, 0.8148], f"{what} for b = 1, 2, 4", digits=4)
    yield reference(table[3:], [1.2567, 1.6427, 1.9311, 1.9990], f"{what} for b = 8, 16, 64, 4096", digits=5)
    reached = brentq(lambda b: gaussian_largest_step(known, b) - 1.0, 1.0, 16.0)
    yield reference(
        reached, 5.40, "30 eigenvalues from 1 to 0.01: batch at which the largest step size is 1/L", digits=3
    )
    iterations = np.array([-1 / np.log(radius(e / 2, b)) for e, b in zip(largest, batches, strict=True)])
    few = batches <= critical / 8
    if few.sum() >= 3:
        fitted = np.polyfit(np.log(batches[few]), np.log(iterations[few]), 1)[0]
        yield close(fitted, -1.0, "slope of the iterations in b, far below the critical batch", atol=0.1)
    yield close(iterations[-1] / iterations[-2], 1.0, "iterations for b = 16384 over those for 8192: flat", atol=0.02)
    sigma = gaussian_sigma(spectrum)
    half = batch_speedup(sigma - 1, sigma)
    yield close(half, sigma / 2, "guaranteed speed-up at b = σ − 1: half of what there is", rtol=1e-9)
    most = condition * (1 + 1 / (critical * condition))
    yield at_most((sigma - 1) / critical, most, "σ − 1 over tr H/L, against κ", rtol=1e-9)
    big = int(np.ceil(2.1 * sigma))
    wrong = at_most(radius(big / sigma, big), 1.0, f"spectral radius at η = b/(Lσ), b = {big}")
    yield erratum(wrong, of=stable, by="penn", prints="every η < b/(Lσ) is allowed")
    guaranteed = (1 + (sigma - 1) / batches) * condition  # 1/(ηm) at the guaranteed step
    title = f"Iterations fall as 1/b up to b = tr H/L = {critical:.3g}; the guarantee has it at {sigma - 1:.3g}"
    lines = {
        "1/b, then flat at b = tr H/L": (batches, iterations[-1] * np.maximum(critical / batches, 1.0)),
        "as guaranteed": (batches, guaranteed),
    }
    points = {"exact, half the largest step": (batches, iterations)}
    rules = {"tr H/L": ("x", critical)}
    yield figure.curves(title, "batch b", "iterations per factor e", lines=lines, points=points, rules=rules, log="xy")
