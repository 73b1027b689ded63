"""Directional differences of a function of a pytree, entry by entry, over many step sizes."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

#: The default steps: where truncation dominates, 1e-2, to where rounding does, 1e-10.
STEPS = tuple(10.0**-k for k in range(2, 11))
_COMPLEX_STEP = 1e-20
_TOGETHER = 64  # points evaluated at once


class DifferenceTable(NamedTuple):
    """What a function does around a point, parameter by parameter; dictionaries go by the parameter's name."""

    value: float
    magnitude: float  # |f|, or more where rounding in f is worse: rounding errors are about ε times it
    steps: np.ndarray
    names: tuple[str, ...]
    shapes: dict[str, tuple[int, ...]]
    places: dict[str, np.ndarray]  # flat numbers of the entries that were moved
    central: dict[str, np.ndarray]  # (entries, steps): (f(θ + h e) - f(θ - h e)) / 2h
    one_sided: dict[str, np.ndarray]  # (entries, steps): forward minus backward difference, 0 as h → 0 if smooth
    complex_step: dict[str, np.ndarray | None]  # (entries,), None where the function is not analytic


def leaf_names(tree: PyTree) -> tuple[list[str], list[Any]]:
    """The floating-point leaves of a pytree and their names: "weight" or "layers.0.bias".

    >>> leaf_names({"a": 1.0, "b": [2.0, None]})[0]
    ['a', 'b.0']
    """
    names, leaves = [], []
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        if isinstance(leaf, float) or eqx.is_inexact_array_like(leaf):
            names.append(".".join(_part(p) for p in path) or "parameter")
            leaves.append(leaf)
    return names, leaves


def difference_table(
    function: Callable[[Any], Any],
    parameters: PyTree,
    *,
    steps: tuple[float, ...] = STEPS,
    entries: int | None = 30,
    key: PRNGKeyArray | None = None,
) -> DifferenceTable:
    """Move one entry at a time by ±h, for all h in `steps`, and by i·1e-20 where the function takes complex numbers.

    At most `entries` of each parameter are moved, drawn by `key` (by a fixed one without it). A function that JAX can
    trace is compiled once; any other, one written in NumPy say, is called point by point.

    >>> table = difference_table(lambda x: jnp.sum(x**2), jnp.array([1.0, 2.0]), steps=(1e-2, 1e-3))
    >>> table.central["parameter"].round(2).tolist()
    [[2.0, 2.0], [4.0, 4.0]]
    """
    names, leaves = leaf_names(parameters)
    if not leaves:
        raise ValueError("The parameters hold no floating-point numbers; give a pytree with at least one such array.")
    if not steps or min(steps) <= 0 or list(steps) != sorted(steps, reverse=True):
        raise ValueError(f"The steps {steps} must be positive and go from large to small.")
    rng = np.random.default_rng(0 if key is None else np.asarray(jax.random.key_data(key)))
    sizes = [int(np.size(leaf)) for leaf in leaves]
    places = [_chosen(rng, size, entries) for size in sizes]
    offsets = np.cumsum([0, *sizes[:-1]])
    moved = np.concatenate([offset + place for offset, place in zip(offsets, places, strict=True)])

    h = np.asarray(steps)
    tiny = 1e-10 * np.array([1.0, 2.0, 3.0])  # on one side, where all that changes is rounding, at a kink too
    shifts = np.concatenate([h, -h, [0.0], tiny])
    where, shift = np.repeat(moved, len(shifts)), np.tile(shifts, len(moved))
    around = np.real(_evaluate(function, parameters, where, shift)).reshape(len(moved), len(shifts))
    plus, minus, here = around[:, : len(h)], around[:, len(h) : 2 * len(h)], float(around[0, 2 * len(h)])
    if not np.isfinite(here):
        raise ValueError(f"The function is {here} at these parameters; a gradient check needs a finite value.")
    central = (plus - minus) / (2 * h)
    one_sided = (plus - 2 * here + minus) / h
    rounding = float(np.median(np.abs(around[:, -3:] @ [1.0, -2.0, 1.0])))
    magnitude = max(abs(here), rounding / (2 * np.finfo(float).eps), 1e-300)
    exact = _complex_derivatives(function, parameters, moved, central)

    cuts = np.cumsum([len(p) for p in places])[:-1]
    by_name = {
        "central": np.split(central, cuts),
        "one_sided": np.split(one_sided, cuts),
        "complex_step": [None] * len(names) if exact is None else np.split(exact, cuts),
    }
    return DifferenceTable(
        here,
        magnitude,
        h,
        tuple(names),
        {n: np.shape(leaf) for n, leaf in zip(names, leaves, strict=True)},
        dict(zip(names, places, strict=True)),
        **{column: dict(zip(names, parts, strict=True)) for column, parts in by_name.items()},
    )


def _chosen(rng: np.random.Generator, size: int, entries: int | None) -> np.ndarray:
    if entries is None or size <= entries:
        return np.arange(size)
    return np.sort(rng.choice(size, entries, replace=False))


def _complex_derivatives(
    function: Callable[[Any], Any], parameters: PyTree, moved: np.ndarray, central: np.ndarray
) -> np.ndarray | None:
    """Im f(θ + i h e)/h; None if the function refuses complex numbers, or is not analytic: differences disagree."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a function that casts to real numbers is found out below
            shifted = _evaluate(function, parameters, moved, np.full(len(moved), 1j * _COMPLEX_STEP))
    except Exception:  # whatever a foreign function raises when it is given complex numbers
        return None
    exact = np.imag(shifted) / _COMPLEX_STEP
    scale = max(float(np.max(np.abs(central))), 1e-12)
    nearest = np.min(np.abs(central - exact[:, None]), axis=1)
    return exact if np.isfinite(exact).all() and bool((nearest <= 1e-4 * scale).all()) else None


def _evaluate(function: Callable[[Any], Any], parameters: PyTree, where: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """f with entry where[k] of all parameters moved by shift[k]."""
    count = len(where)
    full = -(-count // _TOGETHER) * _TOGETHER  # whole batches: one thing to compile, not two
    try:
        padded = (jnp.asarray(np.resize(a, full)) for a in (where, shift))
        return np.asarray(_traced(function, parameters, *padded))[:count]
    except Exception:  # not traceable, or wrong: if wrong, the plain calls say how
        return np.array([_plain(function, parameters, int(i), s) for i, s in zip(where, shift, strict=True)])


@eqx.filter_jit
def _traced(function: Callable[[Any], Any], parameters: PyTree, where: Array, shift: Array) -> Array:
    dynamic, static = eqx.partition(parameters, eqx.is_inexact_array)
    leaves = jax.tree.leaves(dynamic)
    flat = jnp.concatenate([leaf.ravel() for leaf in leaves]).astype(jnp.result_type(shift, *leaves))

    def at(k: tuple[Array, Array]) -> Array:
        point = flat.at[k[0]].add(k[1])
        value = jnp.asarray(function(eqx.combine(_split_like(point, dynamic), static)))
        return value.reshape(())

    return jax.lax.map(at, (where, shift), batch_size=_TOGETHER)


def _split_like(flat: Array, tree: PyTree) -> PyTree:
    """A flat vector in the form of a tree of arrays, in the vector's own dtype."""
    leaves, structure = jax.tree.flatten(tree)
    cuts = np.cumsum([leaf.size for leaf in leaves])[:-1]
    parts = [part.reshape(leaf.shape) for part, leaf in zip(jnp.split(flat, cuts), leaves, strict=True)]
    return jax.tree.unflatten(structure, parts)


def _plain(function: Callable[[Any], Any], parameters: PyTree, place: int, shift: complex) -> complex:
    dynamic, static = eqx.partition(parameters, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(dynamic)
    for number, leaf in enumerate(leaves):
        if place < leaf.size:
            moved = np.array(leaf, np.result_type(leaf.dtype, np.asarray(shift)))
            moved.reshape(-1)[place] += shift
            leaves[number] = moved
            break
        place -= leaf.size
    value = np.asarray(function(eqx.combine(jax.tree.unflatten(structure, leaves), static)))
    if value.size != 1:
        raise ValueError(f"The function returns shape {value.shape}; a gradient check needs one number.")
    return complex(value.reshape(()))


def _part(entry: Any) -> str:
    return str(next(getattr(entry, name) for name in ("key", "idx", "name") if hasattr(entry, name)))
