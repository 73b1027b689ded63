"""Bias or variance? The regime that learning curves show, and the change that they advise, carried out."""

import jax
import numpy as np

from leadline import data, regularisation
from leadline.claims.scenarios.regularisation.noisy_wave import wave, wave_learner
from leadline.evidence import Int, OneOf, Real, at_most, frequency, instrument
from leadline.presentation import figure
from leadline.regularisation.evaluation.error_regimes import follow_advice

LADDER = (0, 1, 3, 5, 7, 9)  # degrees


@instrument(sources=("penn",), shows=("regularisation.diagnose", "regularisation.learning_curve"))
def error_regime_diagnosis(
    key, regime: OneOf("variance", "bias") = "variance", noise: Real(0.15, 0.4) = 0.3, runs: Int(60, 200) = 100
):
    r"""Bias regime or variance regime?

    Training and validation error beside a target tell what is wrong. A low training error under a high validation error
    is variance: more data, a smaller model or a stronger regulariser. Two high errors close together are bias: a larger
    model. The advised change is then carried out.

    $$\text{validation} - \text{target} = \underbrace{(\text{validation} - \text{train})}_{\text{variance}} +
    \underbrace{(\text{train} - \text{target})}_{\text{bias}}$$

    Assumes: the target is the Bayes error, or what people reach.

    Check: Polynomials on a noisy sine, target the noise. Variance: degree 9 on 25 rows. Bias: degree 1 on 200 rows.
    In each of `runs` runs the regime is named and one step on the ladder of degrees 0, 1, 3, 5, 7, 9 is taken.
    """
    rng = data.generator(key)
    n, start = (25, 5) if regime == "variance" else (200, 1)
    ladder = [_fit(degree) for degree in LADDER]
    named, before, after = [], [], []
    for _ in range(runs):
        train, held = _rows(rng, n, noise), _rows(rng, 500, noise)
        found = follow_advice(ladder, start, train, held, noise**2)
        named.append(found.diagnosis.regime)
        before.append(np.log(found.before))
        after.append(np.log(found.after))
    right = sum(name == regime for name in named)
    yield frequency(right, runs, 0.95, f"runs in which the {regime} regime is named", side="at least")
    change = regularisation.paired_difference(np.array(after), np.array(before), level=0.999)
    yield at_most(
        change.high,
        0.0,
        f"mean change of ln validation error by the advised step: upper end of its {change.interval}",
        strict=True,
    )
    sizes = [16, 25, 40, 80, 200]
    train, held = _rows(rng, 200, noise), _rows(rng, 1000, noise)
    key = jax.random.fold_in(key, 1)
    panels = []
    for member in (start, start + (1 if regime == "bias" else -1)):
        curve = regularisation.learning_curve(ladder[member], train, held, sizes, repeats=8, key=key)
        points = {
            "training": (sizes, np.median(curve.train, axis=1)),
            "validation": (sizes, np.median(curve.validation, axis=1)),
        }
        panels.append(_panel(f"degree {LADDER[member]}", sizes, points, noise))
    step = "a smaller" if regime == "variance" else "a larger"
    lower = 100 * (1 - np.exp(change.mean))
    effect = f"{step} model lowers the validation error by {lower:.0f}%"
    title = f"The {regime} regime is named in {right} of {runs} runs; {effect}"
    yield figure.beside(title, *panels)


def _panel(name, sizes, points, noise):
    (_, low), (_, high) = points["training"], points["validation"]
    lines = {"target": (sizes, np.full(len(sizes), noise**2))}
    bands = {"gap": (sizes, low, high)}
    return figure.curves(name, "rows n", "squared error", lines=lines, points=points, bands=bands, log="xy")


def _fit(degree):
    learner = wave_learner("polynomial", degree)
    return lambda x, y, new: learner(x[:, 0], y, new[:, 0])


def _rows(rng, n, noise):
    x = rng.uniform(size=(n, 1))
    return x, wave(x[:, 0]) + noise * rng.normal(size=n)
