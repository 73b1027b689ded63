"""The least-squares map: in closed form, and as the limit of gradient descent."""

import numpy as np

from leadline import data
from leadline.evidence import Int, Real, claim, close
from leadline.landscape import deep_linear
from leadline.presentation import figure


@claim(sources=("penn",))
def least_squares_map(
    key,
    inputs: Int(2, 12) = 6,
    outputs: Int(1, 6) = 3,
    samples: Int(1, 60) = 30,
    condition: Real(1.0, 200.0, log=True) = 20.0,
):
    r"""Least squares and the pseudo-inverse.

    The matrix that minimises ‖Y − LX‖² is $\Sigma_{yx} \Sigma_{xx}^{-1}$; with fewer samples than inputs there are
    many minimisers, and YX⁺ has the least norm. Gradient descent from 0 ends there, and from another start at the
    minimiser nearest to it.

    $$L^* = \Sigma_{yx} \Sigma_{xx}^{-1}, \quad \text{else } Y X^+$$

    Assumes: step size below $2/\lambda_1(\Sigma_{xx})$.

    Check: $\Sigma_{xx}$ has the given condition number; n is `samples`, and then half of `inputs`.
    """
    rng = data.generator(key)
    lines, points = {}, {}
    for n in dict.fromkeys((samples, max(1, inputs // 2))):
        rank = min(inputs, n)
        values = np.geomspace(condition**-0.5, 1.0, rank) if rank > 1 else np.ones(1)
        u = np.linalg.qr(rng.normal(size=(inputs, rank)))[0]
        x = (u * values) @ np.linalg.qr(rng.normal(size=(n, rank)))[0].T
        y = rng.normal(size=(outputs, n))
        best = deep_linear.least_squares_map(x, y)
        size, name = np.linalg.norm(best), f"n = {n}"
        if n >= inputs:
            normal = np.linalg.solve(x @ x.T, x @ y.T).T
            yield close(best, normal, f"{name}: by SVD, against Σyx Σxx⁻¹", atol=1e-11 * condition * size)
        steps = int(np.log(1e-10) / np.log1p(-1 / condition)) + 1 if condition > 1 + 1e-9 else 1
        start, times = rng.normal(size=best.shape), np.arange(steps + 1)
        distances, weights = np.empty(steps + 1), np.stack([np.zeros_like(best), start])
        for t in times:
            distances[t] = np.linalg.norm(weights[0] - best)
            weights = weights - (weights @ x - y) @ x.T  # step size 1/λ₁ = 1
        predicted = np.sqrt(np.sum((best @ u) ** 2 * (1 - values**2) ** (2.0 * times[:, None, None]), (1, 2)))
        yield close(distances, predicted, f"{name}: distance of GD from 0 at every step", atol=1e-11 * size)
        yield close(weights[0], best, f"{name}: limit of GD from 0", atol=1e-8 * size)
        nearest, scale = best + start - start @ u @ u.T, size + np.linalg.norm(start)
        yield close(weights[1], nearest, f"{name}: limit from W₀, against YX⁺ + W₀(I − XX⁺)", atol=1e-8 * scale)
        lines[name], points[name] = (times, predicted), (times, distances)
    title = f"Gradient descent from 0 reaches YX⁺ to 10⁻⁸ at condition {condition:.3g}, with few samples too"
    yield figure.curves(title, "step", "‖W − YX⁺‖", lines=lines, points=points, log="y")
