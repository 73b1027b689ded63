"""Whitening, and what it makes of least squares: the distance to one matrix."""

from typing import Annotated

import numpy as np

from leadline import data, deep_linear
from leadline.evidence import Range, at_most, claim, close, exactly, figure, method, printed

_GOAL = 1e-6  # excess loss, as a share of the first


@method(
    "data-whitening",
    says=(
        "Centred data mapped by S⁻¹Uᵀ have X Xᵀ = I (or n I) on the space they span, which has full dimension d only "
        "for n ≥ d + 1. Gradient descent on least squares then needs one step, not a number that grows with the "
        "condition."
    ),
    formula=r"Z = S^{-1} U^T (X - m 1^T), \quad X - m 1^T = U S V^T, \quad Z Z^T = I",
    sources=("sheet",),
    assumes=("singular values below the tolerance count as zero",),
    shows=("deep_linear.whiten", "deep_linear.Whitening"),
)
def data_whitening(
    key,
    dim: Annotated[int, Range(2, 20)] = 6,
    samples: Annotated[int, Range(3, 400)] = 120,
    condition: Annotated[float, Range(1.0, 3e3, log=True)] = 300.0,
):
    """Data of rank min(d, n − 1) with this condition number of the centred X Xᵀ, and a mean; one random output."""
    rng = data.generator(key)
    rank = min(dim, samples - 1)
    x = 3 * rng.normal(size=(dim, 1)) + _centred(rng, dim, samples, np.geomspace(1, condition**0.5, rank))
    found = deep_linear.whiten(x)
    yield exactly(found.rank, rank, "rank kept, against min(d, n − 1)")
    yield close(found.condition, condition, "condition before", rtol=1e-8)
    z = found(x)
    yield close(z @ z.T, np.eye(rank), "Z Zᵀ, against I", atol=1e-10)
    z_n = deep_linear.whiten(x, per_sample=True)(x)
    yield close(z_n @ z_n.T / samples, np.eye(rank), "per sample: Z Zᵀ/n, against I", atol=1e-10)
    yield close(z.mean(axis=1), 0.0, "means after", atol=1e-12)

    y = rng.normal(size=samples)
    before, after = (_excess_losses(inputs, y) for inputs in (x - found.mean[:, None], z))
    shrinkage = (found.condition - 1) / (found.condition + 1)
    most = 1 if shrinkage < 1e-3 else np.ceil(np.log(_GOAL) / (2 * np.log(shrinkage)))
    yield at_most(len(before) - 1, most, "steps before, against ln 10⁶ / (2 ln((κ+1)/(κ−1)))")
    yield exactly(len(after) - 1, 1, "steps after whitening")
    times = np.unique(np.geomspace(1, len(before), 60).astype(int)) - 1
    yield figure.curves(
        f"To a millionth of the excess loss: {len(before) - 1} steps at condition {condition:.3g}, 1 after whitening",
        x="step of gradient descent",
        y="excess loss over the first",
        lines={"((κ−1)/(κ+1))²ᵗ": (times, shrinkage ** (2.0 * times))},
        points={"before": (times, before[times]), "after (cut at 1e-8)": (np.arange(2), np.maximum(after, 1e-8))},
        log="y",
    )


def _centred(rng, dim, samples, values):
    """U diag(values) Vᵀ with random orthonormal U and V, the rows of Vᵀ with mean zero."""
    u = np.linalg.qr(rng.normal(size=(dim, len(values))))[0]
    draws = rng.normal(size=(samples, len(values)))
    v = np.linalg.qr(draws - draws.mean(0))[0]
    return (u * values) @ v.T


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


@claim(
    "whitened-least-squares-identity",
    says=(
        "For X Xᵀ = I least squares in W is the squared distance to one matrix, up to a constant: ‖Y − WX‖² = ‖W − "
        "G‖² + ‖Y‖² − ‖G‖² with G = YXᵀ. For X Xᵀ = nI the first term is n‖W − G‖² with G = YXᵀ/n."
    ),
    formula=r"X X^T = I \Rightarrow \|Y - W X\|^2 = \|W - G\|^2 + \|Y\|^2 - \|G\|^2, \quad G = Y X^T",
    sources=("sheet",),
    assumes=("X X^T = I, or n I",),
    shows=("deep_linear.whiten",),
)
def whitened_least_squares_identity(
    key,
    inputs: Annotated[int, Range(1, 12)] = 5,
    outputs: Annotated[int, Range(1, 12)] = 3,
    surplus: Annotated[int, Range(1, 200)] = 35,
    scale: Annotated[float, Range(0.01, 100.0, log=True)] = 1.0,
):
    """n = inputs + `surplus` Gaussian samples, whitened; 30 matrices W of this `scale`."""
    rng = data.generator(key)
    n = inputs + surplus
    raw, y = rng.normal(size=(inputs, n)), rng.normal(size=(outputs, n))
    draws = scale * rng.normal(size=(30, outputs, inputs))
    shown = {}
    for name, x, factor in (
        ("X Xᵀ = I", deep_linear.whiten(raw)(raw), 1),
        ("X Xᵀ = nI", deep_linear.whiten(raw, per_sample=True)(raw), n),
    ):
        g = y @ x.T / factor
        losses = np.sum((y - draws @ x) ** 2, axis=(1, 2))
        distances = factor * np.sum((draws - g) ** 2, axis=(1, 2))
        offset = np.sum(y**2) - factor * np.sum(g**2)
        size = float(losses.max())
        yield close(losses - distances, offset, f"{name}: loss minus distance, against the constant", atol=1e-12 * size)
        yield at_most(np.std(losses - distances), 1e-13 * size, f"{name}: its standard deviation over W")
        fitted = deep_linear.least_squares_map(x, y)
        yield close(g, fitted, f"{name}: G, against the least-squares map", atol=1e-12 * np.abs(y).max() * n)
        if factor == 1:
            wrong = close(g / n, fitted, "(1/s) Y Xᵀ as the minimiser", atol=1e-9 * np.abs(fitted).max())
            yield printed(wrong, "sheet", "X Xᵀ = I with G = (1/s) Y Xᵀ")
            shown = {"distances": distances, "losses": losses, "offset": offset}
    ends = np.array([0.0, shown["distances"].max()])
    yield figure.curves(
        f"Whitened: the loss is ‖W − G‖² plus {shown['offset']:.4g}, for 30 random W",
        x="‖W − G‖²",
        y="‖Y − WX‖²",
        lines={"slope 1, offset ‖Y‖² − ‖G‖²": (ends, ends + shown["offset"])},
        points={"random W": (shown["distances"], shown["losses"])},
    )
