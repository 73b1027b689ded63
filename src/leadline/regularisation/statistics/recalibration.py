"""Recalibration: the buffers of batch normalisation recomputed for the weights as they are."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, PRNGKeyArray, PyTree, Shaped

from leadline._checks import require

from ..layers.modal_calls import batch_axis
from ..layers.running_statistics import batch_norms
from .buffers import Buffers, batch_norm_buffers, set_batch_norm_buffers
from .running_averages import pooled_moments


def recalibrate(
    net: PyTree, state: eqx.nn.State, x: Shaped[Array, "n ..."], *, batch: int | None = None
) -> eqx.nn.State:
    """The state whose buffers are the statistics of the rows `x`, with weights frozen and dropout off.

    `net(x, state) -> (output, state)` of one row is any Equinox network with `eqx.nn.BatchNorm` layers. They normalise
    by the rows' own statistics, as in training, while everything else is in inference mode; running in training mode
    as a whole would keep dropout on. Use training inputs after weights were averaged or dropout shifted a variance
    (Izmailov et al. 2018), and inputs of the target domain after a shift (Li et al. 2016).

    All rows go through at once, or `batch` at a time: then as many sweeps as there are layers, each of which
    makes the buffers of one more layer those of all rows. The result is the same to rounding.

    >>> make = eqx.nn.make_with_state(eqx.nn.BatchNorm)
    >>> net, state = make(1, "batch", mode="batch")
    >>> state = recalibrate(net, state, jnp.array([[1.0], [3.0], [5.0]]))
    >>> net(jnp.array([3.0]), state, inference=True)[0].tolist()
    [0.0]
    """
    require("recalibrate", x=x)
    layers = batch_norms(net)
    if not layers:
        raise ValueError("recalibrate got a network without eqx.nn.BatchNorm layers; it has no buffers.")
    if batch is not None and not 1 <= batch <= len(x):
        raise ValueError(f"recalibrate got batch={batch} for {len(x)} rows; choose 1 to that number.")
    if batch is None or batch == len(x):
        return set_batch_norm_buffers(net, state, _measured(net, state, x, None))
    for _ in layers:
        used = batch_norm_buffers(net, state)
        parts = [x[start : start + batch] for start in range(0, len(x), batch)]
        found = [_measured(net, state, part, used) for part in parts]
        sizes = jnp.array([len(part) for part in parts], jnp.result_type(float))
        pooled = {
            name: pooled_moments(*(jnp.stack(each) for each in zip(*(f[name] for f in found), strict=True)), sizes)
            for name in layers
        }
        state = set_batch_norm_buffers(net, state, pooled)
    return state


class _Measuring(eqx.nn.BatchNorm):
    """In place of a batch normalisation: puts the batch's mean and variance into its state; normalises by them too,
    or by `used` where that is given."""

    used: Buffers | None

    def __init__(self, layer: eqx.nn.BatchNorm, used: Buffers | None):
        for field in dataclasses.fields(eqx.nn.BatchNorm):
            setattr(self, field.name, getattr(layer, field.name))
        self.used = used

    def __call__(
        self, x: Array, state: eqx.nn.State, *, key: PRNGKeyArray | None = None, inference: bool | None = None
    ) -> tuple[Array, eqx.nn.State]:
        space = tuple(range(1, x.ndim))
        mean = lax.pmean(jnp.mean(x, space), self.axis_name)
        variance = lax.pmean(jnp.mean((x - _along(mean, x.ndim)) ** 2, space), self.axis_name)
        index = _index(self)
        old = state.get(index)
        state = state.set(index, (mean.astype(old[0].dtype), variance.astype(old[1].dtype)))
        centre, spread = (mean, variance) if self.used is None else self.used
        out = (x - _along(centre, x.ndim)) / jnp.sqrt(_along(spread, x.ndim) + self.eps)
        if self.channelwise_affine:
            out = out * _along(self.weight, x.ndim) + _along(self.bias, x.ndim)
        return out, state


@eqx.filter_jit
def _measured(net: PyTree, state: eqx.nn.State, x: Array, used: dict[str, Buffers] | None) -> dict[str, Buffers]:
    """The mean and variance of what goes into each batch normalisation, over the rows and the positions."""
    layers = batch_norms(net)
    given = iter([None] * len(layers) if used is None else used.values())
    swapped = jax.tree.map(
        lambda node: _Measuring(node, next(given)) if _is_batch_norm(node) else node, net, is_leaf=_is_batch_norm
    )
    mapped: Any = eqx.nn.inference_mode(swapped)
    _, after = jax.vmap(mapped, in_axes=(0, None), out_axes=(0, None), axis_name=batch_axis(net))(x, state)
    return {name: Buffers(*after.get(_index(layer))) for name, layer in layers.items()}


def _is_batch_norm(node: Any) -> bool:
    return isinstance(node, eqx.nn.BatchNorm)


def _index(layer: eqx.nn.BatchNorm) -> Any:
    """Where its running statistics are in the state."""
    return layer.ema_state_index if layer.mode == "ema" else layer.batch_state_index


def _along(values: Array | None, ndim: int) -> Array:
    assert values is not None
    return values.reshape(-1, *[1] * (ndim - 1))
