"""Dropout against weight decay, and against co-adapted units: paired over seeds on a few digits."""

import equinox as eqx
import jax
import numpy as np

from leadline import as_apply, regularisation
from leadline.claims.scenarios.regularisation.dropout_trainings import digit_rows, errors, train_arms
from leadline.evidence import Int, Real, at_least, claim, instrument, mean, smaller
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
    more = regularisation.paired_difference(areas[1], areas[0], level=0.99)
    what = "area with dropout less that without, paired by seed: lower end of the 99% interval"
    yield at_least(more.low, 0.0, what, strict=True).as_empirical()
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

    It is often said that tuned dropout beats tuned weight decay, and disputed. On a few digits with some wrong labels
    both beat a network without either by much, and ten seeds do not tell them apart.

    $$d = \mathrm{error}_{\mathrm{test}}(\hat p) - \mathrm{error}_{\mathrm{test}}(\hat\mu), \qquad \hat p, \hat\mu
    \text{ chosen on validation rows}$$

    Check: Networks 64-128-10, 400 steps of Adam from the same starts and batches; five rates p and five strengths of
    (μ/2)‖W‖². Both are chosen on 200 validation rows of each seed and judged on test rows with clean labels. That
    dropout is better was not confirmed here: judged is that the 99.9% interval of the paired difference holds 0.
    """
    rows = digit_rows(key, SEEDS, images, corrupted=corrupted)
    rates, penalties = (0.0, *RATES, *[0.0] * len(DECAYS)), (*[0.0] * (1 + len(RATES)), *DECAYS)
    arms = train_arms(rows, (64, 128, 10), key, rates=rates, penalties=penalties, num_steps=400)
    held, tested = np.asarray(errors(arms.dense, rows.validation)), np.asarray(arms.test_error)[..., -1]
    seeds, many = np.arange(SEEDS), len(RATES)
    p = 1 + held[1 : 1 + many].argmin(axis=0)
    mu = 1 + many + held[1 + many :].argmin(axis=0)
    plain, dropout, decay = tested[0], tested[p, seeds], tested[mu, seeds]
    yield smaller(dropout, plain, "test error with tuned dropout, below that with neither").as_empirical()
    yield smaller(decay, plain, "test error with tuned weight decay, below that with neither").as_empirical()
    difference = dropout - decay
    what = "test error with tuned dropout less that with tuned decay, paired: no difference"
    yield mean(difference, 0.0, what).as_empirical()
    half = 2.26 * difference.std(ddof=1) / np.sqrt(SEEDS)  # the 97.5% point of Student's t with 9 degrees
    middle = float(difference.mean())
    verdict = "holds 0" if abs(middle) <= half else "is below 0" if middle < 0 else "is above 0"
    yield figure.categories(
        f"Dropout less weight decay: {middle:+.3f}, and the 95% interval {verdict} (errors {dropout.mean():.3f}, "
        f"{decay.mean():.3f}; neither {plain.mean():.3f})",
        "seed",
        "difference of test errors",
        points={
            "one seed": {str(seed + 1): float(d) for seed, d in enumerate(difference)},
            "mean, 95% interval": {"mean": (middle, middle - half, middle + half)},
        },
        rules={"no difference": ("y", 0.0)},
    )
