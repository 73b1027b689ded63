"""What happens to a predictor that lives on its own predictions."""

import math

import jax
import numpy as np

from leadline import sequences
from leadline.evidence import Int, Real, at_most, close, exactly, instrument
from leadline.presentation import figure


def logistic(x):
    """x → 4x(1 - x), whose Lyapunov exponent is ln 2."""
    return 4 * x * (1 - x)


@instrument(sources=("sheet",), shows=("sequences.forecast_exposure", "sequences.predicted_horizon"))
def exposure_bias(
    key, error: Real(1e-9, 1e-4, log=True) = 1e-6, tolerance: Real(0.05, 0.2) = 0.1, starts: Int(500, 2000) = 1000
):
    r"""Exposure bias.

    Fed with the truth a predictor makes its error of one step each time; fed with its own predictions it compounds
    them. The difference, by how far it has gone, is its exposure bias. In a chaotic system an error grows as
    $e^{\Lambda k}$, Λ the Lyapunov exponent, so that a forecast is of use for about $\ln(\mathrm{tol}/e_0)/\Lambda$
    steps.

    $$\mathrm{gap}(k) = L_{\text{free}}(k) - L_{\text{forced}}(k), \qquad k^* \approx \ln(\mathrm{tol}/e_0)/\Lambda$$

    Assumes: the error is small against the system's size; the horizon is that of typical starts.

    Check: the logistic map with a parameter that is a little wrong, from starts drawn from its invariant law; the map
    itself, which has no gap.
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    start = np.sin(np.pi * rng.uniform(size=starts) / 2) ** 2
    steps = 48
    path = [start]
    for _ in range(steps):
        path.append(np.asarray(logistic(path[-1])))
    paths = np.stack(path, 1)
    perfect = sequences.forecast_exposure(logistic, paths)
    yield exactly(np.abs(perfect.free).max(), 0.0, "the map itself: largest error, free running")
    found = sequences.forecast_exposure(lambda x: (1 - error) * logistic(x), paths)
    one_step = float(np.median(found.forced[:, 0]))
    predicted = sequences.predicted_horizon(one_step, tolerance, math.log(2))
    horizons = found.usable_horizon(tolerance)
    what = f"usable horizon from an error of {one_step:.1e}: median of {starts} starts, against ln(tol/e₀)/Λ"
    yield close(np.median(horizons), predicted, what, atol=3.0)
    moved = paths.copy()
    moved[:, 0] += np.where(start < 0.5, error, -error)
    off = sequences.forecast_exposure(logistic, moved)
    rate, later = off.growth_rate(tolerance / 10), off.usable_horizon(tolerance)
    what = (
        f"the map itself from starts that are {error:.1e} off: growth of the mean logarithm by step, against Λ = ln 2"
    )
    yield close(rate, math.log(2), what, rtol=0.1)
    what = f"the map itself from starts that are {error:.1e} off: mean horizon, against ln(tol/e₀)/Λ"
    yield close(later.mean(), sequences.predicted_horizon(error, tolerance, math.log(2)), what, atol=2.0)
    forced = found.forced.mean(0)
    yield at_most(forced.max() / forced.min(), 2.0, "fed with the truth: largest over least mean error by step")
    k = np.arange(1, steps + 1)
    yield figure.curves(
        f"Free running, the error doubles at each step: of use for {np.median(horizons):.0f} steps",
        "steps ahead",
        "error",
        points={"free, median": (k, np.median(found.free, 0)), "forced, median": (k, np.median(found.forced, 0))},
        lines={"e₀ 2ᵏ": (k[:24], np.minimum(one_step * 2.0 ** (k[:24] - 1), 1.0))},
        rules={f"tolerance {tolerance:.2g}": ("y", tolerance)},
        log="y",
    )
