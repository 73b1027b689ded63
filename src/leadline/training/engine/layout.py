"""Where arrays live on several devices: batches shared out among them, parameters whole on each or in parts."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree


@dataclass(frozen=True)
class Layout:
    """Rows of batches over the first axis of a mesh; parameters whole, or in parts over its last axis.

    With parameters in parts (on a mesh of one axis: fully sharded data parallelism) each array is cut along its longest
    axis that the number of devices divides; what has no such axis is whole on every device. The numbers that come out
    are those of one device, in another order of summation.

    >>> layout = Layout(jax.make_mesh((1,), ("rows",)), parts=True)
    >>> layout.spec(np.zeros((3, 8))), layout.spec(np.zeros(()))
    (P(None, 'rows'), P())
    """

    mesh: Mesh
    parts: bool = False

    def __post_init__(self) -> None:
        """Leave to the compiler what is not said here, whichever way the mesh was made."""
        object.__setattr__(self, "mesh", Mesh(self.mesh.devices, self.mesh.axis_names))

    @property
    def shares(self) -> int:
        """Into how many shares a batch is cut."""
        return self.mesh.shape[self.mesh.axis_names[0]]

    def spec(self, array: Any) -> PartitionSpec:
        """How an array of parameters, or one of the optimiser's, is cut."""
        axis = self.mesh.axis_names[-1]
        whole = [size if size % self.mesh.shape[axis] == 0 else 0 for size in array.shape]
        if not self.parts or max(whole, default=0) == 0:
            return PartitionSpec()
        longest = int(np.argmax(whole))
        return PartitionSpec(*(axis if place == longest else None for place in range(longest + 1)))

    def held(self, tree: PyTree) -> PyTree:
        """Inside a compiled function: parameters and the optimiser's arrays where they belong."""
        return self._constrained(tree, self.spec)

    def shared_out(self, batch: PyTree) -> PyTree:
        """Inside a compiled function: the rows of a batch, a share on each device."""
        rows = PartitionSpec(self.mesh.axis_names[0])
        return self._constrained(batch, lambda a: rows if a.ndim and a.shape[0] % self.shares == 0 else PartitionSpec())

    def place(self, tree: PyTree, *, whole: bool = False) -> PyTree:
        """Arrays of one device or of the host on all of them: whole, or as `spec` says."""

        def put(leaf: Any, whole: bool = whole) -> Any:
            if not eqx.is_array(leaf) or (isinstance(leaf, jax.Array) and not leaf.is_fully_addressable):
                return leaf
            if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                return jax.random.wrap_key_data(put(jax.random.key_data(leaf), True), impl=jax.random.key_impl(leaf))
            spec = PartitionSpec() if whole else self.spec(leaf)
            host = np.asarray(leaf).astype(jax.dtypes.canonicalize_dtype(leaf.dtype), copy=False)
            return jax.make_array_from_callback(host.shape, NamedSharding(self.mesh, spec), lambda index: host[index])

        return jax.tree.map(put, tree)

    def _constrained(self, tree: PyTree, spec: Any) -> PyTree:
        def constrain(leaf: Any) -> Any:
            if not eqx.is_array(leaf) or jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                return leaf
            return jax.lax.with_sharding_constraint(leaf, NamedSharding(self.mesh, spec(leaf)))

        return jax.tree.map(constrain, tree)
