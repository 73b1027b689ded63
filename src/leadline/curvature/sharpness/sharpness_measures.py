"""How sharp a loss is at given parameters: by eigenvalues, by the worst point of a ball, and relative to the weights.

Every measure takes loss(params, *data), a number or one loss per row whose mean is meant, and any parameter pytree.
What a change of the network that leaves its function as it is does to them (ReLU, all factors above 0):

    measure                        units permuted   layers rescaled   single units rescaled
    top, trace, ball               same             changes           changes
    filter-normalised              same             same              changes
    adaptive (elementwise)         same             same              same

The worst cases are in `worst_case_sharpness`. All are multiplied by c with a loss multiplied by c. With inputs
multiplied by s and the first weights divided by s, the relative measures stay the same and the others do not.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..operators.hessian_operator import Hessian, hessian
from ..operators.operator import split_parameters
from ..operators.symmetric_map import basis_rows
from ..spectra.trace_estimates import TraceEstimate, trace
from .filter_normalisation import filter_variances, random_filter_directions


def top_sharpness(
    loss: Callable[..., Any], params: PyTree, *data: PyTree, batch: int | None = None, tolerance: float | None = None
) -> float:
    """λ_max of the Hessian: the curvature in the sharpest direction. Steps above 2/λ_max diverge there.

    With residual and vector: `hessian(...).top(1)`. Not a property of the function: rescaling layers of a ReLU network
    makes it as large as one likes (Dinh et al. 2017).

    >>> top_sharpness(lambda w: w[0] ** 2 - 3 * w[1] ** 2, jnp.ones(2))
    2.0
    """
    return float(hessian(loss, params, *data, batch=batch).top(1, tolerance=tolerance).values[0])


def trace_sharpness(
    loss: Callable[..., Any],
    params: PyTree,
    *data: PyTree,
    key: PRNGKeyArray,
    probes: int = 60,
    batch: int | None = None,
) -> TraceEstimate:
    """tr H: twice the expected rise of the loss per σ² under a perturbation of every parameter by N(0, σ²), σ → 0.

    Estimated by Hutch++ with a standard error; exact where probes ≥ p. Not invariant under rescaling of layers.

    >>> found = trace_sharpness(lambda w: w[0] ** 2 + 3 * w[1] ** 2, jnp.ones(2), key=jax.random.key(0))
    >>> float(found.value), float(found.standard_error)
    (8.0, 0.0)
    """
    return trace(hessian(loss, params, *data, batch=batch), key=key, probes=probes)


def filter_normalised_sharpness(
    loss: Callable[..., Any],
    params: PyTree,
    *data: PyTree,
    key: PRNGKeyArray,
    probes: int = 60,
    biases: str = "hold",
    batch: int | None = None,
) -> TraceEstimate:
    """E dᵀH d over random directions d with every filter scaled to the norm of the network's (Li et al. 2018).

    The parameters of such a d are uncorrelated with variances s = ‖w_f‖²/m_f, so that the expectation is
    tr S^{1/2} H S^{1/2} = Σ_f (‖w_f‖²/m_f) tr H_ff: no directions are drawn. A trace of products, exact where
    probes ≥ p. Biases are held fixed or are one filter per array.

    >>> loss = lambda p: jnp.sum(p["w"] ** 2)  # H = 2, two filters of norms 5 and 1
    >>> found = filter_normalised_sharpness(loss, {"w": jnp.array([[3.0, 4.0], [1.0, 0.0]])}, key=jax.random.key(0))
    >>> round(float(found.value), 5)  # 2 (25 + 1)
    52.0
    """
    operator = hessian(loss, params, *data, batch=batch)
    variances = filter_variances(operator.params, biases=biases)
    scale = jnp.asarray(np.sqrt(np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(variances)])))
    return trace(ScaledHessian(operator, scale), key=key, probes=probes)


class RiseAlongDirections(NamedTuple):
    """l(w + r d) − l(w) along random directions: the mean with its standard error, the largest, and all of them."""

    mean: float
    standard_error: float
    worst: float
    rises: Float[np.ndarray, " directions"]


def filter_normalised_rise(
    loss: Callable[..., Any],
    params: PyTree,
    *data: PyTree,
    radius: float,
    directions: int = 50,
    key: PRNGKeyArray,
    biases: str = "hold",
) -> RiseAlongDirections:
    """The rise of the loss at w ± r d over random directions d with normalised filters, both signs of each.

    Unlike `filter_normalised_sharpness` it sees the loss at a distance: r = 0.1 moves every filter by a tenth of its
    norm. The worst of a few random directions is far below the worst of all.

    >>> loss = lambda p: jnp.sum(p["w"] ** 2)
    >>> found = filter_normalised_rise(loss, {"w": jnp.array([[3.0, 4.0]])}, radius=0.1, key=jax.random.key(0))
    >>> round(found.mean, 5)  # the mean over ± d: r² ‖d‖² = 0.01 · 25
    0.25
    """
    if not radius > 0 or directions < 2:
        raise ValueError(
            f"filter_normalised_rise got radius {radius:g} and {directions} directions; give a positive radius and at "
            "least 2 directions for an error bar."
        )
    moved, fixed = split_parameters(params)
    held = jax.tree.map(lambda a: jnp.asarray(a) if isinstance(a, np.ndarray) else a, data)
    rises = np.asarray(_rises(loss, moved, fixed, held, key, np.asarray(radius), directions, biases), float)
    pairs = rises.mean(axis=1)  # over ± d
    error = float(pairs.std(ddof=1) / np.sqrt(directions))
    return RiseAlongDirections(float(pairs.mean()), error, float(rises.max()), rises.ravel())


class ScaledHessian(eqx.Module):
    """T H T for a diagonal T ≥ 0: the Hessian in the coordinates u, w = w₀ + T u."""

    operator: Hessian
    scale: Float[Array, " p"]

    @property
    def size(self) -> int:
        """p."""
        return self.operator.size

    @property
    def dtype(self) -> Any:
        """The type of a flat vector."""
        return self.operator.dtype

    def __call__(self, v: Float[Array, " p"]) -> Float[Array, " p"]:
        """T H T v."""
        return self.scale * self.operator(self.scale * jnp.asarray(v, self.dtype))

    def dense(self) -> Float[np.ndarray, "p p"]:
        """The whole matrix, for small models."""
        matrix = np.asarray(basis_rows(self))
        return (matrix + matrix.T) / 2


@eqx.filter_jit
def _rises(loss, moved, fixed, data, key, radius, directions, biases) -> Array:
    drawn = random_filter_directions(moved, directions, key=key, biases=biases)

    def value(p: PyTree) -> Array:
        return jnp.mean(loss(eqx.combine(p, fixed), *data))

    def one(d: PyTree) -> Array:
        return jax.lax.map(
            lambda r: value(jax.tree.map(lambda w, s: w + r * s, moved, d)), jnp.stack([radius, -radius])
        )

    return jax.lax.map(one, drawn) - value(moved)
