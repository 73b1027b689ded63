"""Monte Carlo dropout on a subject: what passes with dropout on say beside the network as it is used."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int, Num, PRNGKeyArray
from scipy.special import entr, ndtri

from leadline import bayes, regularisation
from leadline.frameworks.dropout_switches import dropout_layers
from leadline.frameworks.network import Network
from leadline.regularisation.masks.monte_carlo import DropoutPredictions
from leadline.regularisation.modes.modal_networks import BATCH_NORM, DROPOUT

from ..subject import Subject
from .mode_measures import modal_inputs

BINS = 15
MOST = 5000  # test rows that are looked at
PASSES = 100  # with dropout on
LEVELS = np.array([0.5, 0.8, 0.9, 0.95])


class ClassesOverMasks(NamedTuple):
    """Monte Carlo dropout of a classifier: `passes` with its dropout on, and what their averaged probabilities say.

    Scores of the averaged probabilities, the change of the log loss by averaging, mean entropies on test rows and on
    noise inputs, and the mean information of the masks on the class, in nats.
    """

    layers: int
    passes: int
    calibration_error: float
    log_loss: float
    log_loss_change: float
    mean_confidence: float
    entropy_data: float
    entropy_noise: float
    information: float


class NumbersOverMasks(NamedTuple):
    """Monte Carlo dropout of a regressor: the mean standard deviation over `passes` with its dropout on.

    On test rows and on noise inputs, as shares of that of the residuals.
    """

    layers: int
    passes: int
    spread_test: float
    spread_noise: float


def spread_of_classes(
    subject: Subject,
    noise: Num[np.ndarray, "m ..."],
    p: Float[np.ndarray, "n k"],
    labels: Int[np.ndarray, " n"],
    key: PRNGKeyArray,
    paired: dict[str, np.ndarray],
) -> ClassesOverMasks | None:
    """Probabilities averaged over masks, beside those of the network as it is used, `p`; None without dropout.

    `paired` gets the change of each row's log loss, and the information of the masks on rows that `p` has right and
    on those that it has wrong.
    """
    found = _passes(subject, noise, key, jax.nn.softmax)
    if found is None:
        return None
    rows, at, tiny = len(labels), np.arange(len(labels)), np.finfo(float).tiny
    averaged = found.mean.astype(float)
    averaged /= averaged.sum(axis=1, keepdims=True)  # which single precision leaves inexact
    after = bayes.calibration_scores(averaged[:rows], labels, bins=BINS)
    paired["masks"] = np.log(np.maximum(p[at, labels], tiny)) - np.log(np.maximum(averaged[at, labels], tiny))
    information, right = found.mutual_information, p.argmax(1) == labels
    paired["information_right"], paired["information_wrong"] = information[:rows][right], information[:rows][~right]
    entropies = entr(averaged).sum(1)
    return ClassesOverMasks(
        mask_layers(subject),
        len(found.passes),
        float(after.calibration_error),
        float(after.log_loss),
        float(paired["masks"].mean()),
        float(averaged[:rows].max(1).mean()),
        float(entropies[:rows].mean()),
        float(entropies[rows:].mean()),
        float(information[:rows].mean()),
    )


def spread_of_numbers(
    subject: Subject,
    noise: Num[np.ndarray, "m ..."],
    targets: Float[np.ndarray, "n k"],
    sd: Float[np.ndarray, " k"],
    key: PRNGKeyArray,
    paired: dict[str, np.ndarray],
) -> NumbersOverMasks | None:
    """Means and standard deviations over masks; `paired` gets how many intervals with variance s² + sd² hold."""
    found = _passes(subject, noise, key)
    if found is None:
        return None
    spread, rows, reach = found.sd.astype(float), len(targets), ndtri(0.5 + LEVELS / 2)
    away = np.abs(targets - found.mean[:rows]) / np.sqrt(spread[:rows] ** 2 + sd**2)
    paired["covered_masks"] = (away[None] <= reach[:, None, None]).sum(1)  # (levels, k)
    on_test, on_noise = (float(np.mean(part / sd)) for part in np.split(spread, [rows]))
    return NumbersOverMasks(mask_layers(subject), len(found.passes), on_test, on_noise)


def mask_layers(subject: Subject) -> int:
    """How many dropout layers can be left on alone: all of Equinox; of Flax, where nothing else has modes."""
    found = len(dropout_layers(subject.apply))
    network = None if found else subject.shared.modes.network
    return found if network is None or network.named(BATCH_NORM) else len(network.named(DROPOUT))


def _passes(
    subject: Subject, noise: Num[np.ndarray, "m ..."], key: PRNGKeyArray, link: Any = None
) -> DropoutPredictions | None:
    """Outputs with dropout on, of the test rows and then of `noise`, as many passes as the budget allows."""
    if not mask_layers(subject):
        return None
    if subject.test is None:
        return None
    inputs = np.concatenate([subject.scored(subject.test).first(MOST).inputs, noise])
    cost, size = subject.budget.costs.forward * len(inputs), 16.0 * len(inputs) * subject.outputs
    options = {"seconds": cost, "bytes": size, "part": 0.3, "least": 8}
    passes = subject.budget.count("calibration", "passes with dropout", PASSES, **options)
    if dropout_layers(subject.apply):
        keyed = regularisation.keyed_apply(Network(subject.apply, subject.params))
        return regularisation.mc_dropout(*keyed, inputs, draws=passes, key=key, link=link)
    network, rows = subject.shared.modes.network, modal_inputs(subject, inputs)
    drawn = np.stack([network.run(rows, "training", draw).outputs.reshape(len(rows), -1) for draw in range(passes)])
    if subject.classifies and drawn.shape[2] == 1:
        drawn = np.pad(drawn, ((0, 0), (0, 0), (1, 0)))  # the scores (0, z) of two classes
    return DropoutPredictions(drawn if link is None else np.asarray(link(drawn)))
