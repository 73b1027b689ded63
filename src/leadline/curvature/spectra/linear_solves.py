"""Linear systems with an operator by conjugate gradients, and its log-determinant by Lanczos quadrature."""

import warnings
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PyTree

from ..operators.symmetric_map import AnyKey, SymmetricMap, check_count, check_damping, random_signs
from .lanczos_quadrature import Quadrature, tridiagonals


class Solution(NamedTuple):
    """What conjugate gradients came to.

    `residual` is ‖b − (A + λI)x‖/‖b‖, computed anew at the end. If a direction of negative curvature was met,
    `indefinite` is true, `direction` is it (unit length), `curvature` its dᵀ(A + λI)d ≤ 0, and x is the iterate before;
    otherwise `direction` is 0 and `curvature` the least dᵀ(A + λI)d/‖d‖² over the search directions.
    """

    x: PyTree
    residual: float
    iterations: int
    converged: bool
    indefinite: bool
    direction: PyTree
    curvature: float


class LogDeterminant(NamedTuple):
    """log det(A + λI), its standard error over probes, by how much Lanczos still lowered it, and the probes.

    `truncation` is the fall of the value over the last quarter of the steps: it bounds nothing, but where it is not
    small against the standard error the value is too large.
    """

    value: float
    standard_error: float
    truncation: float
    probes: int


def solve(
    operator: SymmetricMap, b: PyTree, *, damping: float = 0.0, tolerance: float = 1e-5, max_steps: int = 1000
) -> Solution:
    """x with (A + damping·I) x = b for a positive definite A + damping·I, by conjugate gradients.

    Stops when ‖b − (A + λI)x‖ ≤ tolerance·‖b‖, after `max_steps` products (`converged` is then false and x the last
    iterate), or at a direction of negative curvature (Hestenes and Stiefel 1952; Steihaug 1983 for the last). b is a
    flat vector or a pytree like the parameters; x and the direction have its form.

    >>> from leadline.curvature import hessian
    >>> h = hessian(lambda w: w[0] ** 2 + 3 * w[1] ** 2, jnp.ones(2))
    >>> found = solve(h, jnp.array([2.0, 6.0]))
    >>> [round(float(x), 4) for x in found.x], found.converged
    ([1.0, 1.0], True)
    """
    check_damping(damping)
    check_count("most", max_steps, 1, "each is one product")
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance is {tolerance}; give a relative residual between 0 and 1.")
    flat, form = _flattened(operator, b)
    x, iterations, residual, least = jnp.zeros_like(flat), 0, 1.0, float("inf")
    while True:  # begun anew from the true residual where rounding has made the updated one too small
        before = residual
        x, direction, numbers = _conjugate_gradients(
            operator,
            flat,
            x,
            jnp.asarray(damping, flat.dtype),
            jnp.asarray(tolerance, flat.dtype),
            jnp.asarray(max_steps - iterations),
        )
        residual, count, curvature, indefinite = (np.asarray(number).item() for number in numbers)
        iterations, least = iterations + count, min(least, curvature)
        if not np.isfinite(residual) or np.isnan(curvature):
            raise ValueError("A product with the operator is not finite; give parameters at which the loss is finite.")
        if residual <= tolerance or indefinite or iterations >= max_steps or not residual <= before / 2:
            break
    met = residual <= tolerance and not indefinite
    return Solution(form(x), residual, iterations, met, indefinite, form(direction), least)


def logdet(
    operator: SymmetricMap, *, key: AnyKey, damping: float = 0.0, probes: int = 30, num_steps: int = 50
) -> LogDeterminant:
    """log det(A + damping·I) = p·E vᵀlog(A + λI)v / ‖v‖² over random signs v, by Lanczos quadrature.

    Each of the `probes` vectors takes `num_steps` products; the standard error is that of their mean (Ubaru, Chen, Saad
    2017). Lanczos itself errs upwards, less the more `num_steps`, and not at all from as many steps as A has distinct
    eigenvalues: a warning says if it has not settled.
    Refuses an A + λI in which a Ritz value shows an eigenvalue ≤ 0.

    >>> from leadline.curvature import hessian
    >>> h = hessian(lambda w: jnp.sum(w**2), jnp.ones(40))  # 2 I
    >>> round(logdet(h, key=jax.random.key(0), probes=4, num_steps=3).value / 40, 4)  # log 2
    0.6931
    """
    check_damping(damping)
    check_count("probes", probes, 2, "the standard error is their scatter")
    check_count("num_steps", num_steps, 2, "each is one product of Lanczos' method")
    found = tridiagonals(operator, random_signs(key, operator, probes), num_steps)
    taken = found.diagonal.shape[1]
    nodes, weights = found.quadrature()
    least, largest = float(nodes.min()) + damping, float(np.abs(nodes).max()) + damping
    if not least > 4 * taken * float(jnp.finfo(operator.dtype).eps) * largest:
        raise ValueError(
            f"The operator with damping {damping:g} is not positive definite: it has an eigenvalue of {least:.3g} or "
            f"less beside one of {largest:.3g}; give a larger damping."
        )
    earlier = found.quadrature(max(1, 3 * taken // 4))
    before, samples = (
        operator.size * np.sum(q.weights * np.log(q.nodes + damping), axis=1)
        for q in (earlier, Quadrature(nodes, weights))
    )
    error, fall = float(samples.std(ddof=1) / probes**0.5), float(before.mean() - samples.mean())
    if taken < operator.size and fall > 0.5 * error + 1e-3 * operator.size:
        warnings.warn(
            f"logdet fell by {fall:.3g} over the last quarter of {num_steps} steps, so it is too large by an unknown "
            "amount; take more steps, or a larger damping if the operator is singular.",
            stacklevel=2,
        )
    return LogDeterminant(float(samples.mean()), error, fall, probes)


@eqx.filter_jit
def _conjugate_gradients(
    operator: SymmetricMap,
    b: Float[Array, " p"],
    start: Float[Array, " p"],
    damping: Any,
    tolerance: Any,
    max_steps: Any,
) -> tuple[Array, Array, tuple]:
    size = jnp.linalg.norm(b)

    def product(v: Array) -> Array:
        return operator(v) + damping * v

    def going(state: tuple) -> Array:
        _, r, _, k, _, indefinite = state
        return (jnp.linalg.norm(r) > tolerance * size) & (k < max_steps) & ~indefinite

    def step(state: tuple) -> tuple:
        x, r, d, k, least, _ = state
        image = product(d)
        bend, length = d @ image, d @ d
        indefinite = ~(bend > 0)
        rr = r @ r
        alpha = jnp.where(indefinite, 0.0, rr / jnp.where(indefinite, 1.0, bend))
        x, new = x + alpha * d, r - alpha * image
        following = jnp.where(indefinite, d, new + (new @ new) / rr * d)
        return x, jnp.where(indefinite, r, new), following, k + 1, jnp.minimum(least, bend / length), indefinite

    zero = jnp.zeros_like(b)
    r = b - product(start)
    begin = (start, r, r, jnp.zeros((), int), jnp.asarray(jnp.inf, b.dtype), jnp.asarray(False))
    x, _, d, k, least, indefinite = lax.while_loop(going, step, begin)
    residual = jnp.linalg.norm(b - product(x)) / jnp.where(size > 0, size, 1.0)
    direction = jnp.where(indefinite, d / jnp.where(indefinite, jnp.linalg.norm(d), 1.0), zero)
    return x, direction, (residual, k, least, indefinite)


def _flattened(operator: SymmetricMap, b: PyTree) -> tuple[Array, Any]:
    """b as a flat vector, and the way back to its form."""
    if isinstance(b, jax.Array | np.ndarray) and b.shape == (operator.size,):
        return jnp.asarray(b, operator.dtype), lambda v: v
    leaves = jax.tree.leaves(b)
    count = sum(np.size(leaf) for leaf in leaves)
    flat, unflat = getattr(operator, "flat", None), getattr(operator, "unflat", None)
    if flat is None or unflat is None or count != operator.size:
        raise ValueError(f"b holds {count} numbers; give a flat vector of length {operator.size}, or a pytree like it.")
    return jnp.asarray(flat(b), operator.dtype), unflat
