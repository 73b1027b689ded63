"""The bench of regularisers: a network that can learn 300 digits with wrong labels by heart, and twelve remedies."""

import shutil
from collections.abc import Callable, Iterator

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.evidence import Comparison, Figure, at_most, close
from leadline.presentation import figure
from leadline.regularisation import compare_regularisers, standard_arms
from leadline.regularisation.arms.arm_training import TrainedArm
from leadline.regularisation.arms.regulariser_comparison import RegulariserComparison

from .comparison_directory import kept_arm
from .comparison_record import REFERENCE, comparison_figure, in_order, spread
from .trained_modes import trained_modes

TRAIN, HELD, POOL = 300, 100, 797
SEEDS = 8
#: Test error, calibration error and log loss of the specification's reference run, 5 seeds.
STATED = {
    "none": (0.193, 0.125, 0.943),
    "decay 0.01": (0.148, 0.109, 0.534),
    "decay 0.03": (0.114, 0.296, 0.659),
    "dropout 0.5": (0.142, 0.084, 0.667),
    "dropout 0.7": (0.126, 0.060, 0.544),
    "label smoothing 0.2": (0.178, 0.244, 0.819),
    "early stopping": (0.101, 0.261, 0.593),
    "bag of 8": (0.134, 0.050, 0.445),
}
BETTER = ("decay 0.03", "dropout 0.7", "early stopping", "bag of 8")  # than none, as specified


def bench(key: PRNGKeyArray, say: Callable[[str], None], seeds: int, num_steps: int) -> Iterator[Comparison | Figure]:
    """All arms on the digits: their errors beside the reference run, which are below that of none, and their audit."""
    trained: dict[str, TrainedArm] = {}
    found = _compared(key, say, seeds, num_steps, trained)
    for name, (error, _, _) in STATED.items():
        measured = float(found[name].test_error.mean())
        yield close(measured, error, f"{name}: test error, reference run", atol=0.03).as_empirical()
    for name in BETTER:
        against = found.against_none(name)
        yield at_most(
            against.difference.high, 0.0, f"{name}: upper end of the paired 95% interval of the error less none's"
        ).as_empirical()
        yield at_most(against.adjusted, 0.05, f"{name}: p-value after Holm's correction").as_empirical()
    least = found["bag of 8"].log_loss.mean()
    yield at_most(least, found["none"].log_loss.mean(), "log loss of the bag, that of none").as_empirical()
    say("the modes of all networks")
    yield from trained_modes(trained, *_digits()[::2])
    yield comparison_figure(found, {name: stated[0] for name, stated in STATED.items()})
    yield _beyond_errors(found)


def _digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images and labels that seeds draw their rows from, and 1000 test images with theirs."""
    from leadline.data import digits

    images, labels = digits()
    order = np.random.default_rng(0).permutation(len(labels))
    pool, test = order[:POOL], order[POOL:]
    return images[pool], labels[pool], images[test], labels[test]


def _compared(
    key: PRNGKeyArray, say: Callable[[str], None], seeds: int, num_steps: int, trained: dict[str, TrainedArm]
) -> RegulariserComparison:
    """The comparison, which puts every arm into `trained`; what an interrupted run has trained is in the cache."""
    from leadline.data.sources.cache import cache_directory

    images, labels, test_images, test_labels = _digits()
    arms = standard_arms(num_steps)
    name = "-".join(str(number) for number in np.asarray(jax.random.key_data(key)).ravel())
    place = cache_directory() / "audits" / f"regularisers-{seeds}-{num_steps}-{name}"

    def keep(arm, train, untrained):
        say(f"{arm.name}, {arms.index(arm) + 1} of {len(arms)}")
        trained[arm.name] = kept_arm(place, arm, train, untrained)
        return trained[arm.name]

    found = compare_regularisers(
        images,
        labels,
        (test_images, test_labels),
        arms=arms,
        seeds=seeds,
        num_steps=num_steps,
        sizes=(TRAIN, HELD),
        random_labels=0.2,
        standardise=False,
        keep=keep,
        key=key,
    )
    shutil.rmtree(place, ignore_errors=True)
    return found


def _beyond_errors(found: RegulariserComparison) -> Figure:
    """Calibration error and log loss of every arm, and the gap to the training error."""
    panels = []
    for what, place, values in (
        ("calibration error", 1, lambda r: r.calibration_error),
        ("log loss", 2, lambda r: r.log_loss),
        ("test error less training error", None, lambda r: r.gap),
    ):
        measured = {r.arm.name: spread(values(r)) for r in found.results}
        known = None if place is None else {name: numbers[place] for name, numbers in STATED.items()}
        least = min(measured, key=measured.__getitem__)
        panels.append(
            figure.categories(
                f"{what.capitalize()}: least with {least}",
                "",
                what,
                lines={} if known is None else {REFERENCE: in_order(found, known)},
                points={"measured": measured},
            )
        )
    none, smoothed = found["none"], found.against_none("label smoothing 0.2").difference
    title = (
        f"Without a regulariser the training error is {none.train_error.mean():.0%} and the test error "
        f"{none.test_error.mean():.1%}; label smoothing changes it by {smoothed.mean:+.3f} "
        f"({smoothed.low:+.3f} to {smoothed.high:+.3f})"
    )
    return figure.beside(title, *panels, columns=1)


def exact_layer() -> Iterator[Comparison | Figure]:
    """What needs no seeds: leave-one-out without a refit, and stopped descent as a filter, on the same images."""
    from leadline.learning import ridge
    from leadline.optimisation import gradient_path
    from leadline.regularisation import DescentFilter, RidgeFilter, filtered_fits, ridge_leave_one_out

    images, labels, test_images, test_labels = _digits()
    x, y = images[:TRAIN], (labels[:TRAIN] % 2).astype(float)
    alphas = np.geomspace(1e-3, 1e3, 25)
    found = ridge_leave_one_out(x, y, alphas)
    left = np.arange(0, TRAIN, 15)
    others = np.array([np.delete(np.arange(TRAIN), row) for row in left])
    refits = []
    for at in (0, 12, 24):
        fit = ridge(x[others], y[others], alphas[at] / (TRAIN - 1))
        refits.append(y[left] - fit.predict(x[left, None, :])[:, 0])
    what = f"residuals of {len(left)} rows, each left out, by refits and by one decomposition, three penalties"
    yield close(refits, found.residuals[[0, 12, 24]][:, left], what, atol=1e-10)
    centred, seen = x - x.mean(axis=0), y - y.mean()
    curvature = centred.T @ centred / TRAIN
    eta, steps = 1 / np.linalg.eigvalsh(curvature)[-1], 400
    path = gradient_path(lambda w: curvature @ w - centred.T @ seen / TRAIN, np.zeros(x.shape[1]), eta, steps)
    stopped = filtered_fits(x, y[:, None], [DescentFilter(eta, steps)]).weights[0, :, 0]
    yield close(path[-1], stopped, f"weights after {steps} steps of descent, and through its filter", atol=1e-10)
    fits = filtered_fits(x, y[:, None], [RidgeFilter(alpha / TRAIN) for alpha in alphas])
    missed = ((fits.predict(test_images)[..., 0] - test_labels % 2) ** 2).mean(axis=1)
    least = float(missed.min())
    yield figure.curves(
        f"Even against odd digits: leave-one-out on {TRAIN} rows chooses α = {found.best:.3g}, whose error on 1000 "
        f"others is {missed[list(alphas).index(found.best)]:.3f}; the least is {least:.3f}",
        "penalty α",
        "squared error",
        log="x",
        lines={"leave-one-out, without a refit": (alphas, found.errors)},
        points={"1000 test images": (alphas, missed)},
    )


def regulariser_trials(
    say: Callable[[str], None] = lambda text: None, *, seeds: int = SEEDS, num_steps: int = 1500
) -> Iterator[tuple[str, str, Callable[[PRNGKeyArray], Iterator[Comparison | Figure]]]]:
    """The trials of the audit, in order: id, what it says, its generator."""
    yield (
        "regulariser-bench",
        f"A network that can learn {TRAIN} digits with a fifth of their labels drawn anew by heart errs least on 1000 "
        "clean ones with a regulariser: decay, dropout, early stopping (which sees 100 more labels, a fifth of them "
        "drawn anew too) and a bag of 8 are each better than none. The auditor of modes names nothing in any network.",
        lambda key: bench(key, say, seeds, num_steps),
    )
    yield (
        "exact-layer",
        f"On {TRAIN} of the same digits leave-one-out errors of ridge regression need no refit, and descent that is "
        "stopped is a filter of the spectrum.",
        lambda key: exact_layer(),
    )
