"""The evidence of a Gaussian process, and the kernel parameters that maximise it."""

import math
import warnings
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PyTree

from .expansion import Gram


class EvidenceMaximum(NamedTuple):
    """A local maximum of the evidence over kernel parameters and noise variance."""

    kernel: Gram
    noise: float
    log_evidence: float
    start: float  # the log evidence at the parameters given
    gradient: float  # largest entry of the gradient in the logarithms of the parameters, at the end
    steps: int


def log_evidence(
    kernel: Gram, x: Num[Array, "n ..."], y: Float[Array, " n"], noise: Num[Array, ""] | float
) -> Float[Array, ""]:
    """log N(y; 0, K + noise·I), differentiable in the parameters of the kernel and the noise variance.

    >>> k = lambda a, b: a @ b.T
    >>> round(float(log_evidence(k, jnp.ones((1, 1)), jnp.zeros(1), 1.0)), 4)  # -log(2π·2)/2
    -1.2655
    """
    return _log_density(y, kernel(x, x) + noise * jnp.eye(len(y)))


@jax.custom_jvp
def _log_density(y: Float[Array, " n"], C: Float[Array, "n n"]) -> Float[Array, ""]:
    """log N(y; 0, C) by the Cholesky factor of C."""
    return _by_factor(y, jnp.linalg.cholesky(C))


@_log_density.defjvp
def _log_density_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """d log N = ½ αᵀ dC α − ½ tr(C⁻¹ dC) − αᵀ dy with α = C⁻¹y: half the work of differentiating the factor."""
    (y, C), (dy, dC) = primals, tangents
    lower = jnp.linalg.cholesky(C)
    alpha = jax.scipy.linalg.cho_solve((lower, True), y)
    inverse = jax.scipy.linalg.cho_solve((lower, True), jnp.eye(len(y), dtype=C.dtype))
    return _by_factor(y, lower), 0.5 * (alpha @ dC @ alpha - jnp.sum(inverse * dC)) - alpha @ dy


def _by_factor(y: Array, lower: Array) -> Array:
    whitened = jax.scipy.linalg.solve_triangular(lower, y, lower=True)
    return -0.5 * whitened @ whitened - jnp.sum(jnp.log(jnp.diag(lower))) - 0.5 * len(y) * math.log(2 * math.pi)


def maximise_evidence(
    kernel: Gram,
    x: Num[Array | np.ndarray, "n ..."],
    y: Num[Array | np.ndarray, " targets"],
    noise: float,
    *,
    fix_noise: bool = False,
    num_steps: int = 200,
) -> EvidenceMaximum:
    """Climb log p(y) by L-BFGS in the logarithms of the positive numbers a kernel holds, and of the noise variance.

    `kernel` is an Equinox module with its starting values; numbers that are 0 or negative stay as they are. The
    evidence has local maxima: compare a few starts. Single precision often stops short, and says so.

    >>> from leadline.kernels import Gaussian
    >>> x = jnp.linspace(0.0, 6.0, 20)[:, None]
    >>> best = maximise_evidence(Gaussian(0.3), x, jnp.sin(x[:, 0]), 0.1)
    >>> best.log_evidence > best.start, float(best.kernel.scale) > 1.0
    (True, True)
    """
    from scipy.optimize import minimize

    x, y = jnp.asarray(x), jnp.asarray(y)
    y = y.astype(jnp.result_type(y, float))
    if len(x) != len(y):
        raise ValueError(f"maximise_evidence got {len(x)} inputs and {len(y)} targets; give one target per input.")
    if not (np.isfinite(noise) and noise > 0):
        raise ValueError(f"maximise_evidence got the noise variance {noise}; it starts at a number above 0.")
    leaves, rest = eqx.partition(kernel, _is_positive)
    names, structure = jax.tree.flatten(leaves)
    shapes = [np.shape(leaf) for leaf in names]
    if not names and fix_noise:
        raise ValueError("maximise_evidence has nothing to move: the kernel holds no positive number; free the noise.")
    sizes = np.cumsum([math.prod(shape) for shape in shapes])[:-1]

    def parts(z: Array) -> tuple[PyTree, Array]:
        values = [jnp.exp(v).reshape(s) for v, s in zip(jnp.split(z[1:], sizes), shapes, strict=True)] if shapes else []
        level = jnp.asarray(noise) if fix_noise else jnp.exp(z[0])
        return eqx.combine(jax.tree.unflatten(structure, values), rest), level

    @jax.jit
    def loss(z: Array, x: Array, y: Array) -> tuple[Array, Array]:
        return jax.value_and_grad(lambda z: -log_evidence(parts(z)[0], x, y, parts(z)[1]))(z)

    def climb(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = loss(jnp.asarray(z, y.dtype), x, y)
        # Where the factor does not exist the line search steps back.
        return (float(value), np.asarray(slope, float)) if np.isfinite(value) else (1e25, np.zeros_like(z))

    start = np.concatenate([[math.log(noise)], *[np.log(np.asarray(leaf, float)).ravel() for leaf in names]])
    first, _ = climb(start)
    if first >= 1e25:
        raise ValueError(
            f"The Gram matrix plus {noise:.3g} I is not positive definite at the start; start with a larger noise."
        )
    end = minimize(
        climb, start, jac=True, method="L-BFGS-B", options={"maxiter": num_steps, "ftol": 1e-14, "gtol": 1e-6}
    )
    best, level = parts(jnp.asarray(end.x, y.dtype))
    slope = np.abs(end.jac[1:] if fix_noise else end.jac)
    if y.dtype == jnp.float32 and slope.max() > 1e-2 * (1 + abs(end.fun)):
        warnings.warn(
            f"The evidence was climbed in single precision and stopped at a gradient of {slope.max():.2g}, so its "
            "maximum is further on; use 64-bit (jax_enable_x64).",
            stacklevel=2,
        )
    return EvidenceMaximum(best, float(level), -float(end.fun), -first, float(slope.max()), int(end.nit))


def _is_positive(leaf: object) -> bool:
    if isinstance(leaf, bool) or not (isinstance(leaf, float) or eqx.is_inexact_array_like(leaf)):
        return False
    return bool(np.all(np.asarray(leaf) > 0))
