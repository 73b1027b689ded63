"""What the calibration instrument measures: scores, how they vary under calibration, temperature, last layer."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.special import entr, softmax

from leadline import bayes
from leadline.bayes.calibration_tests import ReliabilityTable
from leadline.bayes.last_layers import LastLayer
from leadline.bayes.temperature_scaling import scaled_log_losses
from leadline.evidence import Inapplicable

from ..instrument_contract import NotApplicable
from ..subject import Rows, Subject
from .mask_spread import BINS, LEVELS, MOST, ClassesOverMasks, NumbersOverMasks, spread_of_classes, spread_of_numbers

DRAWS = 999  # simulated test sets: a score beyond all of them has a chance of 1 in 1000
FEWEST = 20  # test rows


class Temperature(NamedTuple):
    """T fitted on half of the test rows with its 95% interval, and the change of the log loss of the other rows."""

    value: float
    low: float
    high: float
    change: float
    change_low: float
    change_high: float


class Uncertainty(NamedTuple):
    """The last layer's Laplace posterior: its size, prior, evidence, and scores of its averaged probabilities.

    `entropy_*`: mean entropy of the network's and of the averaged probabilities, on test rows and on noise inputs.
    `probit_gap` is the largest difference of the closed approximation from the sampled average, in probability.
    """

    layer: str
    parameters: int
    structure: str
    rows: int
    alpha: float
    norm_square: float
    effective_parameters: float
    calibration_error: float
    log_loss: float
    log_loss_change: float
    mean_confidence: float
    probit_gap: float
    entropy_data: float
    entropy_noise: float
    entropy_data_before: float
    entropy_noise_before: float


class Intervals(NamedTuple):
    """Regression: coverage of intervals at `levels` by the last layer's exact posterior, and by ±z·sd of residuals."""

    layer: str
    levels: np.ndarray
    covered: np.ndarray
    covered_plain: np.ndarray
    sigma: float
    alpha: float
    effective_parameters: float
    noise_share: float
    spread_test: float
    spread_noise: float


class OfClasses(NamedTuple):
    """What was found of a classifier on `rows` test rows.

    accuracy, mean confidence, expected calibration error (ECE, 15 bins), log loss and Brier score; `null_*` are the
    mean, the least and the largest of 999 simulated test sets of a calibrated network with the same probabilities (ECE,
    log loss, accuracy); `table` is the reliability diagram with exact 95% intervals. `paired` holds what the
    comparisons are made of, a number for each test row.
    """

    rows: int
    accuracy: float
    confidence: float
    calibration_error: float
    log_loss: float
    brier: float
    null_error: np.ndarray
    null_log_loss: np.ndarray
    null_accuracy: np.ndarray
    table: ReliabilityTable
    temperature: Temperature | None
    uncertainty: Uncertainty | None
    parts: tuple[NotApplicable, ...]
    paired: dict[str, np.ndarray]
    masks: ClassesOverMasks | None = None


class OfNumbers(NamedTuple):
    """What was found of a regressor on `rows` test rows: `intervals` of the last layer where there is one, and dropout.

    `paired` holds how many of the intervals at each level hold, for each output.
    """

    rows: int
    intervals: Intervals | None
    parts: tuple[NotApplicable, ...]
    paired: dict[str, np.ndarray]
    masks: NumbersOverMasks | None = None


Measured = OfClasses | OfNumbers


def _noise_inputs(subject: Subject, key: PRNGKeyArray, count: int) -> np.ndarray:
    """Rows without structure: every input uniform over the range of the training inputs, integers where those are."""
    low, high = subject.input_range
    if subject.integer_inputs:
        drawn = jax.random.randint(key, (count, *subject.input_shape), int(low), int(high) + 1)
        return np.asarray(drawn, subject.train.inputs.dtype)
    drawn = jax.random.uniform(key, (count, *subject.input_shape), minval=low, maxval=max(high, low + 1e-6))
    return np.asarray(drawn, subject.dtype)


def _tested(subject: Subject) -> Rows:
    """The test rows that are looked at; there must be some."""
    if subject.test is None:
        raise Inapplicable("there are no test rows")
    return subject.scored(subject.test).first(MOST)


def measure_calibration(subject: Subject, key: PRNGKeyArray) -> Measured:
    return _of_classifier(subject, key) if subject.classifies else _of_regressor(subject, key)


def _of_classifier(subject: Subject, key: PRNGKeyArray) -> OfClasses:
    keys = jax.random.split(key, 4)
    scores, labels = np.asarray(subject.test_scores[:MOST], float), _tested(subject).targets
    p, parts, paired = softmax(scores, axis=1), [], {}
    here = bayes.calibration_scores(p, labels, bins=BINS)
    null = bayes.calibrated_scores(p, bins=BINS, draws=DRAWS, key=keys[0])
    table = bayes.reliability_table(p.max(1), (p.argmax(1) == labels).astype(float), bins=BINS)
    temperature = _temperature(scores, labels, keys[1], parts, paired)
    head = subject.shared.last_layer
    if head is None:
        parts.append(
            NotApplicable(
                "last-layer posterior", "the outputs are linear in one weight matrix, each through its own row"
            )
        )
    uncertainty = None if head is None else _uncertainty(subject, head, p, labels, keys[2:], paired)
    key_masks = jax.random.fold_in(key, 1)
    masks = spread_of_classes(subject, _noise_inputs(subject, key_masks, 200), p, labels, key_masks, paired)
    return OfClasses(
        len(labels),
        float(here.accuracy),
        float(p.max(1).mean()),
        float(here.calibration_error),
        float(here.log_loss),
        float(here.brier),
        _spread(null.calibration_error),
        _spread(null.log_loss),
        _spread(null.accuracy),
        table,
        temperature,
        uncertainty,
        tuple(parts),
        paired,
        masks,
    )


def _spread(draws: np.ndarray) -> np.ndarray:
    return np.array([draws.mean(), draws.min(), draws.max()])


def _temperature(
    scores: np.ndarray, labels: np.ndarray, key: PRNGKeyArray, parts: list, paired: dict
) -> Temperature | None:
    order = np.asarray(jax.random.permutation(key, len(labels)))
    fit, judge = order[: len(order) // 2], order[len(order) // 2 :]
    found = bayes.fit_temperature(scores[fit], labels[fit])
    if not found.bounded:
        why = "the log loss of half of the test rows has a minimum in the temperature"
        parts.append(NotApplicable("temperature", f"{why} (all are classified right, or the scores say nothing)"))
        return None
    change = scaled_log_losses(scores[judge], labels[judge], found.value)
    change = change - scaled_log_losses(scores[judge], labels[judge])
    paired["temperature"] = change
    half = 1.96 * change.std(ddof=1) / np.sqrt(len(change))
    m = float(change.mean())
    return Temperature(found.value, found.low, found.high, m, m - half, m + half)


def _uncertainty(
    subject: Subject, head: LastLayer, p: np.ndarray, labels: np.ndarray, keys: Any, paired: dict
) -> Uncertainty:
    seen = subject.train.first(4 * subject.rows)
    posterior = bayes.last_layer_laplace(
        head.features(seen.inputs), seen.targets, head.weights, stands_for=subject.train.count
    )
    test = head.features(_tested(subject).inputs)
    noise_inputs = _noise_inputs(subject, keys[1], 200)
    noise = head.features(noise_inputs)
    means, covariances = posterior.scores(test), posterior.covariances(test)
    averaged, _ = bayes.sampled_average(means, covariances, key=keys[0])
    on_noise, _ = bayes.sampled_average(posterior.scores(noise), posterior.covariances(noise), key=keys[0])
    after = bayes.calibration_scores(averaged, labels, bins=BINS)
    at, tiny = np.arange(len(labels)), np.finfo(float).tiny
    paired["laplace"] = np.log(np.maximum(p[at, labels], tiny)) - np.log(np.maximum(averaged[at, labels], tiny))
    plain_noise = softmax(np.asarray(subject.scores(noise_inputs), float), axis=1)
    entropies = [entr(part).sum(1) for part in (averaged, on_noise, p, plain_noise)]
    paired["entropy"], paired["entropy_noise"] = entropies[:2]
    return Uncertainty(
        head.name,
        head.weights.size,
        posterior.structure,
        seen.count,
        posterior.alpha,
        float(np.sum(head.weights**2)),
        posterior.effective_parameters,
        float(after.calibration_error),
        float(after.log_loss),
        float(paired["laplace"].mean()),
        float(averaged.max(1).mean()),
        float(np.abs(averaged - bayes.probit_average(means, covariances)).max()),
        *(float(e.mean()) for e in entropies),
    )


def _of_regressor(subject: Subject, key: PRNGKeyArray) -> OfNumbers:
    from scipy.special import ndtri

    head, parts, paired, intervals = subject.shared.last_layer, [], {}, None
    seen = subject.scored(subject.train).first(4 * subject.rows)
    targets = np.asarray(_tested(subject).targets, float)
    residuals = targets - np.asarray(subject.test_scores[:MOST], float)
    sd = np.std(seen.targets - subject.train_scores[: seen.count], axis=0)
    reach = ndtri(0.5 + LEVELS / 2)
    plain = (np.abs(residuals)[None] <= reach[:, None, None] * sd).sum(1)  # (levels, k)
    if head is None:
        parts.append(NotApplicable("intervals of the last layer", "the outputs are linear in one weight matrix"))
    else:
        fitted = bayes.last_layer_regression(head.features(seen.inputs), np.asarray(seen.targets, float))
        laws = fitted.predict(head.features(_tested(subject).inputs))
        far = fitted.predict(head.features(_noise_inputs(subject, key, 200)))
        z = np.stack([(t - law.mean) / np.sqrt(law.variance) for t, law in zip(targets.T, laws, strict=True)], axis=1)
        paired["covered"] = (np.abs(z)[None] <= reach[:, None, None]).sum(1)
        share = np.mean([law.noise / law.variance.mean() for law in laws])
        intervals = Intervals(
            head.name,
            LEVELS,
            paired["covered"].mean(1) / len(targets),
            plain.mean(1) / len(targets),
            float(fitted.sigmas.mean()),
            float(fitted.alphas.mean()),
            fitted.effective_parameters,
            float(share),
            float(np.mean([np.sqrt(law.spread).mean() for law in laws])),
            float(np.mean([np.sqrt(law.spread).mean() for law in far])),
        )
    paired["covered_plain"] = plain
    masks = spread_of_numbers(subject, _noise_inputs(subject, key, 200), targets, sd, key, paired)
    return OfNumbers(len(targets), intervals, tuple(parts), paired, masks)
