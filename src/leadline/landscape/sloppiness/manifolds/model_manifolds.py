"""Model manifolds {y(w)} ⊂ ℝⁿ: local dimension, folds, boundaries at infinity, and grids of them for pictures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..models.regression_models import RegressionModel


def local_dimension(model: RegressionModel, w: Float[np.ndarray, " p"], tolerance: float = 1e-10) -> int:
    """rank J(w) ≤ min(n, p): singular values above `tolerance` times the largest.

    >>> from leadline.landscape.sloppiness import sum_of_exponentials
    >>> model = sum_of_exponentials(np.array([0.5, 1.0, 2.0]), 2)
    >>> local_dimension(model, np.array([0.3, 2.0])), local_dimension(model, np.array([1.0, 1.0]))  # on the fold
    (2, 1)
    """
    values = np.linalg.svd(model.jacobian(w), compute_uv=False)
    return int(np.sum(values > tolerance * values[0])) if values[0] > 0 else 0


@dataclass(frozen=True)
class ManifoldLimit:
    """What a model does as w goes to a boundary: predictions along the way, and the singular values of J D there."""

    weights: Float[np.ndarray, "k p"]
    points: Float[np.ndarray, "k n"]
    singular_values: Float[np.ndarray, "k r"]

    @property
    def last_moves(self) -> Float[np.ndarray, " m"]:
        """‖y(w_{k+1}) − y(w_k)‖: they go to 0 where the boundary lies at a finite distance."""
        return np.linalg.norm(np.diff(self.points, axis=0), axis=1)


def boundary_limit(
    model: RegressionModel, path: Callable[[float], Float[np.ndarray, " p"]], scales: Float[np.ndarray, " k"]
) -> ManifoldLimit:
    """The model along w = path(s), s = scales, with the singular values of ∂y/∂ln w there (weights of one sign).

    At a boundary of the manifold y converges while a singular value goes to 0: a dimension is lost at a finite
    distance though the weights go to 0 or ∞.

    >>> from leadline.landscape.sloppiness import sum_of_exponentials
    >>> model = sum_of_exponentials(np.array([1.0, 2.0]), 2)
    >>> limit = boundary_limit(model, lambda s: np.array([1.0, s]), np.array([10.0, 100.0]))
    >>> bool(limit.singular_values[-1, 1] < 1e-30), bool(limit.last_moves[0] < 1e-4)
    (True, True)
    """
    weights = np.stack([path(float(s)) for s in scales])
    spectra = [np.linalg.svd(model.jacobian(w) * w, compute_uv=False) for w in weights]
    return ManifoldLimit(weights, model.predict(weights), np.stack(spectra))


def manifold_grid(model: RegressionModel, *axes: Float[np.ndarray, " _"]) -> Float[np.ndarray, "... n"]:
    """The points y(w) for w on the product grid of the axes, one axis a weight.

    >>> from leadline.landscape.sloppiness import michaelis_menten
    >>> manifold_grid(michaelis_menten(np.ones(3)), np.ones(4), np.ones(5)).shape
    (4, 5, 3)
    """
    if len(axes) != model.size:
        raise ValueError(f"A grid over {len(axes)} weights was asked; the model has {model.size}: one axis for each.")
    return model.predict(np.stack(np.meshgrid(*axes, indexing="ij"), -1))


def wire_frame(surface: Float[np.ndarray, "a b k"]) -> Float[np.ndarray, "m k"]:
    """One line through a surface, there and back along every row and then along every column: its picture.

    >>> wire_frame(np.arange(4.0).reshape(2, 2, 1)).ravel().tolist()
    [0.0, 1.0, 3.0, 2.0, 0.0, 1.0, 3.0]
    """
    rows = [row[:: 1 if i % 2 == 0 else -1] for i, row in enumerate(surface)]
    columns = np.swapaxes(surface, 0, 1)
    if len(surface) % 2:  # an odd number of rows ends on the right
        columns = columns[::-1]
    back = [column[:: -1 if j % 2 == 0 else 1] for j, column in enumerate(columns)]
    path = np.concatenate(rows + back)
    keep = np.append(True, np.any(np.diff(path, axis=0) != 0, axis=1))
    return path[keep]


def stretched_axes(points: Float[np.ndarray, "m n"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n k"]]:
    """Centre c and axes A of a cloud, k ≤ 3: (y − c) A are its principal coordinates, each stretched to reach 1.

    A model manifold is a hyper-ribbon, far thinner in each principal direction than in the last; unstretched it looks
    like a line.

    >>> centre, axes = stretched_axes(np.array([[0.0, 0.0], [8.0, 1.0], [8.0, -1.0]]))
    >>> np.abs((np.array([8.0, 1.0]) - centre) @ axes).round(6).tolist()
    [0.5, 1.0]
    """
    centre = points.mean(0)
    _, _, vt = np.linalg.svd(points - centre, full_matrices=False)
    axes = vt[:3].T
    return centre, axes / np.maximum(np.abs((points - centre) @ axes).max(0), np.finfo(float).tiny)


def camera_view(
    points: Float[np.ndarray, "*batch 3"], azimuth: float = 40.0, elevation: float = 25.0
) -> Float[np.ndarray, "*batch 2"]:
    """Points of space as a distant camera sees them (angles in degrees): right and up coordinates.

    >>> camera_view(np.array([0.0, 0.0, 1.0]), elevation=0.0).round(9).tolist()
    [0.0, 1.0]
    """
    a, e = np.radians(azimuth), np.radians(elevation)
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    up = np.array([-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)])
    return points @ np.stack([right, up], 1)


def sphere_model() -> RegressionModel:
    """The unit sphere as a model of 3 data: (θ, φ) ↦ (sin θ cos φ, sin θ sin φ, cos θ), metric diag(1, sin² θ).

    >>> model = sphere_model()
    >>> jacobian = model.jacobian(np.array([np.pi / 6, 1.0]))
    >>> bool(np.allclose(jacobian.T @ jacobian, np.diag([1.0, 0.25])))
    True
    """

    def value(_, w):
        (s, c), (u, v) = _turns(w[..., 0]), _turns(w[..., 1])
        return np.stack([s * v, s * u, c], -1)

    def gradient(_, w):
        (s, c), (u, v) = _turns(w[..., 0]), _turns(w[..., 1])
        by_polar, by_azimuth = np.stack([c * v, c * u, -s], -1), np.stack([-s * u, s * v, 0 * s], -1)
        return np.stack([by_polar, by_azimuth], -1)

    def bend(_, w, d):
        (s, c), (u, v) = _turns(w[..., 0]), _turns(w[..., 1])
        a, b = d[..., 0], d[..., 1]
        inward, twist = s * (a**2 + b**2), 2 * a * b * c
        return np.stack([-inward * v - twist * u, -inward * u + twist * v, -c * a**2], -1)

    return RegressionModel(np.arange(3.0), ("θ", "φ"), value, gradient, bend)


def haversine(a: Sequence[float] | Float[np.ndarray, " 2"], b: Sequence[float] | Float[np.ndarray, " 2"]) -> float:
    """The angle between the directions (θ, φ): 2 arcsin √(sin²(Δθ/2) + sin θ₁ sin θ₂ sin²(Δφ/2)).

    >>> round(haversine((np.pi / 2, 0.0), (np.pi / 2, 1.0)), 12)
    1.0
    """
    (s, f), (t, g) = a, b
    half = np.sin((s - t) / 2) ** 2 + np.sin(s) * np.sin(t) * np.sin((f - g) / 2) ** 2
    return float(2 * np.arcsin(np.sqrt(min(half, 1.0))))


def _turns(angle):
    return np.sin(angle), np.cos(angle)
