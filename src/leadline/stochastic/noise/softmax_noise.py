"""The noise of softmax regression at its minimum, without a Hessian: two traces predict the floor of SGD."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from leadline.data import generator
from leadline.optimisation import SoftmaxRidge

from ..problems.softmax_sgd import softmax_minimiser


class SoftmaxNoise(NamedTuple):
    """w*, l*, tr C and tr(HC) at the minimum; the last is estimated from some gradients, with a standard error."""

    minimiser: Float[np.ndarray, " p"]
    minimum: float
    trace: float
    curved_trace: float
    curved_error: float

    def floor(self, step_size: float, batch: int) -> float:
        """(η/4b)(tr C + (η/2) tr HC): `noise_floor` to second order in the step, for any number of parameters."""
        return step_size / (4 * batch) * (self.trace + step_size / 2 * self.curved_trace)


def softmax_noise(problem: SoftmaxRidge, *, probes: int = 200, key: PRNGKeyArray) -> SoftmaxNoise:
    """Minimise by SciPy's L-BFGS, then take tr C from all gradients and tr(HC) = E cᵀHc from `probes` of them.

    >>> two = SoftmaxRidge(jnp.ones((2, 1)), jnp.array([0, 1]), jnp.array(1.0), 2)
    >>> noise = softmax_noise(two, probes=4, key=jax.random.key(0))
    >>> round(noise.trace, 6), round(noise.curved_trace, 6)
    (0.5, 0.75)
    """
    minimiser = softmax_minimiser(problem)
    best = jnp.asarray(minimiser, problem.x.dtype)
    trace = float(_noise_trace(problem, best))
    rows = generator(key).integers(len(problem.x), size=probes)
    curved = np.asarray(_curved(problem, best, jnp.asarray(rows)))
    error = float(curved.std(ddof=1) / np.sqrt(probes))
    return SoftmaxNoise(minimiser, float(problem(best)), trace, float(curved.mean()), error)


def _errors(problem: SoftmaxRidge, w: Array) -> Float[Array, "n c"]:
    scores = problem.x @ w.reshape(-1, problem.classes)
    return jax.nn.softmax(scores) - jax.nn.one_hot(problem.labels, problem.classes, dtype=scores.dtype)


@eqx.filter_jit
def _noise_trace(problem: SoftmaxRidge, w: Array) -> Array:
    """(1/n) Σ ‖xᵢ‖²‖eᵢ‖² − ‖(1/n) Σ xᵢ ⊗ eᵢ‖²: the penalty's gradient is the same in each."""
    error = _errors(problem, w)
    mean = problem.x.T @ error / len(problem.x)
    return jnp.mean(jnp.sum(problem.x**2, axis=1) * jnp.sum(error**2, axis=1)) - jnp.sum(mean**2)


@eqx.filter_jit
def _curved(problem: SoftmaxRidge, w: Array, rows: Array) -> Array:
    error = _errors(problem, w)
    mean = problem.x.T @ error / len(problem.x)

    def one(i):
        centred = (jnp.outer(problem.x[i], error[i]) - mean).ravel()
        return centred @ problem.hessian_product(w, centred)

    return jax.lax.map(one, rows)
