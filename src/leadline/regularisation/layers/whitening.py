"""Whitening: PCA, ZCA and Cholesky maps of data, and a layer that whitens its batch and can be differentiated."""

from typing import Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from leadline._checks import require, require_counts
from leadline.landscape import deep_linear

Kind = Literal["pca", "zca", "cholesky"]


class WhiteningMap(NamedTuple):
    """x ↦ T(x − m) for rows x."""

    mean: Float[np.ndarray, " d"]
    transform: Float[np.ndarray, "k d"]
    rank: int  #: how many directions were kept

    def __call__(self, x: Float[Array | np.ndarray, "n d"]) -> Float[Array | np.ndarray, "n k"]:
        return (x - self.mean) @ self.transform.T


def fit_whitening(
    x: Float[np.ndarray, "n d"], kind: Kind = "zca", *, epsilon: float = 0.0, tolerance: float = 1e-10
) -> WhiteningMap:
    """The map after which the rows have covariance I (1/n, not 1/(n − 1)), on the directions they span.

    With Cov = UΛUᵀ: "pca" is Λ^(−1/2)Uᵀ, "zca" U Λ^(−1/2)Uᵀ, the whitening closest to the identity in mean square
    (Bell and Sejnowski 1997; Kessy et al. 2018), "cholesky" L⁻¹ of Cov = LLᵀ, which needs full rank. `epsilon` is
    added to the eigenvalues; directions whose singular value is below `tolerance` of the largest are dropped.

    >>> x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0], [0.0, 1.0]])
    >>> white = fit_whitening(x, "zca")(x)
    >>> bool(np.abs(white.T @ white / 4 - np.eye(2)).max() < 1e-12)
    True
    """
    require("fit_whitening", axes=2, x=x)
    if kind not in get_args(Kind):
        raise ValueError(f"fit_whitening got kind {kind!r}; choose one of {', '.join(get_args(Kind))}.")
    if not epsilon >= 0:
        raise ValueError(f"fit_whitening got epsilon = {epsilon}; give 0 or more.")
    found = deep_linear.whiten(np.asarray(x, float).T, per_sample=True, tolerance=tolerance)
    scales = np.linalg.norm(found.transform, axis=1)  # λ^(−1/2) of the rows, which are uᵀ times that
    basis = found.transform / scales[:, None]
    shrunk = basis / np.sqrt(scales[:, None] ** -2 + epsilon)
    if kind == "pca":
        return WhiteningMap(found.mean, shrunk, found.rank)
    if kind == "zca":
        return WhiteningMap(found.mean, basis.T @ shrunk, found.rank)
    if found.rank < x.shape[1] and epsilon == 0:
        raise ValueError(
            f"fit_whitening got rows of rank {found.rank} in {x.shape[1]} dimensions, where Cholesky's factor has no "
            'inverse; give an epsilon above 0, more rows, or take "zca".'
        )
    covariance = (basis.T * scales**-2) @ basis + epsilon * np.eye(x.shape[1])
    return WhiteningMap(found.mean, np.linalg.inv(np.linalg.cholesky(covariance)), found.rank)


@jax.custom_jvp
def inverse_square_root(matrix: Float[Array, "p p"]) -> Float[Array, "p p"]:
    """A^(−1/2) of a positive definite matrix by its eigen-decomposition; O(p³).

    The derivative is that of Daleckii and Krein: in the eigenbasis dA is multiplied by −1/(√λᵢ√λⱼ(√λᵢ + √λⱼ)), which
    is finite for equal eigenvalues, where differentiating through the eigenvectors is not.

    >>> inverse_square_root(jnp.diag(jnp.array([4.0, 4.0]))).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    >>> slope = jax.grad(lambda a: jnp.trace(inverse_square_root(a)))(4.0 * jnp.eye(2))
    >>> slope.round(4).tolist()
    [[-0.0625, 0.0], [0.0, -0.0625]]
    """
    values, basis = jnp.linalg.eigh(matrix)
    if not isinstance(values, Tracer) and not bool(values[0] > 0):
        raise ValueError(
            f"inverse_square_root got a matrix with the eigenvalue {float(values[0]):.3g}; give a positive definite "
            "one, for instance by adding a small multiple of the identity."
        )
    return (basis / jnp.sqrt(values)) @ basis.T


@inverse_square_root.defjvp
def _inverse_square_root_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (matrix,), (change,) = primals, tangents
    values, basis = jnp.linalg.eigh(matrix)
    roots = jnp.sqrt(values)
    divided = -1 / (roots[:, None] * roots * (roots[:, None] + roots))
    change = (change + change.T) / 2  # eigh reads the symmetric part
    return (basis / roots) @ basis.T, basis @ (divided * (basis.T @ change @ basis)) @ basis.T


def newton_schulz(matrix: Float[Array, "p p"], num_steps: int = 15) -> Float[Array, "p p"]:
    """A^(−1/2) by products alone: Yₖ₊₁ = ½Yₖ(3I − ZₖYₖ), Zₖ₊₁ = ½(3I − ZₖYₖ)Zₖ from Y = A/‖A‖, Z = I.

    Z tends to (A/‖A‖)^(−1/2), quadratically once it is near; about log √κ / log 1.5 steps come first, κ the condition
    number (Higham 2008, chapter 6). Its gradient is that of the steps and needs no distinct eigenvalues. ‖A‖ is
    Frobenius'.

    >>> a = jnp.array([[2.0, 1.0], [1.0, 3.0]])
    >>> z = newton_schulz(a)
    >>> jnp.abs(z @ a @ z - jnp.eye(2)).max() < 1e-5
    Array(True, dtype=bool)
    """
    require("newton_schulz", axes=2, matrix=matrix)
    require_counts("newton_schulz", num_steps=num_steps)
    size = jnp.linalg.norm(matrix)
    if not isinstance(size, Tracer) and not bool(size > 0):
        raise ValueError("newton_schulz got a matrix of zeros, which has no inverse; give a positive definite one.")
    eye = jnp.eye(len(matrix), dtype=matrix.dtype)

    def step(pair: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        y, z = pair
        factor = 1.5 * eye - 0.5 * z @ y
        return (y @ factor, factor @ z), None

    (_, root), _ = jax.lax.scan(step, (matrix / size, eye), length=num_steps)
    return root / jnp.sqrt(size)


class BatchWhitening(eqx.Module):
    """h ↦ Cov(h)^(−1/2)(h − mean h) over the rows of a batch: batch normalisation that decorrelates too.

    `method` is "eigen" (ZCA by eigen-decomposition), "newton-schulz" or "cholesky"; `epsilon` is added to the
    covariance's diagonal. It costs O(p³), and needs more rows than features: with n ≤ p the covariance is singular
    and only `epsilon` keeps it invertible (Huang et al. 2018, decorrelated batch normalisation).

    >>> layer = BatchWhitening(epsilon=1e-6)
    >>> h = jax.random.normal(jax.random.key(0), (50, 2)) @ jnp.array([[1.0, 2.0], [0.0, 1.0]])
    >>> jnp.abs(jnp.cov(layer(h).T, bias=True) - jnp.eye(2)).max() < 1e-3
    Array(True, dtype=bool)
    """

    epsilon: float = eqx.field(static=True, default=1e-5)
    method: Literal["eigen", "newton-schulz", "cholesky"] = eqx.field(static=True, default="eigen")
    num_steps: int = eqx.field(static=True, default=15)

    def __check_init__(self) -> None:
        require_counts("BatchWhitening", num_steps=self.num_steps)
        if not self.epsilon >= 0:
            raise ValueError(f"BatchWhitening got epsilon = {self.epsilon}; give 0 or more.")
        if self.method not in ("eigen", "newton-schulz", "cholesky"):
            raise ValueError(
                f"BatchWhitening got method {self.method!r}; choose one of eigen, newton-schulz, cholesky."
            )

    def __call__(self, h: Float[Array, "n p"]) -> Float[Array, "n p"]:
        require("BatchWhitening", axes=2, h=h)
        n, p = h.shape
        if n <= p and self.epsilon == 0:
            raise ValueError(
                f"BatchWhitening got {n} rows of {p} features, whose covariance is singular; give more than {p} "
                "rows or an epsilon above 0."
            )
        centred = h - jnp.mean(h, axis=0)
        covariance = centred.T @ centred / n + self.epsilon * jnp.eye(p, dtype=h.dtype)
        if self.method == "cholesky":
            factor = jnp.linalg.cholesky(covariance)
            return jax.scipy.linalg.solve_triangular(factor, centred.T, lower=True).T
        root = inverse_square_root(covariance) if self.method == "eigen" else newton_schulz(covariance, self.num_steps)
        return centred @ root
