"""Leadline's Kalman filter, as an associative scan or as a loop, in double precision."""

import jax

from ..harness.case import Inputs

jax.config.update("jax_enable_x64", True)


def filtered(inputs: Inputs, method: str):
    import jax.numpy as jnp
    import numpy as np

    from leadline.sequences import kalman_filter, linear_gaussian

    d = len(inputs["A"])
    model = linear_gaussian(*(inputs[name] for name in "ACQR"), np.zeros(d), 100.0 * np.eye(d))
    xs = jnp.asarray(inputs["xs"])
    return lambda: kalman_filter(model, xs, method=method), lambda found: np.asarray(found.means)
