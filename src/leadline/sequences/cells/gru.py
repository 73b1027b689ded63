"""The gated recurrent unit of Cho et al. (2014), with its conventions as options."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, PRNGKeyArray

from .cell import Cell
from .drawing import drawn, float_type


class GRUGates(NamedTuple):
    """The reset gate r, the update gate u (the share that is new) and the candidate n of one step."""

    reset: Float[Array, " m"]
    update: Float[Array, " m"]
    candidate: Float[Array, " m"]


class GRU(Cell):
    r"""r, u = σ(W [x_t; h] + b), n = tanh(W_x x_t + b + r ⊙ (W_h h + b_n)), h' = (1 - u) ⊙ h + u ⊙ n.

    That is the form of most libraries (`reset="after"` the matrix product); `reset="before"` is the published one,
    n = tanh(W_x x_t + W_h (r ⊙ h) + b), which has no b_n. With `gate="keep"` the second block of the weights is that of
    s = 1 - u, as in `eqx.nn.GRUCell`, whose arrays these are by name and shape; the conventions agree when the block
    changes its sign. Blocks are in the order r, u (or s), n. Cho et al. 2014.

    >>> cell = GRU(3, 5, key=jax.random.key(0))
    >>> theirs = eqx.nn.GRUCell(3, 5, key=jax.random.key(1))
    >>> cell = GRU.like(theirs)
    >>> h, x = jnp.ones(5), jnp.arange(3.0)
    >>> bool(jnp.allclose(cell.update(h, x), theirs(x, h)))
    True
    """

    weight_ih: Float[Array, "gates n"]
    weight_hh: Float[Array, "gates m"]
    bias: Float[Array, " gates"] | None
    bias_n: Float[Array, " m"] | None
    gate: Literal["update", "keep"] = eqx.field(static=True)
    reset: Literal["after", "before"] = eqx.field(static=True)
    input_size: int = eqx.field(static=True)
    output_size: int = eqx.field(static=True)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        bias: bool = True,
        gate: Literal["update", "keep"] = "update",
        reset: Literal["after", "before"] = "after",
        init: str = "lecun",
        recurrent_init: str = "orthogonal",
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        if gate not in ("update", "keep") or reset not in ("after", "before"):
            raise ValueError(
                f"GRU got gate={gate!r} and reset={reset!r}; the gate is update or keep, the reset after or before."
            )
        key_input, key_state = jax.random.split(key)
        self.weight_ih = drawn(init, 3, hidden_size, input_size, dtype, key_input)
        self.weight_hh = drawn(recurrent_init, 3, hidden_size, hidden_size, dtype, key_state)
        self.bias = jnp.zeros(3 * hidden_size, float_type(dtype)) if bias else None
        self.bias_n = jnp.zeros(hidden_size, float_type(dtype)) if bias and reset == "after" else None
        self.gate, self.reset = gate, reset
        self.input_size, self.output_size = input_size, hidden_size

    @classmethod
    def like(cls, cell: eqx.nn.GRUCell) -> "GRU":
        """The cell of Equinox, with its weights."""
        new = cls(cell.input_size, cell.hidden_size, bias=cell.use_bias, gate="keep", key=jax.random.key(0))
        parts = [name for name in ("weight_ih", "weight_hh", "bias", "bias_n") if getattr(cell, name) is not None]
        return eqx.tree_at(lambda c: [getattr(c, name) for name in parts], new, [getattr(cell, name) for name in parts])

    def init(self) -> Float[Array, " m"]:
        return jnp.zeros(self.output_size, self.weight_hh.dtype)

    def project(self, x: Num[Array, " n"]) -> Float[Array, " gates"]:
        z = self.weight_ih @ x
        return z if self.bias is None else z + self.bias

    def gates(self, state: Float[Array, " m"], projected: Float[Array, " gates"]) -> GRUGates:
        """r, u and n of the step from `state` with `project(x)`."""
        m = self.output_size
        of_reset, of_gate, of_new = jnp.split(projected, 3)
        if self.reset == "after":
            from_reset, from_gate, from_new = jnp.split(self.weight_hh @ state, 3)
            r = jax.nn.sigmoid(of_reset + from_reset)
            n = jnp.tanh(of_new + r * (from_new if self.bias_n is None else from_new + self.bias_n))
        else:
            from_reset, from_gate = jnp.split(self.weight_hh[: 2 * m] @ state, 2)
            r = jax.nn.sigmoid(of_reset + from_reset)
            n = jnp.tanh(of_new + self.weight_hh[2 * m :] @ (r * state))
        into = of_gate + from_gate
        return GRUGates(r, jax.nn.sigmoid(into if self.gate == "update" else -into), n)

    def advance(self, state: Float[Array, " m"], projected: Float[Array, " gates"]) -> Float[Array, " m"]:
        _, u, n = self.gates(state, projected)
        return state + u * (n - state)

    def predict(self, state: Float[Array, " m"]) -> Float[Array, " m"]:
        return state
