import numpy as np
import optax
import pytest

from leadline.generalisation import fit_head, fit_labels
from leadline.generalisation.memorisation.nearest_neighbours import nearest_rows

RNG = np.random.default_rng(0)


def test_neighbours_are_those_of_all_distances():
    points, rows = RNG.normal(size=(20, 3)) + 100, RNG.normal(size=(50, 3)) + 100
    apart = np.linalg.norm(points[:, None] - rows, axis=2)
    found = nearest_rows(points, rows)
    assert (found.index == apart.argmin(1)).all()
    assert np.allclose(found.distance, apart.min(1))


def test_a_row_is_not_its_own_neighbour():
    rows = np.array([[0.0], [1.0], [3.0]])
    assert nearest_rows(rows, rows, others=True).index.tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="2 or more"):
        nearest_rows(rows[:1], rows[:1], others=True)


def ridge(phi, y, lam):
    return np.linalg.solve(2 * phi.T @ phi / len(phi) + lam * np.eye(phi.shape[1]), 2 * phi.T @ y / len(phi)).T


def test_a_squared_head_is_ridge_regression_and_one_step_leaves_a_row_out_exactly():
    phi, y = RNG.normal(size=(30, 4)), RNG.normal(size=(30, 2))
    head = fit_head(phi, y, "squared", ridge=0.1)
    assert np.allclose(head.weights, ridge(phi, y, 0.1))
    fewer = ridge(np.delete(phi, 7, 0), np.delete(y, 7, 0), 0.1)
    assert np.allclose(head.step_without(7).weights, fewer)
    assert np.allclose(head.without(7).weights, fewer)


def test_a_softmax_head_is_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    phi, y = RNG.normal(size=(60, 3)), RNG.integers(0, 3, 60)
    head = fit_head(phi, y, "cross-entropy", ridge=0.05)
    theirs = LogisticRegression(C=1 / (0.05 * 60), fit_intercept=False, tol=1e-10, max_iter=1000).fit(phi, y)
    assert np.allclose(head.weights, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("kind", ["cross-entropy", "squared"])
def test_influence_is_the_effect_of_leaving_a_row_out(kind):
    rng = np.random.default_rng(1)
    phi, other = rng.normal(size=(1000, 3)), rng.normal(size=(50, 3))
    y = (
        phi[:, :1] + rng.normal(size=(1000, 1))
        if kind == "squared"
        else (phi[:, 0] + rng.normal(size=1000) > 0).astype(int)
    )
    z = other[:, :1] if kind == "squared" else (other[:, 0] > 0).astype(int)
    head = fit_head(phi, y, kind, ridge=0.01)
    influence = head.influence(other, z)
    rows = np.argsort(-np.abs(influence))[:8]
    actual = np.array([head.without(int(i)).loss(other, z) - head.loss(other, z) for i in rows])
    assert np.linalg.norm(actual - influence[rows]) < 0.2 * np.linalg.norm(actual)
    own = head.self_influence()[rows[0]]
    risen = head.without(int(rows[0]))
    one = (phi[rows[:1]], np.asarray(y)[rows[:1]])
    assert own == pytest.approx(risen.loss(*one) - head.loss(*one), rel=0.3)


def test_a_softmax_head_without_ridge_is_refused():
    with pytest.raises(ValueError, match="ridge above 0"):
        fit_head(np.ones((3, 1)), np.array([0, 1, 0]), "cross-entropy", ridge=0.0)


def test_separable_labels_are_fitted_and_the_loss_is_that_of_adam():
    x = np.eye(4, dtype=np.float32)
    loss = optax.softmax_cross_entropy_with_integer_labels
    probe = fit_labels(lambda w, x: x @ w, np.zeros((4, 3), np.float32), loss, x, np.array([0, 1, 2, 0]), num_steps=20)
    assert probe.losses[0] == pytest.approx(np.log(3))
    assert probe.right[-1] == 1.0
    assert probe.row_losses.mean() == pytest.approx(probe.losses[10:].mean(), rel=1e-5)


def test_real_targets_have_a_loss_and_no_right_answers():
    x = np.eye(3, dtype=np.float32)
    probe = fit_labels(
        lambda w, x: x @ w, np.zeros(3, np.float32), lambda f, y: (f - y) ** 2, x, np.ones(3, np.float32), num_steps=3
    )
    assert probe.losses[0] == 1.0
    assert probe.right is None
    assert probe.fitted_after is None
