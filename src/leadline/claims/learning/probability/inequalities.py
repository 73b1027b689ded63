"""Jensen, Markov and Hoeffding."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, probability
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, reference
from leadline.presentation import figure
from leadline.probability.tail_bounds import jensen_gap as probability_jensen_gap

CONVEX = {
    "exp": (jnp.exp, lambda x: np.exp(x)),
    "square": (jnp.square, lambda x: 2.0 + 0 * x),
    "softplus": (jax.nn.softplus, lambda x: np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))) ** 2),
    "-log": (lambda x: -jnp.log(x), lambda x: 1 / x**2),
}


@claim(sources=("sheet",))
def jensen_gap(
    key,
    function: OneOf(*CONVEX) = "exp",
    samples: Int(2, 2000, log=True) = 200,
    spread: Real(0.05, 3.0, log=True) = 0.8,
):
    r"""Jensen's inequality and its gap.

    For convex f, E f(X) ≥ f(E X), with equality iff f is affine on the support of X; for concave f the inequality is
    reversed. It holds exactly for the empirical measure, and for small spread the gap is f″(μ) Var(X)/2.

    $$\mathbb{E} f(X) - f(\mathbb{E} X) \ge 0$$

    Check: Samples are drawn from a positive distribution with the given spread around 4 (kept above 0.1).
    """
    rng = data.generator(key)
    f, curvature = CONVEX[function]
    x = np.maximum(4 + spread * rng.standard_normal(samples), 0.1)
    gap = probability_jensen_gap(f, x)
    scale = jnp.max(jnp.abs(f(x)))
    yield at_least(gap, 0.0, f"Jensen gap of {function} on {samples} samples", atol=1e-12 * scale)
    yield at_most(-gap, 0.0, f"Jensen gap of the concave −({function})", atol=1e-12 * scale)
    yield close(probability_jensen_gap(lambda t: 3 * t - 2, x), 0.0, "Jensen gap of an affine function", atol=1e-12)
    widths = np.geomspace(1e-3, 1e-2, 5)
    offsets = rng.standard_normal(1000)
    offsets = (offsets - offsets.mean()) / offsets.std()
    small = np.array([probability_jensen_gap(f, 4 + w * offsets) for w in widths])
    # The next terms are of relative size width · |f'''|/(3 f'') · skewness and width²; |f'''/f''| ≤ 1 at 4 for these f.
    predicted = curvature(4.0) * widths**2 / 2
    yield close(small / predicted, 1.0, "Jensen gap at small spread, in units of f″(μ) Var/2", atol=widths[-1] + 1e-5)
    t, ends = np.linspace(max(x.min(), 0.1), x.max(), 100), np.array([x.min(), x.max()])
    lines = {function: (t, f(t)), "chord": (ends, f(ends))}
    points = {"E f(X)": ([x.mean()], [f(x).mean()]), "f(E X)": ([x.mean()], [f(x.mean())])}
    title = f"The mean of f is above f of the mean by {gap:.3g}"
    yield figure.curves(title, "x", "f(x)", lines=lines, points=points)


@claim(sources=("sheet",))
def markov_inequality(key, average: Real(0.1, 10.0, log=True) = 1.0, shape: Real(1.05, 6.0) = 1.5):
    r"""Markov's inequality.

    For X ≥ 0 and a > 0, P(X ≥ a) ≤ E X / a. The bound is tight for the distribution with mass E X / a at a and the
    rest at 0, and says nothing for a ≤ E X.

    $$P(X \ge a) \le \frac{\mathbb{E} X}{a}$$

    Check: Exact tails are computed for an exponential, a Pareto (of the given shape) and the two-point distribution,
    all with the same mean.
    """
    from scipy.stats import expon, pareto

    level = average * np.geomspace(1.02, 1000, 60)
    bound = np.asarray(probability.markov_bound(average, level))
    tails = {
        "exponential": expon(scale=average).sf(level),
        "Pareto": pareto(shape, scale=average * (shape - 1) / shape).sf(level),
    }
    for name, tail in tails.items():
        yield at_most(tail, bound, f"tail of the {name} distribution, against E X / a", trivial=1.0)
    weights = average / level  # of the two-point distribution on {0, a}, for each level a
    values, masses = np.stack([0 * level, level]), np.stack([1 - weights, weights])
    yield close((masses * values).sum(axis=0), average, "mean of the two-point distributions", rtol=1e-12)
    touching = (masses * (values >= level)).sum(axis=0)
    yield close(touching / bound, 1.0, "tail over bound for the two-point distributions", atol=1e-12)
    low = probability.markov_bound(average, average * np.array([0.5, 1.0]))
    yield at_least(low, 1.0, "bound at a = E X / 2 and a = E X: no statement", rtol=1e-12)
    points = {name: (level[tail > 1e-8], tail[tail > 1e-8]) for name, tail in tails.items()}
    points["two-point distribution"] = (level[::6], weights[::6])
    title = "Tails under Markov's bound; the two-point distribution of each level lies on it"
    yield figure.curves(title, "level a", "P(X ≥ a)", lines={"E X / a": (level, bound)}, points=points, log="xy")


@claim(sources=("sheet",))
def hoeffding_inequality(
    key, tosses: Int(5, 2000, log=True) = 100, bias: Real(0.02, 0.98) = 0.5, deviation: Real(0.01, 0.5, log=True) = 0.1
):
    r"""Hoeffding's inequality.

    The mean of independent variables, each within [aᵢ, bᵢ], exceeds its expectation by t with probability at most
    $e^{-2n^2t^2/\sum_i (b_i-a_i)^2}$. Both conditions, independence and boundedness, are needed: n copies of one coin
    break the bound.

    $$P(\bar Z - \mathbb{E}\bar Z \ge t) \le \exp\left(-\frac{2 n^2 t^2}{\sum_i (b_i-a_i)^2}\right)$$

    Assumes: the variables are independent; the variables are bounded.
    """
    from scipy.stats import binom

    n, p = tosses, bias
    t = np.unique(np.concatenate([np.linspace(0.005, 0.6, 60), [deviation]]))
    tail = binom.sf(np.ceil(n * (p + t) - 1e-9) - 1, n, p)
    bound = np.asarray(probability.hoeffding_bound(t, np.ones(n)))
    yield at_most(tail, bound, "tail of a coin's mean, against Hoeffding's bound", rtol=1e-12)
    lower = binom.cdf(np.floor(n * (p - t) + 1e-9), n, p)
    yield at_most(tail + lower, 2 * bound, "both tails, against twice the bound", trivial=1.0, rtol=1e-12)
    yield reference(binom.sf(59, 100, 0.5), 0.0284, "tail of a fair coin at n = 100, t = 0.1", digits=3)
    hundred = np.ones(100)
    limit = probability.hoeffding_bound(np.array(0.1), hundred)
    yield reference(limit, 0.1353, "Hoeffding's bound at n = 100, t = 0.1", digits=4)
    # Unequal ranges: coins worth c_i; the tail is exact by convolution on a grid of integers.
    values = 1 + np.arange(12) % 3
    law = np.ones(1)
    for c in values:
        law = np.convolve(law, np.concatenate([[1 - p], np.zeros(c - 1), [p]]))
    total, excess = np.arange(len(law)), np.linspace(0.05, 1.5, 20)
    exact = [law[total >= values.sum() * p + 12 * e - 1e-9].sum() for e in excess]
    limit = probability.hoeffding_bound(excess, values.astype(float))
    yield at_most(exact, limit, "tail of 12 coins of unequal worth, against Hoeffding's bound", atol=1e-12)
    # All Z equal: the mean is a single fair coin.
    limit = probability.hoeffding_bound(np.array(0.5), hundred)
    what = "tail of 100 copies of one coin at t = 1/2, above the bound for independent ones"
    yield at_least(binom.sf(0, 1, 0.5), limit, what, strict=True)
    seen = tail > 1e-12
    at, under = tail[t == deviation][0], bound[t == deviation][0]
    title = f"The exact tail lies under the bound: at t = {deviation:g} {at:.3g} under {under:.3g}"
    lines, points = {"exp(−2nt²)": (t, bound)}, {"exact tail": (t[seen], tail[seen])}
    yield figure.curves(title, "deviation t", "probability", lines=lines, points=points, log="y")
