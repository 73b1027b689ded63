"""The light gated recurrent unit of Ravanelli et al. (2018): no reset gate, ReLU, batch-normalised inputs."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, PRNGKeyArray

from .cell import Cell
from .drawing import drawn, float_type

_EPSILON = 1e-5


class LightGRU(Cell):
    r"""u = σ(N(W_xu x_t) + W_hu h), h' = (1 - u) ⊙ h + u ⊙ relu(N(W_x x_t) + W_h h), N a batch normalisation.

    N(a) = scale ⊙ (a - mean)/√(variance + ε) + shift, over the sequences and steps of a batch. In training the
    objective calls `normalised_on(batch)`, which gives the cell with that batch's statistics, through which gradients
    pass; afterwards the same call with the training data gives the cell that is used. A new cell has mean 0 and
    variance 1. Blocks are in the order u, candidate. `gate_activation="relu"` is the gate that one source prints: its
    1 - u has no lower bound. Ravanelli, Brakel, Omologo and Bengio 2018.

    >>> cell = LightGRU(2, 4, key=jax.random.key(0))
    >>> batch = jax.random.normal(jax.random.key(1), (8, 5, 2))
    >>> normalised = cell.normalised_on(batch)
    >>> into = jax.vmap(jax.vmap(normalised.project))(batch)
    >>> bool(jnp.allclose(into.mean((0, 1)), 0, atol=1e-5)), into.std((0, 1)).round(2).tolist()[:2]
    (True, [1.0, 1.0])
    """

    weight_ih: Float[Array, "gates n"]
    weight_hh: Float[Array, "gates m"]
    scale: Float[Array, " gates"]
    shift: Float[Array, " gates"]
    mean: Float[Array, " gates"]
    variance: Float[Array, " gates"]
    gate_activation: Literal["sigmoid", "relu"] = eqx.field(static=True)
    input_size: int = eqx.field(static=True)
    output_size: int = eqx.field(static=True)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        gate_activation: Literal["sigmoid", "relu"] = "sigmoid",
        init: str = "lecun",
        recurrent_init: str = "orthogonal",
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        if gate_activation not in ("sigmoid", "relu"):
            raise ValueError(f"LightGRU got gate_activation={gate_activation!r}; give 'sigmoid' or 'relu'.")
        key_input, key_state = jax.random.split(key)
        self.weight_ih = drawn(init, 2, hidden_size, input_size, dtype, key_input)
        self.weight_hh = drawn(recurrent_init, 2, hidden_size, hidden_size, dtype, key_state)
        ones, zeros = (make(2 * hidden_size, float_type(dtype)) for make in (jnp.ones, jnp.zeros))
        self.scale, self.shift, self.mean, self.variance = ones, zeros, zeros, ones
        self.gate_activation, self.input_size, self.output_size = gate_activation, input_size, hidden_size

    def normalised_on(self, batch: Num[Array, "*batch T n"]) -> "LightGRU":
        """The cell with the statistics of W_x x over all sequences and steps of a batch."""
        into = batch.reshape(-1, self.input_size) @ self.weight_ih.T
        return eqx.tree_at(lambda c: (c.mean, c.variance), self, (into.mean(0), into.var(0)))

    def init(self) -> Float[Array, " m"]:
        return jnp.zeros(self.output_size, self.weight_hh.dtype)

    def project(self, x: Num[Array, " n"]) -> Float[Array, " gates"]:
        into = self.weight_ih @ x
        return self.scale * (into - self.mean) / jnp.sqrt(self.variance + _EPSILON) + self.shift

    def advance(self, state: Float[Array, " m"], projected: Float[Array, " gates"]) -> Float[Array, " m"]:
        of_gate, of_new = jnp.split(projected + self.weight_hh @ state, 2)
        u = jax.nn.sigmoid(of_gate) if self.gate_activation == "sigmoid" else jax.nn.relu(of_gate)
        return (1 - u) * state + u * jax.nn.relu(of_new)

    def predict(self, state: Float[Array, " m"]) -> Float[Array, " m"]:
        return state
