"""Whitening, and what it makes of least squares: the distance to one matrix."""

import numpy as np

from leadline import data
from leadline.evidence import Int, Real, at_most, claim, close, exactly, method
from leadline.landscape import deep_linear
from leadline.presentation import figure

_GOAL = 1e-6  # excess loss, as a share of the first


@method(sources=("sheet",))
def data_whitening(key, dim: Int(2, 20) = 6, samples: Int(3, 400) = 120, condition: Real(1.0, 3e3, log=True) = 300.0):
    r"""Data whitening.

    Centred data mapped by S⁻¹Uᵀ have XXᵀ = I (or nI) on the space they span, which has full dimension d only for n ≥ d
    + 1. Gradient descent on least squares then needs one step, not a number of steps that grows with the condition
    number.

    $$Z = S^{-1} U^T (X - m 1^T), \quad X - m 1^T = U S V^T, \quad Z Z^T = I$$

    Assumes: singular values below the tolerance count as zero.

    Check: The data have rank min(d, n − 1), a mean that is not zero, and one random output.
    """
    rng = data.generator(key)
    rank = min(dim, samples - 1)
    x = 3 * rng.normal(size=(dim, 1)) + _centred(rng, dim, samples, np.geomspace(1, condition**0.5, rank))
    found = deep_linear.whiten(x)
    yield exactly(found.rank, rank, "rank kept, against min(d, n − 1)")
    yield close(found.condition, condition, "condition number before whitening", rtol=1e-8)
    z = found(x)
    yield close(z @ z.T, np.eye(rank), "Z Zᵀ, against I", atol=1e-10)
    z_n = deep_linear.whiten(x, per_sample=True)(x)
    yield close(z_n @ z_n.T / samples, np.eye(rank), "per sample: Z Zᵀ/n, against I", atol=1e-10)
    yield close(z.mean(axis=1), 0.0, "means after whitening", atol=1e-12)
    y = rng.normal(size=samples)
    before, after = (_excess_losses(inputs, y) for inputs in (x - found.mean[:, None], z))
    shrinkage = (found.condition - 1) / (found.condition + 1)
    most = 1 if shrinkage < 1e-3 else np.ceil(np.log(_GOAL) / (2 * np.log(shrinkage)))
    yield at_most(len(before) - 1, most, "descent before whitening: steps, against ln 10⁶ / (2 ln((κ+1)/(κ−1)))")
    yield exactly(len(after) - 1, 1, "descent after whitening: steps")
    times = np.arange(len(before))
    lines = {"((κ−1)/(κ+1))²ᵗ": (times, shrinkage ** (2.0 * times))}
    points = {"before": (times, before), "after (cut at 1e-8)": ([0, 1], np.maximum(after, 1e-8))}
    title = f"A millionth of the excess loss: {len(before) - 1} steps at condition {condition:.3g}, 1 after whitening"
    yield figure.curves(title, "step of descent", "excess loss over the first", lines=lines, points=points, log="y")


def _centred(rng, dim, samples, values):
    """U diag(values) Vᵀ with random orthonormal U and V, the rows of Vᵀ with mean zero."""
    u = np.linalg.qr(rng.normal(size=(dim, len(values))))[0]
    draws = rng.normal(size=(samples, len(values)))
    return (u * values) @ np.linalg.qr(draws - draws.mean(0))[0].T


def _excess_losses(x, y):
    """Gradient descent from 0 with step 2/(λ₁ + λ_r) until the excess over the least loss is a `_GOAL` of the first."""
    hessian, slope = x @ x.T, x @ y
    best = np.linalg.lstsq(x.T, y, rcond=None)[0]
    values = np.linalg.eigvalsh(hessian)
    step = 2 / (values[-1] + values[values > 1e-10 * values[-1]][0])
    w, excess = np.zeros(len(x)), []
    for _ in range(100_000):
        excess.append((w - best) @ hessian @ (w - best))
        if excess[-1] <= _GOAL * excess[0]:
            break
        w = w - step * (hessian @ w - slope)
    return np.array(excess) / excess[0]


@claim(sources=("sheet",))
def whitened_least_squares_identity(
    key,
    inputs: Int(1, 12) = 5,
    outputs: Int(1, 12) = 3,
    surplus: Int(1, 200) = 35,
    scale: Real(0.01, 100.0, log=True) = 1.0,
):
    r"""Least squares on white data.

    For XXᵀ = I, least squares in W is the squared distance to one matrix, up to a constant: ‖Y − WX‖² = ‖W − G‖² +
    ‖Y‖² − ‖G‖² with G = YXᵀ. For XXᵀ = nI the first term is n‖W − G‖² with G = YXᵀ/n.

    $$X X^T = I \Rightarrow \|Y - W X\|^2 = \|W - G\|^2 + \|Y\|^2 - \|G\|^2, \quad G = Y X^T$$

    Assumes: XXᵀ = I, or nI.
    """
    rng = data.generator(key)
    n = inputs + surplus
    raw, y = rng.normal(size=(inputs, n)), rng.normal(size=(outputs, n))
    draws = scale * rng.normal(size=(30, outputs, inputs))
    for name, factor in (("X Xᵀ = nI", n), ("X Xᵀ = I", 1)):
        x = deep_linear.whiten(raw, per_sample=factor == n)(raw)
        g = y @ x.T / factor
        losses = np.sum((y - draws @ x) ** 2, axis=(1, 2))
        distances = factor * np.sum((draws - g) ** 2, axis=(1, 2))
        offset, size = np.sum(y**2) - factor * np.sum(g**2), losses.max()
        yield close(losses - distances, offset, f"{name}: loss minus distance, against the constant", atol=1e-12 * size)
        yield at_most(np.std(losses - distances), 1e-13 * size, f"{name}: deviation of loss minus distance over W")
        fitted = deep_linear.least_squares_map(x, y)
        yield close(g, fitted, f"{name}: G, against the least-squares map", atol=1e-12 * np.abs(y).max() * n)
    ends = np.array([0.0, distances.max()])
    lines, points = {"slope 1, offset ‖Y‖² − ‖G‖²": (ends, ends + offset)}, {"random W": (distances, losses)}
    title = f"Whitened: the loss is ‖W − G‖² plus {offset:.4g}, for 30 random W"
    yield figure.curves(title, "‖W − G‖²", "‖Y − WX‖²", lines=lines, points=points)
