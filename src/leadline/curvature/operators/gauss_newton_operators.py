"""Gauss-Newton and Fisher matrices as operators: (1/n) Σᵢ Jᵢᵀ Mᵢ Jᵢ with the Jacobian J of a model's outputs."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions

from ..kinks import warn_of_kinks
from .operator import Operator, split_parameters
from .row_losses import batch_shapes, check_batch, scale_of
from .streaming import batch_mean, rows_in_memory


class GaussNewton(Operator):
    """(1/n) Σᵢ Jᵢᵀ Mᵢ Jᵢ, times n where `scale` is n; metric(outputs, tangents, *targets) is (1/m) Mᵢ tᵢ per row."""

    apply: Callable
    metric: Callable
    params: PyTree
    fixed: PyTree
    data: tuple
    scale: float | Array
    rows: int = eqx.field(static=True)
    batch: int | None = eqx.field(static=True)

    def tree_product(self, v: PyTree) -> PyTree:
        """One pass forwards along v and one backwards (Schraudolph 2002)."""

        def term(inputs: PyTree, *targets: PyTree) -> PyTree:
            outputs, push = jax.linearize(lambda p: self.apply(eqx.combine(p, self.fixed), inputs), self.params)
            (pulled,) = jax.linear_transpose(push, self.params)(self.metric(outputs, push(v), *targets))
            return pulled

        return jax.tree.map(lambda a: self.scale * a, batch_mean(term, self.data, self.rows, self.batch))


class CriterionMetric(eqx.Module):
    """The Hessian of the mean criterion in the outputs, row by row."""

    criterion: Callable

    def __call__(self, outputs: Array, tangents: Array, targets: PyTree) -> Array:
        slope = jax.grad(lambda f: jnp.mean(self.criterion(f, targets)))
        return jax.jvp(slope, (outputs,), (tangents,))[1]


def categorical_metric(outputs: Array, tangents: Array) -> Array:
    """(diag p − p pᵀ) t / m with p the softmax of the outputs."""
    p = jax.nn.softmax(outputs)
    return p * (tangents - jnp.sum(p * tangents, axis=-1, keepdims=True)) / len(outputs)


def gaussian_metric(outputs: Array, tangents: Array) -> Array:
    """t / m, the metric of outputs with independent errors of deviation 1."""
    return tangents / len(outputs)


def gauss_newton(
    apply: Callable[[PyTree, Any], Array],
    criterion: Callable[[Array, Any], Array],
    params: PyTree,
    inputs: PyTree,
    targets: PyTree,
    *,
    batch: int | None = None,
    reduction: str = "mean",
) -> GaussNewton:
    """(1/n) Σᵢ Jᵢᵀ ℓ″(fᵢ) Jᵢ: the Hessian of the mean criterion(apply(params, inputs), targets) without f's curvature.

    `apply` gives the outputs of all rows, `criterion` their mean loss or one per row. Labels enter through ℓ″ only,
    which for cross-entropy and squared errors does not depend on them. Equals the Hessian for a model linear in its
    parameters and where all residuals vanish. ½‖f − y‖² has ℓ″ = I, ‖f − y‖² has 2I. Otherwise as in `hessian`.

    >>> f = lambda w, x: x @ w[:, None]
    >>> half = lambda f, y: 0.5 * jnp.sum((f - y) ** 2, axis=1)
    >>> x = jnp.array([[1.0, 0.0], [0.0, 2.0]])
    >>> gauss_newton(f, half, jnp.ones(2), x, jnp.zeros((2, 1)))(jnp.ones(2)).tolist()
    [0.5, 2.0]
    """
    operator = _build(apply, CriterionMetric(criterion), params, (inputs, targets), batch, reduction)

    def loss(p: PyTree, x: PyTree, y: PyTree) -> Array:
        return criterion(apply(p, x), y)

    warn_of_kinks(loss, params, operator.data, operator.rows, batch)
    return operator


def fisher(
    apply: Callable[[PyTree, Any], Array],
    params: PyTree,
    inputs: PyTree,
    *,
    likelihood: str = "categorical",
    deviation: float = 1.0,
    batch: int | None = None,
    reduction: str = "mean",
) -> GaussNewton:
    """The Fisher information per sample, (1/n) Σᵢ E_y[∇log p(y|xᵢ) ∇log p(y|xᵢ)ᵀ] with y from the MODEL, not the data.

    Categorical: outputs are logits and Mᵢ = diag p − p pᵀ. Gaussian: y = f + N(0, deviation²) and Mᵢ = I/deviation².
    Exact, no labels are drawn; it is the Gauss-Newton matrix of the negative log likelihood (Martens 2020).

    >>> fisher(lambda w, x: x[:, None] * w, jnp.ones(1), jnp.array([1.0, 3.0]), likelihood="gaussian").dense().tolist()
    [[5.0]]
    """
    if likelihood not in ("categorical", "gaussian"):
        raise ValueError(f"likelihood is {likelihood!r}; give 'categorical' or 'gaussian'.")
    if not deviation > 0:
        raise ValueError(f"deviation is {deviation}; give a positive standard deviation of the errors.")
    metric = categorical_metric if likelihood == "categorical" else gaussian_metric
    operator = _build(apply, metric, params, (inputs,), batch, reduction)
    outputs = eqx.filter_eval_shape(apply, params, *batch_shapes(operator.data, operator.rows))
    if likelihood == "categorical" and (outputs.ndim < 2 or outputs.shape[-1] < 2):
        raise ValueError(
            f"The outputs have shape {outputs.shape}; a categorical Fisher needs logits of two classes or more."
        )
    warn_of_kinks(apply, params, operator.data, operator.rows, batch)
    if likelihood == "gaussian":
        return eqx.tree_at(lambda op: op.scale, operator, operator.scale / deviation**2)
    return operator


def _build(
    apply: Callable, metric: Callable, params: PyTree, data: tuple, batch: int | None, reduction: str
) -> GaussNewton:
    moved, fixed = split_parameters(params)
    held, rows = rows_in_memory(data)
    check_batch(batch)
    outputs = eqx.filter_eval_shape(apply, params, batch_shapes(held[0], rows))
    if not hasattr(outputs, "shape") or outputs.ndim < 1 or outputs.shape[0] != rows:
        found = getattr(outputs, "shape", type(outputs).__name__)
        raise ValueError(f"The model gives {found} for {rows} rows; it must give one row of outputs per row of inputs.")
    return GaussNewton(CanonicalConvolutions(apply), metric, moved, fixed, held, scale_of(reduction, rows), rows, batch)
