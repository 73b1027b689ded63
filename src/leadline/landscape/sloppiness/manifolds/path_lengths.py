"""How long a way an optimiser took on the model manifold, against the geodesic between the ends."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..models.regression_models import RegressionModel
from .geodesic_paths import Geodesic, geodesic_between, image_length, resample

Path = Float[np.ndarray, "m p"]

RULES = ("gradient", "stochastic", "natural", "levenberg-marquardt")


def fisher_length(model: RegressionModel, path: Path, deviation: float = 1.0, pieces: int = 4) -> float:
    """∫ √(ẇᵀ g(w) ẇ) ds along the straight segments between the weights of a path, g = JᵀJ/(nσ²) at each point of it.

    The image of the segments lies on the manifold, so that no path is shorter than the geodesic.

    >>> from leadline.landscape.sloppiness.manifolds.model_manifolds import sphere_model
    >>> meridian = np.array([[0.1, 0.0], [1.1, 0.0]])
    >>> round(fisher_length(sphere_model(), meridian) * 3**0.5, 9)
    1.0
    """
    return image_length(model, path, pieces) / (deviation * float(np.sqrt(len(model.predict(path[0])))))


@dataclass(frozen=True)
class PathLength:
    """The Fisher length of a path, that of the geodesic between its ends, and the geodesic itself."""

    length: float
    shortest: float
    geodesic: Geodesic

    @property
    def ratio(self) -> float:
        """length/shortest ≥ 1: how much of a detour the path was."""
        return self.length / self.shortest


def path_length(model: RegressionModel, path: Path, deviation: float = 1.0, segments: int = 16) -> PathLength:
    """The Fisher length of a path over that of the geodesic between its ends.

    The geodesic is looked for from the projected straight line of data space and from the path itself, cut into
    `segments` of equal length in data space; the shorter one counts.

    >>> from leadline.landscape.sloppiness import polynomial_model
    >>> found = path_length(polynomial_model(np.array([0.0, 1.0]), 1), np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 1.0]]))
    >>> round(found.ratio, 6)  # (3√2 + 1)/5
    1.048528
    """
    length = fisher_length(model, path, deviation)
    guesses = [None, resample(model, path, segments)]
    found = [geodesic_between(model, path[0], path[-1], segments=segments, guess=g) for g in guesses]
    solved = [g for g in found if not g.stopped] or found
    shortest = min(solved, key=lambda g: g.length)
    n = len(model.predict(path[0]))
    return PathLength(length, shortest.length / (deviation * float(np.sqrt(n))), shortest)


def optimiser_path(
    model: RegressionModel,
    y: Float[np.ndarray, " n"],
    start: Float[np.ndarray, " p"],
    rule: str,
    *,
    step_size: float,
    num_steps: int,
    seed: int = 0,
) -> Path:
    """The weights of `num_steps` updates on ½ mean (y − f)², the start first.

    "gradient": w − η ∇; "stochastic": the gradient of one datum drawn at random; "natural": w − η (JᵀJ)⁺ Jᵀ(f − y);
    "levenberg-marquardt": (JᵀJ + μ diag JᵀJ)⁻¹ Jᵀ(f − y), μ from 1/η, a third after a success, doubled after a failure
    (such steps are not taken).

    >>> from leadline.landscape.sloppiness import polynomial_model
    >>> model, y = polynomial_model(np.array([0.0, 1.0]), 1), np.array([1.0, 3.0])
    >>> optimiser_path(model, y, np.zeros(2), "natural", step_size=0.5, num_steps=2).round(9).tolist()
    [[0.0, 0.0], [0.5, 1.0], [0.75, 1.5]]
    """
    if rule not in RULES:
        raise ValueError(f"There is no rule '{rule}'; give one of {', '.join(RULES)}.")
    rng, w, damping = np.random.default_rng(seed), np.asarray(start, float), 1 / step_size
    path = [w]
    for _ in range(num_steps):
        jacobian, misses = model.jacobian(w), model.predict(w) - y
        if rule == "gradient":
            w = w - step_size * jacobian.T @ misses / len(y)
        elif rule == "stochastic":
            i = rng.integers(len(y))
            w = w - step_size * jacobian[i] * misses[i]
        elif rule == "natural":
            w = w - step_size * np.linalg.lstsq(jacobian, misses, rcond=None)[0]
        else:
            gram = jacobian.T @ jacobian
            trial = w - np.linalg.solve(gram + damping * np.diag(np.diag(gram)), jacobian.T @ misses)
            better = np.sum((model.predict(trial) - y) ** 2) < misses @ misses
            w, damping = (trial, damping / 3) if better else (w, 2 * damping)
        path.append(w)
    return np.stack(path)
