"""The simple recurrent network of Elman (1990), and a cell from any map of (state, input)."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree

from leadline.networks import MLP, activation as activation_called

from .cell import Cell
from .drawing import drawn, float_type


class Elman(Cell):
    r"""z_t = φ(U z_{t-1} + V x_t + b), z_0 = 0; the output is the state itself (Elman 1990).

    A linear read-out ŷ = ψ(W z + c) is the head of a `SequenceNetwork`. U is drawn by `recurrent_init` times `gain`,
    V by `init`; b begins at 0.

    >>> cell = Elman(2, 4, "tanh", key=jax.random.key(0))
    >>> cell.update(cell.init(), jnp.ones(2)).shape, cell.recurrent_weight.shape, cell.input_weight.shape
    ((4,), (4, 4), (4, 2))
    """

    recurrent_weight: Float[Array, "m m"]
    input_weight: Float[Array, "m n"]
    bias: Float[Array, " m"] | None
    activation: str = eqx.field(static=True)
    input_size: int = eqx.field(static=True)
    output_size: int = eqx.field(static=True)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        activation: str = "tanh",
        *,
        bias: bool = True,
        init: str = "lecun",
        recurrent_init: str = "orthogonal",
        gain: float = 1.0,
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        activation_called(activation)
        key_state, key_input = jax.random.split(key)
        self.recurrent_weight = gain * drawn(recurrent_init, 1, hidden_size, hidden_size, dtype, key_state)
        self.input_weight = drawn(init, 1, hidden_size, input_size, dtype, key_input)
        self.bias = jnp.zeros(hidden_size, float_type(dtype)) if bias else None
        self.activation, self.input_size, self.output_size = activation, input_size, hidden_size

    def init(self) -> Float[Array, " m"]:
        return jnp.zeros(self.output_size, self.recurrent_weight.dtype)

    def project(self, x: Num[Array, " n"]) -> Float[Array, " m"]:
        z = self.input_weight @ x
        return z if self.bias is None else z + self.bias

    def advance(self, state: Float[Array, " m"], projected: Float[Array, " m"]) -> Float[Array, " m"]:
        return activation_called(self.activation)(self.recurrent_weight @ state + projected)

    def predict(self, state: Float[Array, " m"]) -> Float[Array, " m"]:
        return state


class Recurrence(Cell):
    """z_t = F(z_{t-1}, x_t), y_t = G(z_t) for any F and G: a user's cell behind the interface of the others.

    `start` is z_0, any pytree; `readout` is G, of outputs (output_size,). F and G may be modules, whose arrays are then
    trained with the rest.

    >>> theirs = eqx.nn.LSTMCell(3, 5, key=jax.random.key(0))
    >>> cell = Recurrence(lambda z, x: theirs(x, z), (jnp.zeros(5), jnp.zeros(5)), 3, 5, readout=lambda z: z[0])
    >>> cell.predict(cell.update(cell.init(), jnp.ones(3))).shape
    (5,)
    """

    transition: Callable[[PyTree, Array], PyTree]
    readout: Callable[[PyTree], Array] | None
    start: PyTree
    input_size: int = eqx.field(static=True)
    output_size: int = eqx.field(static=True)

    def __init__(
        self,
        transition: Callable[[PyTree, Array], PyTree],
        start: PyTree,
        input_size: int,
        output_size: int,
        *,
        readout: Callable[[PyTree], Array] | None = None,
    ):
        self.transition, self.readout, self.start = transition, readout, start
        self.input_size, self.output_size = input_size, output_size

    def init(self) -> PyTree:
        return jax.lax.stop_gradient(self.start)

    def project(self, x: Num[Array, " n"]) -> Num[Array, " n"]:
        return x

    def advance(self, state: PyTree, projected: Num[Array, " n"]) -> PyTree:
        return self.transition(state, projected)

    def predict(self, state: PyTree) -> Num[Array, " k"]:
        return state if self.readout is None else self.readout(state)


class DeepTransition(eqx.Module):
    """F(z, x) = φ(W_k φ(... W_1 [z; x])): a transition of `depth` layers (Pascanu et al. 2014), for `Recurrence`.

    The way of a gradient from one step to the step before is `depth` layers long.
    """

    network: MLP

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        depth: int,
        activation: str = "tanh",
        *,
        gain: float = 1.0,
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        widths = (input_size + hidden_size, *[hidden_size] * depth)
        self.network = MLP(widths, activation, init="lecun", gain=gain, last_activation=True, dtype=dtype, key=key)

    def __call__(self, state: Float[Array, " m"], x: Num[Array, " n"]) -> Float[Array, " m"]:
        return self.network(jnp.concatenate([state, x]))


def deep_transition(
    input_size: int,
    hidden_size: int,
    depth: int,
    activation: str = "tanh",
    *,
    gain: float = 1.0,
    dtype: jax.typing.DTypeLike | None = None,
    key: PRNGKeyArray,
) -> Recurrence:
    """The cell whose transition has `depth` layers; at depth 1 it is an `Elman` cell.

    >>> cell = deep_transition(2, 4, 3, key=jax.random.key(0))
    >>> [layer.weight.shape for layer in cell.transition.network.layers]
    [(4, 6), (4, 4), (4, 4)]
    """
    transition = DeepTransition(input_size, hidden_size, depth, activation, gain=gain, dtype=dtype, key=key)
    return Recurrence(transition, jnp.zeros(hidden_size, float_type(dtype)), input_size, hidden_size)
