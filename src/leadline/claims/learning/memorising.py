"""Memorising is not learning: tables without training error."""

from itertools import combinations
from typing import Annotated

import numpy as np

from leadline import data, learning
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, frequency, model, printed


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


@model(
    "memoriser",
    says=(
        "A hash memoriser is a table from inputs to labels with a default; a single pixel serves as its key iff its n "
        "values all differ. Training error is 0 unless equal inputs carry different labels, which is reported."
    ),
    formula=(
        r"P(\text{pixel usable}) = \prod_{k<n}\left(1 - \frac{k}{K}\right) \quad \text{for } K \text{ equally likely "
        r"values}"
    ),
    sources=("penn",),
    shows=(
        "learning.memorise", "learning.Memoriser", "learning.usable_columns", "learning.usable_probability",
        "learning.disagreements",
    ),
)  # fmt: skip
def memoriser(
    key,
    samples: Annotated[int, Range(4, 80)] = 20,
    levels: Annotated[int, Choice(17, 256, 4096, 256**3)] = 256,
    conflicts: Annotated[int, Range(0, 3)] = 2,
):
    """4000 independent uniform pixels; then the digits, whose pixels have 17 levels."""
    rng = data.generator(key)
    images, labels = rng.integers(0, levels, (samples, 4000)), rng.choice([-1, 1], samples)
    labels[:2] = 1, -1
    table = learning.memorise(images, labels, default=-1)
    yield exactly(len(learning.disagreements(table, images, labels)), 0, "training errors of the hash memoriser")
    twice = np.concatenate([images, images[:conflicts]])
    both = np.append(labels, -labels[:conflicts])
    clash = learning.memorise(twice, both, default=-1)
    yield exactly(len(clash.conflicts), conflicts, "conflicting duplicates found")
    yield exactly(len(learning.disagreements(clash, twice, both)), conflicts, "training errors with them")

    usable = learning.usable_columns(images)
    chance = learning.usable_probability(samples, levels)
    yield frequency(int(usable.sum()), usable.size, chance, f"usable pixels of {usable.size}")
    for column in rng.choice(usable.size, 20, replace=False):
        # Labels that differ for every pair of equal values show an unusable pixel; a usable one fits any labels.
        order = np.unique(images[:, column], return_index=True)[1]
        hard = -np.ones(samples, int)
        hard[order] = 1
        wrong = len(learning.memorise(images, hard, columns=[column]).conflicts)
        if bool(wrong == 0) != bool(usable[column]):
            break
    yield exactly(
        bool(wrong == 0), bool(usable[column]), f"pixel {column} fits all labels iff its values differ (20 tried)"
    )
    yield close(learning.usable_probability(50, 256), 0.0059, "P(usable), n = 50, K = 256", atol=5e-5)
    yield close(learning.usable_probability(50, 256**3), 0.99993, "P(usable), n = 50, K = 256³", atol=5e-6)
    colours = len(np.unique(np.arange(1000).astype(np.uint8))) ** 3
    yield printed(exactly(colours, 255**3, "colours of three 8-bit channels"), "penn", "255³ colours")

    train_x, train_y, test_x, test_y = _shuffled_digits(rng, 1200)
    yield exactly(int(learning.usable_columns(train_x[:18]).sum()), 0, "usable pixels of 18 digits with 17 levels")
    seen = learning.memorise(train_x, train_y)
    rows = {"hash memoriser": seen} | _rivals(train_x, train_y)
    errors = np.array([[np.mean(f(x) != y) for x, y in ((train_x, train_y), (test_x, test_y))] for f in rows.values()])
    grid = np.geomspace(16, 2**24, 60)
    yield figure.beside(
        f"A table has training error {errors[0, 0]:.0%} and test error {errors[0, 1]:.0%} on the digits",
        figure.heatmap(
            "share of digits misread", x="", y="", values=errors, xs=["training", "test"], ys=list(rows), text=True,
            colour="error",
        ),
        figure.curves(
            f"pixels that can serve as a key, {samples} images", x="levels K of a pixel", y="share of pixels usable",
            lines={"Π(1 − k/K)": (grid, [learning.usable_probability(samples, int(k)) for k in grid])},
            points={"drawn": ([levels], [usable.mean()])}, log="x",
        ),
    )  # fmt: skip


@claim(
    "memoriser-does-not-learn",
    says=(
        "Training error 0 is free. On fresh inputs from a continuous law a memoriser meets nothing that it knows: its "
        "error is that of its default label, P(Y ≠ default)."
    ),
    formula=r"\hat R = 0, \qquad R = P(Y \ne \text{default})",
    sources=("penn",),
    assumes=("a law without atoms, for the equality",),
)
def memoriser_does_not_learn(
    key,
    dim: Annotated[int, Range(1, 50)] = 5,
    samples: Annotated[int, Range(10, 2000, log=True)] = 500,
    share: Annotated[float, Range(0.05, 0.95)] = 0.3,
):
    """`share` is P(Y = +1) in a Gaussian law with labels by a half-space; the default is −1. Then the digits."""
    from scipy.special import ndtri

    rng = data.generator(key)
    x = rng.standard_normal((samples + 4000, dim))
    y = np.where(x[:, 0] > ndtri(1 - share), 1, -1)
    table = learning.memorise(x[:samples], y[:samples], default=-1)
    yield exactly(len(learning.disagreements(table, x[:samples], y[:samples])), 0, "training errors")
    wrong = len(learning.disagreements(table, x[samples:], y[samples:]))
    yield frequency(wrong, 4000, share, "errors on 4000 fresh inputs, against P(Y ≠ default)")

    train_x, train_y, test_x, test_y = _shuffled_digits(rng, 1200)
    seen = learning.memorise(train_x, train_y)
    known = {row.tobytes() for row in train_x}
    new = np.array([row.tobytes() not in known for row in test_x])
    yield exactly(len(learning.disagreements(seen, train_x, train_y)), 0, "training errors on 1200 digits")
    yield exactly(
        len(learning.disagreements(seen, test_x[new], test_y[new])),
        int(np.sum(test_y[new] != seen.default)),
        f"errors on {int(new.sum())} test digits that are not training digits, against those of the default",
    )
    rules = {"table": seen} | _rivals(train_x, train_y)
    right = {
        name: [float(np.mean(f(a) == b)) for a, b in ((train_x, train_y), (test_x, test_y))]
        for name, f in rules.items()
    }
    yield at_least(right["1-NN"][1], 0.95, "test accuracy of the nearest neighbour")
    yield at_least(right["ridge"][1], 0.88, "test accuracy of linear ridge")
    yield at_most(right["table"][1], 0.16, "test accuracy of the memoriser")
    yield figure.bars(
        f"No training error, and {right['table'][1]:.0%} of the test digits right: a table; the nearest neighbour's "
        f"label: {right['1-NN'][1]:.1%}",
        x="rule", y="share right",
        values={part: {name: v[i] for name, v in right.items()} for i, part in enumerate(("training", "test"))},
    )  # fmt: skip


@claim(
    "memoriser-count",
    says=(
        "N pixels give at most N single-pixel memorisers, 2N with a free default label, and up to 2^N − 1 keys from "
        "sets of pixels; of all binary functions on a finite set X, 2^(|X|−n) agree with n labelled points."
    ),
    formula=r"N \le N_{\text{keys}} \le 2^N - 1, \qquad \#\{f: X \to \{0,1\} \mid f(x_i) = y_i\} = 2^{|X| - n}",
    sources=("penn",),
    shows=("learning.consistent_functions", "learning.usable_columns"),
)
def memoriser_count(
    key,
    pixels: Annotated[int, Range(1, 10)] = 6,
    samples: Annotated[int, Range(2, 8)] = 4,
    levels: Annotated[int, Range(2, 64, log=True)] = 8,
    inputs: Annotated[int, Range(1, 16)] = 12,
    labelled: Annotated[int, Range(0, 16)] = 5,
):
    """All sets of pixels and all functions are enumerated."""
    rng = data.generator(key)
    images = rng.integers(0, levels, (samples, pixels))
    labels = np.resize([1, -1], samples)
    single = int(learning.usable_columns(images).sum())
    subsets = [c for k in range(1, pixels + 1) for c in combinations(range(pixels), k)]
    keys = {frozenset(c) for c in subsets if len(np.unique(images[:, list(c)], axis=0)) == samples}
    yield at_most(single, pixels, "usable single pixels, against N")
    yield at_most(len(keys), 2**pixels - 1, "usable sets of pixels, against 2^N − 1")
    closed = all(key | {p} in keys for key in keys for p in range(pixels))
    yield exactly(closed, True, "a set that contains a usable one is usable")
    distinct = np.stack([rng.permutation(max(levels, samples))[:samples] for _ in range(pixels)], axis=1)
    every = [c for c in subsets if len(np.unique(distinct[:, list(c)], axis=0)) == samples]
    yield exactly(len(every), 2**pixels - 1, "usable sets where every single pixel is usable")

    # Probes that show one known value in one pixel, and one that shows none, tell all memorisers apart.
    unseen = np.full((1 + pixels * samples, pixels), -1.0)
    for p in range(pixels):
        unseen[1 + p * samples : 1 + (p + 1) * samples, p] = distinct[:, p]
    answers = {
        learning.memorise(distinct, labels, columns=[p], default=default)(unseen).tobytes()
        for p in range(pixels) for default in (-1, 1)
    }  # fmt: skip
    yield exactly(len(answers), 2 * pixels, "different single-pixel memorisers with a free default, against 2N")

    known = min(labelled, inputs)
    tables = np.arange(2**inputs)[:, None] >> np.arange(inputs) & 1  # every function on X as a row of values
    wanted = rng.integers(0, 2, known)
    agree = int(np.sum(np.all(tables[:, :known] == wanted, axis=1)))
    yield exactly(
        agree, learning.consistent_functions(inputs, known), f"functions on {inputs} inputs that agree with {known}"
    )
    large = 10**4
    yield exactly(
        [large, 2 * large, len(str(2**large - 1))], [10_000, 20_000, 3011],
        "10⁴ pixels: single keys, with a free default, and decimal digits of 2^N − 1",
    )  # fmt: skip
