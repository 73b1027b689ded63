"""Majorities and averages over training sets: the terms of the 0-1 loss, and which average a loss asks for."""

import jax
import numpy as np

from leadline import data, learning, regularisation
from leadline.claims.scenarios.regularisation.noisy_wave import GRID, draw_wave, trained_networks, wave_learner
from leadline.evidence import Int, OneOf, Real, at_most, claim, close, erratum, exactly
from leadline.presentation import figure
from leadline.regularisation.evaluation.bias_variance import aggregate, refits


@claim(sources=("penn",), shows=("regularisation.zero_one_terms",))
def zero_one_bias_variance(
    key,
    learner: OneOf("neighbours", "stump", "network") = "neighbours",
    neighbours: Int(1, 15) = 9,
    samples: Int(20, 100) = 25,
    flips: Real(0.0, 0.4) = 0.1,
    datasets: Int(50, 300) = 101,
):
    r"""Bias and variance for 0-1 loss.

    For two classes and 0-1 loss the expected error at x is c₁N + B + c₂V: N is the noise, B tells whether the majority
    over training sets is wrong, V how often one set disagrees with it. Where B = 1, c₂ = −1: variance lowers the
    error.

    $$\mathbb{E}[\text{error}] = c_1 N + B + c_2 V, \qquad c_1 = 2 P_D(f_D = f^*) - 1, \qquad c_2 = \begin{cases} +1 & B
    = 0 \\ -1 & B = 1 \end{cases}$$

    Assumes: two classes.

    Check: Labels are the sign of sin 3πx on [−1, 1], each flipped with probability `flips`. The error at each of 81
    inputs is averaged over the training sets from P(y|x), without the terms.
    """
    law = learning.BinaryDistribution(learning.UniformInputs(1, -1.0, 1.0), lambda x: (1 - 2 * flips) * _stripes(x))
    grid = np.linspace(-0.995, 0.995, 81)[:, None]
    keys = jax.random.split(key, datasets)
    samples_ = [law.draw((samples,), data.generator(one)) for one in keys]
    said = _classified(learner, neighbours, samples_, grid, key)
    best = learning.bayes_predictor(law, loss="zero-one")(grid)
    terms = regularisation.zero_one_terms(said, best, np.full(len(grid), flips))
    error = np.mean([law.conditional_risk(row, grid, "zero-one") for row in said], axis=0)
    right = close(error, terms.error, "expected error at each x, against c₁N + B + c₂V", atol=1e-12)
    yield right
    biased = terms.bias == 1
    if biased.any():
        what = "error where the majority is wrong, against that of the majority itself"
        yield at_most(error[biased], law.conditional_risk(terms.main, grid, "zero-one")[biased], what, atol=1e-12)
    wrong = (said != best).mean(axis=0)
    mistaken = close(
        error,
        terms.c1 * terms.noise + wrong + terms.c2 * terms.variance,
        "error by c₁N + P_D(f_D ≠ f*) + c₂V",
        atol=1e-12,
    )
    yield erratum(
        mistaken.given(terms.variance.max() > 0, "the training sets do not all agree"),
        of=right,
        by="penn",
        prints="bias = E l(f*, f(x; D)), (7.8); in the decomposition that it cites it is l(f*, f_avg), of the majority",
    )
    fixed = terms.c1.mean() * terms.noise + terms.bias + terms.c2.mean() * terms.variance
    differ = biased.any() or (flips > 1e-6 and np.ptp(terms.c1) > 0)
    yield erratum(
        close(error, fixed, "error with c₁ and c₂ the same at every x", atol=1e-12).given(
            differ, "c₁N or c₂ differ over x"
        ),
        of=right,
        by="penn",
        prints="c₁ and c₂ are called constants; for the 0-1 loss both depend on x",
    )
    x = grid[:, 0]
    terms_ = figure.curves(
        "noise, bias, variance",
        "x",
        "probability",
        lines={"noise N": (x, terms.noise), "bias B": (x, terms.bias), "variance V": (x, terms.variance)},
    )
    signs = figure.curves(
        "signs and sum",
        "x",
        "factor, error",
        lines={"c₁": (x, terms.c1), "c₂": (x, terms.c2), "c₁N + B + c₂V": (x, terms.error)},
        points={"error": (x, error)},
    )
    share, average = 100 * biased.mean(), error.mean()
    title = f"{learner.capitalize()}: on {share:.0f}% of the inputs variance lowers the error; mean error {average:.3f}"
    yield figure.beside(title, terms_, signs)


def _stripes(x):
    return np.where(np.sin(3 * np.pi * x[..., 0]) >= 0, 1.0, -1.0)


def _classified(learner, neighbours, samples, grid, key):
    """Predicted labels ±1 on the grid, a row for each training set."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    if learner == "network":
        x, y = np.stack([s.x[:, 0] for s in samples]), np.stack([s.y for s in samples])
        values = np.asarray(trained_networks((x + 1) / 2, y, key))  # on [0, 1], then at the nearest of its inputs
        nearest = np.clip((grid[:, 0] + 1) * 50, 0, 99).astype(int)
        return np.where(values[:, nearest] >= 0, 1, -1)
    make = {
        "neighbours": lambda: KNeighborsClassifier(neighbours),
        "stump": lambda: DecisionTreeClassifier(max_depth=1, random_state=0),
    }[learner]
    return np.stack([make().fit(s.x, s.y).predict(grid) for s in samples]).astype(int)


@claim(sources=("penn",))
def aggregation_by_loss(
    key,
    datasets: OneOf(11, 51, 101, 201) = 51,
    samples: Int(10, 60) = 20,
    noise: Real(0.1, 1.0) = 0.5,
    levels: Int(2, 6) = 3,
):
    r"""The loss decides how to combine predictions.

    Of all single predictions, the one with the least expected loss against those of many models is their mean for
    squared loss, their median for absolute loss, and the commonest of them for 0-1 loss.

    $$\operatorname{argmin}_{y'} \mathbb{E}_D\, l(f_D(x), y') = \text{mean, median, mode} \quad \text{for } (f - y')^2,
    \; |f - y'|, \; 1\{f \ne y'\}$$

    Assumes: an odd number of models, so that the median is one of them.

    Check: Quintics refitted on `datasets` noisy samples of a sine; for 0-1 loss their values are rounded to `levels`
    classes. The minimiser is searched on a grid of 4001 values, and among the classes.
    """
    found = refits(
        wave_learner("polynomial", 5), lambda k: draw_wave(k, samples, noise), GRID[9::20], datasets=datasets, key=key
    )
    grid = np.linspace(found.min(), found.max(), 4001)
    step = grid[1] - grid[0]
    squared = ((found[:, :, None] - grid) ** 2).mean(axis=0)
    absolute = np.abs(found[:, :, None] - grid).mean(axis=0)
    means, medians = (aggregate(found, loss) for loss in ("squared", "absolute"))
    what = "minimiser on the grid, against the {} of the predictions, in steps of the grid"
    yield at_most(
        np.abs(grid[squared.argmin(axis=1)] - means) / step, 0.5, f"squared loss: {what.format('mean')}", atol=1e-6
    )
    yield at_most(
        np.abs(grid[absolute.argmin(axis=1)] - medians) / step,
        1.0,
        f"absolute loss: {what.format('median')}",
        atol=1e-6,
    )
    labels = np.clip(np.floor((np.clip(found, -1.5, 1.5) + 1.5) / 3 * levels), 0, levels - 1).astype(int)
    misses = (labels[:, :, None] != np.arange(levels)).mean(axis=0)
    modes = aggregate(labels, "zero-one")
    yield exactly(modes, misses.argmin(axis=1), "0-1 loss: class of least loss, against the commonest prediction")
    at = 0
    lines = {"squared": (grid, squared[at] / squared[at].max()), "absolute": (grid, absolute[at] / absolute[at].max())}
    points = {
        "squared": ([means[at]], [squared[at].min() / squared[at].max()]),
        "absolute": ([medians[at]], [absolute[at].min() / absolute[at].max()]),
    }
    reals = figure.curves("real predictions", "y'", "expected loss, over its largest", lines=lines, points=points)
    classes = figure.bars(
        "classes", "y'", "expected 0-1 loss", values={"0-1": {str(c): misses[at, c] for c in range(levels)}}
    )
    best = (
        f"squared: the mean {means[at]:.2f}, absolute: the median {medians[at]:.2f}, 0-1: the mode, class {modes[at]}"
    )
    title = f"Where the loss is least, {best}"
    yield figure.beside(title, reals, classes)
