"""The buffers of batch normalisation in any Equinox network: read, written, and in PyTorch's convention."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PyTree

from ..layers.normalisation import BatchNorm
from ..layers.running_statistics import batch_norms


class Buffers(NamedTuple):
    """The statistics that one batch normalisation uses in inference mode."""

    mean: Float[Array, " channels"]
    variance: Float[Array, " channels"]


def batch_norm_buffers(net: PyTree, state: eqx.nn.State) -> dict[str, Buffers]:
    """For each batch normalisation the mean and variance that inference uses, whichever of Equinox' modes it has.

    In mode "batch" Equinox keeps undivided sums and a counter; here they are divided as inference does.

    >>> net, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(2, "batch", mode="batch")
    >>> batch_norm_buffers(net, state)[""].variance.tolist()
    [1.0, 1.0]
    """
    return {name: layer_buffers(layer, state) for name, layer in batch_norms(net).items()}


def set_batch_norm_buffers(net: PyTree, state: eqx.nn.State, buffers: Mapping[str, Sequence[Array]]) -> eqx.nn.State:
    """The state with other means and variances, under the names that `batch_norm_buffers` gives.

    They are what inference uses from now on, and training goes on from them: the layer counts as warmed up.

    >>> net, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(1, "batch", mode="batch")
    >>> state = set_batch_norm_buffers(net, state, {"": (jnp.array([2.0]), jnp.array([9.0]))})
    >>> net(jnp.array([5.0]), state, inference=True)[0].round(3).tolist()
    [1.0]
    """
    layers = batch_norms(net)
    if set(buffers) != set(layers):
        raise ValueError(
            f"set_batch_norm_buffers got buffers for {sorted(buffers)}, and the network has {sorted(layers)}; give "
            "mean and variance for each of these."
        )
    state = jax.tree.map(lambda leaf: leaf, state)  # Equinox forbids the use of a state that was set: this is another
    for name, (mean, variance) in buffers.items():
        layer = layers[name]
        if np.shape(mean) != (layer.input_size,) or np.shape(variance) != (layer.input_size,):
            raise ValueError(
                f"set_batch_norm_buffers got {np.shape(mean)} and {np.shape(variance)} for {name or 'the layer'}; give "
                f"a mean and a variance for each of its {layer.input_size} channels."
            )
        if not isinstance(variance, Tracer) and not bool(np.all(np.asarray(variance) >= 0)):
            raise ValueError(
                f"set_batch_norm_buffers got the variance {float(np.min(np.asarray(variance))):g} for "
                f"{name or 'the layer'}; give 0 or more."
            )
        state = _write(layer, state, mean, variance)
    return state


def torch_buffers(net: PyTree, state: eqx.nn.State, rows: int) -> dict[str, dict[str, Any]]:
    """The buffers as PyTorch's BatchNorm has them: momentum 1 − ρ, and the UNBIASED running variance σ² n/(n − 1).

    `rows` is n, how many values each statistic was taken of: the rows of a training batch, times the positions in an
    image. Equinox' running variance is the biased one, the variance that the layer divides by in training.

    >>> net, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(1, "batch", momentum=0.75, mode="batch")
    >>> torch_buffers(net, state, rows=5)[""]["momentum"], torch_buffers(net, state, rows=5)[""]["running_var"].tolist()
    (0.25, [1.25])
    """
    factor = _unbiased("torch_buffers", rows)
    decays = {name: layer.momentum for name, layer in batch_norms(net).items()}
    return {
        name: {"running_mean": mean, "running_var": variance * factor, "momentum": 1 - decays[name]}
        for name, (mean, variance) in batch_norm_buffers(net, state).items()
    }


def from_torch_buffers(
    net: PyTree, state: eqx.nn.State, buffers: Mapping[str, Mapping[str, Any]], rows: int
) -> eqx.nn.State:
    """The state with PyTorch's buffers (`running_mean`, `running_var`), made biased again by (n − 1)/n of n = `rows`.

    PyTorch itself uses the unbiased variance in inference; for its very outputs pass a large `rows`.

    >>> net, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(1, "batch", mode="batch")
    >>> theirs = {"": {"running_mean": np.zeros(1), "running_var": np.array([1.25])}}
    >>> batch_norm_buffers(net, from_torch_buffers(net, state, theirs, rows=5))[""].variance.tolist()
    [1.0]
    """
    factor = _unbiased("from_torch_buffers", rows)
    given = {
        name: (jnp.asarray(own["running_mean"]), jnp.asarray(own["running_var"]) / factor)
        for name, own in buffers.items()
    }
    return set_batch_norm_buffers(net, state, given)


def _unbiased(function: str, rows: int) -> float:
    if rows < 2:
        raise ValueError(f"{function} got rows = {rows}; an unbiased variance needs at least 2 values.")
    return rows / (rows - 1)


def layer_buffers(layer: eqx.nn.BatchNorm, state: eqx.nn.State) -> Buffers:
    """What one batch normalisation divides by in inference mode.

    >>> layer, state = eqx.nn.make_with_state(BatchNorm)(2)
    >>> layer_buffers(layer, state).mean.tolist()
    [0.0, 0.0]
    """
    if isinstance(layer, BatchNorm):
        return Buffers(*layer.statistics(state))
    if layer.mode == "ema":
        return Buffers(*state.get(layer.ema_state_index))  # type: ignore[arg-type]
    count = state.get(layer.batch_counter)  # type: ignore[arg-type]
    share = jnp.where(count == 0, 1, 1 - layer.momentum**count)
    return Buffers(*(kept / share for kept in state.get(layer.batch_state_index)))  # type: ignore[arg-type]


def _write(layer: eqx.nn.BatchNorm, state: eqx.nn.State, mean: Array, variance: Array) -> eqx.nn.State:
    index = layer.ema_state_index if layer.mode == "ema" else layer.batch_state_index
    kept = tuple(jnp.asarray(new, old.dtype) for new, old in zip((mean, variance), state.get(index), strict=True))  # type: ignore[arg-type]
    state = state.set(index, kept)  # type: ignore[arg-type]
    if layer.mode == "ema":
        return state.set(layer.ema_first_time_index, jnp.array(False))  # type: ignore[arg-type]
    # Inference divides by 1 − ρᶜ: at this count that is 1 in double precision, now and after further training.
    count = 1 if layer.momentum == 0 else math.ceil(-40 / math.log(layer.momentum))
    return state.set(layer.batch_counter, jnp.full_like(state.get(layer.batch_counter), count))  # type: ignore[arg-type]
