"""Projections and the vec identity: the linear algebra behind the fit of one factor."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, deep_linear
from leadline.evidence import Range, at_least, claim, close, exactly, figure, method, printed


@method(
    "orthogonal-projection",
    says=(
        "P = M(MᵀM)⁻¹Mᵀ = QQᵀ projects at right angles onto the columns of M: P² = P = Pᵀ, eigenvalues 0 and 1, trace "
        "= rank, and Pv is the nearest Mc. A projection along another space is idempotent too, but not symmetric."
    ),
    formula=r"P_M = M (M^T M)^{-1} M^T = Q Q^T, \quad P^2 = P = P^T, \quad \operatorname{tr} P = \operatorname{rank} M",
    sources=("penn",),
    assumes=("the columns of M are independent",),
    shows=("deep_linear.orthogonal_projector", "deep_linear.oblique_projector"),
)
def orthogonal_projection(
    key,
    rows: Annotated[int, Range(10, 60)] = 12,
    columns: Annotated[int, Range(1, 10)] = 4,
):
    """A Gaussian M and v; the smallest projection that is not symmetric."""
    rng = data.generator(key)
    m, v = rng.normal(size=(rows, columns)), rng.normal(size=rows)
    p = deep_linear.orthogonal_projector(m)
    size = float(np.linalg.norm(m) * np.linalg.norm(v))
    yield close(m.T @ (v - p @ v), 0.0, "Mᵀ(v − Pv)", atol=1e-14 * size)
    yield close(p @ p, p, "P² − P", atol=1e-13)
    yield close(p.T, p, "Pᵀ − P", atol=1e-14)
    yield close(np.linalg.eigvalsh(p), np.repeat([0.0, 1.0], [rows - columns, columns]), "eigenvalues of P", atol=1e-12)
    yield close(np.trace(p), columns, "trace, against the rank", atol=1e-12)
    condition = float(np.linalg.cond(m))
    formula = m @ np.linalg.solve(m.T @ m, m.T)
    yield close(formula, p, "M(MᵀM)⁻¹Mᵀ against QQᵀ (by QR)", atol=1e-13 * condition**2)
    others = [np.linalg.norm(v - m @ c) for c in rng.normal(size=(50, columns))]
    fitted = np.linalg.norm(v - m @ np.linalg.lstsq(m, v, rcond=None)[0])
    yield at_least([*others, fitted], np.linalg.norm(v - p @ v), "‖v − Mc‖, against ‖v − Pv‖", atol=1e-12 * size)

    slanted = deep_linear.oblique_projector(np.array([[1.0], [0.0]]), np.array([[1.0], [1.0]]))
    yield exactly(slanted, [[1, 1], [0, 0]], "onto (1, 0) along (1, −1)")
    yield exactly(slanted @ slanted, slanted, "its square, itself")
    yield printed(close(slanted.T, slanted, "its transpose", atol=1e-12), "penn", "any projection is symmetric")


@claim(
    "vec-kronecker-identity",
    says=(
        "With columns stacked, vec(PQRᵀ) = (R ⊗ P) vec Q; with rows stacked, (P ⊗ R). So the fit of a factor A in Y ≈ "
        "ABX is ordinary least squares in vec A, with the matrix (BX)ᵀ ⊗ I."
    ),
    formula=r"\operatorname{vec}(P Q R^T) = (R \otimes P) \operatorname{vec}(Q)",
    sources=("penn",),
    shows=("deep_linear.best_decoder",),
)
def vec_kronecker_identity(
    key,
    rows: Annotated[int, Range(1, 8)] = 3,
    middle: Annotated[int, Range(1, 8)] = 4,
    columns: Annotated[int, Range(1, 8)] = 5,
    width: Annotated[int, Range(1, 4)] = 2,
):
    """Gaussian matrices, 20 triples; a random linear problem of `columns` inputs and `rows` outputs."""
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
    ends = np.array([stacked.min(), stacked.max()])
    yield figure.curves(
        f"vec(PQRᵀ) = (R ⊗ P) vec Q: largest difference {np.abs(by_columns - stacked).max():.1e} over 20 triples",
        x="entry of vec(PQRᵀ)",
        y="entry of (R ⊗ P) vec Q",
        lines={"equal": (ends, ends)},
        points={"random instances": (stacked[:400], by_columns[:400])},
    )
