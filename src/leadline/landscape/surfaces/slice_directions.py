"""Directions in parameter space for slices: random, filter-normalised, or spanned by checkpoints."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray, PyTree

from leadline.curvature.sharpness.filter_normalisation import group_norms
from leadline.data import generator

Scaling = Literal["filter", "layer", "none"]
Vectors = Literal["still", "entry"]


def filter_normalised(
    direction: PyTree,
    params: PyTree,
    *,
    scaling: Scaling = "filter",
    vectors: Vectors = "still",
    stacked: Sequence[str] = (),
) -> PyTree:
    """Scale every filter d_i of a direction to the norm of the same filter of the parameters: d_i ‖w_i‖/‖d_i‖.

    A filter is what feeds one output unit: a row of a dense weight (out, in), an output channel of a convolution
    (out, in, ...). In an array named in `stacked` the first axis counts layers of one shape, and the filters are those
    of each layer. `scaling="layer"` takes each array (each layer) as one filter; "none" leaves the direction as drawn.
    Vectors (biases, gains) and single numbers stay where they are, direction 0, or with `vectors="entry"` each entry is
    a filter of its own; they belong to no product of weights. Moving a network along such directions then commutes with
    the rescaling of its layers that leaves a ReLU network's function alone. Li et al. 2018.

    >>> w = {"weight": jnp.array([[3.0, 4.0], [0.0, 1.0]]), "bias": jnp.array([2.0])}
    >>> d = {"weight": jnp.array([[1.0, 0.0], [0.0, 7.0]]), "bias": jnp.array([1.0])}
    >>> scaled = filter_normalised(d, w)
    >>> scaled["weight"].tolist(), scaled["bias"].tolist()
    ([[5.0, 0.0], [0.0, 1.0]], [0.0])
    """
    if scaling not in ("filter", "layer", "none") or vectors not in ("still", "entry"):
        raise ValueError(
            f"scaling = {scaling!r}, vectors = {vectors!r} are not known; give 'filter', 'layer' or 'none', and "
            "'still' or 'entry'."
        )
    moved = eqx.filter(params, eqx.is_inexact_array)
    if jax.tree.structure(eqx.filter(direction, eqx.is_inexact_array)) != jax.tree.structure(moved):
        raise ValueError("The direction is no pytree like the parameters; give one of their structure.")
    if scaling == "none":
        return direction
    _check_names(stacked, [path for path, _ in jax.tree_util.tree_leaves_with_path(moved)])

    def scaled(path: tuple, w: Any, d: Any) -> np.ndarray:
        layers = int(_called(path, stacked))
        w, d = np.asarray(w), np.asarray(d)
        if w.ndim - layers <= 1:
            return np.zeros_like(w) if vectors == "still" else (np.sign(d) * np.abs(w)).astype(w.dtype)
        length, own = (group_norms(x, layers if scaling == "layer" else layers + 1) for x in (d, w))
        return (d * own / np.where(length > 0, length, 1.0)).astype(w.dtype)

    return jax.tree.map(
        jnp.asarray, jax.tree_util.tree_map_with_path(scaled, moved, eqx.filter(direction, eqx.is_inexact_array))
    )


def random_directions(
    params: PyTree,
    count: int = 2,
    *,
    scaling: Scaling = "filter",
    vectors: Vectors = "still",
    stacked: Sequence[str] = (),
    frozen: Sequence[str] = (),
    key: PRNGKeyArray,
) -> list[PyTree]:
    """Gaussian directions over the floating-point arrays of `params`, scaled as in `filter_normalised`.

    Arrays named in `frozen` (running statistics of a normaliser, say) do not move; a name is "layers[0].weight", or the
    key of a dictionary. The same key gives the same draws
    for parameters of the same shapes, whatever their values.

    >>> w = {"weight": jnp.ones((3, 4)), "bias": jnp.ones(3)}
    >>> d, _ = random_directions(w, key=jax.random.key(0))
    >>> np.linalg.norm(d["weight"], axis=1).round(5).tolist()
    [2.0, 2.0, 2.0]
    """
    if count < 1:
        raise ValueError(f"random_directions got count = {count}; give at least 1.")
    rng = generator(key)
    moved = eqx.filter(params, eqx.is_inexact_array)
    paths = jax.tree_util.tree_leaves_with_path(moved)
    if not paths:
        raise ValueError("The parameters hold no floating-point array; give weights to move.")
    _check_names(frozen, [path for path, _ in paths])

    def one() -> PyTree:
        leaves = [rng.normal(size=leaf.shape).astype(leaf.dtype) * (not _called(path, frozen)) for path, leaf in paths]
        drawn = jax.tree.unflatten(jax.tree.structure(moved), [jnp.asarray(leaf) for leaf in leaves])
        return filter_normalised(drawn, params, scaling=scaling, vectors=vectors, stacked=stacked)

    return [one() for _ in range(count)]


def _name(path: tuple) -> str:
    """layers[0].weight for a module; the bare key for the entry of a dictionary."""
    return jax.tree_util.keystr(path).lstrip(".") if len(path) != 1 else jax.tree_util.keystr(path, simple=True)


def _called(path: tuple, names: Sequence[str]) -> bool:
    return _name(path) in names


def _check_names(names: Sequence[str], paths: list[tuple]) -> None:
    known = [_name(path) for path in paths]
    for name in names:
        if name not in known:
            raise ValueError(f"There is no array {name!r} among the parameters; they are {', '.join(known)}.")


class CheckpointPlane(NamedTuple):
    """The plane through three parameter sets: w₀ + a u + b v with u, v orthonormal; where the three lie in it."""

    origin: PyTree
    first: PyTree
    second: PyTree
    places: Float[np.ndarray, "3 2"]


def checkpoint_plane(first: PyTree, second: PyTree, third: PyTree) -> CheckpointPlane:
    """The plane through three checkpoints, by Gram and Schmidt: the first is the origin, the second lies on the a-axis.

    >>> plane = checkpoint_plane(jnp.zeros(3), jnp.array([2.0, 0.0, 0.0]), jnp.array([1.0, 0.0, 3.0]))
    >>> plane.places.tolist()
    [[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]]
    """
    trees = [eqx.filter(tree, eqx.is_inexact_array) for tree in (first, second, third)]
    if len({jax.tree.structure(tree) for tree in trees}) != 1:
        raise ValueError("The checkpoints have different structures; give three of one architecture.")
    leaves = [[np.asarray(leaf, float) for leaf in jax.tree.leaves(tree)] for tree in trees]
    if len({tuple(leaf.shape for leaf in part) for part in leaves}) != 1:
        raise ValueError("The checkpoints have arrays of different shapes; give three of one architecture.")
    flat = [np.concatenate([leaf.ravel() for leaf in part]) for part in leaves]
    u, v = flat[1] - flat[0], flat[2] - flat[0]
    length = float(np.linalg.norm(u))
    u = u / length if length > 0 else u
    along = float(u @ v)
    v = v - along * u
    height = float(np.linalg.norm(v))
    if length == 0 or height <= 1e-12 * max(length, abs(along)):
        raise ValueError("The three checkpoints lie on one line; use optimisation.slice_loss for two of them.")
    places = np.array([[0.0, 0.0], [length, 0.0], [along, height]])
    sizes = np.cumsum([leaf.size for leaf in leaves[0]])[:-1]

    def back(vector: np.ndarray) -> PyTree:
        parts = [
            jnp.asarray(part.reshape(leaf.shape), leaf.dtype)
            for part, leaf in zip(np.split(vector, sizes), jax.tree.leaves(trees[0]), strict=True)
        ]
        return jax.tree.unflatten(jax.tree.structure(trees[0]), parts)

    return CheckpointPlane(first, back(u), back(v / height), places)
