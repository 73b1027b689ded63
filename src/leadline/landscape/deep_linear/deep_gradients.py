"""Deep linear networks W_L … W_1: product, gradient in closed form, what gradient flow conserves, and descent."""

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Layers = Sequence[Float[np.ndarray, "_ _"]]


def compose_layers(weights: Layers) -> Float[np.ndarray, "out in"]:
    """W_L … W_1, from the layers in the order in which they are applied.

    >>> compose_layers([np.array([[1.0, 2.0]]), np.array([[3.0], [0.0]])]).tolist()
    [[3.0, 6.0], [0.0, 0.0]]
    """
    _check_chain(weights)
    return reduce(lambda product, weight: weight @ product, weights)


def layer_gradients(
    weights: Layers, x: Float[np.ndarray, "inputs n"], y: Float[np.ndarray, "outputs n"]
) -> list[Float[np.ndarray, "_ _"]]:
    """d/dW_l of ½‖W_L … W_1 X - Y‖² = (W_L … W_{l+1})ᵀ (W_L … W_1 X - Y) Xᵀ (W_{l-1} … W_1)ᵀ, for every layer l.

    Samples are columns and summed over; empty products are the identity (Saxe, McClelland and Ganguli 2014).

    >>> one = np.ones((1, 1))
    >>> [g.item() for g in layer_gradients([2 * one, 3 * one], one, one)]
    [15.0, 10.0]
    """
    _check_chain(weights)
    return _gradients(weights, x, y)[1]


def conserved_matrices(weights: Layers) -> list[Float[np.ndarray, "_ _"]]:
    """W_{l+1}ᵀ W_{l+1} - W_l W_lᵀ for l = 1 … L - 1: constant along gradient flow on any loss of the product.

    Zero for balanced layers (Arora, Cohen and Hazan 2018).

    >>> conserved_matrices([np.array([[1.0]]), np.array([[3.0]])])[0].tolist()
    [[8.0]]
    """
    _check_chain(weights)
    return [after.T @ after - before @ before.T for before, after in pairwise(weights)]


class LayerDescent(NamedTuple):
    """The loss ½‖W_L … W_1 X - Y‖² before each step and after the last, the products then, and the last layers."""

    losses: Float[np.ndarray, " times"]
    products: Float[np.ndarray, "times outputs inputs"]
    weights: list[Float[np.ndarray, "_ _"]]


def descend_layers(
    weights: Layers,
    x: Float[np.ndarray, "inputs n"],
    y: Float[np.ndarray, "outputs n"],
    *,
    step_size: float,
    num_steps: int,
) -> LayerDescent:
    """Gradient descent W_l ← W_l - η dW_l on ½‖W_L … W_1 X - Y‖², all layers at once.

    >>> one = np.ones((1, 1))
    >>> run = descend_layers([one, one], one, 4 * one, step_size=0.05, num_steps=100)
    >>> round(run.products[-1].item(), 6)
    4.0
    """
    if not (step_size > 0 and num_steps >= 1):
        raise ValueError(
            f"descend_layers got step {step_size} and {num_steps} steps; give a positive step and at least 1."
        )
    _check_chain(weights)
    weights, products = list(weights), []
    for time in range(num_steps + 1):
        product, gradients = _gradients(weights, x, y)
        products.append(product)
        if time < num_steps:
            weights = [w - step_size * g for w, g in zip(weights, gradients, strict=True)]
    losses = np.array([0.5 * np.sum((product @ x - y) ** 2) for product in products])
    return LayerDescent(losses, np.array(products), weights)


def _gradients(weights: Layers, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The product of all layers, and the gradient of each."""
    below = list(accumulate(weights, lambda product, weight: weight @ product, initial=np.eye(len(x))))
    above = list(accumulate(reversed(weights), lambda product, weight: product @ weight, initial=np.eye(len(y))))
    error = (below[-1] @ x - y) @ x.T
    pairs = zip(reversed(above[:-1]), below[:-1], strict=True)
    return below[-1], [after.T @ error @ before.T for after, before in pairs]


def _check_chain(weights: Layers) -> None:
    shapes = [w.shape for w in weights]
    if not shapes or any(after[1] != before[0] for before, after in pairwise(shapes)):
        raise ValueError(
            f"These layers have the shapes {shapes}; give at least one, each with as many columns as the one before it "
            "has rows (first the layer applied first)."
        )
