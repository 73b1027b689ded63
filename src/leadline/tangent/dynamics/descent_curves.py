"""Gradient descent on the squared loss from given parameters: in closed form, of the linearised network, and itself."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline._checks import require_numbers
from leadline.frameworks.network import Apply


class DescentCurves(NamedTuple):
    """Outputs at `times` (steps) under w ← w − η ∇ ½ Σᵢ‖f(xᵢ) − yᵢ‖² from the same start, (times, n, k) each.

    `predicted` is y + (I − ηK)ᵗ (f₀ − y), `linearised` what the linearised network did, `network` the network itself;
    `eigenvalues` are those of K, descending, and `step` is η.
    """

    times: Float[np.ndarray, " t"]
    step: float
    eigenvalues: Float[np.ndarray, " m"]
    predicted: Float[np.ndarray, "t n k"]
    linearised: Float[np.ndarray, "t n k"]
    network: Float[np.ndarray, "t n k"]

    def distances(self) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """By row, summed over the curve: (network − linearised)² and (linearised − start)²; inf if it diverged."""
        apart = np.sum((self.network - self.linearised) ** 2, axis=(0, 2))
        moved = np.sum((self.linearised - self.linearised[0]) ** 2, axis=(0, 2))
        return np.where(np.isfinite(apart), apart, np.inf), moved

    def rounding_error(self) -> float:
        """Largest ‖linearised − predicted‖ at one time over the largest ‖predicted − start‖."""
        gap = np.sqrt(np.sum((self.linearised - self.predicted) ** 2, axis=(1, 2)))
        move = np.sqrt(np.sum((self.predicted - self.predicted[0]) ** 2, axis=(1, 2)))
        return float(gap.max() / max(move.max(), np.finfo(float).tiny))


def descent_three_ways(
    apply: Apply,
    params: PyTree,
    x: Any,
    y: Float[Array | np.ndarray, "n k"],
    kernel: Float[Array | np.ndarray, "m m"],
    *,
    step_size: float | None = None,
    num_steps: int = 200,
    records: int = 20,
) -> DescentCurves:
    """Three training curves from `params`: by the eigenvalues of K = J Jᵀ, of the linearised network, of the network.

    apply(params, x) gives the outputs (n, k) of a batch and `kernel` is `empirical_ntk` there, (n k) × (n k). The first
    two agree to rounding at any width; the third joins them where training is lazy. η is 1/λ_max unless given. Lee et
    al. 2019; Chizat, Oyallon, Bach 2019.

    >>> apply = lambda w, x: x @ w
    >>> x, y = jnp.eye(2), jnp.array([[1.0], [2.0]])
    >>> curves = descent_three_ways(apply, jnp.zeros((2, 1)), x, y, x @ x.T, step_size=0.5, num_steps=2, records=2)
    >>> curves.predicted[:, 1, 0].tolist(), curves.network[:, 1, 0].tolist()
    ([0.0, 1.0, 1.5], [0.0, 1.0, 1.5])
    """
    require_numbers("descent_three_ways", params=params, x=x, y=y, kernel=kernel)
    x, y, K = jnp.asarray(x), np.asarray(y, np.float64), np.asarray(kernel, np.float64)
    if y.ndim != 2 or len(y) != len(x) or K.shape != (y.size, y.size):
        raise ValueError(
            f"descent_three_ways got {len(x)} inputs, targets of shape {y.shape} and a kernel of shape {K.shape}; give "
            "targets (n, k) and a kernel (n k, n k)."
        )
    if num_steps < records or records < 1:
        raise ValueError(
            f"descent_three_ways got {num_steps} steps and {records} records; give at least one step a record."
        )
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    if step_size is None:
        step_size = 1.0 / float(values[-1]) if values[-1] > 0 else 1.0
    stride = num_steps // records
    targets = jnp.asarray(y, jnp.result_type(*jax.tree.leaves(params)))
    eta = np.asarray(step_size, targets.dtype)  # what the runs use, to the digit
    runs = _runs(apply, params, x, targets, jnp.asarray(eta), stride, records)
    linear, network = (np.asarray(run, np.float64) for run in runs)
    times = stride * np.arange(records + 1)
    start = linear[0]
    with np.errstate(over="ignore"):
        decay = (1 - float(eta) * np.maximum(values, 0.0)) ** times[:, None]
    residual = vectors.T @ (start - y).ravel()
    predicted = y + ((decay * residual) @ vectors.T).reshape(-1, *y.shape)
    return DescentCurves(times.astype(float), float(eta), values[::-1], predicted, linear, network)


@eqx.filter_jit
def _runs(
    apply: Apply, params: PyTree, x: Array, y: Array, step: Array, stride: int, records: int
) -> tuple[Array, Array]:
    """Outputs at the start and after every `stride` steps: of the linearised network, of the network."""

    def outputs(p: PyTree) -> Array:
        return apply(p, x)

    start, push = jax.linearize(outputs, params)
    pull = jax.linear_transpose(push, params)

    def moved(p: PyTree, gradient: PyTree) -> PyTree:
        return jax.tree.map(lambda a, g: a - step * g, p, gradient)

    def linear_step(_: Any, beta: PyTree) -> PyTree:
        return moved(beta, pull(start + push(beta) - y)[0])

    def network_step(_: Any, p: PyTree) -> PyTree:
        here, back = jax.vjp(outputs, p)
        return moved(p, back(here - y)[0])

    def record(state: tuple, _: Any) -> tuple:
        beta, p = state
        beta = jax.lax.fori_loop(0, stride, linear_step, beta)
        p = jax.lax.fori_loop(0, stride, network_step, p)
        return (beta, p), (start + push(beta), outputs(p))

    zero = jax.tree.map(jnp.zeros_like, params)
    _, (linear, network) = jax.lax.scan(record, (zero, params), None, records)
    return jnp.concatenate([start[None], linear]), jnp.concatenate([start[None], network])
