"""Weights as safetensors files: named arrays and nothing that could run."""

from pathlib import Path
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from leadline._files import reading, write_whole
from leadline._messages import BadInput

Model = TypeVar("Model", bound=PyTree)


def named_arrays(tree: PyTree) -> dict[str, np.ndarray]:
    """The arrays of a pytree under the names of their places, in order.

    >>> sorted(named_arrays({"layers": [np.zeros(2), np.ones(3)], "name": "mlp"}))
    ['layers.0', 'layers.1']
    """
    leaves, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, eqx.is_array))
    return {_name(path): _on_host(leaf) for path, leaf in leaves}


def with_arrays(tree: Model, arrays: dict[str, np.ndarray], source: str, *, rows: bool = False) -> Model:
    """The pytree with its arrays replaced by those of the same names; BadInput names the first that does not fit.

    With `rows` there may be other numbers of rows than in the pytree.
    """
    own = named_arrays(tree)
    if rows:
        difference = first_difference(*(shapes({name: a[:0] for name, a in part.items()}) for part in (own, arrays)))
    else:
        difference = first_difference(shapes(own), shapes(arrays))
    if difference:
        raise BadInput(f"{source} is of another model: {difference}.")
    dynamic, static = eqx.partition(tree, eqx.is_array)
    leaves, structure = jax.tree_util.tree_flatten_with_path(dynamic)
    found = [_as_before(arrays[_name(path)], leaf) for path, leaf in leaves]
    return eqx.combine(jax.tree.unflatten(structure, found), static)


def shapes(arrays: dict[str, np.ndarray]) -> dict[str, str]:
    """The type and shape of each array, in words."""
    return {name: f"{array.dtype} {tuple(array.shape)}" for name, array in arrays.items()}


def first_difference(here: dict[str, str], there: dict[str, str]) -> str:
    """The first name at which two descriptions of arrays differ, in words; empty where they agree.

    >>> first_difference({"w": "float32 (2, 3)"}, {"w": "float32 (2, 4)"})
    'w is float32 (2, 4) there and float32 (2, 3) here'
    """
    for name in [*here, *there]:
        if here.get(name) != there.get(name):
            return f"{name} is {there.get(name, 'missing')} there and {here.get(name, 'missing')} here"
    return ""


def save_weights(path: str | Path, model: PyTree) -> None:
    """Write a model's arrays to a safetensors file; the file appears whole or not at all.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "w.safetensors"
    >>> save_weights(file, {"w": jnp.arange(3.0)})
    >>> load_weights(file, {"w": jnp.zeros(3)})["w"].tolist()
    [0.0, 1.0, 2.0]
    """
    from safetensors.numpy import save

    write_whole(Path(path), save({name: np.asarray(a, order="C") for name, a in named_arrays(model).items()}))


def load_weights(path: str | Path, model: Model, *, rows: bool = False) -> Model:
    """The model with the arrays of a safetensors file; names, shapes and types must be those of the model.

    With `rows` the file may have other numbers of rows, the first axis of every array.
    """
    from safetensors.numpy import load_file

    with reading(path, "safetensors", "give a safetensors file, whole as it was exported"):
        arrays = load_file(path)
    return with_arrays(model, arrays, str(path), rows=rows)


def gathered(tree: Model) -> Model:
    """The pytree with whole arrays in this process, where they are spread over several; else as it is."""
    if jax.process_count() == 1:
        return tree
    return jax.tree.map(lambda leaf: _as_before(_on_host(leaf), leaf) if eqx.is_array(leaf) else leaf, tree)


def _on_host(leaf: Array | np.ndarray) -> np.ndarray:
    """The whole array in the memory of this process; the numbers of a random key."""
    if _is_key(leaf):
        leaf = jax.random.key_data(leaf)
    if isinstance(leaf, jax.Array) and not (leaf.is_fully_addressable or leaf.is_fully_replicated):
        from jax.experimental.multihost_utils import process_allgather

        return np.asarray(process_allgather(leaf, tiled=True))
    return np.asarray(leaf)


def _as_before(array: np.ndarray, leaf: Array | np.ndarray) -> Array:
    """The numbers as an array of the kind of `leaf`."""
    if _is_key(leaf):
        return jax.random.wrap_key_data(jnp.asarray(array), impl=jax.random.key_impl(leaf))
    return jnp.asarray(array)


def _is_key(leaf: Array | np.ndarray) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _name(path: tuple) -> str:
    return ".".join(str(getattr(p, "name", getattr(p, "key", getattr(p, "idx", p)))) for p in path) or "array"
