"""Regression models from any JAX function: the derivatives by automatic differentiation."""

from collections.abc import Callable, Sequence

import numpy as np

from .regression_models import Reals, RegressionModel


def differentiated_model(apply: Callable, inputs: Reals, names: Sequence[str]) -> RegressionModel:
    """The model of any JAX function apply(inputs, w) → (n,): the derivatives by automatic differentiation.

    >>> import jax.numpy as jnp
    >>> model = differentiated_model(lambda x, w: jnp.sin(w[0] * x), np.array([0.0, 1.0]), ["frequency"])
    >>> model.jacobian(np.array([0.0])).ravel().tolist()
    [0.0, 1.0]
    """
    import jax

    def second(x, w, v):
        return jax.jvp(lambda u: jax.jvp(lambda s: apply(x, s), (u,), (v,))[1], (w,), (v,))[1]

    def batched(function, vectors=1):
        compiled = jax.jit(jax.vmap(function, in_axes=(None, *[0] * vectors)))

        def call(x, *along):
            batch = along[0].shape[:-1]
            out = np.asarray(compiled(x, *(v.reshape(-1, v.shape[-1]) for v in along)), float)
            return out.reshape(*batch, *out.shape[1:])

        return call

    slope = jax.jacfwd(apply, argnums=1)
    return RegressionModel(np.asarray(inputs, float), tuple(names), batched(apply), batched(slope), batched(second, 2))
