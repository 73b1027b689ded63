"""A network in the library's form against its framework's own forward pass and gradient."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree


def check(network, x, forward, gradient):
    """Outputs and the gradient of their summed squares are those of the framework; arrays may be in another order."""
    apply, params = network
    np.testing.assert_allclose(apply(params, x), forward(x), rtol=1e-5, atol=1e-6)
    found = jax.jit(jax.grad(lambda p: jnp.sum(apply(p, x) ** 2)))(params)
    found, expected = (np.sort(ravel_pytree(tree)[0]) for tree in (found, gradient))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
