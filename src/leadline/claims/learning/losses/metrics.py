"""What predictors are judged by, and how that differs from what they were trained on."""

import jax
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, instrument
from leadline.presentation import figure


@instrument(sources=("penn",))
def classification_metrics(
    key,
    samples: Int(100, 2000) = 400,
    classes: Int(2, 8) = 4,
    sharpness: Real(1.0, 4.0) = 2.0,
    bins: Int(5, 30) = 10,
    resamples: Int(1000, 3000) = 1000,
):
    r"""Classification and regression metrics.

    The metrics are error, cost-sensitive and top-k error, precision, recall, F1, area under the curve, log loss, Brier
    score and calibration error, and for regression RMSE, absolute error, pinball loss and coverage; each comes with a
    bootstrap interval.

    $$\mathrm{AUC} = P(s_+ > s_-) + \tfrac12 P(s_+ = s_-), \qquad \mathrm{ECE} = \sum_b \frac{n_b}{n} |\mathrm{acc}_b -
    \mathrm{conf}_b|$$

    Check: Labels are drawn from softmax(z), which is therefore calibrated. The predictions that are judged are
    softmax(s z), where s is the sharpness.
    """
    from scipy.stats import binom

    rng = data.generator(key)
    z = 1.5 * rng.normal(size=(samples, classes))
    true = np.asarray(learning.softmax(z))
    labels = (rng.random((samples, 1)) > true.cumsum(axis=1)).sum(axis=1).clip(0, classes - 1)
    p = np.asarray(learning.softmax(z, 1 / sharpness))
    guess = p.argmax(axis=1)

    small, answers = np.array([1, 1, 1, 0, 0, 0]), np.array([1, 1, 0, 1, 0, 0])
    yield exactly(learning.confusion_matrix(small, answers), [[2, 1], [1, 2]], "confusion matrix of six answers")
    scores = learning.precision_recall(small, answers)
    yield close(scores, [2 / 3] * 3, "precision, recall and F1 of six answers", rtol=1e-14)
    quarter, two = np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([1, 0])
    yield close(learning.log_loss(two, quarter), 1.5 * np.log(2), "log loss of p = 1/4 and 1/2", rtol=1e-14)
    yield close(learning.brier_score(two, quarter), 0.8125, "Brier score of p = 1/4 and 1/2", rtol=1e-14)
    four = learning.calibration_error(np.array([0.9, 0.9, 0.6, 0.6]), np.array([1, 1, 1, 0]), 10)
    yield close(four, 0.1, "ECE of four answers", rtol=1e-12)
    target, lower, upper = np.array([0.0, 0.0]), np.array([3.0, -4.0]), np.array([5.0, 1.0])
    regression = [
        learning.root_mean_square_error(target, lower),
        learning.mean_absolute_error(target, lower),
        learning.mean_pinball_loss(target, lower, 0.9),
        learning.interval_coverage(target, lower, upper),
    ]
    what = "RMSE, MAE, pinball and coverage of two predictions"
    yield close(regression, [12.5**0.5, 3.5, 1.95, 0.5], what, rtol=1e-14)

    score = np.round(p[:, 0], 1)  # rounded, so that there are ties
    present = np.append(labels[:-2] == 0, [True, False])
    pairs = score[present][:, None] - score[~present]
    share = (pairs > 0).mean() + (pairs == 0).mean() / 2
    area = learning.area_under_curve(present, score)
    yield close(area, share, "AUC against the share of pairs, ties halved", rtol=1e-12)
    error = learning.error_rate(labels, guess)
    yield close(learning.top_k_error(labels, p, 1), error, "top-1 error, the error", rtol=1e-12)
    yield exactly(learning.top_k_error(labels, p, classes), 0.0, "top-m error")
    unit = learning.cost_sensitive_error(labels, guess, 1 - np.eye(classes))
    yield close(unit, error, "cost-sensitive error with unit costs, the error", rtol=1e-12)
    trace = np.trace(learning.confusion_matrix(labels, guess, classes))
    yield close(1 - trace / samples, error, "share off the diagonal of the confusion matrix", rtol=1e-12)

    keys = jax.random.split(key, 6)
    found = learning.bootstrap_interval(learning.error_rate, labels, guess, key=keys[0], resamples=resamples)
    # A resample's error is binomial, and the interval's ends are empirical quantiles of a thousand of them at least:
    # their true levels differ from 2.5% by more than this once in a million runs.
    law, near, wide = binom(samples, error), 0.006, 0.06
    ends = [found.low, found.high]
    yield at_least(ends, law.ppf([near, 1 - wide]) / samples, "bootstrap interval of the error, from below", atol=1e-12)
    yield at_most(ends, law.ppf([wide, 1 - near]) / samples, "bootstrap interval of the error, from above", atol=1e-12)

    confidence, right = p.max(axis=1), guess == labels
    metrics = {
        "error": (learning.error_rate, labels, guess),
        "log loss": (learning.log_loss, labels, p),
        "Brier score": (learning.brier_score, labels, p),
        f"calibration error, {bins} bins": (lambda c, r: learning.calibration_error(c, r, bins), confidence, right),
        "AUC of class 0": (learning.area_under_curve, present, p[:, 0]),
        "F1 of class 0": (lambda a, b: learning.precision_recall(a, b).f1, present, guess == 0),
    }
    points = {}
    for i, ((name, metric), k) in enumerate(zip(metrics.items(), keys, strict=True), 1):
        t = learning.bootstrap_interval(*metric, key=k, resamples=200)
        points[f"{name}: {t.estimate:.3g}"] = ([i], [t.estimate], [t.low], [t.high])
    title = "metrics with 95% bootstrap intervals"
    table = figure.curves(title, "metric, in the order of the legend", "value", points=points)
    sharp, exact = (learning.reliability(q.max(axis=1), right, bins) for q in (p, true))
    tables = {f"softmax({sharpness:g} z)": sharp, "softmax(z), the truth": exact}
    points = {n: (t.confidence, t.accuracy) for n, t in tables.items()}
    lines, title = {"calibrated": ([0.0, 1.0], [0.0, 1.0])}, f"reliability in {bins} bins"
    diagram = figure.curves(title, "mean confidence", "share correct", lines=lines, points=points)
    off = learning.calibration_error(confidence, right, bins)
    title = f"{sharpness:g} times too sharp: error {error:.3g}, calibration error {off:.2g} on {samples} examples"
    yield figure.beside(title, table, diagram)


@claim(sources=("penn",))
def trained_on_measured_by(
    key,
    training: Int(60, 380) = 300,
    delta: Real(5.0, 150.0, log=True) = 50.0,
    tau: Real(0.6, 0.95) = 0.9,
    epsilon: Real(5.0, 80.0) = 20.0,
):
    r"""Training loss against evaluation metric.

    Among exact minimisers over one class, each loss's own fit is the best under that loss on the training set: the
    matrix (trained on, measured by) has its column minima on the diagonal. On test data this need not hold.

    $$\hat f_\ell = \mathrm{argmin}_{f \in F} \hat R_\ell(f) \ \Rightarrow\ \hat R_\ell(\hat f_\ell) \le \hat
    R_\ell(\hat f_k) \ \text{ for all } k$$

    Assumes: minimisers over one class, found exactly.

    Check: Affine functions of the ten inputs of the diabetes data are fitted to `training` patients drawn at random.
    """
    inputs, targets, _ = data.diabetes()
    order = data.generator(key).permutation(len(targets))
    parts = order[:training], order[training:]
    shapes = {"squared": (), "absolute": (), "huber": (delta,), "pinball": (tau,), "epsilon_insensitive": (epsilon,)}
    matrix = np.column_stack([inputs, np.ones(len(targets))])
    fits = [learning.fit_affine(inputs[parts[0]], targets[parts[0]], loss, *shape) for loss, shape in shapes.items()]
    predicted = np.stack([matrix @ w for w in fits])  # (trained on, patient)
    measured = [learning.LOSSES[loss].value(predicted, targets, *shape) for loss, shape in shapes.items()]
    values = np.stack(measured, axis=1)  # (trained on, measured by, patient)
    train, test = (values[:, :, part].mean(axis=2) for part in parts)
    for k, loss in enumerate(shapes):
        others = np.delete(train[:, k], k)
        yield at_least(others, train[k, k], f"training {loss} loss of the other fits against its own", rtol=1e-9)
    names = ("r²", "|r|", "Huber", "pinball", "ε-ins.")
    kept = (test.argmin(axis=0) == np.arange(5)).sum()
    shape = {"xs": names, "ys": names, "colour": "ratio", "text": True}
    maps = []
    for what, losses in {"training": train, "test": test}.items():
        title = f"{what}: loss over that of the column's own fit"
        maps.append(figure.heatmap(title, "measured by", "trained on", values=losses / np.diag(losses), **shape))
    on = f"on the {training} training patients, {kept} of 5 still on the {len(parts[1])} test patients"
    yield figure.beside(f"Each loss is served best by its own fit {on}", *maps)
