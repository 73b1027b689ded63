import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.linalg import polar

from leadline import sequences

W = jax.random.normal(jax.random.key(0), (5, 5))


@pytest.mark.parametrize("how", ["qr", "polar"])
def test_retractions_have_orthonormal_columns(how):
    assert float(sequences.orthogonality_defect(sequences.retract(W, how))) < 1e-5
    Q = sequences.retract(W, how)
    np.testing.assert_allclose(sequences.retract(Q, how), Q, atol=1e-5)


def test_the_polar_retraction_is_scipys_polar_factor():
    np.testing.assert_allclose(sequences.retract(W, "polar"), polar(np.asarray(W))[0], atol=1e-5)


def test_cayleys_step_is_orthogonal_and_tangent():
    Q = sequences.retract(W)
    skew = W - W.T
    assert float(sequences.orthogonality_defect(sequences.cayley_step(Q, skew, 0.3))) < 1e-5
    slope = jax.jacfwd(lambda eta: sequences.cayley_step(Q, skew, eta))(0.0)
    np.testing.assert_allclose(slope, Q @ skew, atol=1e-4)


def test_a_retracted_rule_leaves_other_parameters_to_the_rule():
    rule = sequences.retracted(optax.sgd(0.1))
    params = {"U": jnp.eye(3), "b": jnp.ones(3)}
    step, _ = rule.update({"U": W[:3, :3], "b": jnp.ones(3)}, rule.init(params), params)
    assert float(sequences.orthogonality_defect(params["U"] + step["U"])) < 1e-5
    np.testing.assert_allclose(step["b"], -0.1 * jnp.ones(3))


def test_an_unknown_retraction_is_refused():
    with pytest.raises(ValueError, match="choose qr or polar"):
        sequences.retract(W, "svd")
