"""A symmetric linear map on the parameters of a model, known by its products only."""

import warnings
from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from ..spectra.lanczos import top
from ..spectra.linear_solves import logdet, solve
from ..spectra.spectral_density import density
from ..spectra.trace_estimates import diagonal, trace

_LARGEST_DENSE = 20_000


class Operator(eqx.Module):
    """v ↦ A v for a symmetric A over the floating-point arrays of a parameter pytree; A is never formed.

    `params` holds these arrays, `fixed` all else of the model. A vector is flat, one array after the other in the order
    of `names`, or a pytree like `params`; the product has the form of what it was given. Products can be traced by JAX.
    """

    params: eqx.AbstractVar[PyTree]
    fixed: eqx.AbstractVar[PyTree]

    @abstractmethod
    def tree_product(self, v: PyTree) -> PyTree:
        """A v for a pytree v like `params`."""

    @property
    def size(self) -> int:
        """How many parameters there are: A is size × size."""
        return sum(leaf.size for leaf in jax.tree.leaves(self.params))

    @property
    def dtype(self) -> Any:
        """The type of a flat vector."""
        return jnp.result_type(*jax.tree.leaves(self.params))

    @property
    def names(self) -> list[str]:
        """One name for each array of the parameters, such as layers[0].weight."""
        paths = jax.tree_util.tree_leaves_with_path(self.params)
        return [jax.tree_util.keystr(path).lstrip(".") or "parameters" for path, _ in paths]

    def flat(self, v: PyTree) -> Float[Array, " p"]:
        """A pytree like `params` as one vector."""
        return ravel_pytree(v)[0]

    def unflat(self, v: Float[Array | np.ndarray, " p"]) -> PyTree:
        """A flat vector as a pytree like `params`."""
        return ravel_pytree(self.params)[1](jnp.asarray(v, self.dtype))

    def __call__(self, v: PyTree) -> PyTree:
        """A v."""
        if isinstance(v, jax.Array | np.ndarray) and v.shape == (self.size,):
            return _product(self, jnp.asarray(v, self.dtype))
        self._check_tree(v)
        return _tree_product(self, jax.tree.map(jnp.asarray, v))

    def products(self, vectors: Float[Array | np.ndarray, "k p"]) -> Float[Array, "k p"]:
        """A v for each row v, in one pass over the data."""
        if np.ndim(vectors) != 2 or np.shape(vectors)[1] != self.size:
            raise ValueError(f"The vectors have shape {np.shape(vectors)}; give rows of length {self.size}.")
        return _products(self, jnp.asarray(vectors, self.dtype))

    def dense(self, *, at_once: int = 64) -> Float[np.ndarray, "p p"]:
        """The whole matrix, symmetrised, `at_once` columns in one pass over the data; for small models."""
        if self.size > _LARGEST_DENSE:
            raise ValueError(f"dense got {self.size} parameters, at most {_LARGEST_DENSE} fit; use top or density.")
        rows = min(at_once, self.size)
        matrix = np.empty((self.size, self.size), self.dtype)
        for first in range(0, self.size, rows):
            unit = np.eye(rows, self.size, first, dtype=self.dtype)
            part = np.asarray(self.products(unit))[: self.size - first]
            matrix[first : first + rows] = part
        return (matrix + matrix.T) / 2

    def block(self, name: str) -> "Operator":
        """The diagonal block of the array called `name`: the same operator with all other arrays held fixed."""
        if name not in self.names:
            raise ValueError(f"There is no array {name!r} among the parameters; they are {', '.join(self.names)}.")
        chosen = jax.tree.unflatten(jax.tree.structure(self.params), [n == name for n in self.names])
        kept, held = eqx.partition(self.params, chosen)
        return eqx.tree_at(
            lambda op: (op.params, op.fixed),
            self,
            (kept, eqx.combine(held, self.fixed)),
            is_leaf=lambda leaf: leaf is None,
        )

    def blocks(self) -> dict[str, "Operator"]:
        """The diagonal blocks of all arrays by name."""
        return {name: self.block(name) for name in self.names}

    def _check_tree(self, v: PyTree) -> None:
        shapes = [jax.tree.map(jnp.shape, tree) for tree in (v, self.params)]
        if jax.tree.structure(v) != jax.tree.structure(self.params) or shapes[0] != shapes[1]:
            found = f"an array of shape {v.shape}" if isinstance(v, jax.Array | np.ndarray) else "another pytree"
            raise ValueError(
                f"The vector is {found}; give a flat one of length {self.size}, or a pytree like the parameters."
            )

    top = top
    trace = trace
    diagonal = diagonal
    density = density
    solve = solve
    logdet = logdet


@eqx.filter_jit
def _tree_product(operator: Operator, v: PyTree) -> PyTree:
    return operator.tree_product(v)


@eqx.filter_jit
def _product(operator: Operator, v: Array) -> Array:
    return flat_product(operator, v)


@eqx.filter_jit
def _products(operator: Operator, vectors: Array) -> Array:
    return jax.vmap(lambda v: flat_product(operator, v))(vectors)


def flat_product(operator: Operator, v: Float[Array, " p"]) -> Float[Array, " p"]:
    """A v for a flat vector, to be called inside a compiled program."""
    return operator.flat(operator.tree_product(operator.unflat(v)))


def split_parameters(params: PyTree) -> tuple[PyTree, PyTree]:
    """The floating-point arrays of `params`, by which is differentiated, and the rest, which is held fixed."""
    arrays = jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf, params)
    moved, fixed = eqx.partition(arrays, eqx.is_inexact_array)
    numbers = [leaf for leaf in jax.tree.leaves(fixed) if eqx.is_array(leaf) and leaf.dtype.kind in "iu"]
    if not jax.tree.leaves(moved):
        found = f"only integers ({numbers[0].dtype.name})" if numbers else "no floating-point array"
        raise ValueError(f"The parameters hold {found}; give floating-point arrays to differentiate with respect to.")
    if any(jnp.iscomplexobj(leaf) for leaf in jax.tree.leaves(moved)):
        raise ValueError("The parameters hold complex numbers; give their real and imaginary parts as real arrays.")
    if numbers:
        warnings.warn(
            f"{len(numbers)} integer array(s) among the parameters are held fixed; convert those that are weights.",
            stacklevel=4,
        )
    return moved, fixed
