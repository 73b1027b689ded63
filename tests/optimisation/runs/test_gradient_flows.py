import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from leadline.optimisation import gradient_flow, integrate
from leadline.optimisation.objectives.objective import Objective


class _Cubic(Objective):
    """c w³/3: the flow of w' = −c w² is w⁰/(1 + c w⁰ τ)."""

    slope: Float[Array, ""]

    def __call__(self, w):
        return self.slope * jnp.sum(w**3) / 3


def test_flow_of_a_cubic_its_energy_identity_and_its_explosion():
    start, times = jnp.array([1.0, 2.0]), jnp.linspace(0.0, 3.0, 7)
    flow = gradient_flow(_Cubic(jnp.array(1.0)), start, times, max_steps=500)
    exact = np.asarray(start) / (1 + np.asarray(times)[:, None] * np.asarray(start))
    np.testing.assert_allclose(flow.points, exact, rtol=1e-4)
    np.testing.assert_allclose(flow.dissipated, flow.values[0] - flow.values, atol=1e-4)
    with pytest.raises(ValueError, match="gave up"):
        gradient_flow(_Cubic(jnp.array(-1.0)), start, times, max_steps=500)


def test_a_single_time_is_told():
    with pytest.raises(ValueError, match="at least one later time"):
        integrate(lambda t, y, a: y, jnp.ones(1), jnp.array([0.0]))
