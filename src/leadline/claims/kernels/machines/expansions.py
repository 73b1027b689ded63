"""Kernel expansions, and the penalised risks that they minimise."""

import numpy as np

from leadline import data, kernels
from leadline.claims.kernels.machines.risk_minimisers import LOSSES, labelled
from leadline.evidence import Int, Real, at_most, close, exactly, method, model
from leadline.kernels import machines
from leadline.kernels.features import monomial_features
from leadline.presentation import figure


@model(sources=("cam",))
def kernel_expansion(
    key, points: Int(1, 60) = 6, dim: Int(1, 4) = 2, degree: Int(1, 4) = 3, scale: Real(0.02, 0.5, log=True) = 0.08
):
    r"""Kernel expansion.

    f(x) = Σ αᵢ k(xᵢ, x) with ‖f‖² = αᵀKα is a function with as many coefficients as stored points, equal to the
    feature model with θ = Σ αᵢ φ(xᵢ) where the features are known.

    $$f(x) = \sum_i \alpha_i k(x_i, x), \qquad \|f\|^2 = \alpha^T K \alpha$$

    Check: A polynomial kernel is compared with its monomials; the picture shows Gaussian bumps on a line.
    """
    rng = data.generator(key)
    x, alpha, fresh = rng.uniform(-1, 1, (points, dim)), rng.normal(size=points), rng.uniform(-1, 1, (50, dim))
    f = machines.Expansion(kernels.Polynomial(degree, 1.0), x, alpha)
    theta = alpha @ monomial_features(x, degree, offset=1.0)
    explicit = monomial_features(fresh, degree, offset=1.0) @ theta
    size = 1 + float(np.abs(alpha) @ np.abs(f.kernel(x, fresh)).max(axis=1))
    yield close(f(fresh) / size, explicit / size, "predictions, against θ·φ(x) with θ = Σ αᵢ φ(xᵢ)", atol=1e-8)
    yield close(f.squared_norm() / size**2, theta @ theta / size**2, "αᵀKα, against ‖θ‖²", atol=1e-10)
    yield exactly(f.coefficients.size, points, "coefficients, against stored points")
    two = machines.Expansion(f.kernel, x, np.column_stack([alpha, -2 * alpha]))
    yield close(two(fresh)[:, 1], -2 * f(fresh), "expansion with a second output −2f: that output", atol=1e-9 * size)
    line, centres = np.linspace(0, 1, 300)[:, None], np.sort(rng.uniform(0.05, 0.95, (min(points, 6), 1)), axis=0)
    weights, gauss = alpha[: len(centres)], kernels.Gaussian(scale)
    bumps = gauss(line, centres) * weights
    g = machines.Expansion(gauss, centres, weights)
    lines = {"f": (line[:, 0], g(line))} | {f"bump {i + 1}": (line[:, 0], b) for i, b in enumerate(bumps.T)}
    title = f"{len(centres)} bumps αᵢ k(xᵢ, ·) of width {scale:g} and their sum, of norm {g.norm():.3g}"
    yield figure.curves(title, "x", "f(x)", lines=lines)


@method(sources=("cam",))
def kernel_erm(
    key,
    samples: Int(10, 120) = 50,
    gamma: Real(0.003, 0.3, log=True) = 0.01,
    scale: Real(0.3, 1.5, log=True) = 0.5,
    noise: Real(0.0, 0.5) = 0.25,
):
    r"""Kernel empirical risk minimisation.

    Minimise (1/n) Σ L((Kα)ᵢ, yᵢ) + γ αᵀKα: squared loss gives kernel ridge, logistic loss kernel logistic regression,
    hinge loss the support vector machine. The problem is convex if L is; a singular K leaves α free but not f.

    $$\min_\alpha \; \frac1n \sum_i L((K\alpha)_i, y_i) + \gamma\, \alpha^T K \alpha$$

    Check: A kernel of degree 2 is compared with explicit features; then the Gaussian kernel is used, in the picture
    and with one point repeated.
    """
    rng = data.generator(key)
    x, y = labelled(rng, samples, 2, noise)
    phi, quadratic = monomial_features(x, 2, offset=1.0), kernels.Polynomial(2, 1.0)
    gauss = kernels.Gaussian(scale)
    twice, labels = np.concatenate([x, x[:1]]), np.append(y, y[0])
    found = {}
    for loss in LOSSES:
        dual, primal = machines.kernel_erm(quadratic, x, y, gamma, loss), machines.feature_erm(phi, y, gamma, loss)
        yield close(dual.scores, phi @ primal.weights, f"{loss}: scores, against explicit features", atol=1e-6)
        yield close(dual.objective, primal.objective, f"{loss}: objective, against explicit features", atol=1e-9)
        found[loss] = machines.kernel_erm(gauss, x, y, gamma, loss)
        yield at_most(found[loss].residual, 1e-6, f"{loss}: residual of the optimality conditions")
        # Move weight between two equal points: other coefficients, the same function.
        double = machines.kernel_erm(gauss, twice, labels, gamma, loss)
        shift = np.zeros(samples + 1)
        shift[[0, -1]] = [1.0, -1.0]
        moved = machines.Expansion(gauss, twice, double.alpha + shift)
        what = f"{loss}: f with other coefficients on a doubled point"
        yield close(moved(x), double.scores[:samples], what, atol=1e-9)
        norms = moved.squared_norm(), double.expansion.squared_norm()
        yield close(*norms, f"{loss}: ‖f‖² with other coefficients on a doubled point", rtol=1e-8, atol=1e-9)
    machine = machines.kernel_svm(gauss, x, y, gamma)
    yield at_most((y * machine.scores)[machine.support], 1.0, "hinge: y f at the support vectors", atol=1e-6)
    free = (machine.multipliers > 0) & (machine.multipliers < 1 / (2 * samples * gamma))
    if free.any():
        yield close((y * machine.scores)[free], 1.0, "hinge: y f where 0 < a < 1/(2nγ)", atol=1e-6)
    grid = np.linspace(-1.2, 1.2, 50)
    cells = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    parts, panels = {"y = +1": y > 0, "y = −1": y < 0}, []
    points = {name: x[part] for name, part in parts.items()}
    for loss, minimum in found.items():
        size = np.abs(minimum.alpha) / np.abs(minimum.alpha).max()
        zero = np.sum(np.abs(minimum.alpha) < 1e-12)
        title = f"{loss}: {samples - zero} of {samples} coefficients"
        sizes = {name: 8 + 140 * size[part] for name, part in parts.items()}
        regions = grid, grid, np.clip(minimum.expansion(cells), -1, 1).reshape(50, 50)
        panels.append(figure.plane(title, "x₁", "x₂", points=points, sizes=sizes, regions=regions))
    support = f"{machine.support.sum()} of {samples} are support vectors"
    title = f"Three losses, one kernel: only the hinge leaves coefficients at 0 ({support})"
    yield figure.beside(title, *panels, columns=3)
