"""Weights as safetensors files: named arrays and nothing that could run."""

from pathlib import Path
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from leadline._files import reading, write_whole
from leadline._messages import BadInput

Model = TypeVar("Model", bound=PyTree)


def named_arrays(tree: PyTree) -> dict[str, np.ndarray]:
    """The arrays of a pytree under the names of their places, in order.

    >>> sorted(named_arrays({"layers": [np.zeros(2), np.ones(3)], "name": "mlp"}))
    ['layers.0', 'layers.1']
    """
    leaves, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, eqx.is_array))
    return {_name(path): np.asarray(leaf) for path, leaf in leaves}


def with_arrays(tree: Model, arrays: dict[str, np.ndarray], source: str) -> Model:
    """The pytree with its arrays replaced by those of the same names; BadInput names the first that does not fit."""
    difference = first_difference(shapes(named_arrays(tree)), shapes(arrays))
    if difference:
        raise BadInput(f"{source} is of another model: {difference}.")
    dynamic, static = eqx.partition(tree, eqx.is_array)
    leaves, structure = jax.tree_util.tree_flatten_with_path(dynamic)
    return eqx.combine(jax.tree.unflatten(structure, [jnp.asarray(arrays[_name(path)]) for path, _ in leaves]), static)


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

    write_whole(Path(path), save({name: np.ascontiguousarray(a) for name, a in named_arrays(model).items()}))


def load_weights(path: str | Path, model: Model) -> Model:
    """The model with the arrays of a safetensors file; names, shapes and types must be those of the model."""
    from safetensors.numpy import load_file

    with reading(path, "safetensors", "give a safetensors file, whole as it was exported"):
        arrays = load_file(path)
    return with_arrays(model, arrays, str(path))


def _name(path: tuple) -> str:
    return ".".join(str(getattr(p, "name", getattr(p, "key", getattr(p, "idx", p)))) for p in path) or "array"
