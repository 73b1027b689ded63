"""Memorisation: does the network know a rule, or its training rows?"""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.evidence import Comparison, Figure, Verdict, at_least, at_most, same_distribution, smaller
from leadline.generalisation import exact_interval
from leadline.generalisation.held_out_bounds import ExactInterval
from leadline.presentation import figure
from leadline.regularisation.early_stopping.fitting_order import FittingOrder

from ..instrument_contract import Instrument, Meaning, NotApplicable
from ..measurements.example_memory import (
    CORRUPTED,
    Influences,
    LabelTrial,
    Neighbours,
    influences,
    is_labelled,
    label_order,
    label_trial,
    neighbours,
)
from ..subject import Subject

CERTAIN = 0.999
LEAD = 0.3  # of clean over corrupted labels, from which on signal counts as learnt before noise


class Measured(NamedTuple):
    """Train and test, labels and shuffled labels, neighbours, influences.

    `train_loss`; `shuffled_loss` of the same rows with their targets shuffled, and its exact mean over all shuffles
    (`shuffled_expected`, None for other losses). `train_right`, `test_right`: shares of right answers, or R² for
    regression; `test_interval`: 99.9% interval of the test accuracy, `chance` the share of the commonest test class.
    `trial`, `neighbours`, `influences`: see there. `order`: shares of clean and of corrupted labels that are fitted
    after each epoch of a training with both.
    """

    train_loss: float
    shuffled_loss: float
    shuffled_expected: float | None
    train_right: float
    test_right: float | None
    test_interval: ExactInterval | None
    chance: float | None
    trial: LabelTrial
    neighbours: Neighbours | None
    influences: Influences | None
    parts: tuple[NotApplicable, ...]
    order: FittingOrder | None = None


def measure(subject: Subject, key: PRNGKeyArray) -> Measured:
    """Everything that tells memory from a rule."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel())
    parts: list[NotApplicable] = []
    sample, labelled = subject.sample, is_labelled(subject)
    scores = subject.train_scores[: sample.count]
    shuffle = rng.permutation(sample.count)
    mixed = subject.losses(sample._replace(targets=sample.targets[shuffle]))
    layer = subject.shared.last_layer
    influence = influences(subject, layer)
    if isinstance(influence, NotApplicable):
        parts.append(influence)
        influence = None
    near = interval = chance = test_right = None
    if subject.test is None:
        parts.append(NotApplicable("test accuracy and neighbours of test rows", "there are test rows"))
    else:
        near = neighbours(subject, subject.test, layer)
        unseen = subject.scored(subject.test)
        test_right = _right(subject.test_scores, unseen.targets, labelled)
        if labelled:
            right = int((subject.test_scores.argmax(1) == unseen.targets).sum())
            interval = exact_interval(right, unseen.count, confidence=CERTAIN)
            chance = float(np.bincount(unseen.targets).max() / unseen.count)
    trial, order = label_trial(subject, rng), label_order(subject, rng, key)
    if isinstance(order, NotApplicable):
        parts.append(order)
        order = None
    return Measured(
        float(subject.losses(sample).mean()),
        float(mixed.mean()),
        _expected_shuffled(scores, sample.targets) if subject.loss == "cross-entropy" else None,
        _right(scores, sample.targets, labelled),
        test_right,
        interval,
        chance,
        trial,
        near,
        influence,
        tuple(parts),
        order,
    )


def _right(scores: np.ndarray, targets: np.ndarray, labelled: bool) -> float:
    """The share of right answers, or R² = 1 - Σ‖f - y‖²/Σ‖y - mean‖²."""
    if labelled:
        return float((scores.argmax(1) == targets).mean())
    y = targets.astype(float).reshape(len(targets), -1)
    spread = float(((y - y.mean(0)) ** 2).sum())
    return 1.0 - float(((scores.reshape(y.shape) - y) ** 2).sum()) / (spread or 1.0)


def _expected_shuffled(scores: np.ndarray, labels: np.ndarray) -> float:
    """The mean cross-entropy over all shuffles of the labels: every row meets every label as often as it occurs."""
    from scipy.special import logsumexp

    z = scores.astype(float)
    shares = np.bincount(labels, minlength=z.shape[1]) / len(labels)
    return float((logsumexp(z, axis=1) - z @ shares).mean())


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    """Labels against chance, neighbours against exchangeability, influence against removal."""
    for part in found.parts:
        yield part.comparison()
    if found.test_interval is not None and found.chance is not None:
        yield at_least(
            found.test_interval.low,
            found.chance,
            "test accuracy (lower end), share of the commonest class",
            strict=True,
        )
    trial = found.trial
    what = "fitted anew: the labels come easier than the same shuffled"
    yield (
        smaller(trial.own.row_losses, trial.shuffled.row_losses, what)
        .given(trial.own.losses[-1] < trial.own.losses[0] / 2, "the first steps of training halve the loss")
        .as_empirical()
    )
    if found.order is not None:
        what = f"{CORRUPTED:.0%} of labels corrupted: largest lead of clean over corrupted ones in training"
        fits = "the network comes to fit more than half of the clean labels"
        yield at_least(found.order.lead, LEAD, what).given(found.order.clean.max() > 0.5, fits).as_empirical()
    near = found.neighbours
    if near is not None:
        yield _same_distances(near)
        yield at_most(near.duplicates, 0, "test rows that are training rows")
    if found.influences is not None and subject.loss != "squared":  # one Newton step on a square is exact
        i = found.influences
        scale = float(np.linalg.norm(i.actual))
        error = float(np.linalg.norm(i.actual - i.predicted)) / scale if scale else 0.0
        yield at_most(error, 1.0, "effect of leaving rows out, by one Newton step: error as a share", strict=True)


def _same_distances(near: Neighbours) -> Comparison:
    what = "distance to the nearest training row: test rows, training rows"
    return same_distribution(near.test_distance, near.train_distance, what)


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    """Fits of labels and shuffled labels; influence predicted and carried out; the rows held by memory."""
    trial, steps = found.trial, np.arange(found.trial.steps)
    targets = "labels" if is_labelled(subject) else "targets"
    thin = np.unique(np.linspace(0, trial.steps - 1, 60).astype(int))
    yield figure.curves(
        f"After {trial.steps} steps: loss {trial.own.losses[-1]:.2g} with the {targets}, "
        f"{trial.shuffled.losses[-1]:.2g} with the same ones shuffled",
        "steps of Adam",
        "training loss",
        points={
            f"{targets} of the data": (steps[thin], trial.own.losses[thin]),
            f"shuffled {targets}": (steps[thin], trial.shuffled.losses[thin]),
        },
    )
    if found.order is not None:
        order, epochs = found.order, 1 + np.arange(len(found.order.clean))
        yield figure.curves(
            f"{CORRUPTED:.0%} of labels corrupted: clean ones lead by {order.lead:.2f} after epoch {order.lead_at}",
            "epoch",
            "share of labels fitted",
            points={"clean labels": (epochs, order.clean), "corrupted labels": (epochs, order.corrupted)},
        )
    if found.influences is None:
        return
    i = found.influences
    ends = [float(min(i.predicted.min(), i.actual.min())), float(max(i.predicted.max(), i.actual.max()))]
    yield figure.curves(
        f"Leaving out one of {i.rows} rows moves the {i.others} loss by {np.abs(i.actual).max():.2g} at most",
        "predicted by one Newton step",
        "measured by leaving the row out",
        lines={"predicted": (ends, ends)},
        points={f"{len(i.removed)} rows left out": (i.predicted, i.actual)},
    )
    if subject.image_shape is not None and subject.image_shape[2] == 1:
        shown = subject.sample.inputs[i.largest].reshape(-1, *subject.image_shape[:2])
        labels = [str(subject.sample.targets[j]) if is_labelled(subject) else f"row {j}" for j in i.largest]
        yield figure.images(
            f"The training rows that only memory explains: left out, their own loss rises by up to "
            f"{i.self_influence.max():.2g}",
            images=list(zip(labels, shown, strict=True)),
        )


def interpret(found: Measured, subject: Subject) -> Meaning:
    """Memorised, learnt, both, or neither."""
    labelled = is_labelled(subject)
    fits = _fits_sentence(found, "labels" if labelled else "targets")
    seen = (
        f"{found.train_right:.1%} of the training rows right" if labelled else f"R² {found.train_right:.2f} in training"
    )
    poor = found.train_right < (2 / subject.outputs if labelled and subject.outputs > 2 else 0.6 if labelled else 0.2)
    if poor:
        return Meaning(
            f"It has neither memorised nor learnt its training rows: {seen}. {fits}",
            0.3,
            "Train it before you ask what it knows.",
            change=float(np.clip(1 - found.train_right, 0, 1)),
        )
    if found.test_right is None:
        return Meaning(
            f"{seen.capitalize()}; without test rows nobody can tell memory from knowledge. {fits}",
            0.5,
            "Keep rows aside for a test.",
        )
    if not labelled:
        return _regression_meaning(found, found.test_right, seen, fits)
    near, chance = found.neighbours, found.chance
    if found.test_interval is None or chance is None or near is None:
        raise ValueError("A classifier with test rows has an interval, a chance and neighbours.")
    low, high = found.test_interval.low, found.test_interval.high
    interval = f"{found.test_right:.1%} of the test rows (99.9% interval {low:.1%} to {high:.1%})"
    if not low > chance:
        guess = f"no better than naming the commonest class ({chance:.1%})"
        if found.train_right > high:
            return Meaning(
                f"It has memorised: {seen}, but {interval}, {guess}. {fits}",
                0.95,
                "Do not use its answers; look at how inputs and labels were put together.",
                change=found.train_right - found.test_right,
                rests_on="test accuracy (lower end)",
            )
        return Meaning(
            f"It knows little: {seen}, {interval}, {guess}. {fits}",
            0.6,
            "Train it longer, or test it on more rows.",
            change=1 - found.test_right,
            rests_on="test accuracy (lower end)",
        )
    nearest = f"the nearest training row alone gets {(near.right or 0) / near.rows:.1%}"
    if near.duplicates:
        return Meaning(
            f"{near.duplicates} of {near.rows} test rows are also training rows: the test rewards memory; "
            f"{seen}, {interval}.",
            0.85,
            "Remove them from the test rows and measure again.",
            change=near.duplicates / near.rows,
            rests_on="test rows that are training rows",
        )
    gap = found.train_right - high
    if gap > 0.05:
        return Meaning(
            f"Part of what it knows is memory: {seen}, {interval}; {nearest}. {fits}",
            0.6,
            "Use more data, augmentation or regularisation.",
            change=found.train_right - found.test_right,
        )
    learnt = f"It has learnt more than its rows: {seen}, {interval}; {nearest}. {fits}"
    if _same_distances(near).verdict is Verdict.FAILS:
        apart, among = (float(np.median(d)) for d in (near.test_distance, near.train_distance))
        return Meaning(
            f"{learnt} Test rows are not drawn as the training rows were: the nearest training row is {apart:.3g} away "
            f"from a test row and {among:.3g} from a training row, in the median.",
            0.4,
        )
    return Meaning(learnt, 0.25)


def _regression_meaning(found: Measured, test_right: float, seen: str, fits: str) -> Meaning:
    near, lost = found.neighbours, float(np.clip(found.train_right - test_right, 0, 1))
    tested = f"R² {test_right:.2f} on the test rows"
    if test_right <= 0:
        return Meaning(
            f"It has memorised: {seen}, {tested}, no better than naming the mean. {fits}",
            0.95,
            "Do not use its answers; look at how inputs and targets were put together.",
            change=lost,
        )
    if found.train_right - test_right > 0.2:
        return Meaning(
            f"Part of what it knows is memory: {seen}, {tested}. {fits}",
            0.6,
            "Use more data or regularisation.",
            change=lost,
        )
    beside = ""
    if near is not None and near.network_error is not None and near.error is not None:
        beside = f"; squared error {near.network_error:.3g}, that of the nearest training row {near.error:.3g}"
    return Meaning(f"It has learnt more than its rows: {seen}, {tested}{beside}. {fits}", 0.25)


def _fits_sentence(found: Measured, targets: str) -> str:
    order = found.order
    if order is None or order.lead < LEAD:
        return _trial_sentence(found, targets)
    lead = f"with {CORRUPTED:.0%} of labels corrupted, clean ones lead by {order.lead:.2f} after epoch {order.lead_at}"
    return f"{_trial_sentence(found, targets)} It learns signal before noise: {lead}."


def _trial_sentence(found: Measured, targets: str) -> str:
    trial = found.trial
    if trial.shuffled_after is not None and trial.own_after is not None:
        return (
            f"The architecture could memorise: shuffled {targets} of {trial.rows} rows are fitted in "
            f"{trial.shuffled_after} steps, the true ones in {trial.own_after}."
        )
    reached = (
        f"loss {trial.own.losses[-1]:.2g} with the {targets} and {trial.shuffled.losses[-1]:.2g} with shuffled ones"
    )
    told = f"Fitted anew for {trial.steps} steps on {trial.rows} rows it reaches {reached}"
    if trial.shuffled.losses[-1] <= trial.own.losses[-1]:
        return f"{told}: it fits shuffled {targets} as well, so that its training loss is no sign of a rule."
    return f"{told}."


INSTRUMENT = Instrument(
    "memorisation",
    "Does it know a rule, or its training rows?",
    r"\Delta L_{test}(i) \approx \frac{1}{n - 1} g_{test}^T H^{-1} (g_i - \bar g)",
    (
        "training and test rows come from one distribution",
        "influence: through the last linear layer, fitted anew with a small ridge",
        "labels are corrupted here, at random, in a training of its own",
    ),
    measure,
    compare,
    draw,
    interpret,
    sources=("penn", "eth"),
    entries=("signal-before-noise",),
)
