"""What happens to a predictor that lives on its own predictions."""

import math

import jax
import numpy as np

from leadline import sequences
from leadline.evidence import Int, Real, at_least, at_most, close, exactly, instrument
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

    Check: the logistic map from starts that are a little off, against the closed form: with $x = \sin^2\theta$ and a
    start off by δ in θ the error after k steps is $|\sin(2^k\delta) \sin(2^{k+1}\theta + 2^k\delta)| \le
    2^k\delta$. The map with a parameter that is a little wrong, whose error is of the size $e_0 2^k |\sin\varphi_k|$
    with phases spread evenly: it does not run ahead of $e_0 2^k$ and seldom lags by more than two steps. The map
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
    yield at_least(np.median(horizons), predicted, what + ", which is the least", atol=1.0)
    yield at_most(np.median(horizons), predicted + 3, what + " and three steps more")
    moved = paths.copy()
    moved[:, 0] += np.where(start < 0.5, error, -error)
    off = sequences.forecast_exposure(logistic, moved)
    theta = np.arcsin(np.sqrt(start))
    delta = np.arcsin(np.sqrt(moved[:, 0])) - theta
    known = np.arange(1, 1 + int(np.log2(tolerance / error)) + 4)[:, None]
    exact = np.abs(np.sin(2.0**known * delta) * np.sin(2.0 ** (known + 1) * theta + 2.0**known * delta)).T
    what = f"the map itself from starts that are {error:.1e} off: errors of {len(known)} steps, against the closed form"
    rounding = np.finfo(float).eps * 2.0 ** known[:, 0]  # it grows as any other error does
    apart = np.median(np.abs(off.free[:, : len(known)] - exact), 0) / rounding
    yield at_most(apart, 64.0, what + ": medians, in units of the rounding at that step")
    least = np.log2(tolerance / np.abs(delta))
    what = f"the map itself from starts that are {error:.1e} off: horizon of each, against ln(tol/δ)/Λ"
    yield at_least(off.usable_horizon(tolerance), least, what, atol=0.01)  # rounding, where x is close to 1
    fitted = int(np.argmax(np.nanmedian(off.free, 0) >= tolerance / 10))
    what = f"the map itself from starts {error:.1e} off: growth of the mean logarithm by step, against Λ = ln 2"
    # ln |sin φ| of phases that are spread evenly has the variance π²/12, and correlations 2⁻ʲ at lag j, which at most
    # triple that of a slope; five standard errors.
    spread = np.pi / 2 / np.sqrt(starts * fitted * (fitted**2 - 1) / 12)
    yield close(off.growth_rate(tolerance / 10), math.log(2), what, atol=5 * spread)
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
