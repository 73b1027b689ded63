"""The spectrum of a Hessian from a few hundred products: ends, density, trace by two routes, Gauss-Newton beside it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline.curvature.operators.operator import Operator
from leadline.curvature.spectra.lanczos import Eigenpairs
from leadline.curvature.spectra.spectral_density import SpectralDensity
from leadline.evidence import Comparison, at_least, at_most, close
from leadline.presentation import figure


class SpectrumSurvey(NamedTuple):
    """Largest eigenvalues of the Hessian (descending) with residuals, the least one, its density and its trace.

    `trace` is by Hutch++ and `density_trace` by the density, each with what its error exceeds once in 1000 times;
    `apart` bounds ‖H − G‖ for the Gauss-Newton matrix G, whose largest eigenvalue is `gauss_newton`; `outliers` counts
    the eigenvalues before the widest gap.
    """

    size: int
    largest: Float[np.ndarray, " k"]
    residuals: Float[np.ndarray, " k"]
    least: float
    least_residual: float
    gauss_newton: float
    gauss_newton_residual: float
    apart: float
    trace: float
    trace_reach: float
    density_trace: float
    density_reach: float
    density: SpectralDensity
    outliers: int


def survey_spectrum(
    h: Operator, g: Operator, largest: Eigenpairs, key: PRNGKeyArray, *, probes: int = 8, num_steps: int = 40
) -> SpectrumSurvey:
    """The survey of a Hessian `h` whose largest eigenpairs are known; `g` is its Gauss-Newton part."""
    import warnings

    from scipy.special import stdtrit

    from leadline import curvature
    from leadline.curvature.operators.dense_operator import dense_if_small

    keys = jax.random.split(key, 2)
    h, g = dense_if_small(h), dense_if_small(g)
    basis = max(2 * len(largest.values) + 20, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # residuals enter the comparisons, converged or not
        least = h.top(1, which="smallest", max_steps=200, tolerance=1e-3, basis=basis)
        apart = curvature.top(
            curvature.OperatorDifference(h, g), 1, which="magnitude", max_steps=200, tolerance=1e-3, basis=basis
        )
        top = g.top(1, max_steps=200, tolerance=1e-4, basis=basis)
        density = h.density(key=keys[0], probes=probes, num_steps=min(num_steps, h.size))
    trace = h.trace(key=keys[1], probes=60)
    mean, error = density.moment(1)
    values = np.asarray(largest.values, float)
    sure = max(int(np.sum(np.cumprod(largest.converged))), 1)
    return SpectrumSurvey(
        h.size,
        values,
        np.asarray(largest.residuals, float),
        float(least.values[0]),
        float(least.residuals[0]),
        float(top.values[0]),
        float(top.residuals[0]),
        float(abs(apart.values[0]) + apart.residuals[0]),
        float(trace.value),
        float(stdtrit(19, 0.9995) * trace.standard_error),
        mean * h.size,
        float(stdtrit(probes - 1, 0.9995)) * error * h.size,
        density,
        curvature.count_outliers(values[:sure]),
    )


def spectrum_comparisons(found: SpectrumSurvey, rounding: float = 1e-6) -> Iterator[Comparison]:
    """Weyl's inequalities between Hessian and Gauss-Newton, the density's integral, the trace by two routes."""
    scale = rounding * max(abs(found.largest[0]), abs(found.least), abs(found.gauss_newton))
    yield at_most(
        abs(float(found.largest[0]) - found.gauss_newton),
        found.apart,
        "largest eigenvalues of Hessian and Gauss-Newton apart, norm of their difference",
        atol=float(found.residuals[0]) + found.gauss_newton_residual + scale,
    )
    yield at_least(
        found.least, -found.apart, "least eigenvalue, which Gauss-Newton lacks", atol=found.least_residual + scale
    )
    yield close(found.density.total, 1.0, "integral of the spectral density", atol=1e-3)
    yield close(
        found.density_trace,
        found.trace,
        "trace by the density, by Hutch++",
        atol=float(np.hypot(found.density_reach, found.trace_reach)) + found.size * scale,
    )


def spectrum_figure(found: Any, classes: int, rules: dict[str, tuple[str, float]] | None = None) -> Any:
    """The density with its band, and the largest eigenvalues as points, of whatever has a survey's fields for them."""
    d = found.density
    lowest = 1e-2 / (found.size * d.width)  # far below one eigenvalue
    shown = {name: rule for name, rule in (rules or {}).items() if rule[1] < 3 * found.largest[0]}
    return figure.curves(
        f"{found.size} parameters: eigenvalues from {found.least:.3g} to {found.largest[0]:.3g}; widest gap after "
        f"{found.outliers} ({classes} {'output' if classes == 1 else 'classes'})",
        "eigenvalue",
        "density of eigenvalues",
        log="y",
        lines={"density": (d.grid[::4], np.maximum(d.density, lowest)[::4])},
        bands={"density": (d.grid[::4], np.maximum(d.low, lowest)[::4], np.maximum(d.high, lowest)[::4])},
        points={"largest eigenvalues": (found.largest, np.full(len(found.largest), 1.0 / (found.size * d.width)))},
        rules=shown,
    )
