"""Where batches come from: rows of data, shuffled anew in every epoch, or a function that draws them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, PyTree

from leadline.data import epoch_batches


class Shuffled(eqx.Module):
    """Batches of rows of a pytree of arrays; each epoch is a permutation that depends on the key and its number alone.

    `together` batches make one item, for several players; what does not fill one is left out. `chosen` are the rows
    to be used, as often as they are named (a bootstrap resample, a fold); all of them where it is None.

    >>> source = Shuffled({"x": jax.numpy.arange(10)}, 3)
    >>> items = source.items(0, key=jax.random.key(0))
    >>> items.shape, source.fetch(items[0])["x"].shape
    ((3, 3), (3,))
    """

    data: PyTree
    batch: int = eqx.field(static=True)
    together: int = eqx.field(static=True, default=1)
    chosen: Int[Array, " n"] | None = None

    @property
    def samples(self) -> int:
        """How many rows there are."""
        return len(jax.tree.leaves(self.data)[0] if self.chosen is None else self.chosen)

    @property
    def num_steps(self) -> int:
        """Items to an epoch."""
        return self.samples // (self.batch * self.together)

    def items(self, epoch: int | Int[Array, ""], *, key: PRNGKeyArray) -> Int[Array, "steps ..."]:
        """The row numbers of an epoch's batches."""
        return _rows(self.samples, self.batch, self.together, epoch, key)

    def fetch(self, rows: Int[Array, " batch"]) -> PyTree:
        """The rows themselves."""
        rows = rows if self.chosen is None else self.chosen[rows]
        return jax.tree.map(lambda a: a[rows], self.data)


class Drawn(eqx.Module):
    """Batches that draw(key) makes, `num_steps` items to what is called an epoch.

    >>> source = Drawn(lambda key: jax.random.normal(key, (4,)), num_steps=5)
    >>> source.fetch(source.items(0, key=jax.random.key(0))[0]).shape
    (4,)
    """

    draw: Callable[[PRNGKeyArray], PyTree]
    num_steps: int = eqx.field(static=True)
    together: int = eqx.field(static=True, default=1)

    def items(self, epoch: int | Int[Array, ""], *, key: PRNGKeyArray) -> Array:
        """The keys of an epoch's batches."""
        shape = (self.num_steps,) if self.together == 1 else (self.num_steps, self.together)
        return jax.random.split(jax.random.fold_in(key, epoch), shape)

    def fetch(self, key: PRNGKeyArray) -> PyTree:
        """The batch of a key."""
        return self.draw(key)


@dataclass(frozen=True)
class Hosted:
    """As `Shuffled`, of data that stay where they are (in the host's memory, or mapped from a file).

    The caller takes the batches of some steps at a time to the device; `given` is the source they are then.

    >>> source = Hosted({"x": np.arange(10.0)}, 3)
    >>> rows = source.items(0, key=jax.random.key(0))
    >>> batches = source.take(rows[:2])
    >>> batches["x"].shape, bool((batches["x"][1] == rows[1]).all())
    ((2, 3), True)
    """

    data: PyTree  #: NumPy arrays
    batch: int
    together: int = 1

    @property
    def num_steps(self) -> int:
        """Items to an epoch."""
        return len(jax.tree.leaves(self.data)[0]) // (self.batch * self.together)

    @property
    def step_bytes(self) -> int:
        """What the batches of one step take."""
        return sum(leaf[:1].nbytes for leaf in jax.tree.leaves(self.data)) * self.batch * self.together

    @property
    def given(self) -> "Given":
        """The source of the batches that were taken."""
        return Given()

    def items(self, epoch: int | Int[Array, ""], *, key: PRNGKeyArray) -> Int[np.ndarray, "steps ..."]:
        """The row numbers of an epoch's batches, on the host."""
        samples = len(jax.tree.leaves(self.data)[0])
        return np.asarray(_compiled_rows(samples, self.batch, self.together, epoch, key))

    def take(self, items: Int[np.ndarray, "steps ..."]) -> PyTree:
        """The batches of some items, on the device."""
        return jax.tree.map(lambda a: jax.device_put(_taken(a, items)), self.data)


class Given(eqx.Module):
    """Items that are batches already."""

    def fetch(self, batch: PyTree) -> PyTree:
        """The batch itself."""
        return batch


def _rows(samples: int, batch: int, together: int, epoch: int | Array, key: PRNGKeyArray) -> Int[Array, "steps ..."]:
    rows = epoch_batches(samples, batch, epoch, key=key)
    if together == 1:
        return rows
    rounds = len(rows) // together
    return rows[: rounds * together].reshape(rounds, together, batch)


_compiled_rows = partial(jax.jit, static_argnums=(0, 1, 2))(_rows)


def _taken(array: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """array[rows] in memory that begins at a multiple of 64 bytes, which a device that is the host takes as it is."""
    shape = (*rows.shape, *array.shape[1:])
    raw = np.empty(int(np.prod(shape)) * array.itemsize + 64, np.uint8)
    begin = -raw.ctypes.data % 64
    found = raw[begin : begin + len(raw) - 64].view(array.dtype).reshape(shape)
    np.take(array, rows, axis=0, out=found, mode="clip")
    return found


Source = Shuffled | Drawn | Given
