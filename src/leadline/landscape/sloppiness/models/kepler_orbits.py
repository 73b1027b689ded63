"""A Kepler orbit in the plane as a regression model: positions at given times, their exact Jacobian, and the focus.

Weights w = (x, y, a, k, h, λ, n): the focus with the attracting body, the semi-major axis, k = e cos ω and h = e sin ω
(eccentricity e, direction ω of the periapsis), the mean longitude at time 0 and the mean motion 2π/period. Unlike
(e, ω, mean anomaly), these are smooth through e = 0 (Broucke and Cefola 1972).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_NAMES = ("focus x", "focus y", "a", "e cos ω", "e sin ω", "mean longitude", "mean motion")
_CLASSICAL = ("focus x", "focus y", "a", "e", "ω", "mean anomaly", "mean motion")
_NEWTON_STEPS = 14


@dataclass(frozen=True)
class KeplerOrbit:
    """Positions (x₁, …, x_n, y₁, …, y_n) at `times`; `predict` takes one w or a batch, `jacobian` one.

    Where e ≥ 1 there is no ellipse, and the predictions are nan.

    >>> orbit = KeplerOrbit(np.array([0.0, np.pi]))
    >>> orbit.predict(np.array([0.0, 0.0, 1.0, 0.5, 0.0, 0.0, 1.0])).round(9).tolist()  # periapsis, apoapsis
    [0.5, -1.5, 0.0, 0.0]
    """

    times: Float[np.ndarray, " n"]

    @property
    def names(self) -> tuple[str, ...]:
        return _NAMES

    def predict(self, w: Float[np.ndarray, "*batch 7"]) -> Float[np.ndarray, "*batch m"]:
        """The x of all times, then the y."""
        fx, fy, a, k, h, longitude, motion = np.moveaxis(np.asarray(w, float)[..., None], -2, 0)
        cos, sin, _, beta, _ = _eccentric(k, h, longitude + motion * self.times)
        x = fx + a * ((1 - h**2 * beta) * cos + h * k * beta * sin - k)
        y = fy + a * ((1 - k**2 * beta) * sin + h * k * beta * cos - h)
        return np.concatenate([x, y], axis=-1)

    def jacobian(self, w: Float[np.ndarray, " 7"]) -> Float[np.ndarray, "m 7"]:
        """∂(positions)/∂w, in closed form."""
        _, _, a, k, h, longitude, motion = np.asarray(w, float)
        cos, sin, d, beta, root = _eccentric(k, h, longitude + motion * self.times)
        x0, y0 = (1 - h**2 * beta) * cos + h * k * beta * sin - k, (1 - k**2 * beta) * sin + h * k * beta * cos - h
        x_f, y_f = -(1 - h**2 * beta) * sin + h * k * beta * cos, (1 - k**2 * beta) * cos - h * k * beta * sin
        beta_h, beta_k = beta**2 * h / root, beta**2 * k / root
        x_h = (-2 * h * beta - h**2 * beta_h) * cos + k * (beta + h * beta_h) * sin - x_f * cos / d
        x_k = -(h**2) * beta_k * cos + h * (beta + k * beta_k) * sin - 1 + x_f * sin / d
        y_h = -(k**2) * beta_h * sin + k * (beta + h * beta_h) * cos - 1 - y_f * cos / d
        y_k = (-2 * k * beta - k**2 * beta_k) * sin + h * (beta + k * beta_k) * cos + y_f * sin / d
        one, none = np.ones_like(cos), np.zeros_like(cos)
        by_x = [one, none, x0, a * x_k, a * x_h, a * x_f / d, a * x_f / d * self.times]
        by_y = [none, one, y0, a * y_k, a * y_h, a * y_f / d, a * y_f / d * self.times]
        return np.concatenate([np.stack(by_x, 1), np.stack(by_y, 1)])

    def shape_jacobian(self, w: Float[np.ndarray, " 7"]) -> Float[np.ndarray, "n 5"]:
        """How far the ellipse moves along its normal at the positions, by focus, a, k and h.

        That is all that positions without times tell: where on the ellipse a body is, is then unknown too, and
        eliminating it leaves the normal component.
        """
        full = self.jacobian(w)
        n = len(self.times)
        tangent = np.stack([full[:n, 5], full[n:, 5]], 1)
        tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
        return tangent[:, 1:] * full[:n, :5] - tangent[:, :1] * full[n:, :5]

    def bearing_jacobian(self, w: Float[np.ndarray, " 7"], observer: tuple[float, float]) -> Float[np.ndarray, "n 7"]:
        """∂(direction in which an observer at a known place sees the body)/∂w, in radians."""
        n, full = len(self.times), self.jacobian(w)
        at = self.predict(np.asarray(w, float))
        x, y = at[:n] - observer[0], at[n:] - observer[1]
        return (x[:, None] * full[n:] - y[:, None] * full[:n]) / (x**2 + y**2)[:, None]


def classical_jacobian(
    orbit: KeplerOrbit, w: Float[np.ndarray, " 7"]
) -> tuple[Float[np.ndarray, "m 7"], tuple[str, ...]]:
    """The Jacobian in (focus, a, e, ω, mean anomaly at time 0, mean motion), and the names of these.

    At e = 0 the columns of ω and of the mean anomaly are equal: a circle has no periapsis (ω = 0 is taken there).

    >>> circle = KeplerOrbit(np.linspace(0, 6, 9))
    >>> jacobian, names = classical_jacobian(circle, np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]))
    >>> names[4], names[5], bool(np.allclose(jacobian[:, 4], jacobian[:, 5]))
    ('ω', 'mean anomaly', True)
    """
    w = np.asarray(w, float)
    k, h = w[3], w[4]
    e, omega = float(np.hypot(k, h)), float(np.arctan2(h, k))
    full = orbit.jacobian(w)
    columns = full.copy()
    columns[:, 3] = np.cos(omega) * full[:, 3] + np.sin(omega) * full[:, 4]
    columns[:, 4] = e * (-np.sin(omega) * full[:, 3] + np.cos(omega) * full[:, 4]) + full[:, 5]
    return columns, _CLASSICAL


def arc_times(
    count: int, arc: float, *, motion: float = 1.0, clusters: int | None = None, start: float = 0.0
) -> Float[np.ndarray, " count"]:
    """`count` times over a fraction `arc` of the period 2π/`motion`: evenly, or at `clusters` places, equally often.

    Observations of one cluster are spread over a hundredth of the arc.

    >>> (arc_times(3, 0.5) / np.pi).tolist()
    [0.0, 0.5, 1.0]
    """
    if count < 2 or not 0 < arc <= 1 or (clusters is not None and not 1 <= clusters <= count):
        raise ValueError(
            f"arc_times got {count} times, arc {arc:g}, {clusters} clusters; give 2 or more times, an arc in (0, 1] "
            "and from 1 to `count` clusters."
        )
    places = np.linspace(0, 1, count)
    if clusters is not None:
        which = np.arange(count) % clusters
        places = which / max(clusters - 1, 1) * 0.99 + 0.01 * np.arange(count) / count
    return start + 2 * np.pi / motion * arc * places


def _eccentric(k, h, mean):
    """cos F, sin F, 1 − k cos F − h sin F, β, √(1 − e²), F the eccentric longitude: F + h cos F − k sin F = mean."""
    square = k**2 + h**2
    inside = square < 1
    k, h = np.where(inside, k, np.nan), np.where(inside, h, np.nan)
    e, omega = np.sqrt(square), np.arctan2(h, k)
    f = mean + 0.85 * e * np.sign(np.sin(mean - omega))
    for _ in range(_NEWTON_STEPS):
        f = f - (f + h * np.cos(f) - k * np.sin(f) - mean) / (1 - k * np.cos(f) - h * np.sin(f))
    cos, sin = np.cos(f), np.sin(f)
    root = np.sqrt(1 - k**2 - h**2)
    return cos, sin, 1 - k * cos - h * sin, 1 / (1 + root), root
