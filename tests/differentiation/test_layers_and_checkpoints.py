"""Layer pairs, their chains, and checkpointing of chains."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.differentiation import (
    affine_pair,
    chain_pair,
    check_layer,
    checkpointed_gradient,
    layer_norm_pair,
    pointwise_pair,
    residual_pair,
)

RNG = np.random.default_rng(0)
H = jnp.asarray(RNG.normal(size=(3, 4)))
AFFINE = {"weight": jnp.asarray(RNG.normal(size=(4, 4))), "bias": jnp.asarray(RNG.normal(size=4))}
NORM = {"gain": jnp.asarray(RNG.normal(size=4)), "shift": jnp.asarray(RNG.normal(size=4))}


def head(out):
    return 0.5 * jnp.sum(out**2), out


@pytest.mark.parametrize(
    ("pair", "theta"),
    [
        (layer_norm_pair(), NORM),
        (residual_pair(affine_pair()), AFFINE),
        (chain_pair([affine_pair(), pointwise_pair("gelu"), layer_norm_pair()]), (AFFINE, (), NORM)),
    ],
    ids=["layer norm", "residual", "chain"],
)
def test_a_layers_backward_step_passes_the_gradient_check(pair, theta):
    report = check_layer(pair.forward, pair.backward, H, theta, key=jax.random.key(0), entries=6)
    assert report.passed, report
    assert all(check.complex_error is None or check.complex_error < 1e-12 for check in report.parameters)


def test_checkpoints_store_what_they_should_and_change_nothing():
    pairs = [affine_pair(), pointwise_pair("tanh")] * 5
    theta = [AFFINE, ()] * 5
    chain = chain_pair(pairs)
    out, cache = chain.forward(H, theta)
    adjoint, gradients = chain.backward(out, cache)
    for every in range(1, 11):
        found = checkpointed_gradient(pairs, theta, H, head, every=every)
        assert found.peak_stored == -(-10 // every) + every
        assert sum(found.evaluations) == 20 - every
        np.testing.assert_allclose(found.input_adjoint, adjoint, rtol=1e-13)
        for a, b in zip(jax.tree.leaves(found.gradients), jax.tree.leaves(gradients), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="choose every from 1 to 2"):
        checkpointed_gradient([affine_pair()] * 2, [AFFINE] * 2, H, head, every=3)
    with pytest.raises(ValueError, match="parameters for 1"):
        checkpointed_gradient([affine_pair()] * 2, [AFFINE], H, head, every=1)
    with pytest.raises(ValueError, match="no layers"):
        chain_pair([])
    with pytest.raises(ValueError, match="parameters for 2"):
        chain_pair([affine_pair()]).forward(H, (AFFINE, AFFINE))
