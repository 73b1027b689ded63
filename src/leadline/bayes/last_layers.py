"""The last linear layer of any network: found by what it does to the outputs, with the features that it reads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PyTree

PROBED = 16  # rows on which the structure is tested
TOGETHER = 512  # rows whose features are computed at once


@dataclass(frozen=True)
class LastLayer:
    """outputs = Φ(x) weightsᵀ + rest: `weights` (k, d) has the bias as its last column where there is one.

    Φ(x) are the features as the layer sees them, scales included; `rest` is what the layer does not touch, mostly 0.
    """

    name: str
    bias_name: str
    weights: Float[np.ndarray, "k d"]
    apply: Callable
    params: PyTree
    places: tuple[int, int]  # positions of weight and bias among the leaves; -1 for no bias
    outputs_first: bool

    def features(self, inputs: Num[np.ndarray, "n ..."]) -> Float[np.ndarray, "n d"]:
        """Φ(x) of any number of rows."""
        parts = [
            _features(self.apply, self.params, self.places, self.outputs_first, jnp.asarray(inputs[i : i + TOGETHER]))
            for i in range(0, len(inputs), TOGETHER)
        ]
        return np.concatenate([np.asarray(part, float) for part in parts])


def find_last_layer(
    apply: Callable[[PyTree, Array], Float[Array, "n k"]],
    params: PyTree,
    inputs: Num[np.ndarray, "n ..."],
    *,
    up_to_constant: bool = False,
) -> LastLayer | None:
    """The weight matrix (k, d) or (d, k) through which every output is linear, each through a row of its own; or None.

    A candidate is accepted where a random change Δ of the matrix (and of the bias) changes the outputs by Δ Φ(x), on a
    few rows, Φ(x) being the derivative of the first output by its row: no matter how the network is written. With
    `up_to_constant` outputs are scores before a softmax, which a constant in each row does not change: a network that
    ends in log_softmax has a last layer then, Φ(x) being the derivative of the first output less the second.

    >>> f = lambda p, x: jnp.tanh(x @ p["in"]) @ p["out"]
    >>> p = {"in": jnp.ones((3, 2)), "out": jnp.ones((2, 4))}
    >>> layer = find_last_layer(f, p, np.ones((5, 3), p["in"].dtype))
    >>> layer.name, layer.weights.shape, layer.features(np.ones((5, 3), p["in"].dtype)).shape
    ("['out']", (4, 2), (5, 2))
    """
    x = jnp.asarray(inputs[:PROBED])
    paths = jax.tree_util.tree_leaves_with_path(params)
    names = [jax.tree_util.keystr(path).lstrip(".") or "parameters" for path, _ in paths]
    leaves = [leaf for _, leaf in paths]
    k = jax.eval_shape(apply, params, x).shape[1]
    biases = [i for i, leaf in enumerate(leaves) if leaf.shape == (k,)]
    if up_to_constant and k > 1:
        apply = LessMean(apply)
    for i in reversed(range(len(leaves))):
        if leaves[i].ndim != 2 or k not in leaves[i].shape:
            continue
        for first in (True, False):
            if leaves[i].shape[0 if first else 1] != k or not _fits(apply, params, (i, -1), first, x):
                continue
            bias = next((j for j in reversed(biases) if _fits(apply, params, (i, j), first, x)), -1)
            matrix = np.asarray(leaves[i], float)
            weights = matrix if first else matrix.T
            if bias >= 0:
                weights = np.column_stack([weights, np.asarray(leaves[bias], float)])
            return LastLayer(names[i], names[bias] if bias >= 0 else "", weights, apply, params, (i, bias), first)
    return None


class LessMean(eqx.Module):
    """Outputs less their mean in each row: what a softmax sees of them."""

    apply: Callable

    def __call__(self, params: PyTree, x: Array) -> Array:
        outputs = self.apply(params, x)
        return outputs - outputs.mean(axis=1, keepdims=True)


def _fits(apply: Callable, params: PyTree, places: tuple[int, int], first: bool, x: Array) -> bool:
    """Whether the outputs move by Δ Φ(x) for a random Δ as large as the weights."""
    leaves, tree = jax.tree.flatten(params)
    rng = np.random.default_rng(0)
    moved, deltas = list(leaves), []
    for place in places:
        if place < 0:
            continue
        leaf = np.asarray(leaves[place], float)
        scale = max(np.sqrt(np.mean(leaf**2)), 0.1)
        delta = scale * rng.standard_normal(leaf.shape)
        moved[place] = jnp.asarray(leaf + delta, leaves[place].dtype)
        deltas.append((delta if first else delta.T) if delta.ndim == 2 else delta[:, None])
    phi = np.asarray(_features(apply, params, places, first, x), float)
    before, after = np.asarray(apply(params, x), float), np.asarray(apply(jax.tree.unflatten(tree, moved), x), float)
    predicted = phi @ np.concatenate(deltas, axis=1).T
    if isinstance(apply, LessMean):
        predicted = predicted - predicted.mean(axis=1, keepdims=True)
    scale = np.abs(predicted).max() + np.abs(before).max() * 1e-2
    return bool(scale > 0 and phi.any() and np.abs(after - before - predicted).max() <= 2e-3 * scale)


@eqx.filter_jit
def _features(apply: Callable, params: PyTree, places: tuple[int, int], first: bool, x: Any) -> Array:
    """∂(first output)/∂(first row of the weights, first bias) for every row of x."""
    leaves, tree = jax.tree.flatten(params)
    weight, bias = places

    def output(row: Array, shift: Array, one: Array) -> Array:
        new = list(leaves)
        new[weight] = new[weight].at[0].set(row) if first else new[weight].at[:, 0].set(row)
        if bias >= 0:
            new[bias] = new[bias].at[0].set(shift)
        outputs = apply(jax.tree.unflatten(tree, new), one[None])[0]
        return outputs[0] - outputs[1] if isinstance(apply, LessMean) else outputs[0]

    row = leaves[weight][0] if first else leaves[weight][:, 0]
    shift = leaves[bias][0] if bias >= 0 else jnp.zeros((), row.dtype)
    by_row, by_shift = jax.vmap(jax.grad(output, argnums=(0, 1)), (None, None, 0))(row, shift, x)
    return jnp.concatenate([by_row, by_shift[:, None]], axis=1) if bias >= 0 else by_row
