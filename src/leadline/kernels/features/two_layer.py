"""Training a two-layer network with its features learned, or frozen as they were drawn."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray

from leadline.data import generator
from leadline.networks import MLP


class TwoLayerRun(NamedTuple):
    """The trained network, the network at some steps (stacked along a first axis, the start first), and the losses."""

    network: MLP
    snapshots: MLP
    times: Int[np.ndarray, " k"]
    losses: Float[Array, " steps"]

    def at(self, index: int) -> MLP:
        """The network of one snapshot, with its weights in NumPy."""
        return jax.tree.map(lambda leaf: np.asarray(leaf)[index], self.snapshots)


def draw_two_layer(
    inputs: int,
    units: int,
    outputs: int = 1,
    activation: str = "relu",
    *,
    bias_scale: float = 0.0,
    dtype: type = np.float32,
    key: PRNGKeyArray,
) -> MLP:
    """A network of one hidden layer with weights N(0, 2/fan-in) (He et al. 2015) and biases N(0, bias_scale²).

    The distribution of `MLP((inputs, units, outputs))`, drawn by NumPy: nothing is compiled for a new shape.

    >>> draw_two_layer(3, 5, key=jax.random.key(0)).widths
    (3, 5, 1)
    """
    shape = eqx.filter_eval_shape(MLP, (inputs, units, outputs), activation, dtype=dtype, key=key)
    rng = generator(key)

    def normal(size: tuple[int, ...], scale: float) -> Array:
        return jnp.asarray((scale * rng.standard_normal(size)).astype(dtype))

    drawn = []
    for layer in shape.layers:
        weight = normal(layer.weight.shape, (2 / layer.weight.shape[1]) ** 0.5)
        drawn += [weight, normal(layer.bias.shape, bias_scale)]
    return eqx.tree_at(lambda net: [part for layer in net.layers for part in (layer.weight, layer.bias)], shape, drawn)


def stack_networks(networks: Sequence[MLP]) -> MLP:
    """Networks of one shape as one, every array with a first axis over them: to be mapped with `eqx.filter_vmap`.

    >>> stack_networks([draw_two_layer(2, 3, key=jax.random.key(i)) for i in range(4)]).layers[0].weight.shape
    (4, 3, 2)
    """
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *networks)


def train_two_layer(
    start: MLP,
    x: Float[Array | np.ndarray, "n d"],
    y: Num[Array | np.ndarray, " n"],
    *,
    num_steps: int = 300,
    rate: float = 1e-2,
    decay: float = 0.0,
    loss: str = "logistic",
    frozen: bool = False,
    snapshots: int = 1,
) -> TwoLayerRun:
    """Minimise the mean loss of w·φ(Sᵀx + b) over w, S and b, or with `frozen` over the last layer alone.

    Adam on all examples at once, with decoupled weight decay (AdamW) if asked for. Labels are -1 or +1 for the losses
    "logistic" and "hinge", numbers for "squared", classes 0, 1, ... for "cross-entropy". `snapshots` says in how many
    equal parts the steps are divided; the network is kept at the start and after each part. A pure function: it may be
    mapped over networks and data.

    >>> x, y = jnp.array([[-1.0], [0.0], [1.0]]), jnp.array([1.0, -1.0, 1.0])
    >>> run = train_two_layer(draw_two_layer(1, 16, bias_scale=1.0, key=jax.random.key(0)), x, y, rate=0.05)
    >>> bool((jnp.sign(jax.vmap(run.network)(x)[:, 0]) == y).all())
    True
    """
    if loss not in _LOSSES:
        raise ValueError(f"train_two_layer got loss {loss!r}; choose one of {', '.join(_LOSSES)}.")
    if len(start.layers) != 2:
        raise ValueError(f"train_two_layer got a network with {len(start.layers)} layers of weights; give one with 2.")
    if num_steps < 1 or snapshots < 1 or num_steps % snapshots:
        raise ValueError(
            f"train_two_layer got {num_steps} steps in {snapshots} parts; the parts must be equal and whole."
        )
    dtype = start.layers[0].weight.dtype
    y = jnp.asarray(y) if loss == "cross-entropy" else jnp.asarray(y, dtype)
    strength = tuple(jnp.asarray(value, dtype) for value in (rate, decay, not frozen))
    network, parts, losses = _train(start, jnp.asarray(x, dtype), y, strength, loss, num_steps, snapshots)
    return TwoLayerRun(network, parts, np.arange(snapshots + 1) * (num_steps // snapshots), losses)


def two_layer_loss(
    network: MLP, x: Float[Array, "n d"], y: Num[Array, " n"], loss: str = "logistic"
) -> Float[Array, ""]:
    """The mean loss of the network's outputs on a sample: what `train_two_layer` minimises."""
    return jnp.mean(_LOSSES[loss](jax.vmap(network)(x), y))


@eqx.filter_jit
def _train(start, x, y, strength, loss: str, num_steps: int, snapshots: int):
    rate, decay, first = strength
    optimiser = optax.flatten(optax.adamw(rate, weight_decay=decay))

    def step(state, _):
        network, memory = state
        value, slope = jax.value_and_grad(two_layer_loss)(network, x, y, loss)
        change, memory = optimiser.update(slope, memory, network)
        # A frozen layer moves by 0 times its step: one program for both ways of training.
        change = eqx.tree_at(lambda net: net.layers[0], change, jax.tree.map(lambda c: first * c, change.layers[0]))
        return (optax.apply_updates(network, change), memory), value

    def part(state, _):
        state, losses = jax.lax.scan(step, state, None, length=num_steps // snapshots)
        return state, (state[0], losses)

    (network, _), (kept, losses) = jax.lax.scan(part, (start, optimiser.init(start)), None, length=snapshots)
    kept = jax.tree.map(lambda before, later: jnp.concatenate([before[None], later]), start, kept)
    return network, kept, losses.reshape(num_steps)


_LOSSES = {
    "logistic": lambda scores, y: jax.nn.softplus(-y * scores[:, 0]),
    "hinge": lambda scores, y: jnp.maximum(0, 1 - y * scores[:, 0]),
    "squared": lambda scores, y: (scores[:, 0] - y) ** 2,
    "cross-entropy": optax.softmax_cross_entropy_with_integer_labels,
}
