"""A Kepler orbit from a short arc: which elements the positions determine."""

import jax
import numpy as np

from leadline import data
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, mean, slope
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.estimator_covariances import whitened_errors
from leadline.landscape.sloppiness.models.kepler_orbits import KeplerOrbit, arc_times, classical_jacobian
from leadline.presentation import figure

ARCS = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])


def _weights(eccentricity: float, direction: float) -> np.ndarray:
    """Focus at 0, a = 1, mean motion 1, mean longitude 0."""
    return np.array([0.0, 0.0, 1.0, eccentricity * np.cos(direction), eccentricity * np.sin(direction), 0.0, 1.0])


def _bound(jacobian: np.ndarray) -> np.ndarray:
    """Least covariance at σ = 1."""
    return sloppiness.cramer_rao_bound(jacobian, 1, threshold=1e-14).matrix


def _focus_error(jacobian: np.ndarray) -> float:
    return np.trace(_bound(jacobian)[:2, :2]) ** 0.5


def _ellipse(covariance: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    angle = np.linspace(0, 2 * np.pi, 121)
    return tuple(scale * np.linalg.cholesky(covariance) @ np.stack([np.cos(angle), np.sin(angle)]))


@claim(sources=("penn",))
def orbit_from_short_arc(
    key,
    eccentricity: Real(0.02, 0.3) = 0.2,
    direction: Real(0.0, 6.28) = 2.0,
    arc: Real(0.2, 1.0) = 0.4,
    count: Int(12, 60) = 24,
    repeats: Int(100, 400, log=True) = 200,
):
    r"""Kepler orbit from a short arc.

    A short arc hardly determines a Kepler orbit: the condition number of the information rises by six decades as the
    arc shrinks from the whole orbit to a twentieth of it, and the focus is lost first. Without times the focus error
    grows like 1/e for near-circular orbits, e being the eccentricity; the periapsis of a circle cannot be determined
    at all.

    $$\mathrm{Cov}(\hat{w}) \ge \sigma^2 (J^T J)^{-1}$$

    Assumes: positions with independent errors N(0, σ²); e ≤ 0.3 for the trend of the condition number.

    Check: The focus, a, e cos ω, e sin ω, the mean longitude and the mean motion are estimated from `count` noisy
    positions, with a = 1 and period 2π.
    """
    w = _weights(eccentricity, direction)

    def orbit(part, clusters=None, times=count):
        return KeplerOrbit(arc_times(times, part, clusters=clusters))

    jacobians = [orbit(part).jacobian(w) for part in ARCS]
    singular = np.array([np.linalg.svd(j, compute_uv=False) for j in jacobians])
    conditions = (singular[:, 0] / singular[:, -1]) ** 2
    yield at_most(conditions[1:], conditions[:-1], f"condition of g from arc to longer arc, {count} positions each")
    yield at_least(np.log10(conditions[0] / conditions[-1]), 5.0, "decades of the condition between arcs 0.05 and 1")

    # More of the same observations never harm: the total information grows in the Loewner order, at every e.
    times = arc_times(20 * count, 1.0)
    whole = KeplerOrbit(times).jacobian(w)
    nested = [_focus_error(whole[np.tile(times <= 2 * np.pi * part + 1e-9, 2)]) for part in ARCS]
    yield at_most(nested[1:], nested[:-1], "error of the focus as the same observations go on", rtol=1e-6)
    three, even = (_focus_error(orbit(arc, c).jacobian(w)) for c in (3, None))
    yield at_least(three / even, 3.0, "error of the focus, times clustered at 3 places, over that with even times")

    full, small = orbit(1.0), np.geomspace(1e-3, 0.03, 6)
    untimed = [_focus_error(full.shape_jacobian(_weights(e, direction))) for e in small]
    timed = [_focus_error(full.jacobian(_weights(e, direction))) for e in small]
    yield slope(small, untimed, -1.0, "exponent of e in the error of the focus, times unknown", within=0.02)
    what = "largest over smallest error of the focus for e from 0.001 to 0.03, times known"
    yield at_most(max(timed) / min(timed), 1.1, what)
    circle, names = classical_jacobian(full, _weights(0.0, 0.0))
    none = np.zeros(7)
    none[names.index("ω")], none[names.index("mean anomaly")] = 1.0, -1.0
    yield close(circle @ none, 0.0, "e = 0: change of all positions if ω and the mean anomaly trade places", atol=1e-12)
    lost = sloppiness.cramer_rao_bound(circle, 1).variance(np.eye(7)[names.index("ω")])
    yield close(1 / lost, 0.0, "e = 0: inverse of the least variance of ω")

    chosen = orbit(arc)
    unit = _bound(chosen.jacobian(w))
    sigma = 2e-3 / np.sqrt(np.linalg.eigvalsh(unit)[-1])  # so that errors stay in the linear regime
    rng = data.generator(jax.random.fold_in(key, 1))
    observed = chosen.predict(w) + sigma * rng.normal(size=(repeats, 2 * count))
    fits = sloppiness.repeated_fits(chosen, observed, w)
    yield exactly(np.mean(fits.converged), 1.0, "share of fits that converged")
    z = whitened_errors(fits.weights[:, :2], w[:2], sigma**2 * unit[:2, :2])
    what = f"{repeats} fits: squared error of the focus in units of the bound"
    yield mean((z**2).sum(axis=1), 2.0, what, deviation=2.0)
    low, high = sloppiness.wishart_edges(repeats - 1, 2)
    spectrum = np.linalg.eigvalsh(np.cov(z.T))
    yield at_least(spectrum[0], low, "smallest eigenvalue of the focus' covariance over the bound, chance allowed for")
    yield at_most(spectrum[-1], high, "largest eigenvalue of the focus' covariance over the bound, chance allowed for")

    lines, name = {}, f"fits, arc {arc:.2g}"
    for part in (0.3, 0.4, 0.6, 1.0):
        lines[f"arc {part:g}"] = _ellipse(_bound(orbit(part).jacobian(w))[:2, :2], 2.45e3 * sigma)
    reach = 1.1 * max(np.abs(ellipse).max() for ellipse in lines.values())
    places = {"points": {name: 1e3 * fits.weights[:, :2]}, "sizes": {name: 8.0}, "domain": ((-reach, reach),) * 2}
    title = f"95% ellipses of the focus, σ = {sigma:.1e} a"
    focus = figure.plane(title, "focus x (10⁻³ a)", "focus y (10⁻³ a)", lines=lines, **places)
    error = [_focus_error(j) for j in jacobians]
    title = f"{count} positions: condition of g and error of the focus"
    points = {"condition of g": (ARCS, conditions), "error of the focus over σ": (ARCS, error)}
    along = "observed fraction of the orbit"
    falling = figure.curves(title, along, "condition; error/σ", points=points, log="y")
    title = f"The focus is {error[0] / error[-1]:.0f} times less certain from a twentieth of the orbit than from all"
    yield figure.beside(title, focus, falling)
