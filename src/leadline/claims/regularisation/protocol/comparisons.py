"""Two models on the same items: false positives of paired tests, one at a time and twenty at a time."""

import tempfile
from pathlib import Path

import jax
import numpy as np

from leadline import data, regularisation
from leadline.evidence import Int, Real, close, exactly, frequency, method
from leadline.presentation import figure
from leadline.regularisation.evaluation.hypotheses import read_hypothesis


@method(sources=("penn",), shows=("regularisation.paired_difference", "regularisation.mcnemar", "regularisation.holm"))
def paired_model_comparison(
    key,
    items: Int(30, 400, log=True) = 100,
    seeds: Int(5, 12) = 10,
    studies: Int(300, 1000) = 400,
    comparisons: Int(2, 30) = 20,
    accuracy: Real(0.6, 0.95) = 0.8,
):
    r"""Paired comparison of models.

    The hypothesis is written down first. Then both models see the same items: McNemar's exact test for 0-1 loss, the
    sign-flip test, Student's or the bootstrap for other losses. Of m comparisons without a difference, one or more
    comes out at level α with probability 1 − (1 − α)ᵐ; Holm's correction keeps that at most α.

    $$p_{\text{McNemar}} = P\big(\text{as uneven as } (b, c) \,\big|\, b \sim \mathrm{Bin}(b + c, \tfrac12)\big), \qquad
    P(\text{any false}) = 1 - 0.95^m$$

    Assumes: items, or seeds, are independent; differences are symmetric about 0 for the sign-flip test, normal for t,
    many for the bootstrap.

    Check: `studies` studies in which nothing differs: McNemar and the bootstrap on `items` items, the others on `seeds`
    pairs; families of `comparisons` t-tests with and without Holm. Then a study whose better model is stated in a file.
    """
    from scipy.stats import binomtest, ttest_rel

    rng = data.generator(key)
    rejected = {"McNemar": 0, "sign-flip": 0, "t": 0, "bootstrap": 0}
    uneven = []  # McNemar's p-value, and that of SciPy's binomial test on the items where one model alone is right
    for _ in range(studies):
        hard = rng.random(items)  # both models err on hard items more often
        right = rng.random((2, items)) < np.clip(accuracy + 0.3 * (hard - 0.5), 0, 1)
        p_value, alone = regularisation.mcnemar(right[0], right[1]).p_value, np.sum(right[0] & ~right[1])
        uneven.append((p_value, binomtest(alone, max(np.sum(right[0] != right[1]), 1)).pvalue))
        rejected["McNemar"] += p_value <= 0.05
        a, b = rng.normal(size=(2, seeds))
        for method_ in ("sign-flip", "t"):
            rejected[method_] += regularisation.paired_difference(a, b, method_).p_value <= 0.05
        a, b = rng.normal(size=(2, items))
        own = jax.random.key(int(rng.integers(2**31)))
        drawn = regularisation.paired_difference(a, b, "bootstrap", resamples=199, key=own)
        rejected["bootstrap"] += drawn.p_value <= 0.05
    yield close(*np.transpose(uneven), "McNemar's p-values, against SciPy's binomial test", rtol=1e-9)
    for name in ("McNemar", "sign-flip"):
        yield frequency(rejected[name], studies, 0.05, f"{name}: false positives at 0.05", side="at most")
    yield frequency(rejected["t"], studies, 0.05, "Student's t: false positives at 0.05")
    what = "bootstrap over items: false positives at 0.05, which it keeps for many items only"
    yield frequency(rejected["bootstrap"], studies, 0.05, what, side="at most").as_empirical()
    plain, corrected = _families(rng, studies, comparisons, seeds)
    chance = 1 - 0.95**comparisons
    yield frequency(plain, studies, chance, f"any false positive among {comparisons}, uncorrected, against 1 − 0.95ᵐ")
    what = f"any false positive among {comparisons}, with Holm's correction"
    yield frequency(corrected, studies, 0.05, what, side="at most")
    better, worse = rng.normal(size=(2, seeds)) - np.array([[3.0], [0.0]])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hypothesis.json"
        regularisation.state_hypothesis(
            path, better="with", worse="without", measure="loss", seeds=tuple(range(seeds)), level=0.95
        )
        stated = read_hypothesis(path)
        found, difference = stated.judge(better, worse)
        yield exactly(_states_again(path), False, "a stated hypothesis can be overwritten")
    told = ttest_rel(better, worse)
    yield exactly(found, told.confidence_interval().high < 0, "hypothesis confirmed, against the interval of SciPy")
    yield close(difference.p_value, told.pvalue, "p-value of the stated hypothesis, against SciPy", rtol=1e-9)
    yield exactly(stated.seeds, np.arange(seeds), "seeds that the hypothesis names, read from its file")
    counts = np.arange(1, comparisons + 1)
    drawn = sorted({1, 2, 5, 10, comparisons} & set(counts.tolist()))
    rates = [_families(rng, 200, m, seeds) for m in drawn]
    lines = {"1 − 0.95ᵐ": (counts, 1 - 0.95**counts), "0.05": (counts, np.full(comparisons, 0.05))}
    points = {"uncorrected": (drawn, [r[0] / 200 for r in rates]), "Holm": (drawn, [r[1] / 200 for r in rates])}
    shares = f"{100 * plain / studies:.0f}% of studies; with Holm in {100 * corrected / studies:.0f}%"
    title = f"Nothing differs, yet {comparisons} comparisons find something in {shares}"
    yield figure.curves(title, "comparisons m", "studies with a false positive", lines=lines, points=points)


def _families(rng, studies, comparisons, seeds):
    """How many studies of m t-tests without a difference reject anything: uncorrected, and with Holm."""
    plain = corrected = 0
    for _ in range(studies):
        a, b = rng.normal(size=(2, comparisons, seeds))
        p = np.array([regularisation.paired_difference(u, v).p_value for u, v in zip(a, b, strict=True)])
        plain += bool(p.min() <= 0.05)
        corrected += bool(regularisation.holm(p).min() <= 0.05)
    return plain, corrected


def _states_again(path):
    try:
        regularisation.state_hypothesis(path, better="a", worse="b", measure="loss", seeds=(0, 1))
    except ValueError:
        return False
    return True
