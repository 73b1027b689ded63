"""Boosting: AdaBoost as coordinate descent on the exponential loss, and the bound on its training error."""

import functools

import jax
import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from leadline import data, learning, regularisation
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Int, OneOf, Real, at_most, claim, close, exactly, method
from leadline.presentation import figure


@functools.cache
def _breast_cancer():
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    return table.data, 2.0 * table.target - 1


@functools.cache
def _threes_and_eights():
    x, y = data.digits()
    kept = np.isin(y, (3, 8))
    return x[kept], np.where(y[kept] == 8, 1.0, -1.0)


SETS = {"breast cancer": _breast_cancer, "digits 3 and 8": _threes_and_eights}


@method(sources=("penn",), shows=("regularisation.adaboost", "regularisation.stump"))
def boosting(key, rounds: Int(30, 80) = 40, depth: Int(1, 3) = 1, datasets: Int(30, 60) = 30):
    r"""Boosting.

    AdaBoost adds weak learners one by one. A learner with weighted error e gets the weight a = ½ ln((1 − e)/e), which
    minimises the exponential loss along it, and rows are reweighted by exp(−a y h(x)). It ends where e is 0 or not
    below ½.

    $$F_t = F_{t-1} + a_t h_t, \qquad a_t = \tfrac12 \ln \frac{1 - e_t}{e_t} = \operatorname{argmin}_a \frac1n \sum_i
    e^{-y_i (F_{t-1}(x_i) + a h_t(x_i))}$$

    Assumes: labels −1 and 1; learners that take weights.

    Check: Line searches by root finding on the slope of the library's exponential loss; scikit-learn's AdaBoost
    (SAMME) on breast cancer. Bias and variance over fresh datasets of points in a disc or around it, of which a tenth
    has a false label, are findings; they are of the probability σ(2F) under squared loss: the 0-1
    variance fell in one run.
    """
    x, y = _breast_cancer()
    found = regularisation.adaboost(regularisation.stump(depth), x, y, rounds=rounds)
    decisions, scores = found.decisions(x), found.scores(x)
    before = np.vstack([np.zeros(len(y)), scores[:-1]])

    def slope(a, t):
        return float(
            np.mean(learning.loss_slope(learning.exponential, y * (before[t] + a * decisions[t])) * y * decisions[t])
        )

    finite = np.flatnonzero(np.isfinite(found.weights))[:12]
    searched = [brentq(slope, 1e-6, 20, args=(t,), xtol=1e-14, rtol=1e-14) for t in finite]
    yield close(found.weights[finite], searched, "weights of rounds, against a line search", atol=1e-12, rtol=1e-11)
    theirs = _scikit_weights(x, y, depth, rounds)
    shared = min(len(theirs), len(found.weights))
    what = "weights of rounds, against half of scikit-learn's AdaBoostClassifier"
    yield close(found.weights[:shared], theirs[:shared], what, rtol=1e-9)
    perfect = regularisation.adaboost(lambda x, y, w: lambda new: np.sign(new[:, 0]), y[:, None], y)
    yield exactly((perfect.reason, len(perfect.learners)), ("no error", "1"), "a learner without an error ends it")
    blind = regularisation.adaboost(
        lambda x, y, w: lambda new: np.ones(len(new)), np.zeros((4, 1)), np.array([1, 1, -1, -1])
    )
    yield exactly((blind.reason, len(blind.learners)), ("no better than chance", "0"), "a learner at e = ½ ends it")
    yield from _bias_and_variance(key, rounds, datasets)
    order = data.generator(key).permutation(len(y))
    seen, held = order[:300], order[300:]
    boosted = regularisation.adaboost(regularisation.stump(depth), x[seen], y[seen], rounds=rounds)
    errors = {
        name: (np.sign(boosted.scores(x[rows])) != y[rows]).mean(axis=1)
        for name, rows in (("training", seen), ("test", held))
    }
    t = np.arange(1, len(boosted.weights) + 1)
    bag = regularisation.bag(_bagged_tree(depth), x[seen], y[seen], members=len(t), key=key).predictions(x[held])
    votes = (np.where(np.cumsum(bag, axis=0) > 0, 1, -1) != y[held]).mean(axis=1)
    single = (_bagged_tree(depth)(x[seen], y[seen], None)(x[held]) != y[held]).mean()
    points = {f"boosting, {name}": (t, values) for name, values in errors.items()} | {"bag, test": (t, votes)}
    title = (
        f"Boosting takes the test error from {errors['test'][0]:.1%} to {errors['test'][-1]:.1%}; a bag has "
        f"{votes[-1]:.1%}"
    )
    rules = {"one tree, test": ("y", float(single))}
    yield figure.curves(title, "rounds, or members", "error on breast cancer", points=points, rules=rules)


def _scikit_weights(x, y, depth, rounds):
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    ours = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=rounds, random_state=0).fit(x, y)
    return ours.estimator_weights_[: len(ours.estimators_)] / 2


def _bagged_tree(depth):
    def fit(x, y, rng):
        return regularisation.stump(depth)(x, y, np.full(len(y), 1 / len(y)))

    return fit


def _disc_sample(samples, key):
    """Points of a square, labelled by whether they lie in a disc; a tenth of the labels is flipped."""
    rng = data.generator(key)
    x = rng.uniform(-1, 1, (samples, 2))
    y = np.where(_inside(x), 1.0, -1.0)
    return x, np.where(rng.random(samples) < 0.1, -y, y)


def _inside(x):
    return (x**2).sum(axis=1) < 0.64


def _bias_and_variance(key, rounds, datasets):
    """Squared bias and variance of estimated probabilities of the class 1: σ(2F) of boosting, the votes of a bag."""
    new, _ = _disc_sample(200, jax.random.fold_in(key, 10**6))
    truth = np.where(_inside(new), 0.9, 0.1)
    boosted, bagged, alone = np.zeros((datasets, rounds, 200)), [], []
    for index in range(datasets):
        own = jax.random.fold_in(key, index)
        x, y = _disc_sample(120, own)
        scores = regularisation.adaboost(regularisation.stump(), x, y, rounds=rounds).scores(new)
        boosted[index] = expit(2 * scores[np.minimum(np.arange(rounds), len(scores) - 1)])
        bagged.append((1 + regularisation.bag(_bagged_tree(1), x, y, members=15, key=own)(new)) / 2)
        alone.append((1 + _bagged_tree(1)(x, y, None)(new)) / 2)
    kinds = {"one round": boosted[:, 0], "all rounds": boosted[:, -1], "bag": bagged, "stump": alone}
    terms = {name: regularisation.squared_terms(np.stack(said), truth) for name, said in kinds.items()}
    spread = {
        name: ((t.predictions - t.mean) ** 2).mean(axis=1) * datasets / (datasets - 1) for name, t in terms.items()
    }
    bias = {name: t.excess.mean(axis=1) - spread[name] for name, t in terms.items()}  # whose mean has no bias itself
    for what, worse, better in (
        ("squared bias of boosting after one round less that after all", bias["one round"], bias["all rounds"]),
        ("variance of boosting after all rounds less that after one", spread["all rounds"], spread["one round"]),
        ("variance of one stump less that of a bag of 15", spread["stump"], spread["bag"]),
    ):
        yield paired_excess(worse, better, f"disc: {what}")
    shown = np.unique(np.geomspace(1, rounds, 12).astype(int))
    stages = [regularisation.squared_terms(boosted[:, t - 1], truth) for t in shown]
    points = {
        "boosting: squared bias": (shown, [t.bias_squared.mean() for t in stages]),
        "boosting: variance": (shown, [t.variance.mean() for t in stages]),
    }
    rules = {
        "bag: variance": ("y", float(terms["bag"].variance.mean())),
        "bag: squared bias": ("y", float(terms["bag"].bias_squared.mean())),
    }
    title = "Rounds lower the bias and raise the variance; a bag keeps the stump's bias"
    yield figure.curves(
        title, "rounds", "of the probability, in and around a disc", points=points, rules=rules, log="x"
    )


@claim(sources=("penn",), shows=("regularisation.adaboost",))
def boosting_training_error_bound(
    key,
    dataset: OneOf("breast cancer", "digits 3 and 8") = "breast cancer",
    depth: Int(1, 3) = 1,
    rounds: Int(5, 80) = 40,
    label_noise: Real(0.0, 0.3) = 0.1,
):
    r"""Boosting's training error falls exponentially.

    After t rounds of AdaBoost the share of training errors is at most the exponential loss, which is the product of
    2√(e(1 − e)) over the rounds, which is at most exp(−2 Σ g²) with the edges g = ½ − e over chance. Weak learners
    with an edge that stays above 0 make a strong one.

    $$\frac1n \sum_i 1\{y_i F_t(x_i) \le 0\} \le \frac1n \sum_i e^{-y_i F_t(x_i)} = \prod_{s \le t} 2\sqrt{e_s (1 -
    e_s)} \le e^{-2 \sum_{s \le t} g_s^2}$$

    Assumes: labels −1 and 1; every learner has a weighted error below ½.

    Check: Trees of scikit-learn on breast cancer or the digits 3 and 8, a share of whose labels is flipped.
    """
    x, y = SETS[dataset]()
    rng = data.generator(key)
    y = np.where(rng.random(len(y)) < label_noise, -y, y)
    found = regularisation.adaboost(regularisation.stump(depth), x, y, rounds=rounds)
    margins = y * found.scores(x)
    errors = np.asarray(learning.zero_one(margins)).mean(axis=1)
    losses = np.asarray(learning.exponential(margins)).mean(axis=1)
    yield at_most(errors, losses, "share of training errors after each round, against the exponential loss")
    yield close(
        losses, found.loss_bounds, "exponential loss after each round, against the product", rtol=1e-12, atol=1e-12
    )
    yield at_most(found.loss_bounds, found.edge_bounds, "product of 2√(e(1 − e)), against exp(−2 Σ g²)", rtol=1e-12)
    one = found.edge_bounds < 1 / len(y)
    promised = int(np.argmax(one)) + 1 if one.any() else None
    clean = np.flatnonzero(errors == 0)
    if promised is not None:
        reached = int(clean[0]) + 1 if len(clean) else np.inf
        yield at_most(reached, promised, "round without a training error, against the first with exp(−2 Σ g²) < 1/n")
    blind = regularisation.adaboost(_coin(), x, y, rounds=rounds)
    yield exactly(
        blind.reason, "no better than chance", "a learner with weighted error ½ or more stops it, because it is"
    )
    t = np.arange(1, len(errors) + 1)
    lines = {"Π 2√(e(1 − e))": (t, found.loss_bounds), "exp(−2 Σ g²)": (t, found.edge_bounds)}
    points = {"training error": (t, errors), "exponential loss": (t, losses)}
    title = (
        f"After {len(t)} rounds: error {errors[-1]:.2g}, exponential loss {losses[-1]:.2g}, bound "
        f"{found.edge_bounds[-1]:.2g}"
    )
    yield figure.curves(title, "rounds", "share of rows", lines=lines, points=points, log="y")


def _coin():
    """A learner that is wrong on at least half of the weight."""

    def fit(x, labels, weights):
        half = np.arange(len(labels)) < len(labels) // 2
        right = half if weights[half].sum() <= 0.5 else ~half
        return lambda new: np.where(right, labels, -labels)

    return fit
