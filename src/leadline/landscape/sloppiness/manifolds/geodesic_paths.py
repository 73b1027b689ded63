"""Geodesics of a model manifold: shot from a point, between two points, and paths of least energy.

Lengths are those of data space, ∫ ‖dy/ds‖ ds; in the Fisher metric g = JᵀJ/(nσ²) they are smaller by σ√n.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..models.regression_models import RegressionModel

Weights = Float[np.ndarray, " p"]
Path = Float[np.ndarray, "m p"]


@dataclass(frozen=True)
class Geodesic:
    """A geodesic at m parameter values: weights, points of data space, speeds ‖dy/ds‖ and its length.

    `stopped` says why it ended before its time ("" if it did not): at a boundary of the manifold, or far away.
    """

    times: Float[np.ndarray, " m"]
    weights: Path
    velocities: Path
    points: Float[np.ndarray, "m n"]
    speeds: Float[np.ndarray, " m"]
    length: float
    stopped: str = ""


def geodesic_acceleration(
    model: RegressionModel, w: Float[np.ndarray, "*batch p"], v: Float[np.ndarray, "*batch p"]
) -> Float[np.ndarray, "*batch p"]:
    """ẅ = −(JᵀJ)⁻¹ Jᵀ (d²y/ds² along v): the predictions then have no acceleration inside the manifold.

    >>> from leadline.landscape.sloppiness.manifolds.model_manifolds import sphere_model
    >>> geodesic_acceleration(sphere_model(), np.array([np.pi / 4, 0.0]), np.array([0.0, 1.0])).round(9).tolist()[0]
    0.5
    """
    return -(np.linalg.pinv(model.jacobian(w)) @ model.acceleration(w, v)[..., None])[..., 0]


def shoot_geodesic(
    model: RegressionModel,
    start: Weights,
    velocity: Weights,
    time: float = 1.0,
    *,
    count: int = 101,
    edge: float = 1e-6,
    farthest: float = 1e4,
    rtol: float = 1e-10,
) -> Geodesic:
    """The geodesic from `start` with ẇ = `velocity`, for s from 0 to `time`, by an ODE solver (DOP853).

    It stops at a boundary of the manifold, where the least singular value of J has fallen to `edge` times the largest
    one at the start, or where a weight is larger than `farthest`: w → ∞ at a finite length.

    >>> from leadline.landscape.sloppiness.manifolds.model_manifolds import sphere_model
    >>> path = shoot_geodesic(sphere_model(), np.array([np.pi / 2, 0.0]), np.array([0.0, 1.0]), 2.0)
    >>> round(path.length, 9), path.weights[-1].round(6).tolist()
    (2.0, [1.570796, 2.0])
    """
    from scipy.integrate import solve_ivp

    start, velocity = np.asarray(start, float), np.asarray(velocity, float)
    p = model.size
    top = np.linalg.norm(model.jacobian(start), 2)
    if np.linalg.norm(model.jacobian(start) @ velocity) <= 1e-14 * top * np.linalg.norm(velocity):
        raise ValueError("The velocity changes no prediction at the start; give one with J v ≠ 0.")

    def flow(_, state):
        w, v = state[:p], state[p:]
        return np.append(v, geodesic_acceleration(model, w, v))

    def at_edge(_, state):
        return np.linalg.svd(model.jacobian(state[:p]), compute_uv=False)[-1] - edge * top

    def far_away(_, state):
        return farthest - np.max(np.abs(state[:p]))

    for event in (at_edge, far_away):
        event.terminal = True
    found = solve_ivp(
        flow,
        (0.0, time),
        np.append(start, velocity),
        method="DOP853",
        rtol=rtol,
        atol=rtol * 1e-3,
        events=[at_edge, far_away],
        dense_output=True,
    )
    reasons = ("boundary of the manifold", f"a weight beyond {farthest:g}")
    stopped = "".join(r for r, hits in zip(reasons, found.t_events, strict=True) if len(hits))
    if found.status < 0:
        stopped = "boundary of the manifold"  # the step size has gone to 0: velocities diverge there
    times = np.linspace(0.0, found.t[-1], count)
    states = found.sol(times).T
    return _finished(model, times, states[:, :p], states[:, p:], stopped)


def projected_chord(model: RegressionModel, start: Weights, end: Weights, segments: int = 32) -> Path:
    """Weights of the manifold's points nearest to the straight line of data space between y(start) and y(end).

    It ends at `end`, or at other weights with the same predictions (an angle plus 2π, two rates exchanged) where the
    way leads to those; the straight line of weights is taken where the way leads nowhere and that one is shorter.
    """
    first, last = model.predict(start), model.predict(end)
    reach = 3 * float(np.linalg.norm(last - first)) / segments
    path = [np.asarray(start, float)]
    for share in np.arange(1, segments + 1) / segments:
        path.append(_followed(model, path[-1], first + share * (last - first), reach))
    reached = np.linalg.norm(model.predict(path[-1]) - last) <= 1e-9 * np.linalg.norm(last - first)
    if reached:
        return np.stack(path)
    tracked, straight = np.stack([*path[:-1], np.asarray(end, float)]), np.linspace(start, end, segments + 1)
    return min(tracked, straight, key=lambda w: image_length(model, w))


def _followed(model: RegressionModel, w: Weights, target: Float[np.ndarray, " n"], reach: float) -> Weights:
    """The model nearest to a target that moves on, by Gauss-Newton steps that move the predictions by at most `reach`,
    so that the weights do not jump to another branch."""
    for _ in range(10):
        jacobian = model.jacobian(w)
        step = np.linalg.lstsq(jacobian, target - model.predict(w), rcond=1e-6)[0]
        moved = float(np.linalg.norm(jacobian @ step))
        w = w + step * min(1.0, reach / moved) if moved else w
        if moved <= 1e-13 * reach:
            break
    return w


def least_energy_path(model: RegressionModel, guess: Path, *, max_steps: int = 100) -> Path:
    """The path through m + 1 points with the ends of `guess` and the least energy (m/2) Σₖ ‖y(w_{k+1}) − y(w_k)‖².

    By Cauchy-Schwarz its chords are equal, and it is the shortest; a discrete geodesic.

    >>> from leadline.landscape.sloppiness import polynomial_model
    >>> model = polynomial_model(np.array([0.0, 1.0]), 1)
    >>> bent = np.array([[0.0, 0.0], [3.0, 1.0], [2.0, 4.0]])
    >>> least_energy_path(model, bent).round(9).tolist()
    [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]
    """
    from scipy.optimize import least_squares

    m, p = len(guess) - 1, model.size
    scale = np.sqrt(m)

    def whole(inner):
        return np.vstack([guess[:1], inner.reshape(m - 1, p), guess[-1:]])

    def chords(inner):
        return scale * np.diff(model.predict(whole(inner)), axis=0).ravel()

    def slopes(inner):
        blocks = model.jacobian(inner.reshape(m - 1, p))
        n = blocks.shape[1]
        out = np.zeros((m, n, m - 1, p))
        k = np.arange(m - 1)
        out[k, :, k] = scale * blocks
        out[k + 1, :, k] = -scale * blocks
        return out.reshape(m * n, (m - 1) * p)

    method = "lm" if m * len(model.predict(guess[0])) >= (m - 1) * p else "trf"
    found = least_squares(
        chords, guess[1:-1].ravel(), slopes, method=method, x_scale="jac", ftol=1e-12, xtol=1e-10, max_nfev=max_steps
    )
    return whole(found.x)


def geodesic_between(
    model: RegressionModel,
    start: Weights,
    end: Weights,
    *,
    segments: int = 16,
    guess: Path | None = None,
    tol: float = 1e-6,
) -> Geodesic:
    """The geodesic from `start` to `end`: the path of least energy from a guess, then the boundary-value problem of the
    geodesic equation by collocation (`scipy.integrate.solve_bvp`).

    Without a `guess` the straight line of data space is projected to the manifold; the geodesic ends where that does
    (`projected_chord`). It is the shortest path among its neighbours; another guess may lead to a shorter one. Where
    the boundary-value problem is not solved, the path of least energy is given and `stopped` says so.

    >>> from leadline.landscape.sloppiness.manifolds.model_manifolds import haversine, sphere_model
    >>> a, b = np.array([0.6, 0.2]), np.array([1.3, 1.9])
    >>> bool(abs(geodesic_between(sphere_model(), a, b).length - haversine(a, b)) < 1e-6)
    True
    """
    path = projected_chord(model, start, end, segments) if guess is None else guess
    for pieces in (segments, 2 * segments, 4 * segments):
        path = resample(model, path, pieces)
        path = min(path, least_energy_path(model, path), key=lambda w: image_length(model, w))
        found = _collocated(model, path, tol)
        if found is not None and found.length <= 1.001 * image_length(model, path):
            return found
    times = np.linspace(0.0, 1.0, len(path))
    velocities = np.gradient(path, times, axis=0)
    speeds = np.linalg.norm((model.jacobian(path) @ velocities[..., None])[..., 0], axis=1)
    stopped = "the boundary-value problem was not solved; this is a path of little energy"
    return Geodesic(times, path, velocities, model.predict(path), speeds, image_length(model, path), stopped)


def resample(model: RegressionModel, path: Path, segments: int) -> Float[np.ndarray, "k p"]:
    """Weights on the segments of a path that cut its image in data space into pieces of equal length."""
    chords = np.linalg.norm(np.diff(model.predict(path), axis=0), axis=1)
    along = np.append(0.0, np.cumsum(chords))
    keep = np.append(True, np.diff(along) > 0)
    wanted = np.linspace(0.0, along[-1], segments + 1)
    return np.stack([np.interp(wanted, along[keep], column[keep]) for column in np.asarray(path, float).T], 1)


def image_length(model: RegressionModel, path: Path, pieces: int = 4) -> float:
    """∫ ‖J(w) ẇ‖ ds along the straight segments between the weights of a path: the length of its image on the manifold.

    By Gauss-Legendre with 5 nodes on each of `pieces` parts of a segment.

    >>> from leadline.landscape.sloppiness.manifolds.model_manifolds import sphere_model
    >>> round(image_length(sphere_model(), np.array([[0.1, 0.0], [1.1, 0.0]])), 9)
    1.0
    """
    path = np.asarray(path, float)
    if path.ndim != 2 or len(path) < 2:
        raise ValueError(f"A path needs at least two rows of weights; this one has the shape {path.shape}.")
    nodes, weights = np.polynomial.legendre.leggauss(5)
    shares = ((np.arange(pieces)[:, None] + (nodes + 1) / 2) / pieces).ravel()
    steps = np.diff(path, axis=0)
    places = path[:-1] + shares[:, None, None] * steps  # (nodes, m − 1, p)
    moved = (model.jacobian(places) @ steps[..., None])[..., 0]
    return float(np.tile(weights / (2 * pieces), pieces) @ np.linalg.norm(moved, axis=2).sum(1))


def _collocated(model: RegressionModel, path: Path, tol: float) -> Geodesic | None:
    """The solution of the boundary-value problem from a path, None if there is none."""
    from scipy.integrate import solve_bvp

    p = model.size
    times = np.linspace(0.0, 1.0, len(path))
    guess = np.vstack([path.T, np.gradient(path, times, axis=0).T])

    def flow(_, states):
        return np.vstack([states[p:], geodesic_acceleration(model, states[:p].T, states[p:].T).T])

    def ends(first, last):
        return np.append(first[:p] - path[0], last[:p] - path[-1])

    with np.errstate(all="ignore"):
        try:
            found = solve_bvp(flow, ends, times, guess, tol=tol, max_nodes=2000)
        except (np.linalg.LinAlgError, ValueError, FloatingPointError):  # Newton's steps have left the floats
            return None
        if not found.success or not np.isfinite(found.y).all():
            return None
        fine = np.linspace(0.0, 1.0, 201)
        states = found.sol(fine).T
        return _finished(model, fine, states[:, :p], states[:, p:], "")


def _finished(model: RegressionModel, times, weights: Path, velocities: Path, stopped: str) -> Geodesic:
    from scipy.integrate import simpson

    speeds = np.linalg.norm((model.jacobian(weights) @ velocities[..., None])[..., 0], axis=1)
    length = float(simpson(speeds, x=times))
    return Geodesic(times, weights, velocities, model.predict(weights), speeds, length, stopped)
