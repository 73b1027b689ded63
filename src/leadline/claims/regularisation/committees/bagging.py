"""Bagging and forests: what averaging does to unstable learners, and the error on rows that were left out."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from leadline import data, learning, networks, regularisation
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.claims.scenarios.regularisation.repeated_fits import noisy_sine, polynomial_learner, tree_learner
from leadline.evidence import Int, Real, at_least, close, mean, method, model, smaller
from leadline.presentation import figure

GRID = np.linspace(-0.9, 0.9, 101)


@method(sources=("penn",), shows=("regularisation.bag", "regularisation.deep_ensemble"))
def bagging_committee(
    key, samples: Int(40, 100) = 60, noise: Real(0.1, 0.5) = 0.3, members: Int(25, 60) = 25, datasets: Int(20, 40) = 20
):
    r"""A committee of bagged models.

    M models are trained on bootstrap resamples and their predictions averaged. The average's squared error is the mean
    error of the members less their spread about it. Unstable learners gain: trees, networks, polynomials of high
    degree; linear ones change by less than 1%. The rows that a resample left out give an error without a test set
    (out-of-bag).

    $$\bar f = \frac1M \sum_m f_m, \qquad (\bar f - y)^2 = \frac1M \sum_m (f_m - y)^2 - \frac1M \sum_m (f_m -
    \bar f)^2$$

    Assumes: squared loss, for which the mean is the aggregate; rows are independent.

    Check: Noisy points of a sine, fresh datasets; eight networks on one of them. The split of the error is exact, that
    learners improve is a finding, paired by dataset. Of polynomials of degree 9 it is not confirmed: least squares is
    linear in y, and a resample without the outermost points goes astray there.
    """
    learners = {"line": polynomial_learner(1), "polynomial": polynomial_learner(9), "tree": tree_learner()}
    truth = np.sin(np.pi * GRID)
    single, bagged = ({name: np.zeros(datasets) for name in learners} for _ in range(2))
    for index in range(datasets):
        own = jax.random.fold_in(key, index)
        x, y = noisy_sine(samples, noise, key=own)
        for name, fit in learners.items():
            committee = regularisation.bag(fit, x, y, members=members, key=own)
            single[name][index] = np.mean((fit(x, y, data.generator(own))(GRID) - truth) ** 2)
            bagged[name][index] = np.mean((committee(GRID) - truth) ** 2)
    said = committee.predictions(GRID)
    spread = np.mean((said - said.mean(axis=0)) ** 2)
    parts = np.mean((said - truth) ** 2) - spread
    yield close(bagged["tree"][-1], parts, "error of the committee, against mean error less spread", rtol=1e-12)
    for name, told in (("tree", "tree"), ("polynomial", "polynomial of degree 9")):
        yield paired_excess(single[name], bagged[name], f"{told}: error of one fit less that of the committee")
    change = regularisation.paired_difference(bagged["line"], single["line"])
    share = np.array([change.low, change.high]) / (single["line"].mean() + noise**2)
    what = f"line: change of the risk by bagging, as a share of it, both ends of its {change.interval}"
    yield close(share, 0.0, what, atol=0.01).as_empirical()
    yield from _out_of_bag(key, noise)
    yield from _networks(key, samples, noise)
    x, y = noisy_sine(samples, noise, key=key)
    whole = regularisation.bag(tree_learner(), x, y, members=members, key=key).predictions(GRID)
    order = np.arange(1, members + 1)
    errors = [np.mean((whole[:m].mean(axis=0) - truth) ** 2) for m in order]
    fits = {"sin πx": (GRID, truth), "one tree": (GRID, whole[0]), f"mean of {members}": (GRID, whole.mean(axis=0))}
    title = f"A bag of {members} trees has {bagged['tree'].mean() / single['tree'].mean():.0%} of one tree's error"
    yield figure.beside(
        title,
        figure.curves("fits", "x", "f(x)", lines=fits, points={"sample": (x[:, 0], y)}),
        figure.curves("error against members", "members M", "squared error", points={"committee": (order, errors)}),
    )


def _out_of_bag(key, noise):
    """Out-of-bag error of 100 trees on 300 rows against the error on 1000 fresh rows."""
    x, y = noisy_sine(300, noise, key=jax.random.fold_in(key, 1001))
    new_x, new_y = noisy_sine(1000, noise, key=jax.random.fold_in(key, 1002))
    committee = regularisation.bag(tree_learner(), x, y, members=100, key=key)
    left_out = (committee.out_of_bag(x) - y) ** 2
    fresh = (committee(new_x) - new_y) ** 2
    scatter = np.sqrt(left_out.var(ddof=1) + fresh.var(ddof=1) * len(left_out) / len(fresh))  # of both means
    yield mean(left_out, fresh.mean(), "trees: out-of-bag error, against the test error", deviation=scatter)
    seen = (committee(x) - y) ** 2
    yield at_least(left_out.mean(), seen.mean(), "trees: out-of-bag error, above the error on rows that were seen")


def _networks(key, samples, noise):
    """A bag of 8 networks against 8 networks that saw all rows, on one dataset."""
    x, y = noisy_sine(samples, noise, key=key)
    train = x.astype(np.float32), y.astype(np.float32)

    def make(own):
        return networks.MLP((1, 32, 1), "tanh", dtype=jnp.float32, key=own)

    options = {"members": 8, "optimiser": optax.adam(0.03), "epochs": 200, "batch": 20, "loss": "squared", "key": key}
    alone = regularisation.deep_ensemble(make, train, **options)
    bagged = regularisation.deep_ensemble(make, train, resample=True, **options)
    grid, truth = jnp.asarray(GRID[:, None], jnp.float32), np.sin(np.pi * GRID)
    each = np.mean((np.asarray(alone.outputs(grid))[..., 0] - truth) ** 2, axis=1)
    together = float(np.mean((np.asarray(bagged.outputs(grid)).mean(axis=0)[:, 0] - truth) ** 2))
    what = "networks: error of one that saw all rows, each of 8, less that of a bag of 8"
    yield paired_excess(each, np.full(len(each), together), what)


@model(sources=("penn",), shows=("regularisation.committee_of", "learning.permutation_importance"), empirical=True)
def random_forest(key, trees: Int(30, 150) = 40, splits: Int(5, 10) = 6):
    r"""A random forest.

    Trees are grown on bootstrap resamples, each split looking at a random subset of the features; they vote by the
    mean of their probabilities. On the digits one tree is worse than a bag of trees, and that worse than a forest. The
    out-of-bag error estimates the test error.

    $$\hat p(y \mid x) = \frac1M \sum_{m} p_m(y \mid x), \qquad \text{each split among } \sqrt d \text{ of } d \text{
    features}$$

    Check: scikit-learn's trees on the digits, 900 for training. The order is a finding, by paired differences over
    splits; forests of fixed size on other training rows show the floor in bagging-variance.
    """
    x, y = data.digits()
    errors = {"tree": [], "bag": [], "forest": []}
    curves = {"bag": [], "forest": []}
    for index in range(splits):
        order = data.generator(jax.random.fold_in(key, index)).permutation(len(y))
        seen, held = order[:900], order[900:]
        tree = DecisionTreeClassifier(random_state=index).fit(x[seen], y[seen])
        errors["tree"].append(np.mean(tree.predict(x[held]) != y[held]))
        for name, features in (("bag", None), ("forest", "sqrt")):
            forest = RandomForestClassifier(trees, max_features=features, random_state=index).fit(x[seen], y[seen])
            committee = regularisation.committee_of(forest)
            said = committee.predictions(x[held])
            staged = np.cumsum(said, axis=0).argmax(axis=2) != y[held]
            curves[name].append(1 - staged.mean(axis=1))
            errors[name].append(staged[-1].mean())
    for worse, better in (("tree", "bag"), ("bag", "forest")):
        what = f"error of the {worse} less that of the {better}, by split"
        yield paired_excess(np.array(errors[worse]), np.array(errors[better]), what)
    large = RandomForestClassifier(300, random_state=0).fit(x[seen], y[seen])  # of 40 trees a row is left out by 15
    left_out = np.nan_to_num(regularisation.committee_of(large).out_of_bag(x[seen])).argmax(axis=1) != y[seen]
    wrong = large.predict(x[held]) != y[held]
    scatter = np.sqrt(left_out.var(ddof=1) + wrong.var(ddof=1) * len(left_out) / len(held))  # of both means
    what = "forest of 300 trees: out-of-bag error, against the held-out error"
    yield mean(left_out, wrong.mean(), what, deviation=scatter)
    importance = _importance(forest, x[held], y[held], key)
    edge = np.r_[0:64:8, 7:64:8]
    middle = np.setdiff1d(np.arange(64), edge)
    what = "permutation importance of the pixels at the left and right edges, below that of the others"
    yield smaller(importance[edge], importance[middle], what, confidence=0.99).as_empirical()
    m = np.arange(1, trees + 1)
    rules = {"one tree": ("y", float(1 - np.mean(errors["tree"])))}
    points = {name: (m, np.mean(found, axis=0)) for name, found in curves.items()}
    title = (
        f"Accuracy on digits: tree {1 - np.mean(errors['tree']):.1%}, bag {1 - np.mean(errors['bag']):.1%}, forest "
        f"{1 - np.mean(errors['forest']):.1%}"
    )
    yield figure.curves(title, "trees", "accuracy on held-out digits", points=points, rules=rules)


def _importance(forest, x, y, key):
    """How much the error rises when a pixel is permuted among images."""

    def wrong(images):
        return (forest.predict(images) != y[:300]).astype(float)

    return learning.permutation_importance(wrong, x[:300], np.zeros(300), repeats=2, key=key).mean(axis=0)
