"""Detection of covariate shift, importance weights and weighted fits, against closed forms and other libraries."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score

from leadline import learning, networks, regularisation
from leadline.regularisation.shift.detector import discriminator, log_odds
from leadline.regularisation.shift.weighted_fits import ImportanceWeighted

START = learning.GaussianClasses(((0.0, 0.0), (2.0, 1.0)), (0, 1))


def test_weights_of_the_simulator_are_the_ratio_of_mixture_densities():
    from scipy.stats import multivariate_normal

    moved = regularisation.shifted_inputs(START, by=0.5, stretch=1.2, shares=(0.8, 0.2))
    world = regularisation.CovariateShift(lambda x: x[:, 0], START, moved)
    x = world.draw("train", 50, key=jax.random.key(0)).x

    def density(means, shares, scale):
        return sum(s * multivariate_normal(m, scale**2 * np.eye(2)).pdf(x) for m, s in zip(means, shares, strict=True))

    expected = density([(0.5, 0), (2.5, 1)], (0.8, 0.2), 1.2) / density([(0, 0), (2, 1)], (0.5, 0.5), 1.0)
    assert np.allclose(world.weights(x), expected, rtol=1e-10)


def test_weights_average_to_one_under_the_training_inputs():
    world = regularisation.CovariateShift(
        lambda x: x[:, 0], START, regularisation.shifted_inputs(START, shares=(0.9, 0.1))
    )
    p = world.weights(world.draw("train", 20000, key=jax.random.key(1)).x)
    assert abs(p.mean() - 1) < 5 * p.std() / np.sqrt(len(p))


def test_both_sides_follow_one_rule():
    world = regularisation.CovariateShift(lambda x: x[:, 0] ** 2, START, regularisation.shifted_inputs(START, by=3.0))
    for part in ("train", "test"):
        x, y = world.draw(part, 20, key=jax.random.key(2))
        assert np.array_equal(y, x[:, 0] ** 2)


def test_the_detector_sees_a_change_of_variance_and_of_one_class():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    wider = rng.normal(size=(300, 4)) * 1.8
    assert regularisation.detect_shift(x, wider, key=jax.random.key(0)).p_value < 0.01
    other = np.where(rng.random((300, 1)) < 0.8, x + 2, x)
    assert regularisation.detect_shift(x, other, key=jax.random.key(0)).p_value < 0.01


def test_the_null_is_that_of_permuted_names():
    rng = np.random.default_rng(1)
    found = regularisation.detect_shift(
        rng.normal(size=(60, 2)), rng.normal(size=(40, 2)), permutations=2000, key=jax.random.key(0)
    )
    # Under permutation the Mann-Whitney statistic has mean 1/2 and variance (n + m + 1)/(12 n m).
    deviation = np.sqrt((30 + 20 + 1) / (12 * 30 * 20))
    assert abs(found.null.mean() - 0.5) < 5 * deviation / np.sqrt(2000)
    assert abs(found.null.std() / deviation - 1) < 0.1
    assert found.p_value == (1 + np.sum(found.null >= found.auc)) / 2001


def test_the_area_is_that_of_scikit_learn_on_held_out_rows():
    rng = np.random.default_rng(2)
    x, names = rng.normal(size=(80, 2)), np.repeat([False, True], 40)
    model = discriminator().fit(x, names)
    assert learning.area_under_curve(names, log_odds(model, x)) == pytest.approx(
        roc_auc_score(names, log_odds(model, x))
    )


def test_a_forest_of_the_user_tells_images_apart():
    images = np.random.default_rng(3).random((120, 4, 4))
    brighter = np.random.default_rng(4).random((120, 4, 4)) + 0.3
    forest = RandomForestClassifier(20, random_state=0)
    assert regularisation.detect_shift(images, brighter, classifier=forest, key=jax.random.key(0)).auc > 0.9


@pytest.mark.parametrize(
    ("weights", "size"), [(np.ones(7), 7), (np.array([5.0, 0, 0]), 1), (np.array([1e200, 1e200]), 2)]
)
def test_effective_size_counts_equal_rows(weights, size):
    assert regularisation.effective_sample_size(weights) == pytest.approx(size)


def test_learned_ratios_follow_the_true_ones():
    rng = np.random.default_rng(5)
    x, shifted = rng.normal(size=(3000, 1)), rng.normal(size=(3000, 1)) + 1
    ratios = regularisation.density_ratios(x, shifted, key=jax.random.key(0))
    exact = x[:, 0] - 0.5
    slope = np.polyfit(exact, np.log(ratios.weights), 1)
    assert abs(slope[0] - 1) < 0.15
    assert abs(slope[1]) < 0.15
    assert abs(ratios.weights.mean() - 1) < 0.15
    clipped = regularisation.density_ratios(x, shifted, clip=2.0, key=jax.random.key(0))
    assert clipped.weights.max() == 2.0
    assert clipped.clipped == np.sum(ratios.weights > 2)
    assert clipped.effective_size > ratios.effective_size


def test_samples_apart_have_no_ratio():
    rng = np.random.default_rng(6)
    with pytest.raises(ValueError, match="no ratio"):
        regularisation.density_ratios(rng.normal(size=(50, 1)), rng.normal(size=(50, 1)) + 50, key=jax.random.key(0))


def test_the_weighted_line_is_that_of_scikit_learn():
    rng = np.random.default_rng(7)
    x, y, p = rng.normal(size=(60, 3)), rng.normal(size=60), rng.random(60)
    fit, other = regularisation.weighted_least_squares(x, y, p), LinearRegression().fit(x, y, sample_weight=p)
    assert np.allclose(fit.weights, other.coef_, atol=1e-10)
    assert np.isclose(fit.bias, other.intercept_, atol=1e-10)


def test_a_strong_pull_keeps_the_anchor():
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    anchor = learning.least_squares(x, y)
    fit = regularisation.weighted_least_squares(x, y, rng.random(60), proximal=1e8, anchor=anchor)
    assert np.allclose(fit.weights, anchor.weights, atol=1e-6)


def test_a_weighted_network_fits_where_the_weights_are():
    x = np.linspace(-1, 1, 128, dtype=np.float32)[:, None]
    y = np.where(x[:, 0] > 0, 1.0, -1.0).astype(np.float32)
    net = networks.MLP((1, 1), key=jax.random.key(0))
    run = regularisation.fit_weighted(
        net,
        (x, y),
        (x[:, 0] > 0) * 2.0,
        loss="squared",
        optimiser=optax.sgd(0.2),
        epochs=200,
        batch=32,
        key=jax.random.key(1),
    )
    assert np.allclose(jax.vmap(run.model)(x[64:])[:, 0], 1, atol=1e-3)


def test_the_objective_pulls_towards_its_anchor():
    net, anchor = (networks.MLP((1, 1), key=jax.random.key(k)) for k in (0, 1))
    objective = ImportanceWeighted(lambda a, b: (a[:, 0] - b) ** 2, anchor, 3.0)
    rows = {"inputs": jnp.ones((2, 1)), "targets": jnp.zeros(2), "weights": jnp.zeros(2)}
    apart = sum(
        float(((a - b) ** 2).sum())
        for a, b in zip(*(jax.tree.leaves(eqx.filter(n, eqx.is_array)) for n in (net, anchor)), strict=True)
    )
    assert np.allclose(objective(net, rows, None, None)[0].losses, 1.5 * apart, rtol=1e-5)


OVERLAP = np.zeros((40, 1)), np.zeros(40), np.r_[np.full(9, 1.0), np.full(31, 1e-9)]


def by_training(x, y, p):
    rule = optax.sgd(0.1)
    net = networks.MLP((1, 1), key=jax.random.key(0))
    return regularisation.fit_weighted(net, (x, y), p, loss="squared", optimiser=rule, epochs=1, key=jax.random.key(0))


@pytest.mark.parametrize("fit", [regularisation.weighted_least_squares, by_training])
def test_too_little_overlap_is_refused_in_one_sentence(fit):
    with pytest.raises(ValueError, match="effective sample size of 9 for 40 rows") as error:
        fit(*OVERLAP)
    assert str(error.value).count(".") == 1


@pytest.mark.parametrize(
    "bad",
    [
        lambda: regularisation.detect_shift(np.ones((5, 2)), np.ones((5, 3)), key=jax.random.key(0)),
        lambda: regularisation.detect_shift(np.full((5, 2), np.nan), np.ones((5, 2)), key=jax.random.key(0)),
        lambda: regularisation.detect_shift(np.full((5, 2), np.inf), np.ones((5, 2)), key=jax.random.key(0)),
        lambda: regularisation.effective_sample_size(np.array([1.0, -1.0])),
        lambda: regularisation.effective_sample_size(np.zeros(3)),
        lambda: regularisation.weighted_least_squares(np.ones((20, 1)), np.ones(20), np.ones(19)),
        lambda: regularisation.weighted_least_squares(np.ones((20, 1)), np.ones(20), np.ones(20), proximal=1.0),
        lambda: regularisation.shifted_inputs(START, stretch=0.0),
        lambda: regularisation.density_ratios(np.ones((5, 1)), np.ones((5, 1)), clip=-1.0, key=jax.random.key(0)),
    ],
)
def test_bad_input_is_said(bad):
    with pytest.raises(ValueError, match=r"give|remove"):
        bad()
