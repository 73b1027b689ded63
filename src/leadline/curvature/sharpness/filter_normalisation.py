"""Directions in which every filter of a network moves in proportion to its own size (Li et al. 2018)."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree


def filter_norms(params: PyTree, *, biases: str = "hold") -> PyTree:
    """For each parameter the norm of the filter it belongs to, as a pytree of the floating-point arrays.

    A filter is what makes one output of a layer: a row of a weight matrix, the slice of a convolution (out, in, …) at
    one index of its first axis. Arrays with at most one axis (biases, gains) get 0, so that they stay where they are
    (`biases="hold"`, as Li et al. do), or are one filter each ("normalise").

    >>> filter_norms({"b": jnp.array([6.0, 8.0]), "w": jnp.array([[3.0, 4.0], [0.0, 2.0]])})["w"].tolist()
    [[5.0, 5.0], [2.0, 2.0]]
    """
    return _all_norms(_checked(params, biases), biases)


def normalise_filters(direction: PyTree, params: PyTree, *, biases: str = "hold") -> PyTree:
    """The direction with each of its filters scaled to the norm of that filter of `params`: d_f ‖w_f‖/‖d_f‖.

    Rescaling a ReLU network layer by layer rescales such a direction with it, so that slices and measures along it do
    not change; plain directions lack this. Factors that differ within a layer change rows unevenly and do.

    >>> d = normalise_filters({"w": jnp.array([[0.0, 0.5]])}, {"w": jnp.array([[3.0, 4.0]])})
    >>> d["w"].tolist()
    [[0.0, 5.0]]
    """
    return _normalised(eqx.filter(direction, eqx.is_inexact_array), _checked(params, biases), biases)


def random_filter_directions(params: PyTree, count: int, *, key: PRNGKeyArray, biases: str = "hold") -> PyTree:
    """`count` Gaussian directions with normalised filters, along a first axis of every array.

    They depend on the key and the shapes, and on the parameters by the norms of filters only.

    >>> drawn = random_filter_directions({"w": jnp.array([[3.0, 4.0]])}, 7, key=jax.random.key(0))
    >>> drawn["w"].shape, bool(jnp.allclose(jnp.linalg.norm(drawn["w"], axis=2), 5.0))
    ((7, 1, 2), True)
    """
    return _draw(_checked(params, biases), count, key, biases)


def filter_variances(params: PyTree, *, biases: str = "hold") -> PyTree:
    """‖w_f‖²/m_f for each parameter, f its filter and m_f the number of its parameters: the variance of that parameter
    in a random direction with normalised filters, which is uncorrelated between parameters.

    >>> filter_variances({"w": jnp.array([[3.0, 4.0]])})["w"].tolist()
    [[12.5, 12.5]]
    """
    return _variances(_checked(params, biases), biases)


def _checked(params: PyTree, biases: str) -> PyTree:
    """The floating-point arrays."""
    if biases not in ("hold", "normalise"):
        raise ValueError(f"biases is {biases!r}; give 'hold' or 'normalise'.")
    moved = eqx.filter(params, eqx.is_inexact_array)
    if not jax.tree.leaves(moved):
        raise ValueError("The parameters hold no floating-point array, hence no filters; give a model with weights.")
    return moved


@eqx.filter_jit
def _all_norms(moved: PyTree, biases: str) -> PyTree:
    return jax.tree.map(lambda leaf: _norms(leaf, biases), moved)


@eqx.filter_jit
def _variances(moved: PyTree, biases: str) -> PyTree:
    def variance(leaf: Array) -> Array:
        members = math.prod(leaf.shape[1:] if leaf.ndim > 1 else leaf.shape)
        return _norms(leaf, biases) ** 2 / max(members, 1)

    return jax.tree.map(variance, moved)


@eqx.filter_jit
def _normalised(direction: PyTree, moved: PyTree, biases: str) -> PyTree:
    def scaled(d: Array, leaf: Array) -> Array:
        own = _norms(d, "normalise")
        return jnp.where(own > 0, d * _norms(leaf, biases) / jnp.where(own > 0, own, 1.0), 0.0)

    return jax.tree.map(scaled, direction, moved)


@eqx.filter_jit
def _draw(moved: PyTree, count: int, key: PRNGKeyArray, biases: str) -> PyTree:
    leaves, structure = jax.tree.flatten(moved)
    keys = jax.random.split(key, len(leaves))
    drawn = [jax.random.normal(k, (count, *leaf.shape), leaf.dtype) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.vmap(lambda d: _normalised(d, moved, biases))(jax.tree.unflatten(structure, drawn))


def _norms(leaf: Float[Array, "..."], biases: str) -> Float[Array, "..."]:
    if leaf.ndim <= 1 and biases == "hold":
        return jnp.zeros_like(leaf)
    return jnp.broadcast_to(group_norms(leaf, min(leaf.ndim - 1, 1)), leaf.shape)


def group_norms(array: Float[Array | np.ndarray, "..."], first: int) -> Float[Array | np.ndarray, "..."]:
    """The norms over all axes from `first` on, which are kept with length 1; in NumPy for NumPy's arrays.

    >>> group_norms(np.array([[3.0, 4.0], [0.0, 2.0]]), 1).tolist()
    [[5.0], [2.0]]
    """
    root = np.sqrt if isinstance(array, np.ndarray) else jnp.sqrt
    return root((array**2).sum(axis=tuple(range(max(first, 0), array.ndim)), keepdims=True))
