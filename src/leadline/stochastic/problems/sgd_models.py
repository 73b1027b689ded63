"""SGD with Gaussian noise in the place of sampling noise: the same mean and covariance of every step."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .finite_sum import FiniteSum


def gaussian_step(
    problem: FiniteSum,
    w: Float[Array, " p"],
    eta: float | Float[Array, ""],
    batch: float | Float[Array, ""],
    normals: Float[Array, " n"],
) -> Float[Array, " p"]:
    """W⁺ = W − η g(W) + (η/√b) C(W)^{1/2} ξ, with C^{1/2}ξ drawn as Σᵢ (gᵢ − g) ξᵢ/√n from n normal numbers.

    Both are normal with mean 0 and covariance C; the second needs no p × p root.

    >>> two = FiniteSum(lambda w, y: (w[0] - y) ** 2 / 2, (jnp.array([1.0, 3.0]),))
    >>> gaussian_step(two, jnp.zeros(1), 0.5, 1, jnp.zeros(2)).tolist()
    [1.0]
    """
    gradients = problem.gradients(w)
    mean = gradients.mean(axis=0)
    noise = normals @ (gradients - mean) / jnp.sqrt(problem.samples)
    return w - eta * mean + eta / jnp.sqrt(batch) * noise


def gaussian_model_run(
    problem: FiniteSum,
    start: Float[Array, " p"],
    eta: float | Float[Array, ""],
    batch: float | Float[Array, ""],
    normals: Float[Array, "steps n"],
) -> Float[Array, "points p"]:
    """A run of the Gaussian model of SGD, all iterates, from n normal numbers a step; a step costs n gradients.

    >>> two = FiniteSum(lambda w, y: (w[0] - y) ** 2 / 2, (jnp.array([1.0, 3.0]),))
    >>> gaussian_model_run(two, jnp.zeros(1), 0.5, 1, jnp.zeros((2, 2)))[:, 0].tolist()  # no noise: gradient descent
    [0.0, 1.0, 1.5]
    """
    return _run(problem, start, jnp.asarray(eta, start.dtype), jnp.asarray(batch, start.dtype), normals)


@eqx.filter_jit
def _run(problem: FiniteSum, start: Array, eta: Array, batch: Array, normals: Array) -> Array:
    def move(w: Array, xi: Array) -> tuple[Array, Array]:
        w = gaussian_step(problem, w, eta, batch, xi)
        return w, w

    _, path = jax.lax.scan(move, start, normals)
    return jnp.concatenate([start[None], path])
