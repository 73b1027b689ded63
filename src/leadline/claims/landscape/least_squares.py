"""The least-squares map: in closed form, and as the limit of gradient descent."""

from typing import Annotated

import numpy as np

from leadline import data, deep_linear
from leadline.evidence import Range, claim, close, figure


@claim(
    "least-squares-map",
    says=(
        "The matrix that minimises ‖Y − LX‖² is Σyx Σxx⁻¹; with fewer samples than inputs there are many, and YX⁺ has "
        "the least norm. Gradient descent from 0 ends there, from another start at the minimiser nearest to it."
    ),
    formula=r"L^* = \Sigma_{yx} \Sigma_{xx}^{-1}, \quad \text{else } Y X^+",
    sources=("penn",),
    assumes=("step below 2/λ₁(Σxx)",),
    shows=("deep_linear.least_squares_map",),
)
def least_squares_map(
    key,
    inputs: Annotated[int, Range(2, 12)] = 6,
    outputs: Annotated[int, Range(1, 6)] = 3,
    samples: Annotated[int, Range(1, 60)] = 30,
    condition: Annotated[float, Range(1.0, 200.0, log=True)] = 20.0,
):
    """X of rank min(inputs, samples) with this condition number of Σxx; and as many samples as half the inputs."""
    rng = data.generator(key)
    lines, points = {}, {}
    for n in dict.fromkeys((samples, max(1, inputs // 2))):
        rank = min(inputs, n)
        values = np.geomspace(condition**-0.5, 1.0, rank) if rank > 1 else np.ones(1)
        u = np.linalg.qr(rng.normal(size=(inputs, rank)))[0]
        x = (u * values) @ np.linalg.qr(rng.normal(size=(n, rank)))[0].T
        y = rng.normal(size=(outputs, n))
        best = deep_linear.least_squares_map(x, y)
        size = float(np.linalg.norm(best))
        name = f"n = {n}"
        if n >= inputs:
            normal = np.linalg.solve(x @ x.T, x @ y.T).T
            yield close(best, normal, f"{name}: by SVD, against Σyx Σxx⁻¹", atol=1e-11 * condition * size)
        step = 1.0  # 1/λ₁
        steps = int(np.log(1e-10) / np.log1p(-1 / condition)) + 1 if condition > 1 + 1e-9 else 1
        start = rng.normal(size=best.shape)
        times = np.arange(steps + 1)
        distances, weights = np.empty(steps + 1), np.stack([np.zeros_like(best), start])
        for t in times:
            distances[t] = np.linalg.norm(weights[0] - best)
            weights = weights - step * ((weights @ x - y) @ x.T)
        predicted = np.sqrt(np.sum((best @ u) ** 2 * (1 - step * values**2) ** (2.0 * times[:, None, None]), (1, 2)))
        yield close(distances, predicted, f"{name}: distance of GD from 0 at every step", atol=1e-11 * size)
        yield close(weights[0], best, f"{name}: limit of GD from 0", atol=1e-8 * size)
        beyond = start - start @ u @ u.T
        scale = size + float(np.linalg.norm(start))
        yield close(weights[1], best + beyond, f"{name}: limit from W₀, against YX⁺ + W₀(I − XX⁺)", atol=1e-8 * scale)
        kept = np.unique(np.linspace(0, steps, 40).astype(int))
        lines[name], points[name] = (times, predicted), (kept, distances[kept])
    yield figure.curves(
        f"Gradient descent from 0 reaches YX⁺ to 10⁻⁸ at condition {condition:.3g}, with few samples too",
        x="step",
        y="‖W − YX⁺‖",
        lines=lines,
        points=points,
        log="y",
    )
