"""The Hessian of a mean loss as an operator."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions

from ..kinks import warn_of_kinks
from .operator import Operator, split_parameters
from .row_losses import check_batch, check_loss, scale_of
from .streaming import batch_mean, rows_in_memory


class Hessian(Operator):
    """∇²l for l(w) = (1/n) Σᵢ ℓᵢ(w), times n where `scale` is n."""

    loss: Callable
    params: PyTree
    fixed: PyTree
    data: tuple
    scale: float
    rows: int = eqx.field(static=True)
    batch: int | None = eqx.field(static=True)

    def tree_product(self, v: PyTree) -> PyTree:
        """Forward over reverse: the derivative of the gradient along v (Pearlmutter 1994)."""

        def term(*rows: Any) -> PyTree:
            return jax.jvp(lambda p: self.gradient(p, *rows), (self.params,), (v,))[1]

        return jax.tree.map(lambda a: self.scale * a, batch_mean(term, self.data, self.rows, self.batch))

    def gradient(self, params: PyTree, *rows: Any) -> PyTree:
        """The gradient of the mean loss of some rows."""
        return jax.grad(lambda p: jnp.mean(self.loss(eqx.combine(p, self.fixed), *rows)))(params)

    def linearised(self) -> "LinearisedHessian":
        """The same operator with the linearised gradient of all rows kept in memory: products in about 3/4 of the time.

        It takes several times the memory of one gradient of all rows, whatever `batch` is, and has no blocks.
        """
        return LinearisedHessian(self.params, self.fixed, _linearised(self), self.scale)


class LinearisedHessian(Operator):
    """A Hessian whose gradient has been linearised once; `push` holds what that takes."""

    params: PyTree
    fixed: PyTree
    push: Callable[[PyTree], PyTree]
    scale: float

    def tree_product(self, v: PyTree) -> PyTree:
        return jax.tree.map(lambda a: self.scale * a, self.push(v))

    def block(self, name: str) -> Operator:
        raise ValueError(f"A held Hessian has no blocks; take the block {name!r} of the Hessian first and hold that.")


@eqx.filter_jit
def _linearised(h: Hessian) -> Callable[[PyTree], PyTree]:
    def gradient(params: PyTree) -> PyTree:
        return batch_mean(lambda *rows: h.gradient(params, *rows), h.data, h.rows, h.batch)

    return jax.linearize(gradient, h.params)[1]


def hessian(
    loss: Callable[..., Any], params: PyTree, *data: PyTree, batch: int | None = None, reduction: str = "mean"
) -> Hessian:
    """The Hessian of loss(params, *data) with respect to the floating-point arrays of `params`.

    `loss` gives one loss per row of the data, or their mean as one number. The operator belongs to the MEAN over rows,
    with `reduction="sum"` to the sum; no factor is added, so ½‖f − y‖² has the Hessian JᵀJ + ..., ‖f − y‖² twice that.
    With `batch`, rows are taken so many at a time: the loss must then be a mean over rows in which no row depends on
    another (no batch normalisation); a penalty on the parameters may be part of it. Data may lie in a file
    (`np.memmap`). A loss with a kink exactly at `params` (a ReLU whose input is 0) has no Hessian: a warning says so.

    >>> h = hessian(lambda w: w[0] ** 2 + 3 * w[1] ** 2, jnp.ones(2))
    >>> h(jnp.array([1.0, 1.0])).tolist()
    [2.0, 6.0]
    """
    moved, fixed = split_parameters(params)
    held, rows = rows_in_memory(data)
    check_batch(batch)
    check_loss(loss, params, held, rows, batch)
    warn_of_kinks(loss, params, held, rows, batch)
    return Hessian(CanonicalConvolutions(loss), moved, fixed, held, scale_of(reduction, rows), rows, batch)
