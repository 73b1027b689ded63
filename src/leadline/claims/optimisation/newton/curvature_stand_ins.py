"""Gauss-Newton, Fisher and the outer product of gradients beside the Hessian that they stand for."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import softmax

from leadline import curvature, data
from leadline.curvature.operators.dense_gauss_newton import empirical_fisher_matrix
from leadline.evidence import Int, Real, at_most, claim, close, erratum, mean
from leadline.presentation import figure


@claim(sources=("penn",))
def gauss_newton_versus_outer_product(
    key,
    dimension: Int(1, 8) = 3,
    hidden: Int(1, 8) = 3,
    smallest: Real(1e-4, 0.1, log=True) = 1e-3,
    samples: Int(1000, 300_000, log=True) = 200_000,
):
    r"""Gauss-Newton versus empirical Fisher.

    For squared loss, Gauss-Newton keeps the mean of JᵀJ and is exact when the residuals vanish. The outer product of
    gradients, the empirical Fisher matrix, is the mean of r²JᵀJ and vanishes with them. The Fisher matrix equals the
    Gauss-Newton matrix; the empirical one equals H only in expectation, in a true model.

    $$H = \tfrac1n \sum_i (J_i^T J_i + r_i \nabla^2 r_i), \qquad \tfrac1n \sum_i g_i g_i^T = \tfrac1n \sum_i r_i^2
    J_i^T J_i$$

    Assumes: ℓᵢ = rᵢ²/2, or a log-likelihood.

    Check: The matrices are compared on linear least squares with residuals multiplied by s, on the given number of
    samples with unit noise, and on a tanh network fitted to another one.
    """
    rng = data.generator(key)
    x, residual = rng.normal(size=(400, dimension)), rng.normal(size=400)
    scales = np.geomspace(1.0, smallest, 7)
    hessian = curvature.gauss_newton_matrix(x[:, None])
    outer = np.array([np.linalg.norm(empirical_fisher_matrix(s * residual[:, None] * x), 2) for s in scales])
    size = np.linalg.norm(hessian, 2)
    yield close(hessian, x.T @ x / 400, "Gauss-Newton of linear least squares, against H", atol=1e-12)
    square = close(outer / outer[0], scales**2, "norm of the outer product, residuals times s, against s²", rtol=1e-9)
    yield square
    wide, noise = rng.normal(size=(samples, dimension)), rng.normal(size=samples)
    direction = rng.normal(size=dimension)
    along = (wide @ (direction / np.linalg.norm(direction))) ** 2
    yield mean((noise**2 - 1) * along, 0.0, f"outer product minus H along a direction, unit noise, n = {samples}")
    full = wide.T @ wide / samples
    off = np.linalg.norm(empirical_fisher_matrix(noise[:, None] * wide) - full) / np.linalg.norm(full)
    s = softmax(rng.normal(size=(200, dimension)) @ rng.normal(size=(dimension, 3)), axis=1)
    jacobians = rng.normal(size=(200, 3, 5))
    newton = curvature.gauss_newton_matrix(jacobians, s[:, :, None] * np.eye(3) - s[:, :, None] * s[:, None, :])
    fisher = curvature.softmax_fisher(jacobians, s)
    yield close(fisher, newton, "Fisher with labels from the model, softmax outputs, against Gauss-Newton", atol=1e-12)
    grid, teacher = np.linspace(-2, 2, 30), rng.normal(size=3 * hidden)
    target, w = _network(teacher, grid)[0], teacher + 0.4 * rng.normal(size=3 * hidden)
    rows, damping = [], 1e-2
    for _ in range(25):
        f, j, second = map(np.asarray, _network(w, grid))
        r = f - target
        newton, product = curvature.gauss_newton_matrix(j[:, None]), empirical_fisher_matrix(r[:, None] * j)
        true = newton + np.einsum("n,npq->pq", r, second) / len(r)
        limit = np.sqrt(np.mean(r**2) * np.mean(np.sum(second**2, (1, 2))))
        norms = [np.linalg.norm(m) for m in (true, newton - true, product)]
        rows.append([np.sqrt(np.mean(r**2)), *norms, limit, np.max(r**2) * np.linalg.norm(newton)])
        step = np.linalg.solve(newton + damping * np.eye(len(w)), j.T @ r / len(r))
        better = np.mean((_network(w - step, grid)[0] - target) ** 2) < np.mean(r**2)
        w, damping = (w - step, damping / 4) if better else (w, damping * 4)
    rms, norm, distance, product, limit, most = np.array(rows).T
    yield at_most(distance, limit, "network: ‖Gauss-Newton − H‖, against rms residual · rms ‖∇²f‖", rtol=1e-9)
    fading = at_most(product, most, "network: ‖outer product‖ in its fit, against max r² ‖Gauss-Newton‖", rtol=1e-9)
    yield fading
    prints = "near the end of training the Hessian is the outer product of gradients"
    wrong = close(outer[-1], size, f"norm of the outer product at s = {smallest:.2g}, against the Hessian's", rtol=0.5)
    yield erratum(wrong, of=square, by="penn", prints=prints)
    wrong = close(product[-1], norm[-1], "norm of the network's outer product at the end, against ‖H‖", rtol=0.5)
    small = most[-1] < 0.25 * norm[-1]
    yield erratum(wrong, of=fading, by="penn", prints=prints).given(small, "the residuals are small")
    lines = {"H = Gauss-Newton": (scales, np.full(7, size)), "∝ s²": (scales, outer[0] * scales**2)}
    points = {"outer product": (scales, outer)}
    title, fit = "Linear least squares, residuals times s", f"Network of {hidden} units along its fit"
    relative = {"‖Gauss-Newton − H‖": (rms, distance / norm), "‖outer product‖": (rms, product / norm)}
    yield figure.beside(
        f"The outer product vanishes with the residuals, H does not; unit noise: they differ by {off:.2%}",
        figure.curves(title, "s", "spectral norm", lines=lines, points=points, log="xy"),
        figure.curves(fit, "rms residual", "relative to ‖H‖", points=relative, log="xy"),
    )


@jax.jit
def _network(w, x):
    """f = a·tanh(wx + b) of inputs (n,), its gradients (n, p) and Hessians (n, p, p) in (w, b, a)."""

    def output(w, x):
        inner, bias, outer = jnp.split(w, 3)
        return outer @ jnp.tanh(inner * x + bias)

    return tuple(jax.vmap(f, (None, 0))(w, x) for f in (output, jax.grad(output), jax.hessian(output)))
