"""A Kepler orbit from a short arc: which elements the positions determine."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, sloppiness
from leadline.evidence import Range, at_least, at_most, claim, close, figure, mean, slope

ARCS = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])


def _weights(eccentricity: float, direction: float) -> np.ndarray:
    """Focus at 0, a = 1, mean motion 1, mean longitude 0."""
    return np.array([0.0, 0.0, 1.0, eccentricity * np.cos(direction), eccentricity * np.sin(direction), 0.0, 1.0])


def _bound(jacobian: np.ndarray) -> np.ndarray:
    """Least covariance at σ = 1."""
    return sloppiness.cramer_rao_bound(jacobian, 1, threshold=1e-14).matrix


def _ellipse(covariance: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    angle = np.linspace(0, 2 * np.pi, 121)
    return tuple(scale * np.linalg.cholesky(covariance) @ np.stack([np.cos(angle), np.sin(angle)]))


@claim(
    "orbit-from-short-arc",
    says=(
        "A short arc hardly determines a Kepler orbit: the condition number of the information rises by six decades as "
        "the arc shrinks from the whole to a twentieth, and the focus is lost first. Without times the focus error "
        "grows like 1/e for near-circular orbits; the periapsis of a circle cannot be told at all."
    ),
    formula=r"\mathrm{Cov}(\hat{w}) \ge \sigma^2 (J^T J)^{-1}",
    sources=("penn",),
    assumes=("positions with independent errors N(0, σ²)", "e ≤ 0.3 for the trend of the condition number"),
    shows=(
        "sloppiness.KeplerOrbit",
        "sloppiness.classical_jacobian",
        "sloppiness.arc_times",
        "sloppiness.repeated_fits",
    ),
)
def orbit_from_short_arc(
    key,
    eccentricity: Annotated[float, Range(0.02, 0.3)] = 0.2,
    direction: Annotated[float, Range(0.0, 6.28)] = 2.0,
    arc: Annotated[float, Range(0.2, 1.0)] = 0.4,
    count: Annotated[int, Range(12, 60)] = 24,
    repeats: Annotated[int, Range(100, 400, log=True)] = 200,
):
    """Focus, a, e cos ω, e sin ω, mean longitude and mean motion from `count` noisy positions; a = 1, period 2π."""
    w = _weights(eccentricity, direction)

    def orbit(part, clusters=None, times=count):
        return sloppiness.KeplerOrbit(sloppiness.arc_times(times, part, clusters=clusters))

    jacobians = [orbit(part).jacobian(w) for part in ARCS]
    singular = np.array([np.linalg.svd(j, compute_uv=False) for j in jacobians])
    conditions = (singular[:, 0] / singular[:, -1]) ** 2
    yield at_most(conditions[1:], conditions[:-1], f"condition of g from arc to longer arc, {count} positions each")
    yield at_least(np.log10(conditions[0] / conditions[-1]), 5.0, "decades of the condition between arcs 0.05 and 1")

    # More of the same observations never harm: the total information grows in the Loewner order, at every e.
    times = sloppiness.arc_times(20 * count, 1.0)
    whole = sloppiness.KeplerOrbit(times).jacobian(w)
    nested = []
    for part in ARCS:
        seen = np.tile(times <= 2 * np.pi * part + 1e-9, 2)
        nested.append(np.trace(_bound(whole[seen])[:2, :2]) ** 0.5)
    yield at_most(nested[1:], nested[:-1], "error of the focus as the same observations go on", rtol=1e-6)
    three, even = (np.trace(_bound(orbit(arc, c).jacobian(w))[:2, :2]) ** 0.5 for c in (3, None))
    yield at_least(three / even, 3.0, "error of the focus, times clustered at 3 places, over that with even times")

    full = orbit(1.0)
    small = np.geomspace(1e-3, 0.03, 6)
    untimed = [np.trace(_bound(full.shape_jacobian(_weights(e, direction)))[:2, :2]) ** 0.5 for e in small]
    timed = [np.trace(_bound(full.jacobian(_weights(e, direction)))[:2, :2]) ** 0.5 for e in small]
    yield slope(small, untimed, -1.0, "exponent of e in the error of the focus, times unknown", within=0.02)
    yield at_most(max(timed) / min(timed), 1.1, "times known: largest over smallest error for these e")
    circle, names = sloppiness.classical_jacobian(full, _weights(0.0, 0.0))
    none = np.zeros(7)
    none[names.index("ω")], none[names.index("mean anomaly")] = 1.0, -1.0
    yield close(circle @ none, 0.0, "e = 0: change of all positions if ω and the mean anomaly trade places", atol=1e-12)
    bound = sloppiness.cramer_rao_bound(circle, 1)
    lost = bound.variance(np.eye(7)[names.index("ω")])
    yield close(1 / lost, 0.0, "e = 0: inverse of the least variance of ω")

    chosen = orbit(arc)
    unit = _bound(chosen.jacobian(w))
    sigma = 2e-3 / float(np.sqrt(np.linalg.eigvalsh(unit)[-1]))  # so that errors stay in the linear regime
    rng = data.generator(jax.random.fold_in(key, 1))
    observed = chosen.predict(w) + sigma * rng.normal(size=(repeats, 2 * count))
    fits = sloppiness.repeated_fits(chosen, observed, w)
    yield close(np.mean(fits.converged), 1.0, "share of fits that converged")
    predicted = sigma**2 * unit[:2, :2]
    z = sloppiness.whitened_errors(fits.weights[:, :2], w[:2], predicted)
    what = f"{repeats} fits: squared error of the focus in units of the bound"
    yield mean((z**2).sum(axis=1), 2.0, what, deviation=2.0)
    low, high = sloppiness.wishart_edges(repeats - 1, 2)
    spectrum = np.linalg.eigvalsh(np.cov(z.T))
    yield at_least(spectrum[0], low, "smallest eigenvalue of the focus' covariance over the bound, chance allowed for")
    yield at_most(spectrum[-1], high, "largest, chance allowed for")

    shown = np.array([0.3, 0.4, 0.6, 1.0])
    ellipses = {
        f"arc {part:g}": _ellipse(_bound(orbit(part).jacobian(w))[:2, :2] * sigma**2 * 1e3**2, 2.45) for part in shown
    }
    reach = 1.1 * max(np.abs(np.array(e)).max() for e in ellipses.values())
    cloud = {f"fits, arc {arc:.2g}": 1e3 * fits.weights[:, :2]}
    error = [np.trace(_bound(j)[:2, :2]) ** 0.5 for j in jacobians]
    yield figure.beside(
        f"The focus is {error[0] / error[-1]:.0f} times less certain from a twentieth of the orbit than from all of it",
        figure.plane(
            f"95% ellipses of the focus, σ = {sigma:.1e} a",
            x="focus x (10⁻³ a)",
            y="focus y (10⁻³ a)",
            points=cloud,
            sizes={name: 8.0 for name in cloud},
            lines=ellipses,
            domain=((-reach, reach), (-reach, reach)),
        ),
        figure.curves(
            f"{count} positions: condition of g and error of the focus",
            x="observed fraction of the orbit",
            y="condition; error/σ",
            points={"condition of g": (ARCS, conditions), "error of the focus over σ": (ARCS, error)},
            log="y",
        ),
    )
