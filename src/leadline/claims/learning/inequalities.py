"""Jensen, Markov and Hoeffding."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, probability
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, printed

CONVEX = {
    "exp": (jnp.exp, lambda x: np.exp(x)),
    "square": (jnp.square, lambda x: 2.0 + 0 * x),
    "softplus": (jax.nn.softplus, lambda x: np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))) ** 2),
    "-log": (lambda x: -jnp.log(x), lambda x: 1 / x**2),
}


@claim(
    "jensen-gap",
    says=(
        "For convex f, E f(X) ≥ f(E X), with equality iff f is affine where X lives; for concave f the sign turns. "
        "It holds exactly for the empirical measure, and for small spread the gap is f''(μ) Var/2."
    ),
    formula=r"\mathbb{E} f(X) - f(\mathbb{E} X) \ge 0",
    sources=("sheet",),
    shows=("probability.jensen_gap",),
)
def jensen_gap(
    key,
    function: Annotated[str, Choice(*CONVEX)] = "exp",
    samples: Annotated[int, Range(2, 2000, log=True)] = 200,
    spread: Annotated[float, Range(0.05, 3.0, log=True)] = 0.8,
):
    """Samples of a positive law with the given spread around 4 (kept above 0.1)."""
    rng = data.generator(key)
    f, curvature = CONVEX[function]
    x = np.maximum(4 + spread * rng.standard_normal(samples), 0.1)
    gap = float(probability.jensen_gap(f, x))
    scale = float(jnp.max(jnp.abs(f(jnp.asarray(x)))))
    yield at_least(gap, 0.0, f"gap of {function} on {samples} samples", atol=1e-12 * scale)
    yield at_most(-gap, 0.0, f"gap of the concave -({function})", atol=1e-12 * scale)
    yield close(probability.jensen_gap(lambda t: 3 * t - 2, x), 0.0, "gap of an affine function", atol=1e-12)
    widths = np.geomspace(1e-3, 1e-2, 5)
    offsets = rng.standard_normal(1000)
    offsets = (offsets - offsets.mean()) / offsets.std()
    small = np.array([float(probability.jensen_gap(f, 4 + w * offsets)) for w in widths])
    # The next terms are of relative size width · |f'''|/(3 f'') · skewness and width²; |f'''/f''| ≤ 1 at 4 for these f.
    predicted = curvature(4.0) * widths**2 / 2
    yield close(small / predicted, 1.0, "gap at small spread, in units of f''(μ) Var/2", atol=float(widths[-1]) + 1e-5)
    t = np.linspace(max(x.min(), 0.1), x.max(), 100)
    ends = np.array([x.min(), x.max()])
    value = np.asarray(f(jnp.asarray(ends)))
    yield figure.curves(
        f"The mean of f is above f of the mean by {gap:.3g}",
        x="x",
        y="f(x)",
        lines={function: (t, np.asarray(f(jnp.asarray(t)))), "chord": (ends, value)},
        points={
            "E f(X)": ([x.mean()], [float(jnp.mean(f(jnp.asarray(x))))]),
            "f(E X)": ([x.mean()], [float(f(jnp.asarray(x.mean())))]),
        },
    )


@claim(
    "markov-inequality",
    says=(
        "For X ≥ 0 and a > 0, P(X ≥ a) ≤ E X / a; it is tight for the law with mass E X / a at a and the rest at 0, "
        "and says nothing for a < E X."
    ),
    formula=r"P(X \ge a) \le \frac{\mathbb{E} X}{a}",
    sources=("sheet",),
    shows=("probability.markov_bound",),
)
def markov_inequality(
    key,
    average: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
    shape: Annotated[float, Range(1.05, 6.0)] = 1.5,
):
    """Exact tails of an exponential, a Pareto (of this shape) and the two-point law, all with the same mean."""
    from scipy.stats import expon, pareto

    level = average * np.geomspace(1.02, 1000, 60)
    bound = np.asarray(probability.markov_bound(average, level))
    laws = {
        "exponential": expon(scale=average).sf(level),
        "Pareto": pareto(shape, scale=average * (shape - 1) / shape).sf(level),
    }
    for name, tail in laws.items():
        yield at_most(tail, bound, f"tail of the {name} law", trivial=1.0)
    weights = average / level  # of the two-point law on {0, a}, for each level a
    values, masses = np.stack([0 * level, level]), np.stack([1 - weights, weights])
    yield close((masses * values).sum(axis=0), average, "mean of the two-point laws", rtol=1e-12)
    touching = (masses * (values >= level)).sum(axis=0)
    yield close(touching / bound, 1.0, "tail over bound for the two-point laws", atol=1e-12)
    yield at_least(
        probability.markov_bound(average, np.array([average / 2])), 1.0, "bound at a = E X / 2: no statement"
    )
    shown = {name: (level[tail > 1e-8], tail[tail > 1e-8]) for name, tail in laws.items()}
    yield figure.curves(
        "Tails under Markov's bound; the two-point law of each level lies on it",
        x="level a",
        y="P(X ≥ a)",
        lines={"E X / a": (level, bound)},
        points=shown | {"two-point law": (level[::6], weights[::6])},
        log="xy",
    )


@claim(
    "hoeffding-inequality",
    says=(
        "The mean of independent variables, each within [a_i, b_i], exceeds its expectation by t with probability at "
        "most exp(-2n²t²/Σ(b_i-a_i)²). Both conditions are needed: n copies of one coin break it."
    ),
    formula=r"P(\bar Z - \mathbb{E}\bar Z \ge t) \le \exp\left(-\frac{2 n^2 t^2}{\sum_i (b_i-a_i)^2}\right)",
    sources=("sheet",),
    assumes=("independent", "bounded"),
    shows=("probability.hoeffding_bound",),
)
def hoeffding_inequality(
    key,
    tosses: Annotated[int, Range(5, 2000, log=True)] = 100,
    bias: Annotated[float, Range(0.02, 0.98)] = 0.5,
    deviation: Annotated[float, Range(0.01, 0.5, log=True)] = 0.1,
):
    """Exact binomial tails over t; the reference case; and n copies of one fair coin."""
    from scipy.stats import binom

    n, p = tosses, bias
    t = np.unique(np.concatenate([np.linspace(0.005, 0.6, 60), [deviation]]))
    tail = binom.sf(np.ceil(n * (p + t) - 1e-9) - 1, n, p)
    widths = np.ones(n)
    bound = np.asarray(probability.hoeffding_bound(t, widths))
    yield at_most(tail, bound, "tail of a coin's mean", rtol=1e-12)
    lower = binom.cdf(np.floor(n * (p - t) + 1e-9), n, p)
    yield at_most(tail + lower, 2 * bound, "both tails, against twice the bound", trivial=1.0, rtol=1e-12)
    yield close(binom.sf(59, 100, 0.5), 0.0284, "tail of a fair coin at n = 100, t = 0.1", atol=5e-5)
    yield close(probability.hoeffding_bound(np.array(0.1), np.ones(100)), 0.1353, "its bound", atol=5e-5)
    # Unequal ranges: coins worth c_i; the tail is exact by convolution on a grid of integers.
    values = 1 + np.arange(12) % 3
    law = np.ones(1)
    for c in values:
        law = np.convolve(law, np.concatenate([[1 - p], np.zeros(c - 1), [p]]))
    total = np.arange(len(law))
    excess = np.linspace(0.05, 1.5, 20)
    exact = np.array([law[total >= values.sum() * p + 12 * e - 1e-9].sum() for e in excess])
    yield at_most(
        exact,
        probability.hoeffding_bound(excess, values.astype(float)),
        "tail of 12 coins of unequal worth",
        atol=1e-12,
    )
    copies = 100  # all Z equal: the mean is a single fair coin
    limit = probability.hoeffding_bound(np.array(0.5), np.ones(copies))
    yield printed(
        at_most(0.5, limit, "tail of 100 copies of one coin at t = 1/2"), "sheet", "the bound without independence"
    )
    seen = tail > 1e-12
    yield figure.curves(
        f"The exact tail lies under the bound: at t = {deviation:g} {tail[t == deviation][0]:.3g} under "
        f"{bound[t == deviation][0]:.3g}",
        x="deviation t",
        y="probability",
        lines={"exp(-2nt²)": (t, bound)},
        points={"exact tail": (t[seen], tail[seen])},
        log="y",
    )
