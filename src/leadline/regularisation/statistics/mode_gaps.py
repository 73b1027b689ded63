"""What a network with batch normalisation says with the statistics of a batch, and with its buffers."""

from collections.abc import Hashable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree, Shaped

from leadline._checks import require

from ..layers.modal_calls import batch_axis
from ..layers.running_statistics import batch_norms


class ModeGap(NamedTuple):
    """Outputs on the same rows, dropout off in both."""

    by_batch: Float[Array, "n ..."]  #: normalised by the statistics of each batch, as in training
    by_buffers: Float[Array, "n ..."]  #: normalised by the running statistics, as in use

    @property
    def distance(self) -> Float[Array, ""]:
        """‖by_batch − by_buffers‖ over ‖by_buffers‖."""
        return jnp.linalg.norm(self.by_batch - self.by_buffers) / jnp.linalg.norm(self.by_buffers)


def mode_gap(net: PyTree, state: eqx.nn.State, x: Shaped[Array, "n ..."], *, batch: int) -> ModeGap:
    """The outputs of `net(x, state) -> (output, state)` by batches of `batch` rows, and by its buffers.

    Rows that do not fill a last batch are left out of both. A distance that does not fall with `batch` says that the
    buffers are not those of these rows: `recalibrate` gives them.

    >>> from leadline.regularisation import BatchNorm
    >>> net, state = eqx.nn.make_with_state(BatchNorm)(1)
    >>> gap = mode_gap(net, state, jnp.array([[1.0], [3.0]]), batch=2)
    >>> gap.by_batch.round(2).ravel().tolist(), gap.by_buffers.round(2).ravel().tolist()
    ([-1.0, 1.0], [1.0, 3.0])
    """
    require("mode_gap", x=x)
    if not 1 <= batch <= len(x):
        raise ValueError(f"mode_gap got batch={batch} for {len(x)} rows; choose 1 to that number.")
    quiet = eqx.nn.inference_mode(net)
    own = jax.tree.map(
        lambda node: eqx.nn.inference_mode(node, False) if isinstance(node, eqx.nn.BatchNorm) else node,
        quiet,
        is_leaf=lambda node: isinstance(node, eqx.nn.BatchNorm),
    )
    if not batch_norms(net):
        raise ValueError("mode_gap got a network without eqx.nn.BatchNorm layers; its outputs do not see the batch.")
    whole = len(x) // batch
    used = x[: whole * batch].reshape(whole, batch, *x.shape[1:])

    by_batch, by_buffers = _outputs(own, quiet, state, used, batch_axis(net))
    return ModeGap(*(out.reshape(whole * batch, *out.shape[2:]) for out in (by_batch, by_buffers)))


@eqx.filter_jit
def _outputs(own: PyTree, quiet: PyTree, state: eqx.nn.State, used: Array, name: Hashable) -> tuple[Array, Array]:
    """The outputs of both networks, batch by batch."""

    def of(network: PyTree) -> Array:
        run = jax.vmap(network, in_axes=(0, None), out_axes=(0, None), axis_name=name)
        return jax.lax.map(lambda rows: run(rows, state)[0], used)

    return of(own), of(quiet)
