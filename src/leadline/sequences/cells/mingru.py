"""The minimal gated recurrent unit of Feng et al. (2024), whose gates see the input alone."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, PRNGKeyArray

from .drawing import drawn, float_type
from .linear_cell import LinearCell


class MinGRU(LinearCell):
    r"""z_t = s_t ⊙ z_{t-1} + (1 - s_t) ⊙ z̃_t, s_t = σ(G x_t + b), z̃_t = V x_t.

    Linear in z, hence open to a parallel scan, and yet selective: what is kept depends on the input. Every unit stays
    within the range of its start and its candidates. `keep_bias` is where b begins. Feng et al. 2024.

    >>> cell = MinGRU(2, 4, key=jax.random.key(0))
    >>> s, new = cell.project(jnp.ones(2))
    >>> bool(jnp.allclose(cell.update(jnp.ones(4), jnp.ones(2)), s + new))
    True
    """

    gate_weight: Float[Array, "m n"]
    gate_bias: Float[Array, " m"] | None
    candidate_weight: Float[Array, "m n"]
    input_size: int = eqx.field(static=True)
    output_size: int = eqx.field(static=True)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        bias: bool = True,
        keep_bias: float = 1.0,
        init: str = "lecun",
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        key_gate, key_new = jax.random.split(key)
        self.gate_weight = drawn(init, 1, hidden_size, input_size, dtype, key_gate)
        self.candidate_weight = drawn(init, 1, hidden_size, input_size, dtype, key_new)
        self.gate_bias = jnp.full(hidden_size, keep_bias, float_type(dtype)) if bias else None
        self.input_size, self.output_size = input_size, hidden_size

    def init(self) -> Float[Array, " m"]:
        return jnp.zeros(self.output_size, self.gate_weight.dtype)

    def project(self, x: Num[Array, " n"]) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
        into = self.gate_weight @ x
        into = into if self.gate_bias is None else into + self.gate_bias
        return jax.nn.sigmoid(into), jax.nn.sigmoid(-into) * (self.candidate_weight @ x)

    def predict(self, state: Float[Array, " m"]) -> Float[Array, " m"]:
        return state
