"""Training mode by mode: each eigenvector of the tangent kernel decays at the rate of its eigenvalue."""

import equinox as eqx
import jax
import numpy as np

from leadline import data, infinite_width, tangent
from leadline.evidence import Int, Real, at_least, at_most, claim, close
from leadline.presentation import figure


def odd_even_digits(train, test=0):
    """Digits as unit rows after centring, odd = +1, even = -1: (x, y) of the first `train`, then of `test` others."""
    split = data.digits_split(max(train, 1))
    images = np.concatenate([split.train_images, split.test_images[:test]])
    labels = np.concatenate([split.train_labels, split.test_labels[:test]])
    x = images - images[:train].mean(axis=0)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.where(labels % 2 == 1, 1.0, -1.0)
    return (x[:train], y[:train]), (x[train:], y[train:])


class Head(eqx.Module):
    """f((W, v), x) = s v·relu(W x) of every row, with s a number of its own: padded widths share one program."""

    scale: jax.Array

    def __call__(self, params, x):
        weight, head = params
        return self.scale * (jax.nn.relu(x @ weight.T) @ head)


@claim(sources=("eth", "sheet", "cam"))
def eigenmode_decay(
    key, samples: Int(20, 200) = 60, width: Int(8, 32) = 16, num_steps: Int(20, 500) = 150, pace: Real(0.2, 1.0) = 1.0
):
    r"""Eigenmode decay under a constant kernel.

    With a constant kernel each eigenmode of the residual decays by itself, as $e^{-\lambda t}$ under gradient flow and
    as (1 − ηλ)ᵏ under gradient descent, which is stable iff ηλₘₐₓ < 2. For real networks the loss curve comes closer
    to this as the width grows.

    $$u_i \cdot r_k = (1 - \eta\lambda_i)^k\, u_i \cdot r_0, \quad L_k = \tfrac12 \sum_i (1 - \eta\lambda_i)^{2k} (u_i
    \cdot r_0)^2$$

    Check: Odd and even digits; one hidden ReLU layer of width m, 4m, 16m, three seeds, η = `pace`/λₘₐₓ.
    """
    (x, y), _ = odd_even_digits(samples)
    widths, seeds = [width, 4 * width, 16 * width], 3
    shown = np.unique(np.round(np.geomspace(1, num_steps, 25)).astype(int))
    deviation, ends = {}, {}
    for m in widths:
        for seed in range(seeds):
            own = jax.random.fold_in(key, 10 * m + seed)
            net = tangent.lecun_two_layer(64, m, "relu", gain=2**0.5, parametrisation="ntk", key=own)
            K, f0 = np.asarray(net.tangent_kernel(x)), np.asarray(net(x))
            eta = pace / np.linalg.eigvalsh(K)[-1]
            theory = infinite_width.WideTraining(K, y, step_size=eta)
            r_theory = np.asarray(theory.from_start(f0, shown)) - y
            wide = net.padded(widths[-1])
            risk = tangent.OutputRisk(Head(np.asarray(net.scale)))
            start, steps = (wide.weight, wide.head), {"integrator": "descent", "step_size": eta * (1 + 1e-12)}
            path = tangent.parameter_flow(risk, start, eta * shown, x, y, **steps)
            r_net = np.asarray(_residuals(risk, path, x, y))
            losses = [0.5 * np.sum(r**2, axis=1) for r in (r_net, r_theory)]
            deviation[m, seed] = np.max(np.abs(losses[0] - losses[1])) / (0.5 * np.sum((f0 - y) ** 2))
            ends[m, seed] = [loss[-1] * 2 / samples for loss in losses]
            if (m, seed) == (widths[0], 0):
                yield from _linearised(net, x, y, K, f0, eta, shown, theory, r_theory)
    means = [np.mean([deviation[m, s] for s in range(seeds)]) for m in widths]
    what = f"deviation of the loss curve, width {widths[-1]} against {widths[0]}"
    yield at_most(means[-1], means[0], what, strict=True)
    U, lam = np.asarray(theory.eigenvectors), np.asarray(theory.eigenvalues)
    picked = {f"λ/λ_max = {lam[i] / lam[-1]:.2g}": i for i in (-samples // 8, -samples // 4, -samples // 2)}
    decay = {name: np.abs(U[:, i] @ (f0 - y)) * np.abs(1 - eta * lam[i]) ** shown for name, i in picked.items()}
    visible = 1e-4 * max(v[0] for v in decay.values())
    final = np.mean([ends[widths[-1], s] for s in range(seeds)], axis=0)
    lines = {name: (shown[v > visible], v[v > visible]) for name, v in decay.items()}
    points = {name: (shown, np.abs(r_net @ U[:, i])) for name, i in picked.items()}
    title = f"Three modes of a trained network of width {widths[-1]}"
    left = figure.curves(title, "steps", "|u·r|", lines=lines, points=points, log="xy")
    points = {"single networks": ([m for m, _ in deviation], list(deviation.values()))}
    title = f"Mean loss at the end of the widest: network {final[0]:.2g}, formula {final[1]:.2g}"
    right = figure.curves(title, "width", "deviation of the loss curve / first loss", points=points, log="xy")
    title = f"The loss curve deviates by {means[0]:.2g} at width {widths[0]}, by {means[-1]:.2g} at {widths[-1]}"
    yield figure.beside(title, left, right)


@eqx.filter_jit
def _residuals(risk, path, x, y):
    return jax.lax.map(lambda params: risk.outputs(params, x)[:, 0] - y, path)


def _linearised(net, x, y, K, f0, eta, shown, theory, r_theory):
    """Descent on the linearised network itself, by its Jacobian; the flow against a Padé exponential of K."""
    from scipy.linalg import expm

    h = x @ np.asarray(net.weight).T
    slopes = (h > 0) * np.asarray(net.head)
    J = net.scale * np.concatenate([np.maximum(h, 0), (slopes[:, :, None] * x[:, None, :]).reshape(len(x), -1)], axis=1)
    yield close(J @ J.T, K, "J Jᵀ against the closed form of K", atol=1e-12 * np.abs(K).max())

    def descend(step, count):
        beta, residuals = np.zeros(J.shape[1]), []
        for _ in range(count):
            beta -= step * (J.T @ (f0 + J @ beta - y))
            residuals.append(f0 + J @ beta - y)
        return np.array(residuals)

    U, lam, r0 = np.asarray(theory.eigenvectors), np.asarray(theory.eigenvalues), f0 - y
    size = np.linalg.norm(r0)
    run = descend(eta, shown[-1])[shown - 1]
    yield close(run, r_theory, "residuals of the linearised network, every shown step", atol=1e-10 * size)
    factors = (1 - eta * lam) ** shown[:, None]
    yield close(run @ U, factors * (U.T @ r0), "modes of the linearised network, against (1 - ηλ)ᵏ", atol=1e-10 * size)
    predicted = 0.5 * np.sum(factors**2 * (U.T @ r0) ** 2, axis=1)
    what = "loss of the linearised network, against the sum over modes"
    yield close(0.5 * np.sum(run**2, axis=1), predicted, what, rtol=1e-9)
    t = 3.0 / lam[-1]
    flow = np.asarray(infinite_width.WideTraining(K, y).from_start(f0, t)) - y
    yield close(flow, expm(-K * t) @ r0, "residuals of the flow, against the exponential of -Kt", atol=1e-10 * size)
    yield close(U.T @ flow, np.exp(-lam * t) * (U.T @ r0), "modes of the flow, against e^(-λt)", atol=1e-10 * size)
    top, calm, wild = (abs(U[:, -1] @ r) for r in (r0, *(descend(c / lam[-1], 60)[-1] for c in (1.98, 2.02))))
    yield at_most(calm, top, "fastest mode after 60 steps, ηλ_max = 1.98, against its start", strict=True)
    yield at_least(wild, top, "fastest mode after 60 steps, ηλ_max = 2.02, against its start", strict=True)
