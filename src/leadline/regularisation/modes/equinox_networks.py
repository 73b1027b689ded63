"""Equinox networks as the auditor asks them: modes are the flags `inference`, statistics are in the state."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from leadline.frameworks.checks import inference_options

from ..layers.modal_calls import modal_outputs
from ..layers.running_statistics import batch_norms, kept
from ..statistics.buffers import layer_buffers
from .modal_networks import BATCH_NORM, DROPOUT, ModalLayer, ModalNetwork, Mode, Pass, Statistics, batch_statistics


class EquinoxNetwork(ModalNetwork):
    """A module of one example, with its state where it has one."""

    def __init__(self, network: Any, state: eqx.nn.State | None):
        self.network, self.state = network, state
        self.layers = tuple(
            ModalLayer(name, BATCH_NORM if isinstance(layer, eqx.nn.BatchNorm) else DROPOUT, not layer.inference)
            for name, layer in _flagged(network).items()
            if isinstance(layer, eqx.nn.BatchNorm) or getattr(layer, "p", 0) != 0
        )

    def in_use(self) -> "EquinoxNetwork":
        return EquinoxNetwork(_switched(self.network, True), self.state)

    def run(self, inputs: np.ndarray, mode: Mode, draw: int = 0, without: tuple[str, ...] = ()) -> Pass:
        network = self.network if mode == "given" else _switched(self.network, mode == "use")
        for name in without:
            network = _replaced(network, name)
        options = {name: flag == (mode != "training") for name, flag in inference_options(network.__call__).items()}
        options = {name: flag for name, flag in options.items() if name not in ("inference", "deterministic")}
        outputs, after = _called(network, _as_parameters(network, inputs), jax.random.key(draw), self.state, options)
        norms = {} if self.state is None else batch_norms(network)
        return Pass(np.asarray(outputs), {n: _seen(layer, self.state, after) for n, layer in norms.items()})

    def running(self) -> dict[str, Statistics]:
        if self.state is None:
            return {}
        return {name: _used(layer, self.state) for name, layer in batch_norms(self.network).items()}


@eqx.filter_jit
def _called(network: Any, inputs: Any, key: Any, state: PyTree, options: dict[str, bool]) -> tuple[Any, PyTree]:
    return modal_outputs(network, inputs, key, state, **options)


def _as_parameters(network: PyTree, inputs: np.ndarray) -> jax.Array:
    """The inputs, if they are not integers, in the precision of the network: its state takes no other."""
    x = jnp.asarray(inputs)
    kinds = [leaf.dtype for leaf in jax.tree.leaves(network) if eqx.is_inexact_array(leaf)]
    return x.astype(jnp.result_type(*kinds)) if kinds and jnp.issubdtype(x.dtype, jnp.floating) else x


def _flagged(network: PyTree) -> dict[str, Any]:
    """The layers with a flag `inference`, by their places."""

    def has_flag(node: Any) -> bool:
        return isinstance(node, eqx.Module) and hasattr(node, "inference") and node is not network

    found = jax.tree_util.tree_leaves_with_path(network, is_leaf=has_flag)
    named = {jax.tree_util.keystr(path).lstrip("."): node for path, node in found if has_flag(node)}
    return named or ({type(network).__name__: network} if hasattr(network, "inference") else {})


def _switched(network: PyTree, use: bool) -> PyTree:
    return eqx.nn.inference_mode(network, value=use) if _flagged(network) else network


def _replaced(network: PyTree, name: str) -> PyTree:
    """The network with the dropout layer of that name at rate 0."""
    layer = _flagged(network)[name]
    return jax.tree.map(
        lambda node: eqx.tree_at(lambda d: d.p, node, 0.0) if node is layer else node,
        network,
        is_leaf=lambda node: node is layer,
    )


def _seen(layer: eqx.nn.BatchNorm, before: Any, after: Any) -> Statistics | None:
    """The statistics of the batch between two states."""
    old, new = _kept(layer, before), _kept(layer, after)
    if layer.mode == "ema" and bool(kept(before, layer.ema_first_time_index)):
        return None if np.array_equal(old.mean, new.mean) else new
    return batch_statistics(old, new, layer.momentum)


def _kept(layer: eqx.nn.BatchNorm, state: eqx.nn.State) -> Statistics:
    """The averages as the state has them."""
    index = layer.ema_state_index if layer.mode == "ema" else layer.batch_state_index
    mean, variance = (np.asarray(part, float) for part in kept(state, index))
    return Statistics(mean, variance)


def _used(layer: eqx.nn.BatchNorm, state: eqx.nn.State) -> Statistics:
    """The statistics that the layer divides by in use."""
    mean, variance = (np.asarray(part, float) for part in layer_buffers(layer, state))
    if layer.mode == "ema":
        return Statistics(mean, variance, 0 if bool(kept(state, layer.ema_first_time_index)) else None)
    return Statistics(mean, variance, int(kept(state, layer.batch_counter)))
