"""Layers as pairs of functions, forward and backward, that know nothing of each other's neighbours.

forward(h, θ) gives the output and a cache; backward(δ, cache) takes the adjoint of the output to the adjoint of the
input and the gradient of θ: δ_in = (∂h_out/∂h)ᵀ δ, grad θ = (∂h_out/∂θ)ᵀ δ. Rows of h are examples.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from leadline.networks.activation_catalogue import activation_facts

Rows = Float[Array, "n _"]


class LayerPair(NamedTuple):
    """A layer as its forward and its backward function; parameters are any pytree, () for none."""

    name: str
    forward: Callable[[Any, Any], tuple[Any, Any]]  # (h, θ) → (output, cache)
    backward: Callable[[Any, Any], tuple[Any, Any]]  # (δ of the output, cache) → (δ of the input, grad θ)


def affine_pair() -> LayerPair:
    """h ↦ h Wᵀ + b with θ = {"weight": W (out, in), "bias": b}; the cache is the layer's input and W.

    grad W = Σ over examples of δ hᵀ with the *input* h, grad b = Σ δ, adjoint of the input Wᵀ δ.

    >>> pair = affine_pair()
    >>> out, cache = pair.forward(jnp.ones((1, 2)), {"weight": jnp.ones((3, 2)), "bias": jnp.zeros(3)})
    >>> pair.backward(jnp.ones((1, 3)), cache)[0].tolist()
    [[3.0, 3.0]]
    """

    def forward(h: Rows, theta: dict[str, Array]) -> tuple[Rows, tuple[Rows, Array]]:
        return h @ theta["weight"].T + theta["bias"], (h, theta["weight"])

    def backward(delta: Rows, cache: tuple[Rows, Array]) -> tuple[Rows, dict[str, Array]]:
        h, weight = cache
        return delta @ weight, {"weight": delta.T @ h, "bias": delta.sum(axis=0)}

    return LayerPair("affine", forward, backward)


def pointwise_pair(activation: str) -> LayerPair:
    """h ↦ φ(h) entry by entry, without parameters; backward multiplies by φ'(h).

    >>> out, cache = pointwise_pair("relu").forward(jnp.array([[-1.0, 2.0]]), ())
    >>> pointwise_pair("relu").backward(jnp.ones((1, 2)), cache)[0].tolist()
    [[0.0, 1.0]]
    """
    facts = activation_facts(activation)

    def forward(h: Rows, theta: PyTree) -> tuple[Rows, Rows]:
        return facts.function(h), h

    def backward(delta: Rows, cache: Rows) -> tuple[Rows, PyTree]:
        return delta * facts.derivative(cache), ()

    return LayerPair(activation, forward, backward)


def layer_norm_pair(epsilon: float = 1e-5) -> LayerPair:
    """Each row to mean 0 and variance 1, then times γ plus β: θ = {"gain": γ, "shift": β} (Ba, Kiros, Hinton 2016).

    With û the normalised row and g = γ δ: δ_in = (g - mean(g) - û mean(g û)) / √(var + ε).
    """

    def forward(h: Rows, theta: dict[str, Array]) -> tuple[Rows, tuple[Rows, Array, Array]]:
        spread = jnp.sqrt(h.var(axis=1, keepdims=True) + epsilon)
        unit = (h - h.mean(axis=1, keepdims=True)) / spread
        return theta["gain"] * unit + theta["shift"], (unit, spread, theta["gain"])

    def backward(delta: Rows, cache: tuple[Rows, Array, Array]) -> tuple[Rows, dict[str, Array]]:
        unit, spread, gain = cache
        g = gain * delta
        through = g - g.mean(axis=1, keepdims=True) - unit * (g * unit).mean(axis=1, keepdims=True)
        return through / spread, {"gain": (delta * unit).sum(axis=0), "shift": delta.sum(axis=0)}

    return LayerPair("layer norm", forward, backward)


def residual_pair(inner: LayerPair) -> LayerPair:
    """h ↦ h + F(h) around a pair F of equal input and output width; adjoints pass through and around."""

    def forward(h: Rows, theta: PyTree) -> tuple[Rows, PyTree]:
        out, cache = inner.forward(h, theta)
        return h + out, cache

    def backward(delta: Rows, cache: PyTree) -> tuple[Rows, PyTree]:
        before, gradient = inner.backward(delta, cache)
        return delta + before, gradient

    return LayerPair(f"residual {inner.name}", forward, backward)


def chain_pair(pairs: Sequence[LayerPair]) -> LayerPair:
    """The composition of pairs, itself a pair; its parameters are the tuple of theirs.

    >>> net = chain_pair([affine_pair(), pointwise_pair("tanh")])
    >>> theta = ({"weight": jnp.eye(2), "bias": jnp.zeros(2)}, ())
    >>> out, cache = net.forward(jnp.zeros((1, 2)), theta)
    >>> net.backward(jnp.ones((1, 2)), cache)[0].tolist()
    [[1.0, 1.0]]
    """
    pairs = tuple(pairs)
    if not pairs:
        raise ValueError("chain_pair got no layers; give at least one.")

    def forward(h: Rows, theta: Sequence[PyTree]) -> tuple[Rows, tuple[PyTree, ...]]:
        if len(theta) != len(pairs):
            raise ValueError(f"A chain of {len(pairs)} layers got parameters for {len(theta)}; give one pytree each.")
        caches = []
        for pair, part in zip(pairs, theta, strict=True):
            h, cache = pair.forward(h, part)
            caches.append(cache)
        return h, tuple(caches)

    def backward(delta: Rows, caches: tuple[PyTree, ...]) -> tuple[Rows, tuple[PyTree, ...]]:
        gradients = []
        for pair, cache in zip(reversed(pairs), reversed(caches), strict=True):
            delta, gradient = pair.backward(delta, cache)
            gradients.append(gradient)
        return delta, tuple(reversed(gradients))

    return LayerPair(" → ".join(pair.name for pair in pairs), forward, backward)
