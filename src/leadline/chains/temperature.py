"""The temperature of SGD: from the noise, from the excess loss, and one for each direction."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline.curvature.spectra.estimate import Estimate
from leadline.optimisation.objectives.objective import Objective
from leadline.stochastic import FiniteSum, draw_indices, sgd_run

Vector = Float[np.ndarray, " p"]


@dataclass(frozen=True, eq=False)
class SgdTemperatures:
    """Three readings that a Gibbs law would make equal.

    `trace`: η tr C/(2bp). `equipartition`: 2(E l − l*)/p from a run, with its interval; `expected` is what the linear
    theory says of it, (1/p) Σ T_j/(1 − ηλ_j/2). `directions`: T_j = η C_jj/(2b) along the eigenvectors of the Hessian,
    whose eigenvalues are `curvatures`; `measured` are λ_j E v_j² (1 − ηλ_j/2) from the run. `blocks` are the means of
    2(l − l*)/p over blocks of the run, of which `equipartition` is the mean.
    """

    trace: float
    equipartition: Estimate
    expected: float
    directions: Vector
    measured: Vector
    curvatures: Vector
    blocks: Float[np.ndarray, " blocks"]

    @property
    def spread(self) -> float:
        """Decades between the largest T_j and the one that 90 % of the directions exceed: 0 for a Gibbs law."""
        positive = np.maximum(self.directions, 1e-300)
        return float(np.log10(positive.max() / np.quantile(positive, 0.1)))


def block_means(values: Num[Array | np.ndarray, " n"], blocks: int = 20) -> Float[np.ndarray, " blocks"]:
    """The means of consecutive blocks of equal length; what does not fit is left out at the start.

    >>> block_means(np.arange(5.0), 2).tolist()
    [1.5, 3.5]
    """
    values = np.asarray(values, float)
    if len(values) < 2 * blocks:
        raise ValueError(f"{len(values)} values do not make {blocks} blocks of 2; give at least {2 * blocks}.")
    return values[len(values) % blocks :].reshape(blocks, -1).mean(axis=1)


def block_estimate(values: Num[Array | np.ndarray, " n"], *, blocks: int = 20, confidence: float = 0.999) -> Estimate:
    """The mean of a correlated series, with the Student interval of the means of `blocks` long blocks.

    >>> block_estimate(np.ones(100)).error
    0.0
    """
    from scipy.special import stdtrit

    means = block_means(values, blocks)
    half = float(stdtrit(blocks - 1, 0.5 + confidence / 2) * means.std(ddof=1) / np.sqrt(blocks))
    value = float(means.mean())
    return Estimate(value, value - half, value + half, False, f"means of {blocks} blocks of one run")


def directional_temperatures(
    covariance: Num[Array | np.ndarray, "p p"],
    vectors: Num[Array | np.ndarray, "p k"],
    *,
    step_size: float,
    batch: float,
) -> Float[np.ndarray, " k"]:
    """T_j = η v_jᵀ C v_j/(2b) for the columns v_j; their mean over a whole basis is the trace temperature.

    >>> directional_temperatures(np.diag([1.0, 3.0]), np.eye(2), step_size=0.2, batch=1).round(6).tolist()
    [0.1, 0.3]
    """
    vectors = np.asarray(vectors)
    return step_size / (2 * batch) * np.einsum("ij,ij->j", vectors, np.asarray(covariance) @ vectors)


def measure_temperatures(
    problem: FiniteSum,
    minimiser: Num[Array | np.ndarray, " p"],
    *,
    step_size: float,
    batch: int,
    num_steps: int = 20_000,
    every: int = 20,
    key: PRNGKeyArray,
) -> SgdTemperatures:
    """Measure C and the Hessian at w*, then run SGD from w* and measure the excess loss of its second half.

    >>> from leadline.stochastic.problems.finite_sum import six_points
    >>> problem, best = six_points(), np.array([0.359184])
    >>> found = measure_temperatures(problem, best, step_size=0.1, batch=1, num_steps=4000, every=10,
    ...     key=jax.random.key(0))
    >>> round(found.trace, 5), found.equipartition.holds(found.trace, rtol=0.2)
    (0.00799, True)
    """
    w = jnp.asarray(minimiser, float)
    covariance, hessian, lowest = (np.asarray(part) for part in _at_minimum(problem, w))
    values, vectors = np.linalg.eigh(hessian)
    if step_size * values[-1] >= 2:
        raise ValueError(
            f"step_size = {step_size:g} is beyond 2/L = {2 / values[-1]:.4g}: SGD has no stationary law; lower it."
        )
    directions = directional_temperatures(covariance, vectors, step_size=step_size, batch=batch)
    stream = draw_indices(problem.samples, batch, num_steps, key=key)
    path = sgd_run(problem, w, step_size, stream, every=every).points
    late = path[len(path) // 2 :]
    gaps = np.asarray(_losses(problem, late)) - lowest
    shrink = 1 - step_size * values / 2
    squares = np.mean(((np.asarray(late) - np.asarray(w)) @ vectors) ** 2, axis=0)
    excess = block_estimate(2 * gaps / w.size)
    return SgdTemperatures(
        step_size * float(np.trace(covariance)) / (2 * batch * w.size),
        excess,
        float(np.mean(directions / shrink)),
        directions,
        values * squares * shrink,
        values,
        block_means(2 * gaps / w.size),
    )


@eqx.filter_jit
def _at_minimum(problem: FiniteSum, w: Array) -> tuple[Array, Array, Array]:
    return problem.covariance(w), problem.hessian(w), problem(w)


@eqx.filter_jit
def _losses(problem: Objective, points: Array) -> Array:
    return jax.lax.map(problem, points)
