"""scikit-learn's MLPClassifier and MLPRegressor as functions of their weights."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .checks import Refused, kind_of

ACTIVATIONS = {"identity": lambda x: x, "logistic": jax.nn.sigmoid, "tanh": jnp.tanh, "relu": jax.nn.relu}


class _Perceptron(eqx.Module):
    """f(x) = A_L σ(... σ(A_1 x + b_1) ...) + b_L, and exp of it where a regression says so (the Poisson loss)."""

    activation: str = eqx.field(static=True)
    last: str = eqx.field(static=True)

    def __call__(self, params: PyTree, x: Array) -> Array:
        *hidden, (weight, bias) = zip(params["coefs"], params["intercepts"], strict=True)
        for a, b in hidden:
            x = ACTIVATIONS[self.activation](x @ a + b)
        outputs = x @ weight + bias
        return jnp.exp(outputs) if self.last == "exp" else outputs


def open_scikit_learn(network: Any) -> tuple[Callable, PyTree]:
    """Outputs are the logits where the last activation is softmax or logistic: what the cross-entropy takes."""
    name = type(network).__name__
    if not hasattr(network, "hidden_layer_sizes"):
        raise Refused(
            f"The model, {kind_of(network)}, is no network of scikit-learn; give an MLPClassifier or an MLPRegressor, "
            "outside of any pipeline, and inputs that are scaled as it has seen them."
        )
    if not hasattr(network, "coefs_"):
        raise Refused(f"The {name} is not fitted yet; call its fit(x, y) first.")
    if network.out_activation_ == "logistic" and network.n_outputs_ > 1:
        raise Refused(
            f"The {name} gives {network.n_outputs_} labels for each row; give one that gives one, or its logits as a "
            "function with its parameters, (f, params), and a loss for them."
        )
    parts = {"coefs": network.coefs_, "intercepts": network.intercepts_}
    params = {part: [jnp.asarray(np.asarray(a)) for a in arrays] for part, arrays in parts.items()}
    return _Perceptron(network.activation, network.out_activation_), params
