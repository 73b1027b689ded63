"""Backpropagation through a fully connected network, written out by hand, and a step-through of it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from leadline.networks import MLP
from leadline.networks.activation_catalogue import activation_facts
from leadline.networks.architectures.fully_connected import Trace

from .loss_pairs import LossPair, Targets, loss_pair

Rows = Num[Array, "n _"]
Loss = str | LossPair | Callable[[Array, Array], Array]


class BackwardPass(NamedTuple):
    """What one forward and one backward pass give; rows are examples."""

    loss: Float[Array, ""]
    gradient: MLP  # the gradient of every parameter, in the form of the network
    deltas: tuple[Rows, ...]  # ∂ℓ/∂z_l for l = 1..L
    adjoints: tuple[Rows, ...]  # ∂ℓ/∂h_l for l = 0..L; the first is the input gradient


class AdjointStep(NamedTuple):
    """One step of a pass through a network: a value on the way forward, an adjoint on the way back."""

    direction: str  # "forward" or "backward"
    quantity: str  # "h0", "z1", "h1", ..., "loss"; "W1" and "b1" on the way back
    value: Array
    adjoint: Array | None  # None on the way forward


def network_loss(net: MLP, x: Rows, y: Targets, *, loss: Loss = "squared") -> Num[Array, ""]:
    """The loss of a network on a batch, mean over the examples: what `backpropagate` differentiates."""
    return loss_pair(loss).value(jax.vmap(net)(x), y)


def backpropagate(net: MLP, x: Rows, y: Targets, *, loss: Loss = "squared") -> BackwardPass:
    """The gradient of the loss in all parameters of a network, without automatic differentiation.

    Forward: z_l = W_l h_{l-1} + b_l and h_l = φ(z_l) are kept. Backward: δ_L = ∂ℓ/∂z_L, then
    δ_l = (W_{l+1}ᵀ δ_{l+1}) * φ'(z_l), ∂ℓ/∂W_l = Σ δ_l h_{l-1}ᵀ and ∂ℓ/∂b_l = Σ δ_l over the examples
    (Rumelhart, Hinton and Williams 1986). Works for every activation of `networks.ACTIVATIONS` and any loss.

    >>> net = MLP((3, 4, 2), "tanh", key=jax.random.key(0))
    >>> found = backpropagate(net, jnp.ones((5, 3)), jnp.zeros((5, 2)))
    >>> found.gradient.layers[0].weight.shape, found.adjoints[0].shape
    ((4, 3), (5, 3))
    """
    if x.shape[1] != net.widths[0]:
        raise ValueError(f"The network takes {net.widths[0]} inputs, the rows of x have {x.shape[1]}.")
    affine, scales = net.affine(), net.scales()
    facts, pair = activation_facts(net.activation), loss_pair(loss)
    last = len(affine) if net.last_activation else len(affine) - 1  # layers with an activation
    pre, post = [], [x]
    for number, (weight, bias) in enumerate(affine):
        z = post[-1] @ weight.T
        z = z if bias is None else z + bias
        pre.append(z)
        post.append(facts.function(z) if number < last else z)

    adjoint = pair.derivative(post[-1], y)
    deltas, adjoints, layers = [], [adjoint], []
    for number in reversed(range(len(affine))):
        weight, bias = affine[number]
        delta = adjoint * facts.derivative(pre[number]) if number < last else adjoint
        of_weight, of_bias = scales[number]
        layer = eqx.tree_at(lambda m: m.weight, net.layers[number], of_weight * (delta.T @ post[number]))
        if bias is not None:
            layer = eqx.tree_at(lambda m: m.bias, layer, of_bias * delta.sum(axis=0))
        adjoint = delta @ weight
        layers.append(layer)
        deltas.append(delta)
        adjoints.append(adjoint)
    gradient = eqx.tree_at(lambda m: m.layers, net, tuple(reversed(layers)))
    return BackwardPass(pair.value(post[-1], y), gradient, tuple(reversed(deltas)), tuple(reversed(adjoints)))


def hand_differentiated(loss: Loss = "squared") -> Callable[[MLP, Rows, Array], Float[Array, ""]]:
    """The objective (net, x, y) ↦ loss whose gradient JAX takes from `backpropagate` in place of its own.

    So every trainer, `training.minimise` for one, descends by hand-written backpropagation.

    >>> net = MLP((1, 1), "identity", init="zeros", key=jax.random.key(0))
    >>> objective = hand_differentiated("squared")
    >>> float(jax.grad(objective)(net, jnp.ones((1, 1)), jnp.ones((1, 1))).layers[0].weight[0, 0])
    -1.0
    """

    @jax.custom_vjp
    def objective(net: MLP, x: Rows, y: Array) -> Float[Array, ""]:
        return network_loss(net, x, y, loss=loss)

    def forward(net: MLP, x: Rows, y: Array) -> tuple[Array, tuple[MLP, Rows]]:
        found = backpropagate(net, x, y, loss=loss)
        return found.loss, (found.gradient, found.adjoints[0])

    def backward(kept: tuple[MLP, Rows], cotangent: Array) -> tuple[MLP, Rows, None]:
        gradient, of_input = kept
        return jax.tree.map(lambda g: cotangent * g, gradient), cotangent * of_input, None

    objective.defvjp(forward, backward)
    return objective


def adjoint_steps(
    net: MLP, x: Num[Array, " _"], y: Num[Array, "..."], *, loss: Loss = "squared"
) -> Iterator[AdjointStep]:
    """Backpropagation of one example step by step: the values on the way up, then the adjoints on the way down.

    >>> net = MLP((2, 3, 1), "relu", key=jax.random.key(0))
    >>> steps = list(adjoint_steps(net, jnp.ones(2), jnp.zeros(1)))
    >>> [step.quantity for step in steps]
    ['h0', 'z1', 'h1', 'z2', 'h2', 'loss', 'loss', 'h2', 'z2', 'W2', 'b2', 'h1', 'z1', 'W1', 'b1', 'h0']
    """
    trace, found = _both_passes(net, x, jnp.asarray(y), loss)
    yield AdjointStep("forward", "h0", trace.post[0], None)
    for number, z in enumerate(trace.pre):
        yield AdjointStep("forward", f"z{number + 1}", z, None)
        yield AdjointStep("forward", f"h{number + 1}", trace.post[number + 1], None)
    yield AdjointStep("forward", "loss", found.loss, None)
    yield AdjointStep("backward", "loss", found.loss, jnp.ones_like(found.loss))
    for number in range(len(trace.pre), 0, -1):
        layer, gradient = net.layers[number - 1], found.gradient.layers[number - 1]
        yield AdjointStep("backward", f"h{number}", trace.post[number], found.adjoints[number][0])
        yield AdjointStep("backward", f"z{number}", trace.pre[number - 1], found.deltas[number - 1][0])
        yield AdjointStep("backward", f"W{number}", layer.weight, gradient.weight)
        if layer.bias is not None:
            yield AdjointStep("backward", f"b{number}", layer.bias, gradient.bias)
    yield AdjointStep("backward", "h0", trace.post[0], found.adjoints[0][0])


@eqx.filter_jit
def _both_passes(net: MLP, x: Array, y: Array, loss: Loss) -> tuple[Trace, BackwardPass]:
    return net.trace(x), backpropagate(net, x[None], y[None], loss=loss)
