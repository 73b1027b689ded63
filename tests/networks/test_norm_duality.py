import math

import numpy as np
import pytest

from leadline import networks

V = np.random.default_rng(0).normal(size=(40, 6))


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 4.0, math.inf])
def test_the_maximiser_has_dual_norm_1_and_attains_the_norm(p):
    u = np.asarray(networks.dual_maximiser(V, p))
    star = networks.dual_exponent(p)
    np.testing.assert_allclose(np.linalg.norm(u, ord=star, axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose((u * V).sum(1), np.linalg.norm(V, ord=p, axis=1), rtol=1e-12)


def test_no_other_vector_of_the_dual_ball_does_better():
    rivals = np.random.default_rng(1).normal(size=(2000, 6))
    rivals /= np.linalg.norm(rivals, ord=4 / 3, axis=1, keepdims=True)
    best = float((np.asarray(networks.dual_maximiser(V[0], 4.0)) * V[0]).sum())
    assert (rivals @ V[0]).max() <= best


def test_zero_and_huge_vectors():
    for p in (1.0, 3.0, math.inf):
        assert not np.asarray(networks.dual_maximiser(np.zeros(3), p)).any()
    np.testing.assert_allclose(networks.dual_maximiser(np.array([1e200, 1e200]), 3.0), 0.5 ** (2 / 3), rtol=1e-12)


def test_an_exponent_below_1_is_refused():
    with pytest.raises(ValueError, match="needs 1 <= p"):
        networks.dual_exponent(0.5)
