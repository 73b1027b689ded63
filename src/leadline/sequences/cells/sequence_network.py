"""A network for sequences: an encoder of steps, a cell, and a head at each step or at the end."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num, PRNGKeyArray, PyTree

from leadline.networks import activation as activation_called

from .cell import Cell, run

Reading = Literal["steps", "last", "mean"]


class SequenceNetwork(eqx.Module):
    r"""e_t = encoder(x_t), z_t = F(z_{t-1}, e_t), and ŷ_t = ψ(W y_t + c) of the cell's outputs y_t.

    `reading` says where the head stands: at all "steps", outputs (T, k); at the "last" state, outputs (k,); or on the
    "mean" of the cell's outputs, (k,). One sequence at a time: (T, n), or tokens (T,) with an embedding; an array of
    another shape is read row by row as steps of n numbers, so that an image of 28 x 28 is 28 steps of 28 pixels, or
    784 of one. Steps where `mask` is False do not count. With `learned_start` the initial state is trained. It is
    itself a recursive estimator: `init`, `update` and `predict` as the cells have.

    >>> from leadline.sequences import GRU
    >>> net = SequenceNetwork(GRU(1, 8, key=jax.random.key(0)), 10, reading="last", key=jax.random.key(1))
    >>> net(jnp.ones((8, 8))).shape
    (10,)
    >>> words = SequenceNetwork(GRU(4, 8, key=jax.random.key(0)), 27, vocabulary=27, key=jax.random.key(1))
    >>> words(jnp.array([3, 1, 2])).shape
    (3, 27)
    """

    encoder: Callable[[Array], Array] | None
    cell: Cell
    start: PyTree
    head: eqx.nn.Linear
    reading: Reading = eqx.field(static=True)
    output: str = eqx.field(static=True)
    tokens: bool = eqx.field(static=True)

    def __init__(
        self,
        cell: Cell,
        output_size: int,
        *,
        reading: Reading = "steps",
        vocabulary: int | None = None,
        encoder: Callable[[Array], Array] | None = None,
        output: str = "identity",
        bias: bool = True,
        learned_start: bool = False,
        key: PRNGKeyArray,
    ):
        if reading not in ("steps", "last", "mean"):
            raise ValueError(f"SequenceNetwork got reading={reading!r}; choose steps, last or mean.")
        if vocabulary is not None and encoder is not None:
            raise ValueError("SequenceNetwork got a vocabulary and an encoder; give one of them.")
        activation_called(output)
        key_encoder, key_head = jax.random.split(key)
        kind = jax.eval_shape(lambda: cell.predict(cell.init())).dtype
        if vocabulary is not None:
            encoder = eqx.nn.Embedding(vocabulary, cell.input_size, dtype=kind, key=key_encoder)
        self.encoder, self.cell = encoder, cell
        self.start = cell.init() if learned_start else None
        self.head = eqx.nn.Linear(cell.output_size, output_size, use_bias=bias, dtype=kind, key=key_head)
        self.reading, self.output, self.tokens = reading, output, vocabulary is not None

    @property
    def input_size(self) -> int:
        """Numbers of one step; 0 for tokens."""
        if self.tokens:
            return 0
        size = self.cell.input_size if self.encoder is None else getattr(self.encoder, "in_features", None)
        return size if isinstance(size, int) else self.cell.input_size

    def init(self) -> PyTree:
        """The state before the first input."""
        return self.cell.init() if self.start is None else self.start

    def update(self, state: PyTree, x: Num[Array, "..."]) -> PyTree:
        """The state after one more input."""
        return self.cell.update(state, self.encoded(x))

    def predict(self, state: PyTree) -> Float[Array, " k"]:
        """The head's output for a state; of a network that reads the mean there is none for one state alone."""
        if self.reading == "mean":
            raise ValueError(
                "A network that reads the mean over time has no output for a state; call it on a sequence."
            )
        return self._headed(self.cell.predict(state))

    def encoded(self, x: Num[Array, "..."]) -> Num[Array, " n"]:
        """What the cell sees of an input."""
        return x if self.encoder is None else self.encoder(x)

    def __call__(
        self, xs: Num[Array, "..."], mask: Bool[Array, " T"] | None = None, *, state: PyTree = None
    ) -> Float[Array, "..."]:
        xs = xs.ravel() if self.tokens else xs.reshape(-1, self.input_size)
        state = self.init() if state is None else state
        course = run(self.cell, jax.vmap(self.encoded)(xs), state, mask=mask)
        if self.reading == "last":
            return self._headed(self.cell.predict(course.last))
        outputs = jax.vmap(self.cell.predict)(course.states)
        if self.reading == "steps":
            return jax.vmap(self._headed)(outputs)
        if mask is None:
            return self._headed(outputs.mean(0))
        return self._headed(jnp.where(mask[:, None], outputs, 0).sum(0) / jnp.maximum(mask.sum(), 1))

    def _headed(self, y: Float[Array, " m"]) -> Float[Array, " k"]:
        return activation_called(self.output)(self.head(y))
