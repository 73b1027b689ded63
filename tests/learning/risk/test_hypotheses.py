"""Linear-in-parameter classes: bases against NumPy's polynomials, and the one solver."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import legendre

from leadline.learning import LinearClass, affine, cosine_series, polynomials
from leadline.learning.risk.hypotheses import monomial_coefficients, sign_labels

X = np.random.default_rng(0).random((30, 1))


def test_the_legendre_basis_is_numpys_on_the_mapped_interval():
    features = polynomials(6, -1.0, 3.0).features(4 * X - 1)
    np.testing.assert_allclose(features, legendre.legvander(2 * X[:, 0] - 1, 6), atol=1e-12)


@pytest.mark.parametrize("degree", [0, 1, 5])
def test_both_bases_give_one_polynomial(degree):
    y = np.sin(5 * X[:, 0])
    orthogonal, powers = polynomials(degree), polynomials(degree, basis="monomial")
    np.testing.assert_allclose(monomial_coefficients(orthogonal.fit(X, y)), powers.fit(X, y), atol=1e-7)


def test_a_target_in_the_class_is_recovered():
    for family in (affine(1), cosine_series(3), cosine_series(3, sines=True), polynomials(4)):
        theta = np.arange(1.0, family.size + 1)
        np.testing.assert_allclose(family.fit(X, family.predict(theta, X)), theta, atol=1e-8)


def test_several_functions_are_evaluated_at_once_and_jax_arrays_stay_jax_arrays():
    family = cosine_series(2)
    thetas = np.random.default_rng(1).normal(size=(4, 3))
    np.testing.assert_allclose(family.predict(thetas, X)[2], family.predict(thetas[2], X))
    assert isinstance(family.features(jnp.asarray(X)), jnp.ndarray)
    np.testing.assert_allclose(family.features(jnp.asarray(X)), family.features(X), atol=1e-12)


def test_user_features_are_a_class():
    family = LinearClass(lambda x: np.exp(x * np.array([1.0, 2.0])), 2)
    np.testing.assert_allclose(family.fit(X, np.exp(2 * X[:, 0])), [0.0, 1.0], atol=1e-10)


def test_the_sign_at_zero_is_a_label():
    assert sign_labels(np.array([0.0, -0.0, 1e-300]), at_zero=-1).tolist() == [-1, -1, 1]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="order"):
        cosine_series(-1)
    with pytest.raises(ValueError, match="degree"):
        polynomials(2, 1.0, 0.0)
    with pytest.raises(Exception, match=r"basis|type"):
        polynomials(2, basis="chebyshev")
