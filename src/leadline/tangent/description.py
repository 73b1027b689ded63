"""One report about the tangent kernel of a network on a data set: spectrum, conditioning, layers, labels, rates."""

import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, PyTree

from leadline.frameworks.network import Apply
from leadline.kernels.features import alignment

from .assembly.cost_model import Method
from .empirical_ntk import BUDGET, layer_ntks
from .functions import checked_function
from .products import ntk_product


@dataclass(frozen=True)
class NTKReport:
    """λ_1 ≥ λ_2 ≥ ... of K = J Jᵀ and what follows from them.

    Under gradient flow on ½ Σ r² the residual's part along the i-th eigenvector decays as exp(-λ_i t): the eigenvalues
    are the predicted rates. `weights` are the shares of the labels along the eigenvectors, `shares` those of the layers
    in the trace. `rank` counts eigenvalues above rounding; the condition number is over all, infinite if one is 0.
    """

    eigenvalues: Float[np.ndarray, " k"]
    trace: float
    condition_number: float
    rank: int
    rows: int
    shares: dict[str, float]
    alignment: float | None
    weights: Float[np.ndarray, " k"] | None

    @property
    def largest_step(self) -> float:
        """2/λ_1, beyond which gradient descent on ½ Σ r² diverges."""
        return float(2 / self.eigenvalues[0])

    def __str__(self) -> str:
        e = self.eigenvalues
        lines = [
            f"{self.rows} x {self.rows} tangent kernel of rank {self.rank}, trace {self.trace:.4g}",
            f"rates from {e[0]:.4g} down to {e[-1]:.4g}, condition number {self.condition_number:.3g}, "
            f"steps below {self.largest_step:.3g}",
            "share of the trace: " + ", ".join(f"{path} {share:.1%}" for path, share in self.shares.items()),
        ]
        if self.alignment is not None and self.weights is not None:
            half = int(np.searchsorted(np.cumsum(self.weights), 0.5)) + 1
            lines.append(f"alignment with the labels {self.alignment:.3f}; half of them lies in the first {half} modes")
        return "\n".join(lines)


def describe_ntk(
    apply: Apply, params: PyTree, x: Any, y: Any = None, *, budget: float = BUDGET, method: Method = "auto"
) -> NTKReport:
    """Spectrum, condition number, trace, layer shares, feature rank, alignment with the labels y, mode rates.

    >>> import jax.numpy as jnp
    >>> report = describe_ntk(lambda w, x: x @ w, jnp.ones(2), jnp.array([[2.0, 0.0], [0.0, 1.0]]), [1.0, 0.0])
    >>> report.eigenvalues.tolist(), report.condition_number, report.rank, round(report.alignment, 4)
    ([4.0, 1.0], 4.0, 2, 0.9701)
    """
    parts = layer_ntks(apply, params, x, budget=budget, method=method)
    K = np.asarray(sum(parts.values()))
    labels = None if y is None else np.asarray(y, K.dtype).reshape(-1)
    if labels is not None and labels.size != len(K):
        raise ValueError(f"y has {labels.size} numbers and the kernel {len(K)} rows; give one for each output.")
    values, vectors = np.linalg.eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    trace = float(np.trace(K))
    floor = len(K) * np.finfo(K.dtype).eps * max(float(values[0]), 0.0)
    smallest = float(values[-1])
    weights = None
    if labels is not None:
        weights = (vectors.T @ labels) ** 2 / max(float(labels @ labels), np.finfo(float).tiny)
    return NTKReport(
        values,
        trace,
        float(values[0]) / smallest if smallest > floor else float("inf"),
        int(np.sum(values > floor)),
        len(K),
        {path: float(np.trace(np.asarray(part))) / trace if trace > 0 else 0.0 for path, part in parts.items()},
        None if labels is None else alignment(K, labels),
        weights,
    )


def ntk_eigenvalues(apply: Apply, params: PyTree, x: Any, largest: int = 6) -> Float[np.ndarray, " k"]:
    """The largest eigenvalues of K, in descending order, from products alone: no matrix, memory O(P).

    >>> import jax.numpy as jnp
    >>> ntk_eigenvalues(lambda w, x: w * x, jnp.ones(4), jnp.diag(jnp.arange(1.0, 5.0)), 2).round(3).tolist()
    [16.0, 9.0]
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    _, x, shape = checked_function(apply, params, x)
    rows = len(x) * math.prod(shape)
    if not 1 <= largest < rows:
        raise ValueError(f"ntk_eigenvalues got largest={largest} of {rows} eigenvalues; ask for 1 to {rows - 1}.")
    dtype = np.result_type(*(leaf.dtype for leaf in jax.tree.leaves(params)))
    operator = LinearOperator(
        (rows, rows), lambda v: np.asarray(ntk_product(apply, params, x, None, v.ravel())), dtype=dtype
    )
    values = eigsh(operator, k=largest, which="LA", return_eigenvectors=False, v0=np.ones(rows, dtype))
    return np.sort(values)[::-1]
