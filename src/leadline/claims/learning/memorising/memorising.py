"""Memorising is not learning: tables without training error."""

from itertools import combinations

import numpy as np

from leadline import data, learning
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, erratum, exactly, frequency, model, reference
from leadline.learning.memorisers import consistent_functions, disagreements, usable_columns, usable_probability
from leadline.presentation import figure


def _shuffled_digits(rng, train: int):
    images, labels = data.digits()
    order = rng.permutation(len(labels))
    first, last = order[:train], order[train:]
    return images[first], labels[first], images[last], labels[last]


def _rivals(images, labels) -> dict:
    """Learners to stand beside a memoriser: nearest neighbour, linear ridge and a Gaussian-kernel classifier."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    rivals = {"1-NN": KNeighborsClassifier(1), "ridge": RidgeClassifier(), "kernel": SVC(C=10.0)}
    return {name: rival.fit(images, labels).predict for name, rival in rivals.items()}


@model(sources=("penn",))
def memoriser(key, samples: Int(4, 80) = 20, levels: OneOf(17, 256, 4096, 256**3) = 256, conflicts: Int(0, 3) = 2):
    r"""Hash-table memoriser.

    A hash memoriser is a table from inputs to labels with a default; a single pixel serves as its key iff its n values
    all differ. Training error is 0 unless equal inputs carry different labels, which is reported.

    $$P(\text{pixel usable}) = \prod_{k<n}\left(1 - \frac{k}{K}\right) \quad \text{for } K \text{ equally likely
    values}$$

    Check: 4000 independent uniform pixels are tested, then the digits, whose pixels have 17 levels.
    """
    rng = data.generator(key)
    images, labels = rng.integers(0, levels, (samples, 4000)), rng.choice([-1, 1], samples)
    labels[:2] = 1, -1
    table = learning.memorise(images, labels, default=-1)
    yield exactly(len(disagreements(table, images, labels)), 0, "training errors of the hash memoriser")
    twice = np.concatenate([images, images[:conflicts]])
    both = np.append(labels, -labels[:conflicts])
    clash = learning.memorise(twice, both, default=-1)
    yield exactly(len(clash.conflicts), conflicts, "conflicting duplicates found")
    wrong = len(disagreements(clash, twice, both))
    yield exactly(wrong, conflicts, "training errors with conflicting duplicates")
    usable = usable_columns(images)
    chance = usable_probability(samples, levels)
    yield frequency(usable.sum(), usable.size, chance, f"usable pixels of {usable.size}")
    differ = 0
    for column in rng.choice(usable.size, 20, replace=False):
        # Labels that differ for every pair of equal values show an unusable pixel; a usable one fits any labels.
        hard = -np.ones(samples, int)
        hard[np.unique(images[:, column], return_index=True)[1]] = 1
        fits = not len(learning.memorise(images, hard, columns=[column]).conflicts)
        differ += fits != usable[column]
    yield exactly(differ, 0, "pixels of 20 tried that fit all labels though values are equal, or the reverse")
    yield reference(usable_probability(50, 256), 0.0059, "P(usable), n = 50, K = 256", digits=2)
    yield reference(usable_probability(50, 256**3), 0.99993, "P(usable), n = 50, K = 256³", digits=5)
    colours, what = len(np.unique(np.arange(1000).astype(np.uint8))) ** 3, "colours of three 8-bit channels"
    right = exactly(colours, 256**3, what)
    yield right
    yield erratum(exactly(colours, 255**3, what), of=right, by="penn", prints="255³ colours")
    train_x, train_y, test_x, test_y = _shuffled_digits(rng, 1200)
    yield exactly(usable_columns(train_x[:18]).sum(), 0, "usable pixels of 18 digits with 17 levels")
    rows = {"hash memoriser": learning.memorise(train_x, train_y)} | _rivals(train_x, train_y)
    errors = np.array([[np.mean(f(x) != y) for x, y in ((train_x, train_y), (test_x, test_y))] for f in rows.values()])
    names = {"xs": ["training", "test"], "ys": list(rows)}
    table = figure.heatmap("share of digits misread", "", "", values=errors, **names, text=True, colour="error")
    grid = np.geomspace(16, 2**24, 60)
    lines = {"Π(1 − k/K)": (grid, [usable_probability(samples, int(k)) for k in grid])}
    points, title = {"drawn": ([levels], [usable.mean()])}, f"pixels that can serve as a key, {samples} images"
    keys = figure.curves(title, "levels K of a pixel", "share usable", lines=lines, points=points, log="x")
    title = f"A table has training error {errors[0, 0]:.0%} and test error {errors[0, 1]:.0%} on the digits"
    yield figure.beside(title, table, keys)


@claim(sources=("penn",))
def memoriser_does_not_learn(
    key, dim: Int(1, 50) = 5, samples: Int(10, 2000, log=True) = 500, share: Real(0.05, 0.95) = 0.3
):
    r"""Memorising is not learning.

    Training error 0 is free. On fresh inputs from a continuous distribution a memoriser meets nothing that it knows:
    its error is that of its default label, P(Y ≠ default).

    $$\hat R = 0, \qquad R = P(Y \ne \text{default})$$

    Assumes: a distribution without atoms, for the equality.

    Check: Gaussian inputs have labels given by a half-space; `share` is P(Y = +1) and the default is −1.
    """
    from scipy.special import ndtri

    rng = data.generator(key)
    x = rng.standard_normal((samples + 4000, dim))
    y = np.where(x[:, 0] > ndtri(1 - share), 1, -1)
    table = learning.memorise(x[:samples], y[:samples], default=-1)
    yield exactly(len(disagreements(table, x[:samples], y[:samples])), 0, "training errors")
    wrong = len(disagreements(table, x[samples:], y[samples:]))
    yield frequency(wrong, 4000, share, "errors on 4000 fresh inputs, against P(Y ≠ default)")
    train_x, train_y, test_x, test_y = _shuffled_digits(rng, 1200)
    seen = learning.memorise(train_x, train_y)
    known = {row.tobytes() for row in train_x}
    new = np.array([row.tobytes() not in known for row in test_x])
    yield exactly(len(disagreements(seen, train_x, train_y)), 0, "training errors on 1200 digits")
    wrong, defaults = len(disagreements(seen, test_x[new], test_y[new])), np.sum(test_y[new] != seen.default)
    what = f"errors on {new.sum()} test digits that are not training digits, against those of the default"
    yield exactly(wrong, defaults, what)
    rules = {"table": seen} | _rivals(train_x, train_y)
    parts = {"training": (train_x, train_y), "test": (test_x, test_y)}
    right = {part: {name: np.mean(f(a) == b) for name, f in rules.items()} for part, (a, b) in parts.items()}
    test = right["test"]
    yield at_least(test["1-NN"], 0.95, "test accuracy of the nearest neighbour on digits").as_empirical()
    yield at_least(test["ridge"], 0.88, "test accuracy of linear ridge on digits").as_empirical()
    yield at_most(test["table"], 0.16, "test accuracy of the memoriser on digits").as_empirical()
    rest = f"{test['table']:.0%} of the test digits right; the nearest neighbour's label: {test['1-NN']:.1%}"
    yield figure.bars(f"A table: no training error, and {rest}", "rule", "share right", values=right)


@claim(sources=("penn",))
def memoriser_count(
    key,
    pixels: Int(1, 10) = 6,
    samples: Int(2, 8) = 4,
    levels: Int(2, 64, log=True) = 8,
    inputs: Int(1, 16) = 12,
    labelled: Int(0, 16) = 5,
):
    r"""Counting memorisers and consistent functions.

    N pixels give at most N single-pixel memorisers, 2N with a free default label, and up to $2^N - 1$ keys from sets
    of pixels; of all binary functions on a finite set X, $2^{|X|-n}$ agree with n labelled points.

    $$N_{\text{single}} \le N, \quad N_{\text{keys}} \le 2^N - 1, \qquad \#\{f: X \to \{0,1\} \mid f(x_i) = y_i\} =
    2^{|X| - n}$$
    """
    rng = data.generator(key)
    images = rng.integers(0, levels, (samples, pixels))
    labels = np.resize([1, -1], samples)
    single = usable_columns(images).sum()
    subsets = [c for k in range(1, pixels + 1) for c in combinations(range(pixels), k)]
    keys = {frozenset(c) for c in subsets if len(np.unique(images[:, list(c)], axis=0)) == samples}
    yield at_most(single, pixels, "usable single pixels, against N")
    yield at_most(len(keys), 2**pixels - 1, "usable sets of pixels, against 2^N − 1")
    lost = sum(key | {p} not in keys for key in keys for p in range(pixels))
    yield exactly(lost, 0, "sets of pixels that contain a usable one and are not usable")
    distinct = np.stack([rng.permutation(max(levels, samples))[:samples] for _ in range(pixels)], axis=1)
    every = [c for c in subsets if len(np.unique(distinct[:, list(c)], axis=0)) == samples]
    yield exactly(len(every), 2**pixels - 1, "usable sets where every single pixel is usable")
    # Probes that show one known value in one pixel, and one that shows none, tell all memorisers apart.
    unseen = np.full((1 + pixels * samples, pixels), -1.0)
    for p in range(pixels):
        unseen[1 + p * samples : 1 + (p + 1) * samples, p] = distinct[:, p]
    answers = {
        learning.memorise(distinct, labels, columns=[p], default=default)(unseen).tobytes()
        for p in range(pixels)
        for default in (-1, 1)
    }
    yield exactly(len(answers), 2 * pixels, "different single-pixel memorisers with a free default, against 2N")
    known = min(labelled, inputs)
    tables = np.arange(2**inputs)[:, None] >> np.arange(inputs) & 1  # every function on X as a row of values
    agree = np.sum(np.all(tables[:, :known] == rng.integers(0, 2, known), axis=1))
    what = f"functions on {inputs} inputs that agree with {known} labelled ones, against 2^(|X| − n)"
    yield exactly(agree, consistent_functions(inputs, known), what)
    large, what = 10**4, "10⁴ pixels: single keys, with a free default, and decimal digits of 2^N − 1"
    yield exactly([large, 2 * large, len(str(2**large - 1))], [10_000, 20_000, 3011], what)
