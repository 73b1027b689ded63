"""A loss with a penalty: μ multiplies beside a mean or a sum over rows, and says which."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
from jaxtyping import Array, Float, PyTree

from leadline._checks import require_counts

Convention = Literal["mean", "sum"]


class Penalised(eqx.Module):
    """(1/n) Σᵢ lᵢ(θ) + μ Ω(θ), or with `convention="sum"` Σᵢ lᵢ(θ) + μ Ω(θ); μ_sum = n μ_mean has the same minimiser.

    `loss(params, *data)` is the MEAN over the rows of the data, whose number n is that of the first axis of their first
    array. `penalty` is any function of the parameters: `SquaredNorm()`, say, which leaves biases alone. Call it as the
    loss it is; `training.minimise` and `jax.grad` take it.

    >>> import jax.numpy as jnp
    >>> from leadline.regularisation import SquaredNorm, everything
    >>> loss = lambda w, y: jnp.mean((w - y) ** 2)
    >>> ys = jnp.array([1.0, 3.0])
    >>> float(Penalised(loss, SquaredNorm(everything), 0.5)(jnp.array(2.0), ys))
    2.0
    >>> float(Penalised(loss, SquaredNorm(everything), 0.5, "sum")(jnp.array(2.0), ys))
    3.0
    """

    loss: Callable[..., Float[Array, ""]]
    penalty: Callable[[PyTree], Float[Array, ""]]
    strength: float | Float[Array, ""]
    convention: Convention = eqx.field(static=True, default="mean")

    def __check_init__(self) -> None:
        if self.convention not in ("mean", "sum"):
            raise ValueError(f"Penalised got convention {self.convention!r}; give 'mean' or 'sum'.")

    def __call__(self, params: PyTree, *data: PyTree) -> Float[Array, ""]:
        value = self.loss(params, *data)
        return self._rows(data) * value + self.strength * self.penalty(params)

    def _rows(self, data: tuple[PyTree, ...]) -> int:
        """By how much the mean is multiplied."""
        if self.convention == "mean":
            return 1
        arrays = jax.tree.leaves(data)
        if not arrays or not arrays[0].ndim:
            raise ValueError(
                'Penalised with convention "sum" got no data whose rows it could count; call it with the data of the '
                'loss, or take the convention "mean".'
            )
        return len(arrays[0])


def convert_strength(strength: float | Array, rows: int, *, to: Convention) -> float | Array:
    """μ of a mean loss as that of the sum over n rows, nμ, or back, μ/n: the minimiser stays the same.

    >>> convert_strength(0.01, 200, to="sum"), convert_strength(2.0, 200, to="mean")
    (2.0, 0.01)
    """
    require_counts("convert_strength", rows=rows)
    if to not in ("mean", "sum"):
        raise ValueError(f"convert_strength got to = {to!r}; give 'mean' or 'sum'.")
    return strength * rows if to == "sum" else strength / rows
