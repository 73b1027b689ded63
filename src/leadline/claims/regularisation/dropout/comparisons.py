"""Dropout against weight decay, and against co-adapted units: paired over seeds on a few digits."""

import equinox as eqx
import jax
import numpy as np

from leadline import as_apply, regularisation
from leadline.claims.scenarios.regularisation.dropout_trainings import digit_rows, errors, train_arms
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Int, Real, claim, instrument
from leadline.presentation import figure

SEEDS = 10
RATES = (0.2, 0.35, 0.5, 0.65, 0.8)
DECAYS = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
SHARES = np.arange(10) / 10


@instrument(
    sources=("penn", "eth"),
    shows=("regularisation.deletion_curve", "regularisation.mean_unit_correlation", "regularisation.sub_network"),
)
def dropout_co_adaptation(key, images: Int(200, 600) = 400, rate: Real(0.3, 0.7) = 0.5, width: Int(64, 256) = 128):
    r"""Co-adaptation of hidden units.

    Units that rely on each other fail together. Two measures: the accuracy after deleting a random share q of the
    hidden units, the others scaled up for it, as the area below its curve; and the mean absolute correlation of units.
    Dropout trains units that do without each other.

    $$A = \int_0^1 \mathrm{acc}(q)\, dq, \qquad \bar\rho = \frac{2}{n(n-1)} \sum_{i<j} |\mathrm{corr}(h_i, h_j)|$$

    Check: Networks with two hidden layers on digits, ten seeds with and without dropout from the same starts. Confirmed
    where the area is larger with dropout; correlations are reported.
    """
    rows = digit_rows(key, SEEDS, images)
    arms = train_arms(rows, (64, width, width, 10), key, rates=(0.0, rate), num_steps=300)
    inputs, labels = rows.test
    nets = [[jax.tree.map(lambda a, i=i, s=s: a[i, s], arms.dense) for s in range(SEEDS)] for i in range(2)]
    curves = [
        [
            regularisation.deletion_curve(*as_apply(net), inputs[s], labels[s], SHARES, draws=8, key=key)
            for s, net in enumerate(of_arm)
        ]
        for of_arm in nets
    ]
    areas = np.array([[curve.area for curve in of_arm] for of_arm in curves])
    yield paired_excess(areas[1], areas[0], "area with dropout less that without, by seed", level=0.99)
    hidden = [[np.asarray(_hidden(net, inputs[s])) for s, net in enumerate(of_arm)] for of_arm in nets]
    related = np.array([[regularisation.mean_unit_correlation(h) for h in of_arm] for of_arm in hidden])
    names = ("without dropout", f"with dropout, p = {rate:g}")
    points = {}
    for name, of_arm, rho in zip(names, curves, related, strict=True):
        kept = np.array([curve.accuracy.mean(axis=1) for curve in of_arm])
        points[f"{name} (mean |corr| {rho.mean():.2f})"] = (SHARES, kept.mean(axis=0))
    title = f"Accuracy with deleted units: area {areas[1].mean():.3f} after dropout, {areas[0].mean():.3f} without"
    yield figure.curves(title, "share of hidden units deleted", "test accuracy, mean of ten seeds", points=points)


@eqx.filter_jit
def _hidden(net, inputs):
    """The last hidden layer of a batch."""
    return jax.vmap(net.trace)(inputs).post[-2]


@claim(sources=("penn",), shows=("regularisation.Dropout", "regularisation.SquaredNorm"), empirical=True)
def dropout_versus_weight_decay(key, images: Int(200, 500) = 300, corrupted: Real(0.2, 0.3) = 0.2):
    r"""Dropout against weight decay.

    Tuned dropout errs less than tuned weight decay: it is often said, and disputed. On a few digits with some wrong
    labels both beat a network without either by much, and ten seeds do not tell them apart.

    $$\mathrm{error}_{\mathrm{test}}(\hat p) < \mathrm{error}_{\mathrm{test}}(\hat\mu), \qquad \hat p, \hat\mu
    \text{ chosen on validation rows}$$

    Check: Networks 64-128-10, 400 steps of Adam from the same starts and batches; five rates p and five strengths of
    (μ/2)‖W‖². Both are chosen on 200 validation rows of each seed and judged on test rows with clean labels, paired by
    seed.
    """
    rows = digit_rows(key, SEEDS, images, corrupted=corrupted)
    rates, penalties = (0.0, *RATES, *[0.0] * len(DECAYS)), (*[0.0] * (1 + len(RATES)), *DECAYS)
    arms = train_arms(rows, (64, 128, 10), key, rates=rates, penalties=penalties, num_steps=400)
    held, tested = np.asarray(errors(arms.dense, rows.validation)), np.asarray(arms.test_error)[..., -1]
    seeds, many = np.arange(SEEDS), len(RATES)
    p = 1 + held[1 : 1 + many].argmin(axis=0)
    mu = 1 + many + held[1 + many :].argmin(axis=0)
    plain, dropout, decay = tested[0], tested[p, seeds], tested[mu, seeds]
    yield paired_excess(plain, dropout, "test error with neither less that with tuned dropout", level=0.999)
    yield paired_excess(plain, decay, "test error with neither less that with tuned weight decay", level=0.999)
    yield paired_excess(decay, dropout, "test error with tuned weight decay less that with tuned dropout")
    gain = regularisation.paired_difference(decay, dropout)
    found = "dropout is better" if gain.low > 0 else "that dropout is better is not confirmed"
    yield figure.categories(
        f"Errors {dropout.mean():.3f} with dropout, {decay.mean():.3f} with weight decay, {plain.mean():.3f} with "
        f"neither: {found}",
        "seed",
        "error with weight decay less with dropout",
        points={
            "one seed": {str(seed + 1): float(d) for seed, d in enumerate(decay - dropout)},
            "mean, 95% interval": {"mean": (gain.mean, gain.low, gain.high)},
        },
        rules={"no difference": ("y", 0.0)},
    )
