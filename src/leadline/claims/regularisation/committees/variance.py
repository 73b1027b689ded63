"""The variance of a committee: the law of correlated members, its floor, and what hiding features does to it."""

import jax
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from leadline import data, regularisation
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.claims.scenarios.regularisation.repeated_fits import noisy_sine, polynomial_learner, tree_learner
from leadline.evidence import Int, OneOf, Real, claim, mean, slope
from leadline.presentation import figure

GRID = np.linspace(-0.7, 0.7, 25)


@claim(sources=("penn",), shows=("regularisation.committee_variance", "regularisation.member_moments"))
def bagging_variance(
    key,
    learner: OneOf("polynomial", "tree") = "polynomial",
    samples: Int(25, 100) = 40,
    noise: Real(0.1, 1.0) = 0.3,
    members: Int(8, 32) = 32,
):
    r"""The variance of an average of correlated predictors.

    M predictors of variance s² and pairwise correlation ρ have a mean of variance ρs² + (1 − ρ)s²/M. It falls as 1/M
    only for ρ = 0, fits to independent datasets. Members of a bag share their dataset, so that a floor ρs² remains; the
    bias is untouched.

    $$\mathrm{Var}\Big(\frac1M \sum_m f_m(x)\Big) = \rho s^2 + \frac{1 - \rho}{M}\, s^2$$

    Assumes: members are exchangeable: each pair has the same correlation.

    Check: 100 datasets from a noisy sine, a bag of cubics or trees on each. One half of every bag gives s² and ρ, the
    other half the variance of means of M members, averaged over 25 inputs. Independent datasets: 1024 fits, in groups.
    """
    fit = polynomial_learner(3) if learner == "polynomial" else tree_learner()
    bags = []
    for index in range(100):
        own = jax.random.fold_in(key, index)
        x, y = noisy_sine(samples, noise, key=own)
        bags.append(regularisation.bag(fit, x, y, members=2 * members, key=own).predictions(GRID))
    first, second = np.split(np.stack(bags), 2, axis=1)
    moments = regularisation.member_moments(first)
    sizes = np.unique(np.geomspace(1, members, 6).astype(int))
    measured = np.array([_squares(second[:, :m].mean(axis=1)) for m in sizes])  # (sizes, datasets)
    for m, squares in zip(sizes, measured, strict=True):
        law = moments.products + (moments.squares - moments.products) / m
        what = f"bags of {m}: variance of the mean, less ρs² + (1 − ρ)s²/M of the other members, against 0"
        yield mean(squares - law, 0.0, what)
    drift = (second.mean(axis=1) - second[:, 0]).mean(axis=1)
    yield mean(drift, 0.0, "mean prediction of bags less that of single members, against 0: the bias stays")
    alone = []
    for index in range(1024):
        x, y = noisy_sine(samples, noise, key=jax.random.fold_in(key, 1000 + index))
        alone.append(fit(x, y, None)(GRID))
    alone = np.stack(alone)
    groups = 2 ** np.arange(6)
    spread = np.array([_squares(alone.reshape(-1, m, len(GRID)).mean(axis=1)).mean() for m in groups])
    yield slope(groups, spread, -1.0, "independent datasets: variance of a mean of M fits, power of M", within=0.05)
    axis = np.geomspace(1, members, 60)
    law = regularisation.committee_variance(moments.variance, moments.correlation, axis)
    floor = moments.variance * moments.correlation
    half = 2 * measured.std(axis=1, ddof=1) / np.sqrt(measured.shape[1])
    centre = measured.mean(axis=1)
    lines = {"bags": (axis, law), "independent datasets": (groups, spread[0] / groups)}
    points = {"bags": (sizes, centre, centre - half, centre + half), "independent datasets": (groups, spread)}
    title = (
        f"Members of a bag correlate by {moments.correlation:.2f}: their mean keeps a floor, independent fits do not"
    )
    rules = {"floor ρs²": ("y", floor)}
    yield figure.curves(title, "members M", "variance of the mean", lines=lines, points=points, rules=rules, log="xy")


def _squares(values):
    """For each committee the squared deviation from the mean over committees, unbiased, averaged over inputs."""
    count = len(values)
    return ((values - values.mean(axis=0)) ** 2).mean(axis=1) * count / (count - 1)


@claim(sources=("penn",), shows=("regularisation.member_moments", "regularisation.committee_of"), empirical=True)
def correlated_errors_limit_bagging(key, samples: Int(400, 700) = 450, trees: Int(25, 40) = 25, draws: Int(8, 16) = 8):
    r"""Correlated errors limit bagging.

    What a committee gains is governed by the correlation ρ of its members. Hiding features from each split of a tree
    lowers ρ and weakens the single tree; the committee is best somewhere between one feature and all of them.

    $$\mathrm{Var}\,\bar f = \rho s^2 + \frac{1 - \rho}{M} s^2, \qquad \rho = \rho(\text{share of features})$$

    Assumes: nothing; a finding on the digits.

    Check: Bags of trees on `samples` digits whose splits see 1, 3, 8, 24 or all 64 pixels; ρ of the members'
    probabilities over draws of the training digits, by the jackknife; errors paired over draws.
    With 200 digits and 20 trees it was not seen in 4 of 10 seeds that all pixels are worse than 8.
    """
    x, y = data.digits()
    counts = (1, 3, 8, 24, 64)
    order = data.generator(key).permutation(len(y))
    held, pool = order[:300], order[300:]
    said = np.zeros((len(counts), draws, trees, 300, 10))
    for draw in range(draws):
        rows = data.generator(jax.random.fold_in(key, draw)).choice(pool, samples, replace=False)
        for index, features in enumerate(counts):
            grown = RandomForestClassifier(trees, max_features=features, random_state=draw).fit(x[rows], y[rows])
            classes = np.searchsorted(np.arange(10), grown.classes_)
            said[index, draw][:, :, classes] = regularisation.committee_of(grown).predictions(x[held])
    single = (said.argmax(axis=4) != y[held]).mean(axis=(2, 3))  # (counts, draws)
    together = (said.mean(axis=2).argmax(axis=3) != y[held]).mean(axis=2)
    flat = said.reshape(len(counts), draws, trees, -1)
    moments = [regularisation.member_moments(one) for one in flat]
    rho = np.array([found.correlation for found in moments])
    for index in range(len(counts) - 1):
        pair = _jackknife(moments[index + 1]), _jackknife(moments[index])
        yield paired_excess(*pair, f"ρ with {counts[index + 1]} pixels less that with {counts[index]}")
    for index, name in ((0, "one pixel"), (len(counts) - 1, "all pixels")):
        yield paired_excess(together[index], together[2], f"error of committees with {name} less that with 8")
    shares = np.array(counts) / 64
    points = {
        "correlation ρ": (shares, rho),
        "error of one tree": (shares, single.mean(axis=1)),
        f"error of {trees} trees": (shares, together.mean(axis=1)),
    }
    best = int(together.mean(axis=1).argmin())
    title = (
        f"With {counts[best]} of 64 pixels at each split the committee is best, though its trees are not: ρ falls from "
        f"{rho[-1]:.2f} to {rho[best]:.2f}"
    )
    yield figure.curves(title, "share of features at each split", "ρ, error", points=points, log="x")


def _jackknife(moments):
    """Pseudo-values of ρ, one for each committee: their mean is ρ without its bias of first order."""
    squares, products = moments.squares, moments.products
    count = len(squares)
    without = (products.sum() - products) / (squares.sum() - squares)
    return count * moments.correlation - (count - 1) * without
