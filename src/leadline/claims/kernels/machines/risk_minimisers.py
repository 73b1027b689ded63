"""Minimising a penalised risk: in feature space, and in the span of the examples."""

import numpy as np
from scipy.special import expit

from leadline import data, kernels
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, method
from leadline.kernels import machines
from leadline.kernels.features import monomial_features
from leadline.kernels.machines.risk_minimisers import feature_objective
from leadline.presentation import figure

LOSSES = ("squared", "logistic", "hinge")


def labelled(rng: np.random.Generator, samples: int, dim: int, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Inputs in a cube; +1 outside a noisy sphere, both labels present."""
    x = rng.uniform(-1, 1, (samples, dim))
    y = np.where(np.sum(x**2, axis=1) + noise * rng.normal(size=samples) > dim / 3, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    return x, y


@method(sources=("cam",))
def regularised_feature_erm(
    key,
    loss: OneOf(*LOSSES) = "logistic",
    samples: Int(10, 150) = 60,
    dim: Int(1, 4) = 2,
    degree: Int(1, 3) = 2,
    gamma: Real(0.003, 1.0, log=True) = 0.02,
):
    r"""Regularised risk minimisation over features.

    Minimise the mean loss of θ·φ(x) plus γ‖θ‖². For a convex loss and γ > 0 the objective is strongly convex with
    modulus 2γ: there is one minimiser, reached from every start, and it is the one that the kernel form finds.

    $$\min_\theta \; \frac1n \sum_i L(\langle\theta, \phi(x_i)\rangle, y_i) + \gamma \|\theta\|^2$$

    Assumes: the loss is convex.

    Check: The features are monomials of a few inputs; 8 starts are run, and 200 random θ are compared with the bound
    of strong convexity.
    """
    rng = data.generator(key)
    x, y = labelled(rng, samples, dim)
    phi = monomial_features(x, degree, offset=1.0)
    best = machines.feature_erm(phi, y, gamma, loss)
    dual = machines.kernel_erm(kernels.Polynomial(degree, 1.0), x, y, gamma, loss)
    fresh = rng.uniform(-1, 1, (40, dim))
    explicit = monomial_features(fresh, degree, offset=1.0) @ best.weights
    yield close(dual.expansion(fresh), explicit, "predictions: kernel form against explicit features", atol=1e-6)
    yield close(dual.objective, best.objective, "objective: kernel form against explicit features", atol=1e-9)
    if loss != "hinge":
        starts = 10 * rng.normal(size=(8, phi.shape[1]))
        ends = [machines.feature_erm(phi, y, gamma, loss, start=s).weights for s in starts]
        yield close(ends, np.tile(best.weights, (8, 1)), "the minimiser from 8 starts, against that from 0", atol=1e-7)
    radii = np.logspace(-3, 1, 200)[:, None]
    away = rng.normal(size=(200, phi.shape[1]))
    theta = best.weights + radii * away / np.linalg.norm(away, axis=1, keepdims=True)
    values = feature_objective(theta, phi, y, gamma, loss)
    floor = best.objective + gamma * radii[:, 0] ** 2
    yield at_least(values, floor, "J(θ) at 200 θ, against J(θ*) + γ‖θ − θ*‖²", atol=1e-8)
    middle = feature_objective((theta[:-1] + theta[1:]) / 2, phi, y, gamma, loss)
    chords = (values[:-1] + values[1:]) / 2 - gamma / 4 * np.sum((theta[:-1] - theta[1:]) ** 2, axis=1)
    yield at_most(middle, chords, "J at midpoints, against the mean minus γ‖θ − θ'‖²/4", rtol=1e-10)


def _ramp(f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.clip(1 - y * f, 0, 2), np.where(np.abs(y * f) < 1, -y, 0.0)


_SLOPES = {  # values and derivatives of losses
    "squared": lambda f, y: ((f - y) ** 2, 2 * (f - y)),
    "logistic": lambda f, y: (np.logaddexp(0, -y * f), -y * expit(-y * f)),
    "ramp": _ramp,
}


@claim(sources=("cam",))
def representer_theorem(
    key, features: Int(60, 400) = 200, samples: Int(5, 40) = 20, gamma: Real(0.02, 0.5, log=True) = 0.05
):
    r"""Representer theorem.

    For any loss and γ > 0 the infimum over H is that over the span of the φ(xᵢ): projecting θ onto it keeps every
    prediction and shortens θ, so minimisers lie in the span. With γ = 0 the infima agree but minimisers may lie
    outside.

    $$J(P\theta) = J(\theta) - \gamma \|(I - P)\theta\|^2, \; P \text{ onto } \operatorname{span}\{\phi(x_i)\}$$

    Check: Gradient descent is run from θ₀ in ℝᵖ and from its projection, for the squared, the logistic and the
    non-convex ramp loss.
    """
    rng = data.generator(key)
    phi = rng.normal(size=(samples, features)) / np.sqrt(features)
    y = rng.choice([-1.0, 1.0], samples)
    basis = np.linalg.qr(phi.T)[0]  # of the span, (p, n)
    start = rng.normal(size=features)
    eta = 0.5 / (2 * np.linalg.norm(phi, 2) ** 2 / samples + 2 * gamma)
    steps = int(np.ceil(np.log(1e-8) / np.log(1 - 2 * eta * gamma)))
    shown = np.unique(np.linspace(0, steps, 60).astype(int))
    curves = {}
    for loss, slope in _SLOPES.items():

        def objective(theta, slope=slope):
            return slope(phi @ theta, y)[0].mean() + gamma * theta @ theta

        def step(theta, slope=slope):
            return (1 - 2 * eta * gamma) * theta - eta * phi.T @ slope(phi @ theta, y)[1] / samples

        theta, inside = start, basis @ (basis.T @ start)
        outside, gaps, values = [], [], []
        for t in range(steps + 1):
            if t in shown:
                orthogonal = theta - basis @ (basis.T @ theta)
                outside.append(np.linalg.norm(orthogonal))
                values.append((objective(theta), objective(inside)))
                gaps.append(objective(theta) - objective(theta - orthogonal) - gamma * outside[-1] ** 2)
            theta, inside = step(theta), step(inside)
        outside, values = np.array(outside), np.array(values)
        decay = outside[0] * (1 - 2 * eta * gamma) ** shown
        yield close(gaps, 0.0, f"{loss}: J(θ) − J(Pθ), against γ‖(I − P)θ‖²", atol=1e-10 * (1 + values[0, 0]))
        yield close(outside, decay, f"{loss}: orthogonal part along descent, against (1 − 2ηγ)^t", atol=1e-9)
        yield at_most(outside[-1], 1e-6 * np.linalg.norm(theta) + 1e-7, f"{loss}: orthogonal part at the end")
        yield close(values[-1, 0], values[-1, 1], f"{loss}: objective in R^p and in the span, at the end", atol=1e-8)
        if loss != "ramp":
            least = machines.kernel_erm(kernels.Linear(), phi, y, gamma, loss).objective
            what = f"{loss}: objective at the end, against the minimum over kernel expansions"
            yield close(values[-1, 0], least, what, atol=1e-8)
        curves[loss] = (values, outside, decay)
    interpolant = np.linalg.lstsq(phi, y)[0]
    normal = start - basis @ (basis.T @ start)
    other = interpolant + normal / np.linalg.norm(normal)
    risks = [np.mean((phi @ theta - y) ** 2) for theta in (interpolant, other)]
    what = "γ = 0, squared loss: risk of the interpolant and of it plus a unit normal vector"
    yield close(risks, 0.0, what, atol=1e-20)
    part = np.linalg.norm(other - basis @ (basis.T @ other))
    yield close(part, 1.0, "γ = 0: orthogonal part of the interpolant plus a unit normal vector", atol=1e-9)
    lines = {loss: (shown, v[:, 1]) for loss, (v, _, _) in curves.items()}
    points = {loss: (shown[::4], v[::4, 0]) for loss, (v, _, _) in curves.items()}
    parts = {loss: (shown[i::6], o[i::6]) for i, (loss, (_, o, _)) in enumerate(curves.items())}
    law, fall = {"(1 − 2ηγ)^t": (shown, curves["squared"][2])}, "Orthogonal part: all three fall as (1 − 2ηγ)^t"
    both = "Objective: lines in the span, points in the whole space"
    yield figure.beside(
        f"Descent in R^{features} on {samples} examples leaves no orthogonal part, whatever the loss",
        figure.curves(both, "step", "objective", lines=lines, points=points),
        figure.curves(fall, "step", "‖(I − P)θ‖", lines=law, points=parts, log="y"),
    )
