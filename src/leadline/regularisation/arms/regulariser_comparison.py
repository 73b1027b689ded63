"""Regularisers on a user's own rows: every arm with the same seeds, one reading of the test rows, paired intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from leadline._checks import require_counts
from leadline.frameworks.checks import takes
from leadline.learning import SealedPart, calibration_error

from ..evaluation.paired_comparisons import Against, compare_with_baseline
from .arm import NONE, Arm, standard_arms, unfit
from .arm_training import Lost, MakeNetwork, TrainedArm, Trainer, dense_networks, penalised_rule
from .given_rows import given_rows
from .seeded_rows import SeededRows, draw_rows

HIDDEN = (256, 256)
STEP_SIZE = 1e-3
WHOLE = 512  # training rows up to which a batch is all of them
BATCH = 128  # rows of a batch where there are more

Scores = Float[np.ndarray, " seeds"]
Keep = Callable[[Arm, Callable[[], TrainedArm], Callable[[], TrainedArm]], TrainedArm]


@dataclass(frozen=True)
class ArmResult:
    """One arm on the test rows, a number for each seed, and what it changes against `none`.

    `calibration_error` is the expected calibration error of 15 bins, `log_loss` the negative log-likelihood a row.
    """

    arm: Arm
    train_error: Scores  #: on the rows that were trained on, with the labels they were trained with
    test_error: Scores
    calibration_error: Scores
    log_loss: Scores
    against: Against | None = None  #: the test error less that of `none`, paired by seed; None for `none` itself

    @property
    def gap(self) -> Scores:
        """Test error less training error."""
        return self.test_error - self.train_error

    @property
    def better(self) -> bool:
        """Whether its test error is below that of `none`, at 5% after Holm's correction."""
        return self.against is not None and self.against.adjusted <= 0.05 and self.against.difference.mean < 0


@dataclass(frozen=True)
class RegulariserComparison:
    """What came of all arms; `left_out` says of each arm that could not apply why."""

    results: tuple[ArmResult, ...]
    left_out: dict[str, str]
    sizes: tuple[int, int, int]  #: rows of training, validation and test
    classes: tuple[str, ...]

    def __getitem__(self, name: str) -> ArmResult:
        return next(result for result in self.results if result.arm.name == name)

    def against_none(self, name: str) -> Against:
        """The test error of an arm less that of `none`; ValueError for an arm that is not compared."""
        found = next((result.against for result in self.results if result.arm.name == name), None)
        if found is None:
            raise ValueError(f"The arm {name} is not compared with {NONE}; give one of the others.")
        return found

    @property
    def best(self) -> ArmResult:
        """The arm with the least mean test error."""
        return min(self.results, key=lambda result: float(result.test_error.mean()))


def read_once(x: Any, y: Any) -> SealedPart:
    """Rows that can be read once; a second reading is refused and counted."""
    return SealedPart(x, y, limit=1)


def compare_regularisers(
    x: Shaped[Array | np.ndarray, "_ ..."],
    y: Shaped[Array | np.ndarray, " _"],
    test: tuple[Any, Any] | None = None,
    *,
    arms: Sequence[Arm] | None = None,
    seeds: int = 5,
    make: MakeNetwork | None = None,
    hidden: Sequence[int] = HIDDEN,
    optimiser: optax.GradientTransformation | None = None,
    num_steps: int = 1500,
    batch: int | None = None,
    folds: int = 5,
    sizes: tuple[int, int] | None = None,
    random_labels: float = 0.0,
    standardise: bool = True,
    keep: Keep | None = None,
    seal: Callable[[Any, Any], SealedPart] = read_once,
    key: PRNGKeyArray,
) -> RegulariserComparison:
    """Train a classifier of x into y with every arm and every seed; compare errors on test rows that are read once.

    Each seed has a start and a split of its own: one part of `folds`, or `sizes` = (trained on, held out) rows, is held
    out, for early stopping alone, and all arms have the same. The test rows are read when all arms are trained: those
    of `test`, or a fifth of x that is set apart by class. The differences to the arm `none` have Student's intervals
    over seeds (they speak of these test rows, and of seeds like these) and p-values that Holm corrected for the number
    of arms. `random_labels` is the share of labels drawn anew, of the rows that are not for the test.

    `make` builds networks (`dense_networks`); `keep(arm, train, untrained)` may return an arm that it has kept, and
    `seal(x, y)` guards the test rows after their form was checked.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(120, 2))
    >>> arms = (Arm("none"), Arm("decay 0.1", decay=0.1))
    >>> found = compare_regularisers(x, x[:, 0] > 0, arms=arms, hidden=(8,), num_steps=100, key=jax.random.key(0))
    >>> found.sizes, found["decay 0.1"].test_error.shape, found["decay 0.1"].against.difference.pairs
    ((77, 19, 24), (5,), 5)
    """
    arms = tuple(standard_arms(num_steps) if arms is None else arms)
    _check_arms(arms, seeds)
    require_counts("compare_regularisers", num_steps=num_steps)
    require_counts("compare_regularisers", least=2, folds=folds)
    if not 0 <= random_labels <= 1:
        raise ValueError(f"compare_regularisers got random_labels = {random_labels}; give a share from 0 to 1.")
    names, x, labels, sealed = given_rows(x, y, test, folds, seal, key)
    drawing, training = jax.random.split(jax.random.fold_in(key, 1))
    drawn = draw_rows(labels, len(names), seeds, folds=folds, sizes=sizes, random_labels=random_labels, key=drawing)
    size = batch or (drawn.train if drawn.train <= WHOLE else BATCH)
    if not 1 <= size <= drawn.train:
        raise ValueError(f"A batch was to have {size} of {drawn.train} training rows; choose 1 to that number.")
    make = make or dense_networks(tuple(hidden), int(np.prod(x.shape[1:])), len(names))
    rule = penalised_rule(optimiser or optax.adam(STEP_SIZE))
    trainer = Trainer(x, drawn, len(names), make, rule, num_steps, size, standardise, training)
    trained, left_out = _train(trainer, arms, keep or (lambda arm, train, untrained: train()))
    if NONE not in trained:
        raise ValueError(f"The arm {NONE} could not be trained: {left_out[NONE]}; choose a smaller step size.")
    test_x, test_y = sealed.open(f"the errors of {len(trained)} arms")
    at = np.searchsorted(names, test_y)
    results = [_measured(arm, trained[arm.name], x, drawn, test_x, at) for arm in arms if arm.name in trained]
    sizes_used = (drawn.train, drawn.held, len(at))
    return RegulariserComparison(_compared(results), left_out, sizes_used, tuple(str(name) for name in names))


def _check_arms(arms: Sequence[Arm], seeds: int) -> None:
    names = [arm.name for arm in arms]
    if NONE not in names or len(set(names)) < len(names):
        raise ValueError(f"The arms are {', '.join(names)}; give each a name of its own, and one the name {NONE}.")
    if Arm(NONE) not in arms:
        raise ValueError(f"The arm {NONE} must change nothing; what it changes belongs into an arm of its own.")
    if seeds < 2:
        raise ValueError(f"compare_regularisers got seeds = {seeds}; give at least 2, better 5, for an interval.")


def _train(trainer: Trainer, arms: Sequence[Arm], keep: Keep) -> tuple[dict[str, TrainedArm], dict[str, str]]:
    """Every arm that can apply, trained, and why the others could not be."""
    layered = takes(trainer.make, "dropout") and takes(trainer.make, "normalisation")
    trained: dict[str, TrainedArm] = {}
    left_out = {
        arm.name: why
        for arm in arms
        if (why := unfit(arm, arms, batch=trainer.batch, layered=layered, held=trainer.drawn.held))
    }
    for arm in arms:
        if arm.name in left_out:
            continue
        if arm.teacher is not None and arm.teacher not in trained:
            left_out[arm.name] = f"its teacher, {arm.teacher}, was left out"
            continue
        teacher = None if arm.teacher is None else np.exp(trained[arm.teacher].log_probabilities(trainer.pool))
        try:
            trained[arm.name] = keep(arm, partial(trainer.train, arm, teacher), partial(trainer.untrained, arm))
        except Lost as lost:
            left_out[arm.name] = str(lost)
    return trained, left_out


def _measured(
    arm: Arm, trained: TrainedArm, pool: np.ndarray, drawn: SeededRows, x: np.ndarray, labels: np.ndarray
) -> ArmResult:
    """The errors of an arm, seed by seed."""
    wrong = trained.log_probabilities(pool).argmax(axis=2)
    said = trained.log_probabilities(x)  # (seeds, rows, classes)
    seeds = np.arange(len(said))
    rows, own = drawn.rows[:, : drawn.train], drawn.labels[:, : drawn.train]
    right = said.argmax(axis=2) == labels
    confidence = np.exp(said.max(axis=2))
    return ArmResult(
        arm,
        (wrong[seeds[:, None], rows] != own).mean(axis=1),
        1 - right.mean(axis=1),
        np.array([calibration_error(*pair) for pair in zip(confidence, right, strict=True)]),
        -said[:, np.arange(len(labels)), labels].mean(axis=1),
    )


def _compared(results: list[ArmResult]) -> tuple[ArmResult, ...]:
    if len(results) < 2:
        return tuple(results)
    against = compare_with_baseline({result.arm.name: result.test_error for result in results}, NONE)
    return tuple(replace(result, against=against.get(result.arm.name)) for result in results)
