"""Signs, votes and error feedback on small cases."""

import jax.numpy as jnp
import numpy as np
import pytest

from leadline import stochastic


def test_a_vote_counts_signs_not_sizes_and_ties_follow_the_rule():
    gradients = jnp.array([[100.0, 1.0], [-1.0, -1.0]])
    assert stochastic.majority_vote(gradients).tolist() == [0.0, 0.0]
    assert stochastic.majority_vote(gradients, 1.0).tolist() == [1.0, 1.0]
    assert stochastic.one_bit_sign(jnp.array([0.0, -3.0]), 0.0).tolist() == [0.0, -1.0]


@pytest.mark.parametrize("scale", [None, 2.0])
def test_what_is_sent_and_what_is_kept_are_all_gradients(scale):
    rule = stochastic.error_feedback(scale)
    gradients = np.random.default_rng(0).standard_normal((15, 4))
    state, sent = rule.init(jnp.zeros(4)), np.zeros(4)
    for g in gradients:
        message, state = rule.update(jnp.asarray(g), state)
        assert np.unique(np.abs(message)).size == 1
        sent += np.asarray(message)
    np.testing.assert_allclose(sent + np.asarray(state.error), gradients.sum(axis=0), atol=1e-12)


def test_bits_are_counted_for_all_workers():
    assert stochastic.bits_per_step(10, "scaled sign", workers=3, float_bits=64) == 3 * 74
    with pytest.raises(ValueError, match="not known"):
        stochastic.bits_per_step(10, "ternary")
