"""What a network keeps of single examples: fits of shuffled labels, nearest neighbours, influence of training rows."""

from typing import NamedTuple

import numpy as np
import optax
from jaxtyping import Float, Int, PRNGKeyArray, PyTree

from leadline import generalisation
from leadline.bayes.last_layers import LastLayer
from leadline.convolution.symmetry.score_audits import redraw_parameters
from leadline.generalisation.memorisation.label_probes import LabelProbe
from leadline.generalisation.memorisation.nearest_neighbours import nearest_rows
from leadline.regularisation.early_stopping.fitting_order import FittingOrder, fitting_order

from ..instrument_contract import NotApplicable
from ..subject import Rows, Subject

PROBED = 256  # rows that the architecture is asked to fit anew
STEPS = 200
FLOPS = 3e10  # of both fits together; fewer steps, then fewer rows, where they would take more
NEIGHBOURS = 5000  # training rows among which neighbours are sought
HEAD = 300  # most numbers in a refitted last layer
REMOVED = 6  # training rows that are really left out
CORRUPTED = 0.3  # of the labels, where it is asked which are fitted first
EPOCHS = 30  # of that training, and the fewest that say something
FEWEST_EPOCHS = 10


class LabelTrial(NamedTuple):
    """Adam from the start on `rows` rows with their labels and with the same labels shuffled.

    `steps` of step size `rate`; `fresh` says whether the start was drawn anew, for want of the network's own. Losses of
    each step, right answers of each step, the step at which all were right (None: never), each row's mean loss.
    """

    rows: int
    steps: int
    rate: float
    fresh: bool
    own: LabelProbe
    shuffled: LabelProbe
    own_after: int | None
    shuffled_after: int | None


class Neighbours(NamedTuple):
    """The nearest training row of test rows, in the space of inputs and of last-layer features (`features_*`).

    Distances of test rows and of training rows to the nearest other training row; `duplicates`: test rows that are
    training rows; right answers of the nearest row and of the network among `rows` test rows (mean squared errors for
    regression); among the network's errors, the share whose neighbour has another label than the test row.
    """

    rows: int
    test_distance: Float[np.ndarray, " m"]
    train_distance: Float[np.ndarray, " n"]
    duplicates: int
    right: int | None = None
    features_right: int | None = None
    network_right: int | None = None
    error: float | None = None
    network_error: float | None = None
    errors_elsewhere: float | None = None


class Influences(NamedTuple):
    """The last layer, fitted anew with a ridge on `rows` rows: what leaving one out does to the mean test loss.

    `influence` of all rows to first order; `removed` (indices of training rows) were really left out: changes of the
    loss on `others` ("test" or "training") rows `predicted` by one Newton step, and the `actual` ones.
    `self_influence`: rise of a row's own loss; `largest`: the rows with the largest. `head_numbers`: parameters of the
    head.
    """

    rows: int
    others: str
    head_numbers: int
    ridge: float
    influence: Float[np.ndarray, " n"]
    self_influence: Float[np.ndarray, " n"]
    removed: Int[np.ndarray, " r"]
    predicted: Float[np.ndarray, " r"]
    actual: Float[np.ndarray, " r"]
    largest: Int[np.ndarray, " q"]


def label_trial(subject: Subject, rng: np.random.Generator) -> LabelTrial:
    """Fit the labels and their shuffle from the same start with the same budget."""
    work = 12.0 * max(subject.shared.dissection.flops, subject.size)  # forwards and backwards, twice
    count = int(np.clip(FLOPS / (work * 50), 32, min(PROBED, subject.train.count)))
    steps = int(np.clip(FLOPS / (work * count), 50, STEPS))
    rows, rate = subject.train.first(count), 3e-3
    fresh, start = _start(subject, rng)
    own, shuffled = (
        generalisation.fit_labels(subject.apply, start, subject.criterion, rows.inputs, y, num_steps=steps, rate=rate)
        for y in (rows.targets, rows.targets[rng.permutation(count)])
    )
    return LabelTrial(count, steps, rate, fresh, own, shuffled, own.fitted_after, shuffled.fitted_after)


def _start(subject: Subject, rng: np.random.Generator) -> tuple[bool, PyTree]:
    """Whether parameters were drawn anew, for want of those before training, and the parameters to start from."""
    fresh = subject.past.start is None
    return fresh, redraw_parameters(subject.params, rng=rng) if fresh else subject.past.start


def label_order(subject: Subject, rng: np.random.Generator, key: PRNGKeyArray) -> FittingOrder | NotApplicable:
    """Adam from the start on rows of which a share got another label: which are fitted first?"""
    what = "clean labels before corrupted ones"
    if not (is_labelled(subject) and subject.loss == "cross-entropy"):
        return NotApplicable(what, "targets are class labels and the loss is cross-entropy")
    rows = subject.train.first(PROBED)
    costs = subject.budget.costs
    cost = rows.count * (costs.gradient + costs.forward)
    epochs = subject.budget.count("memorisation", "epochs with corrupted labels", EPOCHS, seconds=cost, part=0.3)
    if epochs < FEWEST_EPOCHS:
        return NotApplicable(what, f"the budget allows {FEWEST_EPOCHS} epochs of training anew")
    wrong = rng.permutation(rows.count) < round(CORRUPTED * rows.count)
    other = (rows.targets + rng.integers(1, subject.outputs, rows.count)) % subject.outputs
    return fitting_order(
        subject.apply,
        _start(subject, rng)[1],
        rows.inputs,
        np.where(wrong, other, rows.targets).astype(rows.targets.dtype),
        wrong,
        epochs=epochs,
        batch=32,
        optimiser=optax.adam(3e-3),
        true_labels=rows.targets,
        key=key,
    )


def neighbours(subject: Subject, tests: Rows, layer: LastLayer | None) -> Neighbours:
    """Neighbours of the test rows among the training rows."""
    train, test = subject.train.first(NEIGHBOURS), tests.first(subject.rows)
    near = nearest_rows(test.inputs, train.inputs)
    among = nearest_rows(train.inputs[: test.count], train.inputs, others=True)
    scores = subject.scores(test.inputs)
    found = Neighbours(test.count, near.distance, among.distance, int((near.distance == 0).sum()))
    if not is_labelled(subject):
        y, guess = (a.astype(float).reshape(test.count, -1) for a in (test.targets, train.targets[near.index]))
        errors = [float(((f - y) ** 2).sum(1).mean()) for f in (guess, scores)]
        return found._replace(error=errors[0], network_error=errors[1])
    same = train.targets[near.index] == test.targets
    right, in_features = scores.argmax(1) == test.targets, None
    if layer is not None:
        closest = nearest_rows(layer.features(test.inputs), layer.features(train.inputs)).index
        in_features = int((train.targets[closest] == test.targets).sum())
    elsewhere = float((~same[~right]).mean()) if (~right).any() else None
    return found._replace(
        right=int(same.sum()), features_right=in_features, network_right=int(right.sum()), errors_elsewhere=elsewhere
    )


def influences(subject: Subject, layer: LastLayer | None) -> Influences | NotApplicable:
    """Influence of every sampled training row through the last layer, checked by leaving a few out."""
    what = "influence of single examples"
    if layer is None:
        return NotApplicable(what, "the outputs are linear in a last layer")
    if subject.loss not in ("cross-entropy", "squared"):
        return NotApplicable(what, "the loss is cross-entropy or squared")
    k, train = subject.outputs, subject.sample
    rows: Rows = train if subject.test is None else subject.test.first(subject.rows)
    phi, others = layer.features(train.inputs), layer.features(rows.inputs)
    width = max(HEAD // k, 2)
    if phi.shape[1] > width:  # the directions in which features vary most, and their mean
        axes = np.linalg.svd(phi, full_matrices=False)[2][:width].T
        phi, others = phi @ axes, others @ axes
    ridge = 1e-3 * float(np.mean(np.sum(phi**2, 1))) / phi.shape[1] + 1e-12
    head = generalisation.fit_head(phi, train.targets, subject.loss, ridge=ridge, classes=k)
    influence = head.influence(others, rows.targets)
    own = head.self_influence()
    order = np.argsort(-np.abs(influence))
    removed = np.concatenate([order[: REMOVED - 2], order[[len(order) // 4, len(order) // 2]]])
    before = head.loss(others, rows.targets)
    predicted, actual = (
        np.array([fit(int(i)).loss(others, rows.targets) - before for i in removed])
        for fit in (head.step_without, head.without)
    )
    return Influences(
        train.count,
        "training" if subject.test is None else "test",
        head.weights.size,
        ridge,
        influence,
        own,
        removed,
        predicted,
        actual,
        np.argsort(-own)[:10],
    )


def is_labelled(subject: Subject) -> bool:
    return subject.classifies and subject.train.targets.ndim == 1 and subject.train.targets.dtype.kind in "iu"
