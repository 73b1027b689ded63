"""scikit-learn's networks against their own predictions and their own training steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leadline import as_apply

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def classification(classes):
    return make_classification(80, 6, n_informative=5, n_redundant=0, n_classes=classes, random_state=0)


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
def test_the_logits_of_a_classifier_give_its_probabilities(activation):
    x, y = classification(3)
    net = MLPClassifier((7, 5), activation=activation, max_iter=20, random_state=1).fit(x, y)
    apply, params = as_apply(net)
    np.testing.assert_allclose(jax.nn.softmax(apply(params, x)), net.predict_proba(x), rtol=1e-6, atol=1e-9)


def test_the_logit_of_two_classes_gives_the_probability_of_the_second():
    x, y = classification(2)
    net = MLPClassifier((7,), max_iter=20, random_state=1).fit(x, y)
    apply, params = as_apply(net)
    assert apply(params, x).shape == (80, 1)
    np.testing.assert_allclose(jax.nn.sigmoid(apply(params, x))[:, 0], net.predict_proba(x)[:, 1], rtol=1e-6)


@pytest.mark.parametrize(("loss", "targets"), [("squared_error", 2), ("squared_error", 1), ("poisson", 1)])
def test_a_regressor_predicts_the_same(loss, targets):
    x, y = make_regression(60, 6, n_targets=targets, random_state=0)
    net = MLPRegressor(hidden_layer_sizes=(5,), loss=loss, max_iter=20, random_state=1).fit(
        x, np.abs(y) / np.abs(y).max()
    )
    apply, params = as_apply(net)
    np.testing.assert_allclose(np.squeeze(apply(params, x)), net.predict(x), rtol=1e-6)


def test_the_gradient_is_that_of_scikit_learns_own_loss():
    """One step of its SGD on the whole batch, without momentum and penalty, goes along our gradient."""
    x, y = classification(3)
    options = {"solver": "sgd", "momentum": 0.0, "alpha": 0.0, "batch_size": 80, "shuffle": False}
    net = MLPClassifier((7,), learning_rate_init=0.1, max_iter=1, random_state=1, **options).fit(x, y)
    apply, params = as_apply(net)

    def loss(p):
        return -jnp.mean(jax.nn.log_softmax(apply(p, x))[jnp.arange(80), y])

    gradient = jax.grad(loss)(params)
    before = ravel_pytree(params)[0]
    net.partial_fit(x, y)
    moved = ravel_pytree(as_apply(net).params)[0] - before
    np.testing.assert_allclose(moved, -0.1 * ravel_pytree(gradient)[0], atol=1e-12)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (MLPClassifier(), "The MLPClassifier is not fitted yet"),
        (LogisticRegression(), "is no network of scikit-learn; give an MLPClassifier"),
        (make_pipeline(StandardScaler(), MLPRegressor()), "outside of any pipeline"),
        (MLPClassifier((3,), max_iter=2), "gives 2 labels for each row"),
    ],
)
def test_what_cannot_be_taken_is_told(model, told):
    if "labels" in told:
        model.fit(np.eye(20), np.arange(40).reshape(20, 2) % 3 % 2)
    with pytest.raises(ValueError, match=told) as mistake:
        as_apply(model)
    assert "\n" not in str(mistake.value)
