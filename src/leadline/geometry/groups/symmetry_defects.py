"""How far any function is from invariant or equivariant under any group: sets, graphs, vectors; the worst element."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

Move = Callable[[Any, Any], Any]  #: (element, value) ↦ the moved value


class SymmetryDefect(NamedTuple):
    """‖f(g x) - σ(g)f(x)‖ / ‖f(x)‖ for every element g, the largest of them, and the element where it is."""

    relative: Float[np.ndarray, " elements"]
    largest: float
    worst: int


def symmetry_defect(
    function: Callable[[Any], Any],
    x: PyTree,
    elements: PyTree,
    move: Move,
    answer: Move | None = None,
    *,
    at_once: int = 256,
) -> SymmetryDefect:
    """The defect of f under every element: f(g x) against f(x) (invariance), or against `answer(g, f(x))`.

    `elements` is an array with one row for each group element (permutations, matrices, angles), or a pytree of such;
    `move(g, x)` moves the input, which may be a pytree such as (features, adjacency). All are JAX functions and are
    mapped over the elements, `at_once` at a time.

    >>> turns = jnp.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    >>> symmetry_defect(jnp.sum, jnp.array([1.0, 2.0, 4.0]), turns, permute_rows).largest
    0.0
    >>> symmetry_defect(jnp.cumsum, jnp.array([1.0, 2.0, 4.0]), turns, permute_rows, permute_rows).worst
    2
    """
    rows = {len(leaf) for leaf in jax.tree.leaves(elements)}
    if len(rows) != 1 or 0 in rows:
        raise ValueError(
            f"symmetry_defect needs an array with a row for each group element; got lengths {sorted(rows)}."
        )
    x = jax.tree.map(jnp.asarray, x)
    before = function(x)
    size = _norm(before)

    def one(g: Any) -> Array:
        seen, expected = function(move(g, x)), before if answer is None else answer(g, before)
        shapes = [jax.tree.map(jnp.shape, value) for value in (seen, expected)]
        if shapes[0] != shapes[1]:
            raise ValueError(f"f(g x) has shape {shapes[0]} and the answer {shapes[1]}; give an answer of f's shape.")
        return _norm(jax.tree.map(lambda a, b: a - b, seen, expected))

    apart = np.asarray(jax.lax.map(one, elements, batch_size=min(at_once, *rows)), float)
    relative = apart / float(size) if float(size) else np.where(apart > 0, np.inf, 0.0)
    return SymmetryDefect(relative, float(relative.max()), int(relative.argmax()))


def permute_rows(permutation: Int[Array, " n"], x: Any) -> Any:
    """(Px)_i = x_{p(i)}: the rows of every array of x in another order."""
    return jax.tree.map(lambda a: a[permutation], x)


def relabel_nodes(permutation: Int[Array, " n"], graph: tuple[Any, Any]) -> tuple[Any, Any]:
    """(X, A) ↦ (PX, P A Pᵀ): the same graph with its nodes in another order."""
    features, adjacency = graph
    return features[permutation], adjacency[permutation][:, permutation]


def apply_matrix(matrix: Any, x: Any) -> Array:
    """x ↦ ρ(g)x, along the first axis."""
    return jnp.tensordot(jnp.asarray(matrix), x, 1)


def random_permutations(n: int, count: int, *, key: Key[Array, ""]) -> Int[Array, "count n"]:
    """Permutations of n things drawn uniformly, for groups too large to go through."""
    return jax.vmap(lambda k: jax.random.permutation(k, n))(jax.random.split(key, count))


def _norm(value: PyTree) -> Array:
    return jnp.sqrt(jnp.asarray(sum(jnp.sum(jnp.abs(leaf) ** 2) for leaf in jax.tree.leaves(value))))
