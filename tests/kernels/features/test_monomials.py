import jax.numpy as jnp
import numpy as np
import pytest

from leadline.kernels import features
from leadline.kernels.features.monomials import monomial_count, monomial_exponents, monomial_values
from leadline.linear_classifiers.perceptrons.dual import monomial_features

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("dim", "degree", "offset"), [(1, 2, 1.0), (2, 2, 1.0), (3, 4, 0.0), (5, 3, 0.7), (2, 0, 1.0)])
def test_weighted_monomials_have_the_polynomial_kernel(dim, degree, offset):
    x, z = RNG.standard_normal((6, dim)), RNG.standard_normal((7, dim))
    phi, psi = (features.monomial_features(a, degree, offset=offset) for a in (x, z))
    np.testing.assert_allclose(phi @ psi.T, (x @ z.T + offset) ** degree, rtol=1e-10, atol=1e-10)
    expected = monomial_count(dim, degree) if offset else monomial_count(dim - 1, degree) if dim > 1 else 1
    assert phi.shape[1] == expected


def test_they_agree_with_scikit_learn_up_to_order_and_weight():
    from sklearn.preprocessing import PolynomialFeatures

    x = RNG.standard_normal((5, 3))
    theirs = PolynomialFeatures(4).fit(x)
    exponents = monomial_exponents(3, 4)
    assert sorted(map(tuple, exponents)) == sorted(map(tuple, theirs.powers_))
    order = [int(np.flatnonzero((theirs.powers_ == row).all(1))[0]) for row in exponents]
    np.testing.assert_allclose(monomial_values(x, exponents), theirs.transform(x)[:, order], rtol=1e-12)


def test_arrays_of_jax_stay_there_and_can_be_traced():
    import jax

    x = jnp.asarray(RNG.standard_normal((3, 2)))
    traced = jax.jit(lambda a: features.monomial_features(a, 2, offset=1.0))(x)
    np.testing.assert_allclose(traced, features.monomial_features(np.asarray(x), 2, offset=1.0), rtol=1e-12)


def test_the_perceptrons_room_has_the_same_function():
    assert monomial_features is features.monomial_features


def test_the_paraboloid_carries_spheres_to_planes():
    angle = np.linspace(0, 6, 20)
    circle = np.array([1.0, -2.0]) + 3 * np.column_stack([np.cos(angle), np.sin(angle)])
    lifted = features.paraboloid_lift(circle)
    np.testing.assert_allclose(lifted @ [-2.0, 4.0, 1.0], 9 - 5, rtol=1e-12)


def test_a_feature_model_is_linear_in_its_parameters():
    x, theta = RNG.standard_normal((4, 2)), RNG.standard_normal(3)
    model = features.FeatureModel(features.paraboloid_lift, theta, 0.5)
    np.testing.assert_allclose(model(x), x @ theta[:2] + (x**2).sum(1) * theta[2] + 0.5, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(x), np.where(np.asarray(model(x)) >= 0, 1, -1))
    with pytest.raises(ValueError, match="one parameter for each feature"):
        features.FeatureModel(features.paraboloid_lift, theta[:2])(x)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="c >= 0"):
        features.monomial_features(np.ones((1, 2)), 2, offset=-1.0)
    with pytest.raises(ValueError, match="degree of 0 or more"):
        monomial_count(2, -1)
    with pytest.raises(ValueError, match="more than degree"):
        features.multinomial_weights(np.array([[2, 1]]), 2)
    with pytest.raises(ValueError, match="give equal"):
        monomial_values(np.ones((1, 2)), np.array([[1]]))
