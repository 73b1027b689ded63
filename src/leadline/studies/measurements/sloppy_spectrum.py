"""The Fisher spectrum of a subject on some of its rows: decades that it spans, directions that the rows determine."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from ..instrument_contract import NotApplicable
from ..subject import Subject

NUMBERS = 6e7  # entries of a Jacobian that is held
SQUARE = 600  # rows of the Gram matrix, examples times outputs


class SloppySpectrum(NamedTuple):
    """Eigenvalues of the Fisher matrix per sample on `rows` rows, descending; the rest of the parameters have 0.

    `rank` counts those above rounding, at most `most`; `decades` = log₁₀ of the largest over the least of these;
    `effective` = Σ λ/(λ + a) over these, with a = `scale` = 1/rows, a prior of deviation 1 (`sloppiness.prior_scale`).
    """

    rows: int
    eigenvalues: Float[np.ndarray, " m"]
    rank: int
    most: int
    decades: float
    effective: float
    scale: float


def sloppy_spectrum(subject: Subject) -> SloppySpectrum | NotApplicable:
    """The spectrum from the Gram matrix of the square-root Jacobian, by rows: (R Rᵀ) has the eigenvalues of RᵀR."""
    from leadline.landscape import sloppiness
    from leadline.landscape.sloppiness.fisher_spectra import spectrum_decades

    if subject.loss not in ("cross-entropy", "squared"):
        return NotApplicable(
            "Fisher spectrum", "the loss is the negative log likelihood of a known law (cross-entropy, squared)"
        )
    if subject.positions is not None:
        return NotApplicable("Fisher spectrum", "a row has one target, not one at each position")
    k, p = subject.outputs, subject.size
    rows = min(subject.sample.count, SQUARE // k, 200)
    by_jacobian = rows * k * p <= NUMBERS
    if rows < 5:
        return NotApplicable("Fisher spectrum", f"outputs are at most {SQUARE // 5}")
    gram, logits = (_by_jacobian if by_jacobian else _by_kernel)(subject, rows)
    root = np.sqrt(softmax(logits, axis=1)) if subject.loss == "cross-entropy" else None
    if root is not None:  # rows √s_c (J_c − Σ_b s_b J_b)
        share = root**2
        blocks = root[:, :, None] * (np.eye(k) - share[:, None, :])  # (n, c, b)
        gram = gram.reshape(rows, k, rows, k)
        gram = np.einsum("icb,ibjd->icjd", blocks, gram)
        gram = np.einsum("icjd,jed->icje", gram, blocks).reshape(rows * k, rows * k)
    values = np.maximum(np.linalg.eigvalsh(gram / rows)[::-1], 0.0)
    eps = float(np.finfo(subject.dtype).eps)
    floor = (max(eps**2, 1e-16) if by_jacobian else eps) * 10 * rows * k * values[0]
    rank, scale = int(np.sum(values > floor)), sloppiness.prior_scale(rows, 1.0)
    most = min(p, rows * (k - 1 if root is not None else k))
    decades = spectrum_decades(values, rank) if rank else 0.0
    return SloppySpectrum(
        rows, values, rank, most, decades, float(sloppiness.effective_dimension(values[:rank], scale)), scale
    )


def _by_jacobian(subject: Subject, rows: int) -> tuple[np.ndarray, np.ndarray]:
    from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions
    from leadline.landscape import sloppiness

    apply, x = CanonicalConvolutions(subject.apply), subject.sample.inputs[:rows]
    outputs, jacobian = sloppiness.output_jacobian(apply, subject.params, x)
    flat = jacobian.reshape(rows * subject.outputs, -1).astype(np.float64)
    return flat @ flat.T, outputs.astype(np.float64)


def _by_kernel(subject: Subject, rows: int) -> tuple[np.ndarray, np.ndarray]:
    from leadline import tangent

    x = subject.sample.inputs[:rows]
    K = np.asarray(tangent.empirical_ntk(subject.apply, subject.params, x), np.float64)
    return (K + K.T) / 2, subject.train_scores[:rows].astype(np.float64)
