"""Calibration and uncertainty: do the probabilities mean what they say?"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from leadline.evidence import Comparison, Figure, at_least, at_most, frequency, mean, smaller
from leadline.presentation import figure

from ..instrument_contract import Instrument, Meaning
from ..measurements.calibration_measures import (
    DRAWS,
    FEWEST,
    LEVELS,
    Measured,
    OfClasses,
    OfNumbers,
    measure_calibration,
)
from ..subject import Subject


def refuses(subject: Subject) -> str:
    if subject.test is None:
        return "there are no test rows"
    if subject.test.count < FEWEST:
        return f"there are {subject.test.count} test rows, and calibration needs {FEWEST} or more"
    if not subject.classifies and subject.loss != "squared":
        return f"the loss {subject.loss} says neither classes nor Gaussian noise"
    return ""


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    yield from _compare_classifier(found) if isinstance(found, OfClasses) else _compare_intervals(found)
    for part in found.parts:
        yield part.comparison()


def _compare_classifier(found: OfClasses) -> Iterator[Comparison]:
    chance = 1 / (DRAWS + 1)
    yield replace(
        at_most(found.calibration_error, found.null_error[2], "calibration error, the largest of 999 calibrated draws"),
        chance=chance,
    )
    yield frequency(
        found.table.correct, found.table.count, found.table.confidence, "accuracy in each bin, its mean confidence"
    )
    yield replace(
        at_least(found.accuracy, found.null_accuracy[1], "accuracy, the least of 999 draws at these confidences"),
        chance=chance,
    )
    yield replace(
        at_most(found.accuracy, found.null_accuracy[2], "accuracy, the largest of 999 draws at these confidences"),
        chance=chance,
    )
    yield replace(
        at_most(found.log_loss, found.null_log_loss[2], "log loss, the largest of 999 calibrated draws"), chance=chance
    )
    if found.temperature is not None:
        what = f"log loss of the other half at temperature {found.temperature.value:.3g}, less that at 1"
        yield mean(found.paired["temperature"], 0.0, what, side="at most")
    if found.uncertainty is not None:
        u = found.uncertainty
        yield (
            at_most(u.mean_confidence, found.confidence, "mean confidence with the last-layer posterior, without")
            .given(found.confidence > 0.5, "the network is sure of more than half")
            .as_empirical()
        )
        yield (
            mean(found.paired["laplace"], 0.0, "log loss with the last-layer posterior, less without", side="at most")
            .given(found.confidence > found.accuracy, "the network is overconfident: averaging makes it less sure")
            .as_empirical()
        )
        yield smaller(
            found.paired["entropy"], found.paired["entropy_noise"], "entropy on test rows below that on noise"
        ).as_empirical()
    if found.masks is not None:
        yield from _compare_masks(found)


def _compare_masks(found: OfClasses) -> Iterator[Comparison]:
    yield (
        mean(found.paired["masks"], 0.0, "log loss averaged over dropout masks, less without masks", side="at most")
        .given(found.confidence > found.accuracy, "the network is overconfident: averaging makes it less sure")
        .as_empirical()
    )
    wrong = found.paired["information_wrong"]
    enough = len(wrong) >= 5 and len(found.paired["information_right"]) >= 5
    what = "what the masks tell of the class, where the network is right, below where it is wrong"
    sides = (found.paired["information_right"], wrong) if enough else ([0.0], [0.0])
    yield smaller(*sides, what).given(enough, "five test rows or more are right, and five wrong").as_empirical()


def _compare_intervals(found: OfNumbers) -> Iterator[Comparison]:
    if "covered_masks" in found.paired:
        for level, covered in zip(LEVELS, found.paired["covered_masks"], strict=True):
            what = f"coverage of {level:.0%} intervals by dropout masks and residual sd"
            yield frequency(covered, found.rows, level, what).as_empirical()
    for name, counts in (("residual sd", "covered_plain"), ("last-layer posterior", "covered")):
        if counts in found.paired:
            for level, covered in zip(LEVELS, found.paired[counts], strict=True):
                yield frequency(covered, found.rows, level, f"coverage of {level:.0%} intervals by the {name}")


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    if isinstance(found, OfNumbers):
        i = found.intervals
        points = {"residual sd": (LEVELS, found.paired["covered_plain"].mean(1) / found.rows)}
        if found.masks is not None:
            points["dropout masks"] = (LEVELS, found.paired["covered_masks"].mean(1) / found.rows)
        if i is not None:
            points["last-layer posterior"] = (LEVELS, i.covered)
        yield figure.curves(
            f"Of the 95% intervals {points[list(points)[-1]][1][-1]:.1%} hold the target",
            "level of the interval",
            "share of test rows covered",
            lines={"as it should be": (LEVELS, LEVELS)},
            points=points,
        )
        return
    t = found.table
    yield figure.curves(
        f"Confidence {found.confidence:.1%}, accuracy {found.accuracy:.1%}; calibration error "
        f"{found.calibration_error:.3f} ({found.null_error[0]:.3f} by chance)",
        "confidence",
        "accuracy in the bin",
        lines={"calibrated": ([0, 1], [0, 1])},
        points={"test rows, exact 95% interval": (t.confidence, t.accuracy, t.low, t.high)},
    )
    points = {}
    if found.uncertainty is not None:
        u = found.uncertainty
        points["network"] = {"test rows": u.entropy_data_before, "noise": u.entropy_noise_before}
        points["last-layer posterior"] = {"test rows": u.entropy_data, "noise": u.entropy_noise}
    if found.masks is not None:
        name = f"dropout, {found.masks.passes} passes"
        points[name] = {"test rows": found.masks.entropy_data, "noise": found.masks.entropy_noise}
    if points:
        last = list(points)[-1]
        yield figure.categories(
            f"Entropy on noise inputs {points[last]['noise']:.2f} against {points[last]['test rows']:.2f} on test rows "
            f"({last})",
            "inputs",
            "mean entropy (nats)",
            points=points,
            rules={"knows nothing": ("y", float(np.log(subject.outputs)))},
        )


def interpret(found: Measured, subject: Subject) -> Meaning:
    return _meaning_of_classes(found) if isinstance(found, OfClasses) else _meaning_of_intervals(found)


def _meaning_of_classes(found: OfClasses) -> Meaning:
    miss, gap = found.calibration_error, found.confidence - found.accuracy
    normal = found.null_error[2]
    unsure = ""
    if (
        found.uncertainty is not None
        and found.uncertainty.entropy_noise_before <= found.uncertainty.entropy_data_before
    ):
        unsure = " On pure noise it is as sure as on data."
    if miss <= normal:
        words = (
            f"The probabilities can be taken at their word: calibration error {miss:.3f}, and a perfectly calibrated "
            f"network would show up to {normal:.3f} on {found.rows} test rows.{unsure}"
        )
        return Meaning(words, 0.5 if unsure else 0.2)
    advice = ""
    if found.temperature is not None and found.temperature.change_high < 0:
        advice = (
            f"Divide the scores by {found.temperature.value:.3g} before the softmax; that lowers the log loss of "
            f"unseen rows by {-found.temperature.change:.3g}."
        )
    if gap > 0 and found.accuracy < found.null_accuracy[1]:
        kind = f"It is overconfident: {found.confidence:.1%} sure on average and {found.accuracy:.1%} right"
        advice = advice or "Do not use the probabilities as they are; recalibrate them on held-out rows."
    elif gap < 0 and found.accuracy > found.null_accuracy[2]:
        kind = f"It is underconfident: {found.confidence:.1%} sure on average and {found.accuracy:.1%} right"
    else:
        kind = (
            f"On average confidence and accuracy agree ({found.confidence:.1%}, {found.accuracy:.1%}), not bin by bin"
        )
    words = f"{kind}; calibration error {miss:.3f} where chance explains up to {normal:.3f}.{unsure}"
    return Meaning(words, 0.85 if gap > 0.05 else 0.6, advice, change=min(miss, 1.0), rests_on="calibration error")


def _meaning_of_intervals(found: OfNumbers) -> Meaning:
    from scipy.special import bdtr

    bayesian = "covered" in found.paired
    counts = found.paired["covered" if bayesian else "covered_plain"][-1]
    share = float(counts.mean() / found.rows)
    name = "Intervals of the last-layer posterior" if bayesian else "Intervals of ±1.96 residual standard deviations"
    low = min(float(bdtr(int(c), found.rows, 0.95)) for c in counts) * len(counts)
    high = min(1 - float(bdtr(int(c) - 1, found.rows, 0.95)) for c in counts) * len(counts)
    if low < 5e-4:
        words = (
            f"{name} said to hold 95% of the targets hold {share:.1%}: the errors are larger on new rows than on old."
        )
        advice = "Widen the error bars by the residuals of held-out rows."
        told = f"coverage of 95% intervals by the {'last-layer posterior' if bayesian else 'residual sd'}"
        return Meaning(words, 0.7, advice, change=0.95 - share, rests_on=told)
    if high < 5e-4:
        return Meaning(
            f"{name} said to hold 95% of the targets hold {share:.1%}: they are wider than they need be.", 0.4
        )
    return Meaning(
        f"{name} said to hold 95% of the targets hold {share:.1%} of {found.rows} test rows, as they should.", 0.2
    )


INSTRUMENT = Instrument(
    name="calibration",
    question="Are the network's probabilities right, and does it know when it does not know?",
    formula=r"ECE = \sum_b \frac{n_b}{n} |acc_b - conf_b|, \quad "
    r"p(y|x) = \int softmax(W \phi(x)) \, N(W; \hat W, (H + \alpha I)^{-1}) \, dW",
    assumes=(
        "the softmax of the outputs is meant as a probability",
        "the test rows are new and independent",
        "the features below the last layer are taken as fixed",
        "masks: dropout stays on at test time, in networks of Equinox and Flax that have it",
    ),
    measure=measure_calibration,
    compare=compare,
    draw=draw,
    interpret=interpret,
    refuses=refuses,
    sources=("eth", "penn"),
    entries=("predictive-distribution", "evidence", "bayes-posterior", "mc-dropout-uncertainty"),
)
