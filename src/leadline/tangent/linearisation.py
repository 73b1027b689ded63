"""The linearised network: the first-order Taylor expansion in the parameters, evaluated by one JVP."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from leadline.frameworks.network import Apply


class Linearised(eqx.Module):
    """h(β, x) = f(θ₀, x) + ∂f(θ₀, x)/∂θ β: affine in β = θ - θ₀, nonlinear in x, of constant tangent kernel.

    β has the structure of the parameters and is trained like them; h is a network, apply(params, inputs), like any.

    >>> lin = linearise(lambda w, x: jnp.sin(w * x), jnp.array(0.0))
    >>> lin(jnp.array(0.5), jnp.array(3.0)).item()
    1.5
    """

    apply: Apply
    params: PyTree

    def __call__(self, beta: PyTree, x: Array) -> Array:
        start, change = jax.jvp(lambda p: self.apply(p, x), (self.params,), (beta,))
        return start + change

    def zero(self) -> PyTree:
        """β = 0, where h is the network itself and where training begins."""
        return jax.tree.map(jnp.zeros_like, self.params)

    def moved(self, beta: PyTree) -> PyTree:
        """θ₀ + β, the network's parameters that correspond to β."""
        return jax.tree.map(jnp.add, self.params, beta)


def linearise(apply: Apply, params: PyTree) -> Linearised:
    """The linearisation of a network in its parameters around `params`.

    >>> from leadline.networks import MLP
    >>> from leadline import as_apply
    >>> apply, params = as_apply(MLP((3, 4, 2), key=jax.random.key(0)))
    >>> lin = linearise(apply, params)
    >>> bool(jnp.allclose(lin(lin.zero(), jnp.ones((5, 3))), apply(params, jnp.ones((5, 3)))))
    True
    """
    if not callable(apply):
        raise ValueError(f"linearise got {type(apply).__name__} for apply; give a function apply(params, inputs).")
    if not jax.tree.leaves(params):
        raise ValueError("linearise got parameters without arrays; there is nothing to linearise in.")
    return Linearised(apply, params)
