"""Projections and the vec identity: the linear algebra behind the fit of one factor."""

import jax
import numpy as np

from leadline import data
from leadline.evidence import Int, at_least, claim, close, exactly, method
from leadline.landscape import deep_linear
from leadline.presentation import figure


@method(sources=("penn",))
def orthogonal_projection(key, rows: Int(10, 60) = 12, columns: Int(1, 10) = 4):
    r"""Orthogonal projection.

    P = M(MᵀM)⁻¹Mᵀ = QQᵀ projects at right angles onto the columns of M: P² = P = Pᵀ, the eigenvalues are 0 and 1, the
    trace equals the rank, and Pv is the nearest Mc. A projection along another space is idempotent too, but not
    symmetric.

    $$P_M = M (M^T M)^{-1} M^T = Q Q^T, \quad P^2 = P = P^T, \quad \operatorname{tr} P = \operatorname{rank} M$$

    Assumes: the columns of M are independent.
    """
    rng = data.generator(key)
    m, v = rng.normal(size=(rows, columns)), rng.normal(size=rows)
    p = deep_linear.orthogonal_projector(m)
    size = np.linalg.norm(m) * np.linalg.norm(v)
    yield close(m.T @ (v - p @ v), 0.0, "Mᵀ(v − Pv)", atol=1e-14 * size)
    yield close(p @ p, p, "P², against P", atol=1e-13)
    yield close(p.T, p, "Pᵀ, against P", atol=1e-14)
    yield close(np.linalg.eigvalsh(p), np.repeat([0.0, 1.0], [rows - columns, columns]), "eigenvalues of P", atol=1e-12)
    yield close(np.trace(p), columns, "trace of P, against the rank of M", atol=1e-12)
    formula = m @ np.linalg.solve(m.T @ m, m.T)
    yield close(formula, p, "M(MᵀM)⁻¹Mᵀ, against QQᵀ by QR", atol=1e-13 * np.linalg.cond(m) ** 2)
    others = [np.linalg.norm(v - m @ c) for c in rng.normal(size=(50, columns))]
    fitted = np.linalg.norm(v - m @ np.linalg.lstsq(m, v, rcond=None)[0])
    yield at_least([*others, fitted], np.linalg.norm(v - p @ v), "‖v − Mc‖, against ‖v − Pv‖", atol=1e-12 * size)
    slanted = deep_linear.oblique_projector(np.array([[1.0], [0.0]]), np.array([[1.0], [1.0]]))
    yield exactly(slanted, [[1, 1], [0, 0]], "projection onto (1, 0) along (1, −1), not symmetric")
    yield exactly(slanted @ slanted, slanted, "square of the projection onto (1, 0) along (1, −1), against itself")


@claim(sources=("penn",))
def vec_kronecker_identity(
    key, rows: Int(1, 8) = 3, middle: Int(1, 8) = 4, columns: Int(1, 8) = 5, width: Int(1, 4) = 2
):
    r"""Vec–Kronecker identity.

    With columns stacked, vec(PQRᵀ) = (R ⊗ P) vec Q; with rows stacked, the matrix is P ⊗ R. So the fit of a factor A
    in Y ≈ ABX is ordinary least squares in vec A, with the matrix (BX)ᵀ ⊗ I.

    $$\operatorname{vec}(P Q R^T) = (R \otimes P) \operatorname{vec}(Q)$$
    """
    rng = data.generator(key)
    sides = []
    for _ in range(20):
        p, q, r = (rng.normal(size=s) for s in ((rows, middle), (middle, columns), (columns, columns)))
        product = p @ q @ r.T
        sides.append((product.ravel("F"), np.kron(r, p) @ q.ravel("F"), product.ravel(), np.kron(p, r) @ q.ravel()))
    stacked, by_columns, in_rows, by_rows = (np.concatenate(side) for side in zip(*sides, strict=True))
    yield close(by_columns, stacked, "vec(PQRᵀ), columns stacked", atol=1e-12)
    yield close(by_rows, in_rows, "vec(PQRᵀ), rows stacked", atol=1e-12)
    width = min(width, columns)
    problem = deep_linear.random_problem(columns, rows, 10 * columns, key=jax.random.fold_in(key, 1))
    b = np.linalg.qr(rng.normal(size=(columns, width)))[0].T  # orthonormal rows
    design = np.kron((b @ problem.x).T, np.eye(rows))
    found = np.linalg.lstsq(design, problem.y.ravel("F"), rcond=None)[0].reshape(rows, width, order="F")
    fitted = deep_linear.best_decoder(problem, b)
    yield close(found, fitted, "least squares in vec A, against ΣyxBᵀ(BΣxxBᵀ)⁻¹", atol=1e-9 * np.abs(fitted).max())
    ends = [stacked.min(), stacked.max()]
    lines, points = {"equal": (ends, ends)}, {"random instances": (stacked[:400], by_columns[:400])}
    title = f"vec(PQRᵀ) = (R ⊗ P) vec Q: largest difference {np.abs(by_columns - stacked).max():.1e} over 20 triples"
    yield figure.curves(title, "entry of vec(PQRᵀ)", "entry of (R ⊗ P) vec Q", lines=lines, points=points)
