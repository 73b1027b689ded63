"""The bootstrap: what resamples say of a statistic's distribution, and how often its intervals are right."""

import jax
import numpy as np
from scipy import stats

from leadline import data, regularisation
from leadline.evidence import Int, counts_as, frequency, mean, method
from leadline.presentation import figure


@method(sources=("penn",), shows=("regularisation.bootstrap", "regularisation.distinct_share"))
def bootstrap(key, samples: Int(20, 200) = 50, resamples: Int(500, 4000) = 2000, repeats: Int(100, 400) = 150):
    r"""The bootstrap.

    N points are drawn from the sample with replacement, B times, and a statistic is recomputed each time: the spread
    of its values estimates its standard error, their quantiles an interval (percentile, or BCa, which corrects bias and
    skewness). A resample holds a share 1 − (1 − 1/N)ᴺ of distinct points, 0.632 for large N.

    $$x^*_b \sim \text{Unif}\{x_1, \ldots, x_N\}^N, \qquad \widehat{\mathrm{se}} = \mathrm{sd}_b\, T(x^*_b), \qquad
    1 - (1 - 1/N)^N \to 1 - 1/e$$

    Assumes: the points are independent; the statistic is smooth in the weights of the points.

    Check: The bootstrap of a mean has the variance s²/N, that of a median the exact probabilities of the order
    statistics; the interval of a normal mean covers as often as Student's distribution says of ±1.96 s/√N.
    """
    keys = jax.random.split(key, 3)
    rng = data.generator(keys[0])
    sample = rng.exponential(size=samples)
    found = regularisation.bootstrap(np.mean, sample, resamples=resamples, key=keys[1])
    squares = (found.values - sample.mean()) ** 2
    yield mean(squares, sample.var() / samples, "squared deviation of resampled means, against s²/N")
    odd = sample[: samples - (samples + 1) % 2]
    medians = regularisation.bootstrap(np.median, odd, resamples=resamples, key=keys[2]).values
    counts = np.histogram(np.searchsorted(np.sort(odd), medians), np.arange(len(odd) + 1))[0]
    what = "resampled medians at each order statistic, against the binomial formula"
    yield counts_as(counts, _median_probabilities(len(odd)), what)
    rows = regularisation.bootstrap_rows(samples, 2000, key=keys[2])
    shares = [len(np.unique(one)) / samples for one in rows]
    yield mean(shares, regularisation.distinct_share(samples), "share of distinct points, against 1 − (1 − 1/N)ᴺ")
    yield from _coverage(keys[2], samples, repeats)
    grid = np.linspace(*np.quantile(found.values, [0.0005, 0.9995]), 200)
    law = stats.gamma(samples, loc=sample.mean() - 1, scale=1 / samples).pdf(grid)
    low, high = found.bca
    yield figure.histogram(
        f"Means of resamples of {samples} exponential points spread as means of new samples do",
        "mean",
        samples={"resamples": found.values},
        lines={"true law, moved to the sample's mean": (grid, law)},
        rules={"BCa low": ("x", low), "BCa high": ("x", high)},
    )


def _median_probabilities(count):
    """P(median of a resample is the k-th order statistic) of an odd number of points (Efron 1979)."""
    below = stats.binom(count, np.arange(count + 1) / count).sf((count - 1) // 2)  # at least (n + 1)/2 of the k least
    return np.diff(below)


def _coverage(key, samples, repeats):
    rng = data.generator(key)
    covered = np.zeros(2, int)
    for index in range(repeats):
        own = jax.random.fold_in(key, index)
        one = regularisation.bootstrap(np.mean, rng.normal(size=samples), resamples=300, key=own)
        covered += [low <= 0 <= high for low, high in (one.percentile, one.bca)]
    reach = stats.norm.ppf(0.975) * np.sqrt((samples - 1) / samples)
    expected = 1 - 2 * stats.t(samples - 1).sf(reach)
    for name, count in zip(("percentile", "BCa"), covered, strict=True):
        what = f"95% {name} intervals of a normal mean that cover it, against P(|t| ≤ 1.96 √(1 − 1/N))"
        yield frequency(int(count), repeats, expected, what)
