import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from state_space_models import models

from leadline.sequences import NOISES, joint_distribution, simulate


@pytest.mark.parametrize("name", NOISES)
def test_every_noise_has_mean_0_and_variance_1_as_its_density_has(name):
    drawn = NOISES[name].draw(jax.random.key(0), (200_000,), float)
    assert abs(drawn.mean()) < 5 / np.sqrt(len(drawn))
    assert abs((drawn**2).mean() - 1) < 0.03

    def moment(k):
        return quad(
            lambda z: z**k * np.exp(float(NOISES[name].log_density(jnp.asarray(z)))),
            -12,
            12,
            limit=400,
            points=[-np.sqrt(3), 0.0, np.sqrt(3)],
        )[0]

    np.testing.assert_allclose([moment(0), moment(1), moment(2)], [1, 0, 1], atol=1e-5)


def test_paths_have_the_joint_covariance():
    model = models()["rotation"]
    drawn = simulate(model, 4, paths=40_000, key=jax.random.key(1))
    joint = joint_distribution(model, 4)
    x, h = (np.asarray(part).reshape(40_000, -1) for part in (drawn.observations, drawn.states))
    np.testing.assert_allclose(x.T @ x / len(x), joint.covariance, atol=0.06)
    np.testing.assert_allclose(h.T @ x / len(x), joint.cross_covariance, atol=0.06)


def test_an_unknown_noise_is_named():
    with pytest.raises(ValueError, match="cauchy"):
        simulate(models()["scalar"], 3, noise="cauchy", key=jax.random.key(0))
