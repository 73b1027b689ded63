"""Linear-Gaussian state-space models: a hidden state that moves linearly, seen through noise."""

import warnings

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Real

from .covariances import check_covariance, inverse, product, symmetric

Matrix = Real[Array | np.ndarray, "_ _"] | Real[Array | np.ndarray, ""] | float | int
Vector = Real[Array | np.ndarray, " _"] | Real[Array | np.ndarray, ""] | float | int


class LinearGaussian(eqx.Module):
    """hₜ₊₁ = A hₜ + ξₜ, xₜ = C hₜ + νₜ with ξ ~ N(0, Q), ν ~ N(0, R), h₀ ~ N(mean, covariance); x₁ is seen first.

    `linear_gaussian` makes one of arrays or numbers and checks them.
    """

    A: Float[Array, "d d"]
    C: Float[Array, "k d"]
    Q: Float[Array, "d d"]
    R: Float[Array, "k k"]
    mean: Float[Array, " d"]
    covariance: Float[Array, "d d"]


def linear_gaussian(
    A: Matrix, C: Matrix, Q: Matrix, R: Matrix, mean: Vector | None = None, covariance: Matrix | None = None
) -> LinearGaussian:
    """hₜ₊₁ = A hₜ + N(0, Q), xₜ = C hₜ + N(0, R), from h₀ ~ N(mean, covariance); numbers are matrices of one entry.

    Without a prior it is the stationary one, mean 0 and V = AVAᵀ + Q, which is Q/(1 − a²) for a scalar; where A has an
    eigenvalue of modulus 1 or more there is none, and one must be given (or made of the first observations, by
    `diffuse_start`). Q and R may be singular, not indefinite. A pair (A, C) that is not observable is warned of.

    >>> model = linear_gaussian(0.5, 1.0, 0.75, 1.0)
    >>> float(model.covariance[0, 0])
    1.0
    >>> linear_gaussian(1.0, 1.0, 0.1, 1.0)
    Traceback (most recent call last):
    ValueError: linear_gaussian got no prior and A with an eigenvalue of modulus 1, for which there is no stationary \
one; give mean and covariance of h₀, or start from the first observations by diffuse_start.
    """
    A, C, Q, R = _matrices("linear_gaussian", A, C, Q, R)
    check_covariance("linear_gaussian", "Q", Q)
    check_covariance("linear_gaussian", "R", R)
    _say_if_unobservable(A, C)
    if (mean is None) != (covariance is None):
        given, missing = ("mean", "covariance") if covariance is None else ("covariance", "mean")
        raise ValueError(f"linear_gaussian got a {given} of h₀ without its {missing}; give both or none.")
    if mean is None or covariance is None:
        return LinearGaussian(A, C, Q, R, jnp.zeros(len(A), A.dtype), _stationary(A, Q))
    prior = jnp.atleast_2d(jnp.asarray(covariance, A.dtype))
    centre = jnp.atleast_1d(jnp.asarray(mean, A.dtype))
    if prior.shape != A.shape or centre.shape != A.shape[:1]:
        raise ValueError(
            f"linear_gaussian got a mean of shape {centre.shape} and a covariance of shape {prior.shape} for a state "
            f"of {len(A)} numbers; give ({len(A)},) and ({len(A)}, {len(A)})."
        )
    check_covariance("linear_gaussian", "covariance", prior)
    return LinearGaussian(A, C, Q, R, centre, prior)


def diffuse_start(
    A: Matrix, C: Matrix, Q: Matrix, R: Matrix, first: Real[Array | np.ndarray, "m ..."]
) -> LinearGaussian:
    """The model whose h₀ is the state after the `first` m observations, nothing having been known before them.

    With a flat prior the state is estimated by generalised least squares, and its estimate with the covariance of its
    error is the prior of what follows: filter the observations after the first m. Their likelihood is the diffuse one
    (Durbin and Koopman 2012, chapter 5). A local level (A = C = 1) needs one: N(x₁, R).

    >>> model = diffuse_start(1.0, 1.0, 0.1, 2.0, np.array([5.0]))
    >>> model.mean.round(3).tolist(), model.covariance.round(3).tolist()
    ([5.0], [[2.0]])
    """
    A, C, Q, R = _matrices("diffuse_start", A, C, Q, R)
    x = jnp.asarray(first, A.dtype)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or x.shape[1] != len(C):
        raise ValueError(f"diffuse_start got observations of shape {x.shape}; give rows of {len(C)} numbers.")
    m, d = len(x), len(A)
    powers = [jnp.eye(d, dtype=A.dtype)]
    for _ in range(m):
        powers.append(product(A, powers[-1]))
    seen = jnp.concatenate([product(C, power) for power in powers[1:]])  # x = seen h₀ + errors
    rank = d if isinstance(seen, Tracer) else int(np.linalg.matrix_rank(np.asarray(seen)))
    if rank < d:
        raise ValueError(
            f"diffuse_start got {m} observations, which determine {rank} of the {d} numbers of the state; give more of "
            "them, or a prior where the pair (A, C) is not observable."
        )
    # Rows of `noise`: x₁, …, x_m and h_m as linear maps of ξ₀, …, ξ_{m−1}.
    rows = [
        jnp.concatenate([powers[t - s] if s <= t else jnp.zeros_like(A) for s in range(1, m + 1)], 1)
        for t in range(1, m + 1)
    ]
    moved = jnp.concatenate([product(C, row) for row in rows])
    all_Q, all_R = (jnp.kron(jnp.eye(m, dtype=A.dtype), part) for part in (Q, R))
    errors = moved @ all_Q @ moved.T + all_R
    last = rows[-1] @ all_Q
    weight = inverse(errors)
    precision = inverse(seen.T @ weight @ seen)
    start = precision @ seen.T @ weight @ x.ravel()
    gain = last @ moved.T @ weight
    left = powers[m] - gain @ seen
    mean = powers[m] @ start + gain @ (x.ravel() - seen @ start)
    covariance = last @ rows[-1].T - gain @ moved @ last.T + left @ precision @ left.T
    return LinearGaussian(A, C, Q, R, mean, symmetric(covariance))


def observability_matrix(A: Real[Array | np.ndarray, "d d"], C: Real[Array | np.ndarray, "k d"]) -> np.ndarray:
    """[C; CA; …; CAᵈ⁻¹], of rank d where the observations determine the state (Kalman 1960).

    >>> observability_matrix(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    rows = [np.asarray(C, float)]
    for _ in range(len(A) - 1):
        rows.append(rows[-1] @ np.asarray(A, float))
    return np.concatenate(rows)


def _matrices(function: str, *given: Matrix) -> tuple[Array, Array, Array, Array]:
    dtype = jnp.result_type(float, *given)
    A, C, Q, R = (jnp.atleast_2d(jnp.asarray(value, dtype)) for value in given)
    d, k = len(A), len(C)
    wanted = {"A": (d, d), "C": (k, d), "Q": (d, d), "R": (k, k)}
    for (name, shape), matrix in zip(wanted.items(), (A, C, Q, R), strict=True):
        if matrix.shape != shape:
            raise ValueError(
                f"{function} got {name} of shape {matrix.shape} for a state of {d} and observations of {k} numbers; "
                f"give {shape}."
            )
        if not isinstance(matrix, Tracer) and not bool(jnp.all(jnp.isfinite(matrix))):
            raise ValueError(f"{function} got {name} with entries that are not finite; give finite numbers.")
    return A, C, Q, R


def _stationary(A: Float[Array, "d d"], Q: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """V = AVAᵀ + Q, by (I − A⊗A) vec V = vec Q."""
    if not isinstance(A, Tracer):
        radius = float(np.abs(np.linalg.eigvals(np.asarray(A, float))).max())
        if radius >= 1:
            raise ValueError(
                f"linear_gaussian got no prior and A with an eigenvalue of modulus {radius:.6g}, for which there is no "
                "stationary one; give mean and covariance of h₀, or start from the first observations by diffuse_start."
            )
    d = len(A)
    if d == 1:
        return Q / (1 - A**2)
    solved = jnp.linalg.solve(jnp.eye(d * d, dtype=A.dtype) - jnp.kron(A, A), Q.ravel())
    return symmetric(solved.reshape(d, d))


def _say_if_unobservable(A: Array, C: Array) -> None:
    if isinstance(A, Tracer) or isinstance(C, Tracer):
        return
    rank = int(np.linalg.matrix_rank(observability_matrix(np.asarray(A), np.asarray(C))))
    if rank < len(A):
        warnings.warn(
            f"The pair (A, C) is not observable: its observability matrix has rank {rank} of {len(A)}, so that the "
            f"observations never say anything about {len(A) - rank} direction{'s'[: len(A) - rank - 1]} of the state.",
            stacklevel=3,
        )


def as_observations(function: str, model: LinearGaussian, xs: Real[Array | np.ndarray, "T ..."]) -> Float[Array, "T k"]:
    """Observations as rows of k numbers; NaN stands for one that is missing."""
    xs = jnp.asarray(xs, jnp.result_type(float, model.A))
    k = len(model.C)
    xs = xs[:, None] if xs.ndim == 1 and k == 1 else xs
    if xs.ndim != 2 or xs.shape[1] != k or not len(xs):
        raise ValueError(f"{function} got observations of shape {xs.shape}; give one or more rows of {k} numbers.")
    if not isinstance(xs, Tracer) and bool(jnp.any(jnp.isinf(xs))):
        raise ValueError(f"{function} got observations that are infinite; give numbers, and NaN for a missing one.")
    return xs
