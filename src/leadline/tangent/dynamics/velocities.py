"""Training seen in function space: how outputs and loss change while the parameters follow their gradient."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Num, PyTree

from leadline import learning
from leadline._checks import require, require_numbers
from leadline.frameworks.network import Apply
from leadline.training.objectives import squared_error

from ..functions import outputs_at
from ..products import ntk_product

Inputs = Float[Array | np.ndarray, "n ..."]
Targets = Num[Array | np.ndarray, "n ..."]


def _scalar(loss: Callable) -> Callable:
    """A loss of (output, target) for one output, on batches of outputs (n, 1)."""
    return lambda outputs, targets: loss(outputs[:, 0], targets.reshape(-1))


#: outputs (n, C) and targets → one loss for each example; labels of the logistic loss are ±1
OUTPUT_LOSSES: dict[str, Callable] = {
    "cross-entropy": optax.softmax_cross_entropy_with_integer_labels,
    "half-squared": lambda outputs, targets: squared_error(outputs, targets) / 2,
    "huber": _scalar(learning.huber),
    "logistic": _scalar(lambda output, label: learning.logistic(label * output)),
    "squared": squared_error,
}


class OutputRisk(eqx.Module):
    """L(θ) = Σᵢ ℓ(f(θ, xᵢ), yᵢ), or the mean: an objective of (params, x, y), with its slope in the outputs.

    `loss` is a name of `OUTPUT_LOSSES` or a function of (outputs (n, C), targets) with one loss for each example.

    >>> risk = OutputRisk(lambda w, x: x @ w, "half-squared")
    >>> w, x, y = jnp.array([1.0, 2.0]), jnp.eye(2), jnp.array([0.0, 1.0])
    >>> float(risk(w, x, y)), risk.slope(w, x, y).ravel().tolist()
    (1.0, [1.0, 1.0])
    """

    apply: Apply
    loss: Callable = eqx.field(static=True)
    mean: bool = eqx.field(static=True)

    def __init__(self, apply: Apply, loss: str | Callable = "half-squared", *, mean: bool = False):
        if isinstance(loss, str) and loss not in OUTPUT_LOSSES:
            raise ValueError(f"OutputRisk got loss {loss!r}; choose one of {', '.join(OUTPUT_LOSSES)}, or a function.")
        self.apply, self.mean = apply, mean
        self.loss = OUTPUT_LOSSES[loss] if isinstance(loss, str) else loss

    def __call__(self, params: PyTree, x: Inputs, y: Targets) -> Float[Array, ""]:
        return self.of_outputs(self.outputs(params, x), y)

    @eqx.filter_jit
    def outputs(self, params: PyTree, x: Inputs) -> Float[Array, "n c"]:
        """f(θ, xᵢ) for every row, flattened."""
        return outputs_at(self.apply, params, jnp.asarray(x))

    def of_outputs(self, outputs: Float[Array, "n c"], y: Targets) -> Float[Array, ""]:
        """L as a function of the outputs."""
        total = jnp.sum(self.loss(outputs, jnp.asarray(y)))
        return total / len(outputs) if self.mean else total

    @eqx.filter_jit
    def slope(self, params: PyTree, x: Inputs, y: Targets) -> Float[Array, "n c"]:
        """∂L/∂f at the data: r = f - y for the half squared loss; with 1/n where L is a mean."""
        return jax.grad(self.of_outputs)(self.outputs(params, x), y)

    @eqx.filter_jit
    def gradient(self, params: PyTree, x: Inputs, y: Targets) -> PyTree:
        """∇L(θ), in the structure of the parameters."""
        return jax.grad(self)(params, x, y)


def output_velocity(
    risk: OutputRisk, params: PyTree, x: Inputs, y: Targets, at: Float[Array | np.ndarray, "k ..."] | None = None
) -> Float[Array, "k c"]:
    """df(z)/dt = -Σᵢ k_θ(z, xᵢ) ∂L/∂fᵢ under θ' = -∇L, for every row z of `at` (by default the data).

    k_θ is the tangent kernel at θ; nothing of its size is formed (Jacot, Gabriel and Hongler 2018).

    >>> risk = OutputRisk(lambda w, x: x @ w)
    >>> output_velocity(risk, jnp.zeros(2), 2 * jnp.eye(2), jnp.ones(2)).ravel().tolist()  # -K (f - y), K = 4 I
    [4.0, 4.0]
    """
    x = jnp.asarray(x)
    slope = risk.slope(params, x, y)
    velocity = -ntk_product(risk.apply, params, x if at is None else jnp.asarray(at), x, slope.ravel())
    return velocity.reshape(-1, slope.shape[1])


class Dissipation(NamedTuple):
    """dL/dt under θ' = -∇L in three ways that agree: d/ds L(θ - s∇L) at 0, -‖∇L‖², and -gᵀKg with g = ∂L/∂f."""

    along: Float[Array, ""]
    by_gradient: Float[Array, ""]
    by_kernel: Float[Array, ""]


def dissipation(risk: OutputRisk, params: PyTree, x: Inputs, y: Targets) -> Dissipation:
    """How fast the loss falls along the flow; the kernel form by the explicit K = J Jᵀ.

    Where L is a mean, g has the factor 1/n and -gᵀKg is -(1/n²) Σᵢⱼ ∂ℓᵢ K_ij ∂ℓⱼ.

    >>> risk = OutputRisk(lambda w, x: x @ w)
    >>> [float(v) for v in dissipation(risk, jnp.zeros(2), 2 * jnp.eye(2), jnp.ones(2))]
    [-8.0, -8.0, -8.0]
    """
    require("dissipation", x=x, y=y)
    require_numbers("dissipation", params=params)
    return _dissipation(risk, params, x, y)


@eqx.filter_jit
def _dissipation(risk: OutputRisk, params: PyTree, x: Inputs, y: Targets) -> Dissipation:
    gradient = risk.gradient(params, x, y)
    along = jax.jvp(lambda p: risk(p, x, y), (params,), (jax.tree.map(jnp.negative, gradient),))[1]
    g = risk.slope(params, x, y).ravel()
    J = jax.jacrev(lambda p: risk.outputs(p, x).ravel())(params)
    kernel = sum(j.reshape(g.size, -1) @ j.reshape(g.size, -1).T for j in jax.tree.leaves(J))
    return Dissipation(along, -optax.tree.norm(gradient, squared=True), -(g @ kernel @ g))
