"""Where the variances of a Kalman filter settle: the fixed point of the Riccati recursion, and its rate."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline._checks import require_counts

from .covariances import check_covariance, inverse, product, sandwich, symmetric, turned
from .state_space import LinearGaussian


class SteadyState(NamedTuple):
    """The settled filter: predicted P, gain K, posterior V; errors of P shrink by ρ(A(I − KC))² a step."""

    predicted: Float[np.ndarray, "d d"]
    gain: Float[np.ndarray, "d k"]
    posterior: Float[np.ndarray, "d d"]
    contraction: float


def riccati_step(model: LinearGaussian, P: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """The next predicted covariance, A (P − P Cᵀ (C P Cᵀ + R)⁻¹ C P) Aᵀ + Q; for a scalar a² P R/(P + R) + Q."""
    seen = product(P, turned(model.C))
    posterior = P - product(product(seen, inverse(sandwich(model.C, P) + model.R)), turned(seen))
    return sandwich(model.A, symmetric(posterior)) + model.Q


def riccati_path(model: LinearGaussian, start: Float[Array, "d d"], num_steps: int) -> Float[Array, "n d d"]:
    """Predicted covariances from `start` on, `num_steps` + 1 of them; no observation changes them.

    >>> from leadline.sequences import linear_gaussian
    >>> model = linear_gaussian(1.0, 1.0, 2.0, 1.0, 0.0, 1.0)
    >>> riccati_path(model, jnp.array([[1.0]]), 1)[:, 0, 0].tolist()  # 1 → 1/2 + 2
    [1.0, 2.5]
    """
    require_counts("riccati_path", num_steps=num_steps)
    start = jnp.asarray(start, model.A.dtype)
    check_covariance("riccati_path", "start", start)
    return _path(model, start, num_steps)


@functools.partial(jax.jit, static_argnums=2)
def _path(model: LinearGaussian, start: Float[Array, "d d"], num_steps: int) -> Float[Array, "n d d"]:
    def step(P: Array, _: None) -> tuple[Array, Array]:
        following = riccati_step(model, P)
        return following, following

    return jnp.concatenate([start[None], jax.lax.scan(step, start, None, num_steps)[1]])


def steady_state(model: LinearGaussian) -> SteadyState:
    """The stabilising solution of P = A(P − PCᵀ(CPCᵀ + R)⁻¹CP)Aᵀ + Q, by SciPy's solver of the dual control problem.

    It exists where every mode of A that does not decay is observed, and every one of modulus 1 is moved by Q; for a
    scalar it is (c + √(c² + 4QR))/2 with c = Q + (a² − 1)R. R must be positive definite.

    >>> from leadline.sequences import linear_gaussian
    >>> found = steady_state(linear_gaussian(0.95, 1.0, 0.1, 1.0))
    >>> found.predicted.round(6).item(), found.gain.round(6).item(), round(found.contraction, 6)
    (0.31748, 0.240975, 0.519947)
    """
    from scipy.linalg import solve_discrete_are

    A, C, Q, R = (np.asarray(part, float) for part in (model.A, model.C, model.Q, model.R))
    least = float(np.linalg.eigvalsh(R)[0])
    if least <= 0:
        raise ValueError(f"steady_state got R with the eigenvalue {least:.6g}; give R with eigenvalues above 0.")
    try:
        P = solve_discrete_are(A.T, C.T, Q, R)
    except np.linalg.LinAlgError:
        raise ValueError(
            "steady_state found no steady state: a mode of A that does not decay is not observed, or one of modulus 1 "
            "is not moved by Q; change C or Q."
        ) from None
    gain = P @ C.T @ np.linalg.inv(C @ P @ C.T + R)
    kept = np.eye(len(A)) - gain @ C
    posterior = kept @ P @ kept.T + gain @ R @ gain.T
    contraction = float(np.abs(np.linalg.eigvals(A @ kept)).max() ** 2)
    return SteadyState(P, gain, posterior, contraction)
