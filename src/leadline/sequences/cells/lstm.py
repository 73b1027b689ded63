"""Long short-term memory: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000)."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, PRNGKeyArray

from .cell import Cell
from .drawing import drawn, float_type


class LSTMState(NamedTuple):
    """What goes out, h, and what is kept, c."""

    h: Float[Array, " m"]
    c: Float[Array, " m"]


class LSTMGates(NamedTuple):
    """Input, forget and output gate, and the candidate g, of one step."""

    input: Float[Array, " m"]
    forget: Float[Array, " m"]
    candidate: Float[Array, " m"]
    output: Float[Array, " m"]


class LSTM(Cell):
    r"""i, f, o = σ(W [x_t; h] + b), g = tanh(W_g [x_t; h] + b_g); c' = f ⊙ c + i ⊙ g, h' = o ⊙ tanh(c').

    The forget gate's bias begins at `forget_bias` = 1 (Jozefowicz et al. 2015). With `output_map` it is
    h' = o ⊙ tanh(U c'), with `squash=None` it is h' = o ⊙ c'. Blocks of the weights are in the order i, f, g, o of
    `eqx.nn.LSTMCell`, whose arrays these are by name and shape.

    >>> theirs = eqx.nn.LSTMCell(3, 5, key=jax.random.key(1))
    >>> cell = LSTM.like(theirs)
    >>> state, x = LSTMState(jnp.ones(5), jnp.zeros(5)), jnp.arange(3.0)
    >>> bool(jnp.allclose(cell.update(state, x).c, theirs(x, state)[1]))
    True
    """

    weight_ih: Float[Array, "gates n"]
    weight_hh: Float[Array, "gates m"]
    bias: Float[Array, " gates"] | None
    output_map: Float[Array, "m m"] | None
    squash: Literal["tanh"] | None = eqx.field(static=True)
    input_size: int = eqx.field(static=True)
    output_size: int = eqx.field(static=True)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        bias: bool = True,
        forget_bias: float = 1.0,
        output_map: bool = False,
        squash: Literal["tanh"] | None = "tanh",
        init: str = "lecun",
        recurrent_init: str = "orthogonal",
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        if squash not in ("tanh", None):
            raise ValueError(f"LSTM got squash={squash!r}; give 'tanh' or None.")
        key_input, key_state, key_map = jax.random.split(key, 3)
        self.weight_ih = drawn(init, 4, hidden_size, input_size, dtype, key_input)
        self.weight_hh = drawn(recurrent_init, 4, hidden_size, hidden_size, dtype, key_state)
        forget = jnp.repeat(jnp.array([0, forget_bias, 0, 0], float_type(dtype)), hidden_size)
        self.bias = forget if bias else None
        self.output_map = drawn("orthogonal", 1, hidden_size, hidden_size, dtype, key_map) if output_map else None
        self.squash, self.input_size, self.output_size = squash, input_size, hidden_size

    @classmethod
    def like(cls, cell: eqx.nn.LSTMCell) -> "LSTM":
        """The cell of Equinox, with its weights."""
        new = cls(cell.input_size, cell.hidden_size, bias=cell.use_bias, key=jax.random.key(0))
        parts = [name for name in ("weight_ih", "weight_hh", "bias") if getattr(cell, name) is not None]
        return eqx.tree_at(lambda c: [getattr(c, name) for name in parts], new, [getattr(cell, name) for name in parts])

    def init(self) -> LSTMState:
        nothing = jnp.zeros(self.output_size, self.weight_hh.dtype)
        return LSTMState(nothing, nothing)

    def project(self, x: Num[Array, " n"]) -> Float[Array, " gates"]:
        z = self.weight_ih @ x
        return z if self.bias is None else z + self.bias

    def gates(self, state: LSTMState, projected: Float[Array, " gates"]) -> LSTMGates:
        """i, f, g and o of the step from `state` with `project(x)`."""
        i, f, g, o = jnp.split(projected + self.weight_hh @ state.h, 4)
        return LSTMGates(jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(g), jax.nn.sigmoid(o))

    def advance(self, state: LSTMState, projected: Float[Array, " gates"]) -> LSTMState:
        i, f, g, o = self.gates(state, projected)
        c = f * state.c + i * g
        shown = c if self.output_map is None else self.output_map @ c
        return LSTMState(o * (shown if self.squash is None else jnp.tanh(shown)), c)

    def predict(self, state: LSTMState) -> Float[Array, " m"]:
        return state.h
