"""Cover's count of linear dichotomies, what it says about shattering, and the transition at n = 2d."""

from fractions import Fraction
from itertools import pairwise

import numpy as np

from leadline import data, probability
from leadline.evidence import Int, OneOf, assume, claim, erratum
from leadline.evidence.relations import at_least, at_most, close, exactly, frequency, reference
from leadline.linear_classifiers import dichotomies
from leadline.linear_classifiers.dichotomies.cover import cover_share, points_at_share
from leadline.presentation import figure

MOST_DRAWN = 4000  # cells that are counted for a figure alone


@claim(sources=("eth",))
def cover_count(
    key,
    points: Int(1, 13) = 10,
    dim: Int(1, 5) = 4,
    bias: bool = False,
    configuration: OneOf("gaussian", "moment curve", "narrow cone", "integers") = "gaussian",
):
    r"""Cover's function counting theorem.

    n points in general position in ℝᵈ have $2 \sum_{i<d} \binom{n-1}{i}$ linear dichotomies, wherever they lie; a bias
    counts as one more dimension.

    $$C(n, d) = 2 \sum_{i=0}^{d-1} \binom{n-1}{i}, \qquad \frac{C(n,d)}{2^n} = P\big(\mathrm{Bin}(n-1, \tfrac12) \le d
    - 1\big)$$

    Assumes: every d points are linearly independent.
    """
    from scipy.special import bdtr

    rng = data.generator(key)
    x = _configuration(configuration, rng, points, dim, bias)
    effective = dim + bias
    assume(dichotomies.general_position(x, bias=bias).holds, "the points are in general position")
    cells = dichotomies.enumerate_cells(x, bias=bias)
    formula = [dichotomies.cover_count(n, effective) for n in range(1, points + 1)]
    yield exactly(cells.counts, formula, f"dichotomies of the first 1 to {points} points against Cover's count")
    share = cells.counts / 2.0 ** np.arange(1, points + 1)
    tail = bdtr(effective - 1, np.maximum(np.arange(points), effective - 1), 0.5)  # up to n = d the share is 1
    yield close(share, tail, "share of all labelings against the binomial tail", rtol=1e-12)
    pairs = {(4, 2): 8, (3, 3): 8, (6, 3): 32, (8, 3): 58, (8, 4): 128, (10, 4): 260}
    brute = [dichotomies.count_dichotomies(rng.normal(size=pair), method="labelings") for pair in pairs]
    yield exactly(brute, list(pairs.values()), "all labelings tried, (n, d) = (4,2) (3,3) (6,3) (8,3) (8,4) (10,4)")
    twin = x.copy()
    twin[-1] = twin[0]
    degenerate = dichotomies.count_dichotomies(twin, bias=bias)
    fewer = at_most(degenerate, formula[-1], "dichotomies with two equal points", strict=True)
    yield fewer.given(effective >= 2 and points >= 2, "there are two points or more and d is at least 2")
    ns, dims = np.arange(1, 11), (1, 2, 3, 4, 5)
    lines = {f"d = {d}": (ns, [dichotomies.cover_count(int(n), d) for n in ns]) for d in dims}
    shown = [dichotomies.enumerate_cells(_configuration(configuration, rng, 10, d, False)).counts for d in dims]
    measured = {name: (ns, counts) for name, counts in zip(lines, shown, strict=True)}
    agree = all(np.array_equal(lines[name][1], measured[name][1]) for name in lines)
    title = f"Counted cells {'lie' if agree else 'do not all lie'} on Cover's formula (points: {configuration})"
    yield figure.curves(title, "points n", "linear dichotomies", lines=lines, points=measured, log="y")


@claim(sources=("eth",))
def cover_shattering(key, dim: Int(1, 12) = 8, bias: bool = False):
    r"""Shattering by hyperplanes.

    Up to d points in general position can be labelled in every way by a hyperplane through the origin, and d+1 points
    in all ways but two: the VC dimension is d, or d+1 with a bias.

    $$C(n, d) = 2^n \ (n \le d), \qquad C(d+1, d) = 2^{d+1} - 2$$

    Assumes: the points are in general position.

    Check: Xw = y is solved for each labelling; the two labellings missing at d + 1 points are named.
    """
    effective = dim + bias
    rng = data.generator(key)
    x = rng.normal(size=(effective + 1, dim))
    features = np.column_stack([x, np.ones(effective + 1)]) if bias else x
    assume(dichotomies.general_position(x, bias=bias).holds, "the points are in general position")
    labelings = dichotomies.all_labelings(effective)
    weights = np.linalg.solve(features[:effective], labelings.T)  # (d, 2^d)
    scores = features[:effective] @ weights
    yield at_most(np.abs(scores - labelings.T), 1e-9, "largest |X w - y| over all labelings")
    realised = (np.sign(scores) == labelings.T).all(axis=0).sum()
    yield exactly(realised, 2**effective, "labelings of d points (d + 1 with a bias) realised by solving")
    cells = dichotomies.enumerate_cells(x, bias=bias)
    yield exactly(cells.counts[:-1], 2 ** np.arange(1, effective + 1), "cells of up to d points (d + 1 with a bias)")
    yield exactly(cells.counts[-1], 2 ** (effective + 1) - 2, "cells of d + 1 points (d + 2 with a bias)")
    # Σ cᵢ xᵢ = 0 has one solution up to scale; with y = ± sign c, Σ |cᵢ| yᵢ w·xᵢ would be positive and zero.
    dependency = np.sign(np.linalg.svd(features.T)[2][-1])
    missing = {tuple(y) for y in dichotomies.all_labelings(effective + 1)} - {tuple(y) for y in cells.signs}
    wrong = len(missing ^ {tuple(dependency), tuple(-dependency)})
    yield exactly(wrong, 0, "labelings by which the missing ones differ from ± sign c, where Σ cᵢ xᵢ = 0")
    countable = [n for n in range(effective + 2, 3 * effective) if dichotomies.cover_count(n, effective) <= MOST_DRAWN]
    more = np.concatenate([x, rng.normal(size=(len(countable), dim))])
    counts = dichotomies.enumerate_cells(more, bias=bias).counts if countable else cells.counts
    measured, drawn = np.arange(1, len(counts) + 1), np.arange(1, 3 * effective + 2)
    title = f"All {2**effective} labelings of {effective} points are realised, {cells.counts[-1]} with one point more"
    lines = {"C(n, d)/2ⁿ": (drawn, [float(cover_share(int(n), effective)) for n in drawn])}
    points, rules = {"counted": (measured, counts / 2.0**measured)}, {" ": ("x", effective)}
    x_axis = f"points n (dashed: VC dimension {effective})"
    yield figure.curves(title, x_axis, "share of labelings realised", lines=lines, points=points, rules=rules)


@claim(sources=("eth",))
def cover_capacity_transition(key, dim: Int(2, 30) = 20, trials: Int(50, 300) = 200):
    r"""Linear capacity transition at n = 2d.

    The share of labellings that a hyperplane realises is 1 up to n = d, exactly 1/2 at n = 2d, and falls to 0 beyond,
    within a window of order √d.

    $$C(n,d)/2^n = 1\ (n \le d), \quad C(2d, d)/2^{2d} = \tfrac12, \quad n_{1/4} - n_{3/4} \approx 2 \cdot 0.6745
    \sqrt{2d}$$

    Assumes: the points are in general position; labels are fair and independent.

    Check: Exact integers; random labels of random points are put to a linear programme.
    """
    pairs = [(round(load * d), d) for d in (20, 50, 200) for load in (1.8, 2.2)]
    shares = [cover_share(n, d) for n, d in pairs]
    pinned = [0.750, 0.271, 0.855, 0.169, 0.983]
    yield reference(shares[:5], pinned, "share at 1.8d and 2.2d, d = 20, 50, and at 1.8d, d = 200", digits=3)
    yield reference(shares[5], 0.028, "share at 2.2d, d = 200", digits=2)
    sizes = range(1, 201)
    for name, load, share in (("d", 1, 1), ("2d", 2, Fraction(1, 2))):
        wrong = sum(cover_share(load * d, d) != share for d in sizes)
        yield exactly(wrong, 0, f"dimensions up to 200 whose share at n = {name} is not exactly {share}")
    large = np.array([100, 1000, 10_000, 100_000])
    widths = [points_at_share(0.25, int(d)) - points_at_share(0.75, int(d)) for d in large]
    yield close(widths, 2 * 0.6745 * np.sqrt(2 * large), "points between shares 3/4 and 1/4, d = 100 to 10⁵", rtol=0.01)
    yield at_most(np.diff(widths / large), 0.0, "change with d of (points between shares 3/4 and 1/4)/d", strict=True)
    rng = data.generator(key)
    sets = np.unique(np.round(dim * np.array([1.0, 1.5, 1.8, 2.0, 2.2, 2.5, 3.0])).astype(int))
    realised = np.array([_realised(rng, int(n), dim, trials) for n in sets])
    expected = [cover_share(int(n), dim) for n in sets]
    yield frequency(realised, trials, expected, "share of random labelings that are separable", confidence=0.99)
    counts = [dichotomies.cover_count(n, dim) for n in range(2 * dim, 4 * dim + 1)]
    growth = [later / earlier for earlier, later in pairwise(counts)]
    rising = at_least(growth, 1.0, "growth C(n+1, d)/C(n, d) of the number for n from 2d to 4d", strict=True)
    yield rising
    falling = at_most(growth, 1.0, "C(n+1, d)/C(n, d) for n from 2d to 4d", strict=True)
    yield erratum(falling, of=rising, by="eth", prints="the “number of linear classifications” falls to 0 after n = 2d")
    lines = {}
    for d in sorted({5, dim, 200}):
        ns = np.unique(np.linspace(d / 2, 4 * d, 120).astype(int).clip(1))
        lines[f"d = {d}"] = (ns / d, [float(cover_share(int(n), d)) for n in ns])
    share, (low, high) = np.asarray(realised) / trials, probability.binomial_interval(np.asarray(realised), trials)
    title = f"At n = 2d half of all labelings are separable (measured {share[sets == 2 * dim][0]:.2f})"
    points, rules = {f"d = {dim}": (sets / dim, share, low, high)}, {"n = 2d": ("x", 2.0), "1/2": ("y", 0.5)}
    yield figure.curves(title, "load n/d", "share of labelings realised", lines=lines, points=points, rules=rules)


def _configuration(name: str, rng, points: int, dim: int, bias: bool) -> np.ndarray:
    if name == "moment curve":
        t = np.linspace(-1.0, 1.0, points) if points > 1 else np.array([0.5])
        return t[:, None] ** (np.arange(dim) + bias)  # (1, t, t², ...), whose 1 the bias would repeat
    if name == "narrow cone":
        return 0.1 * rng.normal(size=(points, dim)) + np.ones(dim)
    if name == "integers":
        return rng.integers(1, 1001, size=(points, dim)).astype(float)
    return rng.normal(size=(points, dim))


def _realised(rng, n: int, d: int, trials: int) -> int:
    labels = rng.choice([-1.0, 1.0], size=(trials, n))
    return int(dichotomies.realise(rng.normal(size=(n, d)), labels).possible.sum())
