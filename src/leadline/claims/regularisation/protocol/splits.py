"""Splits whose test part is read once, and cross-validation whose error bars know that its folds share rows."""

import jax
import numpy as np

from leadline import data, learning, regularisation
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Int, OneOf, Real, at_most, close, exactly, frequency, mean, method
from leadline.learning.risk.risk import expected_fit_risks
from leadline.presentation import figure
from leadline.probability import binomial_interval


@method(sources=("penn",), shows=("regularisation.guard",))
def guarded_data_splits(
    key,
    samples: Int(60, 2000, log=True) = 300,
    classes: Int(2, 6) = 4,
    groups: Int(8, 40) = 20,
    tested: Real(0.15, 0.4) = 0.2,
):
    r"""Data splits with a guarded test part.

    Rows are divided into training, validation and test parts: by class, so that every part has its share of each; by
    group, so that no group is in two; or by time, so that the test rows are the latest. The test part is read once; a
    second reading is refused and counted.

    $$|n_c(\text{part}) - s\, n_c| \le 1, \qquad G_{\text{train}} \cap G_{\text{test}} = \emptyset, \qquad
    \max t_{\text{train}} < \min t_{\text{test}}$$

    Check: Classes and groups of unequal size, times with ties. A row's number is kept beside it, so that the parts can
    be compared with the whole.
    """
    rng = data.generator(key)
    labels = np.append(
        np.repeat(np.arange(classes), 8), rng.choice(classes, size=samples - 8 * classes, p=_uneven(classes))
    )
    teams = np.append(np.arange(groups), rng.choice(groups, size=samples - groups, p=_uneven(groups)))
    times = rng.integers(0, samples // 2, size=samples)
    shares = (0.8 - tested, 0.2, tested)
    held = {
        "class": regularisation.guard(np.arange(samples), labels=labels, shares=shares, key=key),
        "group": regularisation.guard(np.arange(samples), groups=teams, shares=shares, key=key),
        "time": regularisation.guard(np.arange(samples), times=times, shares=shares),
    }
    parts = {name: [one.train[0], one.validation[0], one.read("rows of the parts")[0]] for name, one in held.items()}
    for name, rows in parts.items():
        twice = np.bincount(np.concatenate(rows), minlength=samples)
        yield exactly(twice, 1, f"by {name}: how often each row is in a part")
    counts = np.array([np.bincount(labels[rows], minlength=classes) for rows in parts["class"]])
    wanted = np.outer(shares, np.bincount(labels, minlength=classes))
    yield at_most(np.abs(counts - wanted), 1.0, "by class: rows of a class in a part, off its share")
    sets = [set(teams[rows].tolist()) for rows in parts["group"]]
    shared = [len(sets[a] & sets[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    yield exactly(shared, 0, "by group: groups that two parts share")
    spans = [(times[rows].min(), times[rows].max()) for rows in parts["time"]]
    later = [spans[k + 1][0] - spans[k][1] for k in (0, 1)]
    yield exactly(np.array(later) > 0, True, "by time: each part begins after the one before")
    refused = [_second_reading(one) for one in held.values() for _ in range(3)]
    yield exactly(refused, True, "second readings that are refused")
    yield exactly([one.readings for one in held.values()], 1, "readings granted")
    yield exactly([one.refusals for one in held.values()], 3, "readings refused and counted")
    names = ("training", "validation", "test")
    shown = {part: {f"class {c}": counts[k, c] for c in range(classes)} for k, part in enumerate(names)}
    lines = {part: {f"class {c}": wanted[k, c] for c in range(classes)} for k, part in enumerate(names)}
    refusals = sum(one.refusals for one in held.values())
    title = f"Every class keeps its shares to a row; {refusals} second readings were refused"
    yield figure.categories(title, "class", "rows", lines=lines, points=shown)


def _uneven(count):
    weights = np.arange(1, count + 1)
    return weights / weights.sum()


def _second_reading(held):
    try:
        held.read("another look")
    except ValueError:
        return True
    return False


@method(sources=("penn",), shows=("regularisation.cross_validate",))
def k_fold_cross_validation(
    key,
    k: OneOf(2, 4, 5, 10) = 5,
    samples: OneOf(40, 60, 100) = 40,
    dim: Int(2, 8) = 6,
    repeats: Int(2, 5) = 3,
    datasets: Int(200, 400) = 200,
):
    r"""k-fold cross-validation.

    Each of k models is fitted on (k − 1)/k of the rows and scored on the rest; the mean estimates the risk of what is
    learned from that many rows, without bias. The scores share training rows, so that sd/√J of J scores is too small
    once the division is repeated; Nadeau and Bengio add the ratio of scored to fitted rows to 1/J.

    $$\widehat{\mathrm{se}}^2 = s^2 \Big(\frac1J + \frac{n_{\text{test}}}{n_{\text{train}}}\Big), \qquad J = k \cdot
    \text{repeats}$$

    Assumes: what is fitted, scaling and selection too, is fitted inside the fold; the correction is approximate.

    Check: Least squares with Gaussian inputs, whose expected risk at n(k − 1)/k rows is known. How often the naive and
    the corrected 95% intervals hold it, over `datasets` samples. Labels that have nothing to do with 500 features:
    selecting the 5 best of them before the folds are made, and inside.
    """
    rng = data.generator(key)
    keys = jax.random.split(key, datasets)
    fitted = samples - samples // k
    expected = expected_fit_risks(fitted, dim)[1]
    found = []
    for one in keys:
        x, y = rng.normal(size=(samples, dim)), rng.normal(size=samples)
        found.append(regularisation.cross_validate(_plane, x, y, k, repeats=repeats, key=one))
    spread = np.array([one.scores.std(ddof=1) for one in found])
    by_hand = spread * np.sqrt(1 / (k * repeats) + (samples // k) / fitted)
    yield close(
        [one.corrected_error for one in found], by_hand, "corrected standard errors, by the formula", rtol=1e-12
    )
    means = np.array([one.mean for one in found])
    yield mean(means, expected, f"cross-validated risk of least squares, against the risk at {fitted} rows")
    covered = {
        corrected: sum(
            one.interval(corrected=corrected)[0] <= expected <= one.interval(corrected=corrected)[1] for one in found
        )
        for corrected in (False, True)
    }
    naive = np.mean([one.naive_error for one in found])
    yield at_most(
        naive, means.std(ddof=1), "mean naive standard error, against the standard deviation over samples"
    ).as_empirical()
    ends = binomial_interval(covered[False], datasets, confidence=0.998)
    what = "naive 95% intervals that hold the risk: upper end of their share"
    yield at_most(ends[1], 0.95, what, strict=True).as_empirical()
    what = "corrected 95% intervals that hold the risk"
    yield frequency(covered[True], datasets, 0.95, what, side="at least").as_empirical()
    inside, outside = _selections(rng, keys[0])
    yield mean(inside, 0.5, "error on random labels, features selected inside the fold")
    what = "error on random labels, features selected inside the folds less before them"
    yield paired_excess(np.array(inside), np.array(outside), what, level=0.999)
    choices = [c for c in (2, 4, 5, 10, samples) if samples % c == 0]
    shares = [f"{100 * covered[corrected] / datasets:.0f}%" for corrected in (False, True)]
    title = f"Over {datasets} samples the naive interval holds the risk in {shares[0]}, the corrected in {shares[1]}"
    yield _against_k(rng, samples, dim, choices, keys, title)


def _plane(x, y, new):
    return learning.least_squares(x, y, intercept=False, method="normal").predict(new)


def _selections(rng, key):
    """Cross-validated errors of the sign of a linear fit on the 5 most correlated of 500 features, 20 samples."""

    def chosen(x, y):
        return np.argsort(-np.abs((x - x.mean(axis=0)).T @ (y - y.mean())))[:5]

    def with_selection(x, y, new):
        kept = chosen(x, y)
        return np.where(learning.least_squares(x[:, kept], y).predict(new[:, kept]) >= 0, 1.0, -1.0)

    inside, outside = [], []
    for _ in range(20):
        x, y = rng.normal(size=(50, 500)), rng.choice([-1.0, 1.0], size=50)
        inside.append(regularisation.cross_validate(with_selection, x, y, 5, loss="zero-one", key=key).mean)
        leaked = x[:, chosen(x, y)]
        outside.append(regularisation.cross_validate(with_selection, leaked, y, 5, loss="zero-one", key=key).mean)
    return inside, outside


def _against_k(rng, samples, dim, choices, keys, title):
    """One sample: the estimate and both intervals for each k, beside the risk at n(k − 1)/k rows."""
    x, y = rng.normal(size=(samples, dim)), rng.normal(size=samples)
    found = [
        regularisation.cross_validate(_plane, x, y, c, repeats=3 if c < samples else 1, key=keys[0]) for c in choices
    ]
    risks = [expected_fit_risks(samples - samples // c, dim)[1] for c in choices]
    points = {}
    for name, corrected, shift in (("corrected interval", True, 1.03), ("naive interval", False, 0.97)):
        ends = np.array([one.interval(corrected=corrected) for one in found])
        points[name] = (shift * np.array(choices), [one.mean for one in found], ends[:, 0], ends[:, 1])
    return figure.curves(
        title, "folds k", "squared loss", lines={"expected risk": (choices, risks)}, points=points, log="x"
    )
