"""The elastic band finds the published passes of the Müller-Brown surface."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.landscape import path_profile, relax_band


def mueller_brown(p):
    x, y = p["xy"]
    A = jnp.array([-200.0, -100.0, -170.0, 15.0])
    a, b, c = jnp.array([-1, -1, -6.5, 0.7]), jnp.array([0, 0, 11, 0.6]), jnp.array([-10, -10, -6.5, 0.7])
    dx, dy = x - jnp.array([1, 0, -0.5, -1]), y - jnp.array([0, 0.5, 1.5, 1])
    return jnp.sum(A * jnp.exp(a * dx**2 + b * dx * dy + c * dy**2))


def test_a_climbing_band_ends_on_the_highest_pass_of_the_mueller_brown_surface():
    ends = {"xy": jnp.array([-0.55822363, 1.44172584])}, {"xy": jnp.array([0.62349941, 0.02803776])}
    band = relax_band(
        mueller_brown, *ends, images=11, num_steps=3000, climb=True, spring=100.0, optimiser=optax.sgd(2e-4)
    )
    assert band.residual < 0.1
    assert max(band.losses) == pytest.approx(-40.6648, abs=1e-3)  # the saddle at (-0.822, 0.624)
    assert band.losses[0] == pytest.approx(-146.6995, abs=1e-3)
    assert band.barrier == pytest.approx(-40.6648 + 108.1667, abs=2e-3)
    top = np.asarray(band.path.bends["xy"])[int(np.argmax(band.losses)) - 1]
    np.testing.assert_allclose(top, [-0.822, 0.624], atol=2e-3)
    assert path_profile(mueller_brown, band.path, points=25).barrier >= band.barrier - 5  # the polygon between images


def test_wrong_sizes_are_refused():
    with pytest.raises(ValueError, match="at least 1 of each"):
        relax_band(lambda w: w @ w, np.zeros(2), np.ones(2), images=0)
    with pytest.raises(ValueError, match="0 or more"):
        relax_band(lambda w: w @ w, np.zeros(2), np.ones(2), spring=-1.0)
    with pytest.raises(ValueError, match="different structures"):
        relax_band(lambda w: 0.0, {"a": np.zeros(2)}, [np.zeros(2)])
