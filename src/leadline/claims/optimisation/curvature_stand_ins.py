"""Gauss-Newton, Fisher and the outer product of gradients beside the Hessian that they stand for."""

from typing import Annotated

import numpy as np

from leadline import data, optimisation
from leadline.evidence import Range, at_most, claim, close, figure, mean, printed


@claim(
    "gauss-newton-versus-outer-product",
    says=(
        "For squared loss Gauss-Newton keeps the mean of JᵀJ and is exact when residuals vanish. The outer product "
        "of gradients, the empirical Fisher matrix, is the mean of r²JᵀJ and vanishes with them. Fisher equals "
        "Gauss-Newton; the empirical one is H only in expectation, in a true model."
    ),
    formula=(
        r"H = \tfrac1n \sum_i (J_i^T J_i + r_i \nabla^2 r_i), \qquad "
        r"\tfrac1n \sum_i g_i g_i^T = \tfrac1n \sum_i r_i^2 J_i^T J_i"
    ),
    sources=("penn",),
    assumes=("ℓᵢ = rᵢ²/2, or a log-likelihood",),
)
def gauss_newton_versus_outer_product(
    key,
    dimension: Annotated[int, Range(1, 8)] = 3,
    hidden: Annotated[int, Range(1, 8)] = 3,
    smallest: Annotated[float, Range(1e-4, 0.1, log=True)] = 1e-3,
    samples: Annotated[int, Range(1000, 300_000, log=True)] = 200_000,
):
    """Linear least squares with residuals times s; `samples` with unit noise; a tanh network fitted to another one."""
    rng = data.generator(key)
    x, residual = rng.normal(size=(400, dimension)), rng.normal(size=400)
    scales = np.geomspace(1.0, smallest, 7)
    hessian = optimisation.gauss_newton_matrix(x[:, None])
    outer = np.array([np.linalg.norm(optimisation.empirical_fisher(s * residual[:, None] * x), 2) for s in scales])
    size = float(np.linalg.norm(hessian, 2))
    yield close(hessian, x.T @ x / 400, "Gauss-Newton of linear least squares, against H", atol=1e-12)
    yield close(outer / outer[0], scales**2, "norm of the outer product with residuals times s, against s²", rtol=1e-9)

    wide, noise = rng.normal(size=(samples, dimension)), rng.normal(size=samples)
    direction = rng.normal(size=dimension)
    along = (wide @ (direction / np.linalg.norm(direction))) ** 2
    yield mean((noise**2 - 1) * along, 0.0, f"outer product minus H along a direction, unit noise, n = {samples}")
    full = wide.T @ wide / samples
    off = np.linalg.norm(optimisation.empirical_fisher(noise[:, None] * wide) - full) / np.linalg.norm(full)

    scores = rng.normal(size=(200, dimension)) @ rng.normal(size=(dimension, 3))
    s = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    jacobians = rng.normal(size=(200, 3, 5))
    output = s[:, :, None] * np.eye(3) - s[:, :, None] * s[:, None, :]
    yield close(
        optimisation.softmax_fisher(jacobians, s), optimisation.gauss_newton_matrix(jacobians, output),
        "Fisher with labels from the model, softmax outputs, against Gauss-Newton", atol=1e-12,
    )  # fmt: skip

    grid, teacher = np.linspace(-2, 2, 30), rng.normal(size=3 * hidden)
    target, w = _network(teacher, grid)[0], teacher + 0.4 * rng.normal(size=3 * hidden)
    rows, damping = [], 1e-2
    for _ in range(25):
        f, j, second = _network(w, grid)
        r = f - target
        newton = optimisation.gauss_newton_matrix(j[:, None])
        true = newton + np.einsum("n,npq->pq", r, second) / len(r)
        product = optimisation.empirical_fisher(r[:, None] * j)
        limit = np.sqrt(np.mean(r**2) * np.mean(np.sum(second**2, (1, 2))))
        rows.append([np.sqrt(np.mean(r**2)), *(np.linalg.norm(m) for m in (true, newton - true, product)), limit,
                     np.max(r**2) * np.linalg.norm(newton)])  # fmt: skip
        step = np.linalg.solve(newton + damping * np.eye(len(w)), j.T @ r / len(r))
        better = np.mean((_network(w - step, grid)[0] - target) ** 2) < np.mean(r**2)
        w, damping = (w - step, damping / 4) if better else (w, damping * 4)
    rms, norm, distance, product, limit, most = np.array(rows).T
    yield at_most(
        distance, limit, "network: ‖Gauss-Newton − H‖ along a fit, against rms residual · rms ‖∇²f‖", rtol=1e-9
    )
    yield at_most(product, most, "network: ‖outer product‖ along it, against max r² ‖Gauss-Newton‖", rtol=1e-9)
    for name, value, reference, met in (
        (f"norm of the outer product at s = {smallest:.2g}, linear", outer[-1], size, True),
        (
            "norm of the outer product at the end of the fit, network",
            product[-1],
            norm[-1],
            np.max(most[-1]) < 0.25 * norm[-1],
        ),
    ):
        wrong = close(value, reference, name + ", against the Hessian's", rtol=0.5)
        yield printed(
            wrong.given(met, "the residuals are small"),
            "penn",
            "near the end of training the Hessian is the outer product of gradients",
        )
    yield figure.beside(
        f"The outer product vanishes with the residuals, H does not; unit noise: they differ by {off:.2%}",
        figure.curves(
            "Linear least squares, residuals times s", x="s", y="spectral norm",
            lines={"H = Gauss-Newton": (scales, np.full(7, size)), "s² law": (scales, outer[0] * scales**2)},
            points={"outer product": (scales, outer)}, log="xy",
        ),
        figure.curves(
            f"Network of {hidden} units along its fit", x="rms residual", y="relative to ‖H‖",
            points={"‖Gauss-Newton − H‖": (rms, distance / norm), "‖outer product‖": (rms, product / norm)}, log="xy",
        ),
    )  # fmt: skip


def _network(w: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f = a·tanh(wx + b), its gradient (n, p) and Hessian (n, p, p) in (w, b, a)."""
    inner, bias, outer = np.split(w, 3)
    h = len(inner)
    s = np.tanh(np.outer(x, inner) + bias)
    first, second = 1 - s**2, -2 * s * (1 - s**2)
    column = x[:, None]
    jacobian = np.concatenate([outer * first * column, outer * first, s], axis=1)
    hessian = np.zeros((len(x), 3 * h, 3 * h))
    i = np.arange(h)
    blocks = {
        (0, 0): outer * second * column**2, (0, 1): outer * second * column, (1, 1): outer * second,
        (0, 2): first * column, (1, 2): first,
    }  # fmt: skip
    for (a, b), values in blocks.items():
        hessian[:, a * h + i, b * h + i] = values
        hessian[:, b * h + i, a * h + i] = values
    return s @ outer, jacobian, hessian
