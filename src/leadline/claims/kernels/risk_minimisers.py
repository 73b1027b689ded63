"""Minimising a penalised risk: in feature space, and in the span of the examples."""

from typing import Annotated

import numpy as np

from leadline import data, kernel_machines, kernels
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, method
from leadline.features import monomial_features

LOSSES = ("squared", "logistic", "hinge")


def labelled(rng: np.random.Generator, samples: int, dim: int, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Inputs in a cube; +1 outside a noisy sphere, both labels present."""
    x = rng.uniform(-1, 1, (samples, dim))
    y = np.where(np.sum(x**2, axis=1) + noise * rng.normal(size=samples) > dim / 3, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    return x, y


@method(
    "regularised-feature-erm",
    says=(
        "Minimise the mean loss of θ·φ(x) plus γ‖θ‖². For a convex loss and γ > 0 the objective is strongly convex "
        "with modulus 2γ: one minimiser, from every start, and the one that the kernel form finds."
    ),
    formula=r"\min_\theta \; \frac1n \sum_i L(\langle\theta, \phi(x_i)\rangle, y_i) + \gamma \|\theta\|^2",
    sources=("cam",),
    assumes=("the loss is convex",),
    shows=("kernel_machines.feature_erm", "kernel_machines.feature_objective", "kernel_machines.FeatureMinimum"),
)
def regularised_feature_erm(
    key,
    loss: Annotated[str, Choice(*LOSSES)] = "logistic",
    samples: Annotated[int, Range(10, 150)] = 60,
    dim: Annotated[int, Range(1, 4)] = 2,
    degree: Annotated[int, Range(1, 3)] = 2,
    gamma: Annotated[float, Range(0.003, 1.0, log=True)] = 0.02,
):
    """Monomials of a few inputs; 8 starts; 200 random θ against the bound of strong convexity."""
    rng = data.generator(key)
    x, y = labelled(rng, samples, dim)
    phi = monomial_features(x, degree, offset=1.0)
    best = kernel_machines.feature_erm(phi, y, gamma, loss)
    dual = kernel_machines.kernel_erm(kernels.Polynomial(degree, 1.0), x, y, gamma, loss)
    fresh = rng.uniform(-1, 1, (40, dim))
    explicit = monomial_features(fresh, degree, offset=1.0) @ best.weights
    yield close(dual.expansion(fresh), explicit, "predictions: kernel form against explicit features", atol=1e-6)
    yield close(dual.objective, best.objective, "objective: kernel form against explicit features", atol=1e-9)
    if loss != "hinge":
        starts = 10 * rng.normal(size=(8, phi.shape[1]))
        ends = [kernel_machines.feature_erm(phi, y, gamma, loss, start=s).weights for s in starts]
        yield close(ends, np.tile(best.weights, (8, 1)), "the minimiser from 8 starts", atol=1e-7)
    radii = np.logspace(-3, 1, 200)[:, None]
    away = rng.normal(size=(200, phi.shape[1]))
    theta = best.weights + radii * away / np.linalg.norm(away, axis=1, keepdims=True)
    values = kernel_machines.feature_objective(theta, phi, y, gamma, loss)
    floor = best.objective + gamma * radii[:, 0] ** 2
    yield at_least(values, floor, "J(θ) at 200 θ, against J(θ*) + γ‖θ − θ*‖²", atol=1e-8)
    middle = kernel_machines.feature_objective((theta[:-1] + theta[1:]) / 2, phi, y, gamma, loss)
    chords = (values[:-1] + values[1:]) / 2 - gamma / 4 * np.sum((theta[:-1] - theta[1:]) ** 2, axis=1)
    yield at_most(middle, chords, "J at midpoints, against the mean minus γ‖θ − θ'‖²/4", rtol=1e-10)


def _ramp(f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    z = y * f
    return np.clip(1 - z, 0, 2), np.where(np.abs(z) < 1, -y, 0.0)


def _slopes(loss: str):
    if loss == "ramp":
        return _ramp
    if loss == "squared":
        return lambda f, y: ((f - y) ** 2, 2 * (f - y))
    return lambda f, y: (np.logaddexp(0, -y * f), -y / (1 + np.exp(y * f)))


@claim(
    "representer-theorem",
    says=(
        "For any loss and γ > 0 the infimum over H is that over the span of φ(xᵢ): projecting θ keeps every prediction "
        "and shortens it, so minimisers lie in the span. With γ = 0 the infima agree but minimisers may lie outside."
    ),
    formula=r"J(P\theta) = J(\theta) - \gamma \|(I - P)\theta\|^2, \; P \text{ onto } \operatorname{span}\{\phi(x_i)\}",
    sources=("cam",),
)
def representer_theorem(
    key,
    features: Annotated[int, Range(60, 400)] = 200,
    samples: Annotated[int, Range(5, 40)] = 20,
    gamma: Annotated[float, Range(0.02, 0.5, log=True)] = 0.05,
):
    """Descent from θ₀ in R^p and from its projection, for the squared, the logistic and the non-convex ramp loss."""
    rng = data.generator(key)
    phi = rng.normal(size=(samples, features)) / np.sqrt(features)
    y = rng.choice([-1.0, 1.0], samples)
    basis = np.linalg.qr(phi.T)[0]  # of the span, (p, n)
    start = rng.normal(size=features)
    curvature = 2 * float(np.linalg.norm(phi, 2)) ** 2 / samples
    eta = 0.5 / (curvature + 2 * gamma)
    steps = int(np.ceil(np.log(1e-8) / np.log(1 - 2 * eta * gamma)))
    shown = np.unique(np.linspace(0, steps, 60).astype(int))
    curves = {}
    for loss in ("squared", "logistic", "ramp"):
        slope = _slopes(loss)

        def objective(theta: np.ndarray, slope=slope) -> float:
            return float(slope(phi @ theta, y)[0].mean() + gamma * theta @ theta)

        theta, inside = start, basis @ (basis.T @ start)
        outside, gaps, values = [], [], []
        for t in range(steps + 1):
            if t in shown:
                orthogonal = theta - basis @ (basis.T @ theta)
                outside.append(np.linalg.norm(orthogonal))
                values.append((objective(theta), objective(inside)))
                gaps.append(objective(theta) - objective(theta - orthogonal) - gamma * outside[-1] ** 2)
            theta = (1 - 2 * eta * gamma) * theta - eta * phi.T @ slope(phi @ theta, y)[1] / samples
            inside = (1 - 2 * eta * gamma) * inside - eta * phi.T @ slope(phi @ inside, y)[1] / samples
        outside, values = np.array(outside), np.array(values)
        decay = outside[0] * (1 - 2 * eta * gamma) ** shown
        yield close(gaps, 0.0, f"{loss}: J(θ) − J(Pθ), against γ‖(I − P)θ‖²", atol=1e-10 * (1 + values[0, 0]))
        yield close(outside, decay, f"{loss}: orthogonal part along descent, against (1 − 2ηγ)^t", atol=1e-9)
        yield at_most(outside[-1], 1e-6 * np.linalg.norm(theta) + 1e-7, f"{loss}: orthogonal part at the end")
        yield close(values[-1, 0], values[-1, 1], f"{loss}: objective in R^p and in the span, at the end", atol=1e-8)
        if loss != "ramp":
            least = kernel_machines.kernel_erm(kernels.Linear(), phi, y, gamma, loss).objective
            yield close(values[-1, 0], least, f"{loss}: against the minimum over kernel expansions", atol=1e-8)
        curves[loss] = (values, outside, decay)

    interpolant = np.linalg.lstsq(phi, y)[0]
    normal = start - basis @ (basis.T @ start)
    other = interpolant + normal / np.linalg.norm(normal)
    risks = [np.mean((phi @ theta - y) ** 2) for theta in (interpolant, other)]
    yield close(
        risks, 0.0, "γ = 0, squared loss: risk of the interpolant and of it plus a unit normal vector", atol=1e-20
    )
    part = np.linalg.norm(other - basis @ (basis.T @ other))
    yield close(part, 1.0, "γ = 0: orthogonal part of that minimiser", atol=1e-9)

    yield figure.beside(
        f"Descent in R^{features} on {samples} examples leaves no orthogonal part, whatever the loss",
        figure.curves(
            "Objective: lines in the span, points in the whole space",
            x="step",
            y="objective",
            lines={loss: (shown, v[:, 1]) for loss, (v, _, _) in curves.items()},
            points={loss: (shown[::4], v[::4, 0]) for loss, (v, _, _) in curves.items()},
        ),
        figure.curves(
            "Orthogonal part: all three fall as (1 − 2ηγ)^t",
            x="step",
            y="‖(I − P)θ‖",
            lines={"(1 − 2ηγ)^t": (shown, curves["squared"][2])},
            points={loss: (shown[i::6], o[i::6]) for i, (loss, (_, o, _)) in enumerate(curves.items())},
            log="y",
        ),
    )
