"""Second moments of the per-example gradients as operators: empirical Fisher and gradient covariance."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from leadline._checks import require_numbers
from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions

from ..kinks import warn_of_kinks
from .operator import Operator, split_parameters
from .row_losses import check_batch, check_loss, row_losses, scale_of
from .streaming import batch_mean, rows_in_memory


class GradientMoments(Operator):
    """(1/n) Σᵢ gᵢ(gᵢ − c)ᵀ with gᵢ = ∇ℓᵢ, times n where `scale` is n; the centre c is None or the mean gradient ḡ."""

    loss: Callable
    params: PyTree
    fixed: PyTree
    centre: PyTree
    data: tuple
    scale: float
    rows: int = eqx.field(static=True)
    batch: int | None = eqx.field(static=True)

    def tree_product(self, v: PyTree) -> PyTree:
        """Jᵀ(J v − c·v)/n with the Jacobian J of the losses: one pass forwards, one backwards, no gᵢ is formed."""
        middle = 0.0 if self.centre is None else _inner(self.centre, v, self.params)

        def term(*rows: Any) -> PyTree:
            def losses(p: PyTree) -> Array:
                return row_losses(self.loss, eqx.combine(p, self.fixed), rows)

            values, push = jax.linearize(losses, self.params)
            (pulled,) = jax.linear_transpose(push, self.params)((push(v) - middle) / len(values))
            return pulled

        return jax.tree.map(lambda a: self.scale * a, batch_mean(term, self.data, self.rows, self.batch))


def empirical_fisher(
    loss: Callable[..., Any], params: PyTree, *data: PyTree, batch: int | None = None, reduction: str = "mean"
) -> GradientMoments:
    """(1/n) Σᵢ gᵢgᵢᵀ with the gradients gᵢ of the losses at the labels of the DATA; not the Fisher information.

    It vanishes with the gradients, which the Fisher information does not (Kunstner, Balles and Hennig 2019). `loss`
    gives one loss per row, or their mean, which is then evaluated at single rows.

    >>> loss = lambda w, x, y: 0.5 * (x @ w - y) ** 2
    >>> empirical_fisher(loss, jnp.zeros(2), jnp.eye(2), jnp.array([1.0, 2.0])).dense().tolist()
    [[0.5, 0.0], [0.0, 2.0]]
    """
    return _build(loss, params, data, batch, reduction, centred=False)


def gradient_covariance(
    loss: Callable[..., Any], params: PyTree, *data: PyTree, batch: int | None = None, reduction: str = "mean"
) -> GradientMoments:
    """(1/n) Σᵢ (gᵢ − ḡ)(gᵢ − ḡ)ᵀ (divided by n, not n − 1): the covariance of the gradient of one row drawn at random.

    That of b rows drawn with replacement has it divided by b.

    >>> loss = lambda w, x, y: 0.5 * (x @ w - y) ** 2
    >>> gradient_covariance(loss, jnp.zeros(2), jnp.eye(2), jnp.array([1.0, 2.0])).dense().tolist()
    [[0.25, -0.5], [-0.5, 1.0]]
    """
    require_numbers("gradient_covariance", params=params, data=rows_in_memory(data)[0])
    return _build(loss, params, data, batch, reduction, centred=True)


def _build(
    loss: Callable, params: PyTree, data: tuple, batch: int | None, reduction: str, *, centred: bool
) -> GradientMoments:
    moved, fixed = split_parameters(params)
    held, rows = rows_in_memory(data)
    if not data:
        raise ValueError("There are no data; moments of per-example gradients need rows to differentiate one by one.")
    check_batch(batch)
    check_loss(loss, params, held, rows, batch)
    warn_of_kinks(loss, params, held, rows, batch)
    loss = CanonicalConvolutions(loss)
    centre = _mean_gradient(loss, moved, fixed, held, rows, batch) if centred else None
    return GradientMoments(loss, moved, fixed, centre, held, scale_of(reduction, rows), rows, batch)


@eqx.filter_jit
def _mean_gradient(loss: Callable, moved: PyTree, fixed: PyTree, data: tuple, rows: int, batch: int | None) -> PyTree:
    def term(*some: Any) -> PyTree:
        return jax.grad(lambda p: jnp.mean(row_losses(loss, eqx.combine(p, fixed), some)))(moved)

    return batch_mean(term, data, rows, batch)


def _inner(centre: PyTree, v: PyTree, params: PyTree) -> Array:
    """c·v over the arrays that are parameters: in a block the others are held fixed."""
    chosen = jax.tree.map(lambda p, c: None if p is None else c, params, centre, is_leaf=lambda leaf: leaf is None)
    parts = zip(jax.tree.leaves(chosen), jax.tree.leaves(v), strict=True)
    return jnp.asarray(sum(jnp.vdot(a, b) for a, b in parts))
