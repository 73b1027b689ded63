"""Margin bounds from norms, with constants: linear classes, Frobenius norms, paths, the spectrally normalised bound.

All start from R ≤ R̂_γ + 2 Rad_S(ramp_γ∘F) + 3√(ln(2/δ)/(2n)) (Bartlett, Mendelson 2002; Mohri, Rostamizadeh, Talwalkar,
theorem 3.5), R̂_γ the mean ramp loss at margin γ. Norms and γ are known only after training, so δ is shared out among
the points of geometric grids: qʲ, j any integer, gets the share 2/(3(|j| + 1)(|j| + 2)), and all shares add up to 1.
Biases are folded into the matrices (`fold_biases`), the inputs then end with a 1.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Num

from .bounds import Bound, check_confidence
from .network_norms import LayerNorms, Matrix, path_norms, ramp_loss

RATIO = 2**0.25  # neighbouring points of the grid of norm/γ
Margins = Num[np.ndarray, " n"]
Inputs = Num[np.ndarray, "n d"]


def grid_cost(index: int) -> float:
    """ln of 1 over the share of δ that grid point `index` gets.

    >>> round(sum(math.exp(-grid_cost(j)) for j in range(-2000, 2000)), 2)
    1.0
    """
    return math.log(1.5 * (abs(index) + 1) * (abs(index) + 2))


def input_norm(inputs: Inputs) -> float:
    """√Σᵢ‖xᵢ‖², added up in double precision without a copy of the inputs.

    >>> input_norm(np.array([[3.0], [4.0]], np.float32))
    5.0
    """
    return math.sqrt(float(np.einsum("ij,ij->", inputs, inputs, dtype=float)))


def linear_margin_bound(
    margins: Margins, weights: Matrix, inputs: Inputs, *, confidence: float = 0.95, trivial: float = 1.0
) -> Bound:
    """Scores Wx of k classes: 2 Rad_S(ramp_γ∘F) ≤ 4 √k ‖W‖_F √(Σ‖xᵢ‖²)/(γ n), by Maurer's vector contraction (2016), as
    the ramp of the margin has Lipschitz constant √2/γ. For two classes 2 ‖w₁ − w₀‖ √(Σ‖xᵢ‖²)/(γ n), as for a ball.

    >>> x = np.eye(2).repeat(5000, axis=0)
    >>> linear_margin_bound(np.full(10_000, 2.0), np.eye(2), x).vacuous
    False
    """
    weights = np.asarray(weights, float)
    k = len(weights)
    size = float(np.linalg.norm(weights[1] - weights[0]) if k == 2 else np.linalg.norm(weights))
    factor = (2 if k == 2 else 4 * math.sqrt(k)) * input_norm(inputs) / len(inputs)
    return _scaled(
        margins, size, factor, "true error, linear scores with margin", confidence, trivial, {"‖W‖": size, "classes": k}
    )


def frobenius_margin_bound(
    margins: Margins, matrices: Sequence[Matrix], inputs: Inputs, *, confidence: float = 0.95, trivial: float = 1.0
) -> Bound:
    """Rad_S ≤ (√(2 d ln 2) + 1) ∏‖A_l‖_F √(Σ‖xᵢ‖²)/n for scores of depth d (Golowich, Rakhlin, Shamir 2018, theorem 1).

    Needs activations that are 1-Lipschitz and positively homogeneous (ReLU), so that only the product of the norms
    matters. With k scores the margin costs 4k/γ (Mohri et al., theorem 9.2), the last norm being that of the largest
    row; with two it costs 2/γ for the difference of the rows.
    """
    *hidden, last = (np.asarray(m, float) for m in matrices)
    k, last = _rows_of(last)
    size = float(np.prod([np.linalg.norm(m) for m in hidden]) * np.linalg.norm(last, axis=1).max())
    depth = math.sqrt(2 * len(matrices) * math.log(2)) + 1
    factor = (2 if k == 2 else 4 * k) * depth * input_norm(inputs) / len(inputs)
    return _scaled(
        margins,
        size,
        factor,
        "true error, product of Frobenius norms",
        confidence,
        trivial,
        {"∏‖A‖_F": size, "layers": len(matrices), "classes": k},
    )


def path_margin_bound(
    margins: Margins, matrices: Sequence[Matrix], inputs: Inputs, *, confidence: float = 0.95, trivial: float = 1.0
) -> Bound:
    """Rad_S ≤ 2 φ √(d + 1 + ln D) √(max_j Σᵢ xᵢⱼ²)/n, φ the sum over paths of |weights| and D the number of inputs.

    Golowich, Rakhlin, Shamir 2018, theorem 2, in terms of the largest ℓ₁ norms of rows, whose product is φ after
    rescaling (Neyshabur, Tomioka, Srebro 2015, theorem 5): it needs positively homogeneous activations (ReLU). The
    price of the margin is that of `frobenius_margin_bound`.
    """
    matrices = [np.asarray(m, float) for m in matrices]
    k, last = _rows_of(matrices[-1])
    size = float(path_norms([*matrices[:-1], last]).max())
    depth = math.sqrt(len(matrices) + 1 + math.log(matrices[0].shape[1]))
    widest = math.sqrt(float(np.einsum("ij,ij->j", inputs, inputs, dtype=float).max()))
    factor = (2 if k == 2 else 4 * k) * 2 * depth * widest / len(inputs)
    return _scaled(
        margins,
        size,
        factor,
        "true error, norm of the paths",
        confidence,
        trivial,
        {"path norm": size, "layers": len(matrices), "classes": k},
    )


def spectral_margin_bound(
    margins: Margins,
    norms: LayerNorms,
    inputs: Inputs,
    *,
    width: int,
    lipschitz: Sequence[float] | Num[np.ndarray, " layers"] | None = None,
    confidence: float = 0.95,
    trivial: float = 1.0,
) -> Bound:
    """The spectrally normalised margin bound (Bartlett, Foster, Telgarsky 2017), with constants.

    Their theorem 1.1 hides constants. This is their proof with them: theorem 3.3, ln N(ε) ≤ (‖X‖_F² ln(2W²)/ε²) C²,
    with C = ∏ρs·(Σ(b/s)^{2/3})^{3/2} and W the largest width; the ramp of the margin is √2/γ-Lipschitz; Dudley's
    integral 4α/√n + (12/n)∫_α^{√n} √ln N at the best α gives Rad ≤ (12 r/n)(1 + ln(n/(3r))) with
    r = √(2 ln(2W²)) ‖X‖_F C/γ; and δ is shared out over grids of all s, b and γ. Activations must be ρ-Lipschitz maps
    with σ(0) = 0.
    """
    delta = check_confidence(confidence, len(margins))
    layers, n = len(norms.spectral), len(margins)
    if not norms.spectral.min() > 0:
        return Bound.inapplicable("true error, spectral norms", "no layer is zero", trivial=trivial)
    rho = np.ones(layers) if lipschitz is None else np.asarray(lipschitz, float)
    s, paid_s = _rounded_up(norms.spectral, 1 / (2 * layers))
    b, paid_b = _rounded_up(np.maximum(norms.moved, 1e-3 * norms.spectral), 0.25)
    complexity = float(np.prod(rho * s) * np.sum((b / s) ** (2 / 3)) ** 1.5)
    root = math.sqrt(2 * math.log(2 * width**2)) * input_norm(inputs) * complexity

    def value(index: int) -> float:
        gamma = RATIO**index
        r = root / gamma
        rad = (12 * r / n) * (1 + math.log(n / (3 * r))) if 3 * r < n else 12 * r / n
        paid = math.log(2 / delta) + paid_s + paid_b + grid_cost(index)
        return ramp_loss(margins, gamma) + 2 * rad + 3 * math.sqrt(paid / (2 * n))

    best = min(_indices(margins), key=value)
    return Bound(
        value(best),
        "true error, spectral norms and margin",
        trivial=trivial,
        ingredients={
            "∏ρs (Σ(b/s)^⅔)^{3/2}": complexity,
            "γ": RATIO**best,
            "layers": layers,
            "ramp loss": ramp_loss(margins, RATIO**best),
            "confidence": confidence,
        },
    )


def _scaled(
    margins: Margins, size: float, factor: float, statement: str, confidence: float, trivial: float, ingredients: dict
) -> Bound:
    """The least of ramp_γ + factor t + 3√((ln(2/δ) + cost)/(2n)) over grid points t of size/γ."""
    n = len(margins)
    delta = check_confidence(confidence, n)
    if not size > 0:
        return Bound.inapplicable(statement, "the weights are not all zero", trivial=trivial)

    def value(index: int) -> float:
        t = RATIO**index
        return (
            ramp_loss(margins, size / t)
            + factor * t
            + 3 * math.sqrt((math.log(2 / delta) + grid_cost(index)) / (2 * n))
        )

    best = min(_indices(margins, size), key=value)
    gamma = size / RATIO**best
    found = {"γ": gamma, "ramp loss": ramp_loss(margins, gamma), "confidence": confidence}
    return Bound(value(best), statement, trivial=trivial, ingredients=ingredients | found)


def _indices(margins: Margins, size: float | None = None) -> range:
    """Grid indices whose γ lies between a fiftieth of the median positive margin and 10 times the largest:
    beyond that the ramp loss alone is above 0.9."""
    positive = np.asarray(margins)[np.asarray(margins) > 0]
    low, high = (float(np.median(positive)) / 50, 10 * float(positive.max())) if positive.size else (1.0, 1.0)
    ends = [math.log(g if size is None else size / g, RATIO) for g in (low, high)]
    return range(math.floor(min(ends)), math.ceil(max(ends)) + 1)


def _rounded_up(values: np.ndarray, step_size: float) -> tuple[np.ndarray, float]:
    """Each value rounded up to a power of eˢᵗᵉᵖ, and what all these choices cost."""
    indices = np.ceil(np.log(values) / step_size - 1e-12).astype(int)
    return np.exp(step_size * indices), sum(grid_cost(int(j)) for j in indices)


def _rows_of(last: Matrix) -> tuple[int, Matrix]:
    """The number of classes and the rows of the last layer, their difference where there are two."""
    return len(last), last[1:] - last[:1] if len(last) == 2 else last
