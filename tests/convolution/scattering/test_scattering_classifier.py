import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from leadline.convolution import Scattering2D, fit_scattering_classifier
from leadline.data import digits


def framed(count):
    images, labels = digits()
    return np.kron(images[:count].reshape(-1, 8, 8), np.ones((1, 2, 2))).astype(np.float32), labels[:count]


def test_scores_are_those_of_ridge_regression_on_standardised_coefficients():
    images, labels = framed(330)
    train, test = slice(0, 250), slice(250, 330)
    rows = np.asarray(Scattering2D((16, 16), 2, 4)(images)).reshape(len(images), -1).astype(float)
    scaler = StandardScaler().fit(rows[train])
    ridge = Ridge(alpha=0.05 * 250).fit(scaler.transform(rows[train]), 2.0 * np.eye(10)[labels[train]] - 1)
    expected = ridge.predict(scaler.transform(rows[test]))
    done = []
    options = {"scales": 2, "angles": 4, "penalty": 0.05, "batch": 70, "notice": done.append}
    found = fit_scattering_classifier(images[train], labels[train], **options)
    np.testing.assert_allclose(found.scores(images[test]), expected, atol=2e-4)
    assert done == [70, 140, 210, 250]
    assert (found.predict(images[test]) == labels[test]).mean() > 0.9


def test_a_feature_that_never_changes_has_no_weight():
    images, labels = framed(60)
    found = fit_scattering_classifier(np.pad(images, ((0, 0), (16, 16), (16, 16))), labels, scales=2, angles=2)
    assert np.isfinite(found.scores(np.pad(images, ((0, 0), (16, 16), (16, 16))))).all()


@pytest.mark.parametrize(
    ("labels", "options", "words"),
    [(np.zeros(60, int), {}, "two classes"), (np.arange(60) % 3, {"penalty": 0.0}, "penalty = 0.0")],
)
def test_what_cannot_be_fitted_is_refused(labels, options, words):
    with pytest.raises(ValueError, match=words):
        fit_scattering_classifier(framed(60)[0], labels, **options)
