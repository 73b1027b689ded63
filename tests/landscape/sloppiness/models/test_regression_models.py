"""Every model's derivatives against finite differences, its fits against SciPy's own and closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

from leadline.landscape.sloppiness.models import regression_models as models
from leadline.landscape.sloppiness.models.differentiated_models import differentiated_model

TIMES = np.linspace(0.2, 4.0, 7)
PLANE = np.random.default_rng(3).normal(size=(6, 2))
CASES = {
    "exponentials": models.sum_of_exponentials(TIMES, 3),
    "exponentials with amplitudes": models.sum_of_exponentials(TIMES, 2, amplitudes=True),
    "polynomial": models.polynomial_model(TIMES, 3),
    "michaelis-menten": models.michaelis_menten(TIMES),
    "network": models.network_model(TIMES, 2),
    "network on the plane": models.network_model(PLANE, 3),
    "differentiated": differentiated_model(lambda x, w: w[0] * jnp.sin(w[1] * x), TIMES, ["a", "b"]),
}


@pytest.mark.parametrize("model", CASES.values(), ids=CASES)
def test_the_derivatives_are_those_of_the_predictions(model):
    rng = np.random.default_rng(0)
    w, v = rng.uniform(0.3, 1.5, model.size), rng.normal(size=model.size)
    h = 1e-4
    plus, at, minus = model.predict(np.stack([w + h * v, w, w - h * v]))
    np.testing.assert_allclose(model.jacobian(w) @ v, (plus - minus) / (2 * h), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.acceleration(w, v), (plus - 2 * at + minus) / h**2, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(at, model.predict(w))
    assert model.jacobian(w).shape == (len(model.inputs), len(model.names))


def test_a_linear_model_is_fitted_as_numpy_fits_it():
    y = np.random.default_rng(1).normal(size=7)
    fit = models.polynomial_model(TIMES, 2).fit(y, np.zeros(3))
    np.testing.assert_allclose(fit.weights[::-1], np.polyfit(TIMES, y, 2), rtol=1e-8)
    assert (fit.degrees, fit.converged) == (4, True)


def test_a_nonlinear_fit_agrees_with_curve_fit():
    from scipy.optimize import curve_fit
    from scipy.stats import chi2

    model = models.michaelis_menten(TIMES)
    y = model.predict(np.array([2.0, 0.7])) + 0.05 * np.random.default_rng(2).normal(size=7)
    expected, _ = curve_fit(lambda s, V, K: V * s / (K + s), TIMES, y, p0=[1.0, 1.0])
    fit = model.fit(y, np.ones(2), deviation=0.05)
    np.testing.assert_allclose(fit.weights, expected, rtol=1e-6)
    assert fit.p_value == pytest.approx(chi2.sf(np.sum((y - fit.predictions) ** 2) / 0.05**2, 5))
    assert fit.slope < 1e-8


def test_the_profiled_deviation_is_the_root_mean_square():
    model = models.polynomial_model(TIMES, 0)
    y = np.arange(7.0)
    fit = model.fit(y, np.zeros(1), deviation=None)
    assert fit.deviation == pytest.approx(2.0)
    assert fit.chi_square == pytest.approx(7.0)


def test_the_likelihood_is_that_of_the_normal_law():
    from scipy.stats import norm

    model, w, y = models.michaelis_menten(TIMES), np.array([2.0, 0.7]), np.ones(7)
    expected = -norm.logpdf(y, model.predict(w), 0.3).sum()
    assert model.negative_log_likelihood(w, y, 0.3) == pytest.approx(expected)
    np.testing.assert_allclose(model.metric(w, 0.3), model.jacobian(w).T @ model.jacobian(w) / (7 * 0.09))


def test_more_weights_than_data_are_fitted_too():
    fit = models.sum_of_exponentials(TIMES[:2], 3).fit(np.array([1.5, 1.0]), np.array([0.3, 1.0, 2.0]))
    np.testing.assert_allclose(fit.predictions, [1.5, 1.0], atol=1e-6)
    assert fit.p_value == 1.0


def test_wrong_sizes_are_told():
    model = models.michaelis_menten(TIMES)
    with pytest.raises(ValueError, match="give 2 of them: V, K"):
        model.predict(np.ones(3))
    with pytest.raises(ValueError, match="one number for each of the 7 inputs"):
        model.fit(np.ones(3), np.ones(2))
    with pytest.raises(ValueError, match="at least 1"):
        models.sum_of_exponentials(TIMES, 0)
    with pytest.raises(ValueError, match="at least 1"):
        models.network_model(TIMES, 0)
    with pytest.raises(ValueError, match="0 or more"):
        models.polynomial_model(TIMES, -1)
