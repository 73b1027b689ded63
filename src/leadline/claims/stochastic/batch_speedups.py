"""What a larger batch buys: a lower plateau, and larger steps up to the critical batch."""

from typing import Annotated

import numpy as np

from leadline import data, stochastic
from leadline.claims.stochastic.noisy_regression import regression_data
from leadline.evidence import (
    Range,
    at_least,
    at_most,
    claim,
    close,
    figure,
    printed,
)


@claim(
    "sgd-rate-minibatch",
    says=(
        "With batch b the guaranteed floor is ηLσ₀/(2mb) and the contraction 1 − ηm is unchanged, for steps up to "
        "1/(L(1 + (σ − 1)/b)): the plateau falls as 1/b."
    ),
    formula=r"F_b = \frac{\eta L \sigma_0}{2 m b}, \qquad \eta \le \frac{1}{L (1 + (\sigma - 1)/b)}",
    sources=("penn",),
    assumes=("l is m-strongly convex and L-smooth", "E‖gᵢ‖² ≤ σ₀ + σ‖g‖²"),
)
def sgd_rate_minibatch(
    key,
    share: Annotated[float, Range(0.05, 1.0)] = 1.0,
    small: Annotated[float, Range(0.005, 0.05, log=True)] = 0.02,
    noise: Annotated[float, Range(0.1, 2.0)] = 0.5,
    dim: Annotated[int, Range(1, 4)] = 3,
):
    """Exact moments on least squares for b = 1 … 256; plateaus at one step, `small` times the largest for b = 1."""
    rng = data.generator(key)
    x, y = regression_data(rng, 12 * dim, dim, noise)
    problem = stochastic.LeastSquaresMoments(x, y)
    form = stochastic.second_moment_form(x, y)
    sigma = 1.2 * form.least_slope
    values = np.linalg.eigvalsh(problem.hessian)
    constants = {
        "smoothness": float(values[-1]), "strong_convexity": float(values[0]), "sigma0": form.offset(sigma)
    }  # fmt: skip
    batches = 2 ** np.arange(9)
    fixed = small * stochastic.largest_constant_step(smoothness=values[-1], sigma=sigma)
    plateaus, guaranteed = [], []
    for b in map(int, batches):
        eta = share * stochastic.largest_constant_step(smoothness=values[-1], sigma=sigma, batch=b)
        path = problem.path(problem.minimiser + 1, np.full(200, eta), b)
        bound = stochastic.constant_step_bound(np.arange(201), path.gaps[0], eta, batch=b, **constants)
        yield at_most(path.gaps, bound, f"b = {b}: expected gap at t = 0 … 200", atol=1e-12 * path.gaps.max())
        plateaus.append(float(problem.expected_gap(problem.stationary(fixed, b))))
        guaranteed.append(stochastic.guaranteed_floor(fixed, batch=b, **constants))
    fitted = float(np.polyfit(np.log(batches), np.log(plateaus), 1)[0])
    yield close(fitted, -1.0, "slope of the plateau in b, at one small step", atol=0.02)
    yield at_most(plateaus, guaranteed, "plateaus, against the guaranteed floors")
    yield figure.curves(
        f"At one step the plateau falls with slope {fitted:.3f} in the batch",
        x="batch b",
        y="expected gap in equilibrium",
        lines={"guaranteed floor": (batches, guaranteed)},
        points={"exact plateau": (batches, plateaus)},
        log="xy",
    )


@claim(
    "batch-size-linear-speedup",
    says=(
        "The guaranteed step b/(L(b + σ − 1)) speeds up linearly for b ≪ σ, then saturates. For Gaussian least "
        "squares the truth is sharper: stable up to about min(2b/tr H, 2/L), so that the critical batch is tr H/L, "
        "and σ − 1 is pessimistic by up to κ."
    ),
    formula=r"\frac{\eta}{b} \sum_j \frac{\lambda_j}{2 - \eta \lambda_j (1 + 1/b)} < 1, \quad"
    r" \eta L \left(1 + \tfrac1b\right) < 2",
    sources=("penn",),
    assumes=("least squares with Gaussian inputs, for the sharp form",),
    shows=("stochastic.gaussian_largest_step", "stochastic.gaussian_moment_map", "stochastic.batch_speedup"),
)
def batch_size_linear_speedup(
    key,
    dim: Annotated[int, Range(30, 300)] = 150,
    condition: Annotated[float, Range(10.0, 1000.0, log=True)] = 100.0,
):
    """`dim` eigenvalues evenly spaced in the logarithm from 1 to 1/κ; exact moment maps."""
    spectrum = np.geomspace(1.0, 1 / condition, dim)
    critical = stochastic.gaussian_critical_batch(spectrum)
    batches = 2 ** np.arange(0, 15)
    largest = np.array([stochastic.gaussian_largest_step(spectrum, b) for b in batches])

    def radius(eta, b):
        return float(np.abs(np.linalg.eigvalsh(stochastic.gaussian_moment_map(spectrum, eta, b))).max())

    around = [(radius(0.999 * e, b), radius(1.001 * e, b)) for e, b in zip(largest[::3], batches[::3], strict=True)]
    yield at_most([a for a, _ in around], 1.0, "spectral radius 0.1% below the largest step", strict=True)
    yield at_least([a for _, a in around], 1.0, "spectral radius 0.1% above it", strict=True)
    yield at_most(largest, np.minimum(2 * batches / spectrum.sum(), 2.0), "largest step, against min(2b/tr H, 2/L)")
    yield at_least(
        largest, 2 / (spectrum.sum() / batches + 2 + 2 / batches), "largest step, against 2/(tr H/b + 2L(1 + 1/b))"
    )

    known = np.geomspace(1.0, 0.01, 30)
    table = [stochastic.gaussian_largest_step(known, b) for b in (1, 2, 4, 8, 16, 64, 4096)]
    reference = [0.2533, 0.4700, 0.8148, 1.2567, 1.6427, 1.9311, 1.9990]
    yield close(table, reference, "30 eigenvalues from 1 to 0.01: largest steps for b = 1 … 4096", atol=6e-5)
    yield close(stochastic.gaussian_largest_step(known, 5.40), 1.0, "there: the step 1/L at b = 5.40", rtol=1e-3)

    iterations = np.array([-1 / np.log(radius(e / 2, b)) for e, b in zip(largest, batches, strict=True)])
    few = batches <= critical / 8
    if few.sum() >= 3:
        fitted = float(np.polyfit(np.log(batches[few]), np.log(iterations[few]), 1)[0])
        yield close(fitted, -1.0, "slope of the iterations in b, far below the critical batch", atol=0.1)
    yield close(iterations[-1] / iterations[-2], 1.0, "iterations for b = 16384 over those for 8192: flat", atol=0.02)
    sigma = stochastic.gaussian_sigma(spectrum)
    yield close(
        stochastic.batch_speedup(sigma - 1, sigma),
        sigma / 2,
        "guaranteed speed-up at b = σ − 1: half of what there is",
        rtol=1e-9,
    )
    yield at_most(
        (sigma - 1) / critical, condition * (1 + 1 / (critical * condition)), "σ − 1 over tr H/L, against κ", rtol=1e-9
    )
    big = int(np.ceil(2.1 * sigma))
    yield printed(
        at_most(radius(big / sigma, big), 1.0, f"spectral radius at η = b/(Lσ), b = {big}"),
        "penn",
        "η = b/(Lσ) is allowed",
    )
    guaranteed = (1 + (sigma - 1) / batches) * condition  # 1/(ηm) at the guaranteed step
    yield figure.curves(
        f"Iterations fall as 1/b up to the critical batch tr H/L = {critical:.3g}; the guarantee has "
        f"it at {sigma - 1:.3g}",
        x="batch b",
        y="iterations per factor e",
        lines={
            "1/b, then flat at b = tr H/L": (batches, iterations[-1] * np.maximum(critical / batches, 1.0)),
            "as guaranteed": (batches, guaranteed),
        },
        points={"exact, half the largest step": (batches, iterations)},
        rules={"tr H/L": ("x", critical)},
        log="xy",
    )
