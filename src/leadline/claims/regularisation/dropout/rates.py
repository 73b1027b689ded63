"""What the dropout rate does to networks on a few digits: errors by rate and width, and how long training takes."""

import numpy as np
from scipy.stats import spearmanr

from leadline.claims.scenarios.regularisation.dropout_trainings import digit_rows, errors, train_arms
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Int, Real, at_least, claim, smaller
from leadline.presentation import figure

SEEDS = 5
RATES = np.arange(10) / 10
WIDTHS = (64, 256, 1024)
FEW_RATES = (0.0, 0.25, 0.5, 0.75)


@claim(
    sources=("eth", "penn"), shows=("regularisation.RegularisedMLP", "regularisation.ModalObjective"), empirical=True
)
def dropout_rate_sweep(key, images: Int(100, 400) = 200, num_steps: Int(100, 300) = 150):
    r"""Errors against the dropout rate.

    Training and test error depend strongly on the dropout rate p. The best rate depends on the task and the width, and
    may be 0: in small networks dropout takes away what they need. A rate that is chosen for the width errs less than
    the usual 0.5, and than none; of none, five seeds do not confirm it.

    $$p^*(\text{width}) = \operatorname{argmin}_p \mathrm{error}_{\mathrm{validation}}(p, \text{width})$$

    Assumes: one budget of training for all rates.

    Check: Networks 64-w-10 of three widths on a few digits, ten rates, five seeds with other rows each. The rate is
    chosen on 200 validation rows of each seed and judged on test rows, the mean over widths paired by seed against
    p = 0 and p = 0.5. The training loss grows from p = 0 to 0.9 at each width; at the smallest width p = 0.9 errs more
    than the chosen rate, and costs more than at the largest.
    """
    rows = digit_rows(key, SEEDS, images)
    arms = [train_arms(rows, (64, width, 10), key, rates=RATES, num_steps=num_steps) for width in WIDTHS]
    held = np.array([errors(arm.dense, rows.validation) for arm in arms])  # (widths, rates, seeds)
    tested = np.array([arm.test_error[..., -1] for arm in arms])
    for width, arm in zip(WIDTHS, arms, strict=True):
        losses = np.asarray(arm.training_loss)[..., -1]
        yield paired_excess(losses[9], losses[0], f"width {width}: training loss at p = 0.9 less that at p = 0")
    chosen = np.take_along_axis(tested, held.argmin(axis=1)[:, None], axis=1)[:, 0]  # (widths, seeds)
    what = f"width {WIDTHS[0]}: test error at p = 0.9 less that at the chosen rate"
    yield paired_excess(tested[0, 9], chosen[0], what)
    costs = tested[:, 9] - tested[:, 0]  # (widths, seeds)
    what = f"what p = 0.9 adds to the test error without dropout: at width {WIDTHS[0]} less that at width {WIDTHS[2]}"
    yield paired_excess(costs[0], costs[2], what)
    for place, name in ((0, "0"), (5, "0.5")):
        what = f"test error at p = {name} less that at the chosen rate, mean over widths"
        yield paired_excess(tested[:, place].mean(axis=0), chosen.mean(axis=0), what)
    best = RATES[held.mean(axis=2).argmin(axis=1)]
    said = ", ".join(f"{p:.1f} at width {width}" for p, width in zip(best, WIDTHS, strict=True))
    yield figure.heatmap(
        f"Validation error is least at p = {said}; large rates cost the narrow network most",
        "dropout rate p",
        "width",
        values=held.mean(axis=2),
        xs=[f"{p:.1f}" for p in RATES],
        ys=WIDTHS,
        colour="validation error",
        text=True,
    )


@claim(sources=("penn",), shows=("regularisation.RegularisedMLP",), empirical=True)
def dropout_slows_training(key, images: Int(150, 400) = 300, level: Real(0.08, 0.3) = 0.1):
    r"""Dropout slows training.

    The larger the dropout rate p, the more steps it takes until the training loss, measured without masks, falls below
    a given level.

    $$T(p) = \min\{t : L_{\mathrm{train}}(\theta_t) < \text{level}\} \quad \text{increases with } p$$

    Check: Networks 64-128-10 on a few digits at four rates from the same starts and batches, five seeds; Adam at 0.001
    for 900 steps. Confirmed where Spearman's correlation of steps with p is positive for every seed.
    """
    rows = digit_rows(key, SEEDS, images)
    every = 5
    arms = train_arms(rows, (64, 128, 10), key, rates=FEW_RATES, num_steps=900, step_size=1e-3, every=every)
    losses, tested = np.asarray(arms.training_loss), np.asarray(arms.test_error)  # (rates, seeds, records)
    below = losses < level
    steps = np.where(below.any(axis=2), every * (1 + below.argmax(axis=2)), np.inf)
    correlations = [spearmanr(FEW_RATES, steps[:, seed]).statistic for seed in range(SEEDS)]
    started = bool(np.isfinite(steps[:3]).all())
    what = "Spearman's correlation of steps with p, five seeds"
    yield (
        at_least(correlations, 0.0, what, strict=True)
        .as_empirical()
        .given(started, "the level is reached at p = 0, 0.25 and 0.5")
    )
    what = "steps at p = 0, below those at p = 0.5"
    yield smaller(steps[0], steps[2], what, confidence=0.99).as_empirical().given(started, "the level is reached")
    at = np.where(below.any(axis=2), below.argmax(axis=2), below.shape[2] - 1)
    there = np.take_along_axis(tested, at[..., None], axis=2)[..., 0].mean(axis=1)
    t = every * (1 + np.arange(losses.shape[2]))
    thin = np.unique(np.geomspace(1, len(t), 40).astype(int)) - 1
    points = {
        f"p = {p:g} (test error at the level {wrong:.1%})": (t[thin], of_rate.mean(axis=0)[thin])
        for p, of_rate, wrong in zip(FEW_RATES, losses, there, strict=True)
    }
    medians = np.median(steps, axis=1)
    reached = "more than 900" if np.isinf(medians[3]) else f"{medians[3]:.0f}"
    title = f"To a training loss of {level:g} it takes {medians[0]:.0f} steps without dropout, {reached} at p = 0.75"
    rules = {f"level {level:g}": ("y", level)}
    yield figure.curves(title, "step", "training loss without masks", log="xy", points=points, rules=rules)
