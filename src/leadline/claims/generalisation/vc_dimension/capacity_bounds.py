"""What VC theory says with its constants, beside simulated truth."""

import math

import numpy as np

from leadline import data, generalisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, frequency, reference
from leadline.generalisation.capacity.capacity_calculator import vc_excess, vc_sample_orders, vc_vacuous_below
from leadline.generalisation.capacity.growth_functions import class_vc_dimension, growth
from leadline.generalisation.capacity.planar_half_spaces import best_half_plane, half_plane_errors
from leadline.presentation import figure


def conjunctions(dim: int) -> np.ndarray:
    """All monotone conjunctions of `dim` bits on all inputs, one row of 0 and 1 each."""
    numbers = np.arange(2**dim)
    return ((numbers[:, None] & numbers) == numbers[:, None]).astype(int)


@claim(sources=("sheet", "penn"), shows=("generalisation.bits_bound",))
def vc_finite_class(key, domain: Int(3, 10) = 8, classes: Int(10, 120) = 60, bits: Int(1, 3) = 2):
    r"""VC dimension of a finite class.

    A class of |F| members has VC dimension at most log₂|F|, so a network stored in b bits has VC dimension at most b.
    The base is 2: monotone conjunctions of d bits number $2^d$ and reach d, more than $\ln 2^d = 0.69\, d$.

    $$\mathrm{VC}(F) \le \log_2 |F|$$

    Check: The bound is tested on random classes of up to 300 members on `domain` points, on all conjunctions of 2, 3
    and 4 bits, and on every threshold unit of two inputs with `bits` bits for each weight and the bias, on a grid of 5
    × 5 inputs.
    """
    rng = data.generator(key)
    sizes = np.exp(rng.uniform(0, np.log(300), classes)).astype(int)
    members = [rng.integers(0, 2, size=(size, domain)) for size in sizes]
    dimensions = [class_vc_dimension(m) for m in members]
    logs = np.log2([len(np.unique(m, axis=0)) for m in members])
    yield at_most(dimensions, logs, "random classes: VC dimension against log₂|F|", rtol=1e-12)
    dims = np.array([2, 3, 4])
    exact = np.array([class_vc_dimension(conjunctions(int(d))) for d in dims])
    yield exactly(exact, dims, "conjunctions of 2, 3, 4 bits: VC dimension")
    weights = np.linspace(-1.5, 1.5, 2**bits)
    w = np.stack(np.meshgrid(weights, weights, weights), -1).reshape(-1, 3)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 5)] * 2), -1).reshape(-1, 2)
    unit = (w @ np.column_stack([grid, np.ones(25)]).T > 0).astype(int)
    stored = class_vc_dimension(unit)
    yield at_most(stored, 3 * bits, f"threshold unit of {3 * bits} stored bits: VC dimension against its bits")
    ends = np.array([0.0, logs.max() + 0.3])
    lines = {"log₂|F|": (ends, ends), "ln|F|": (ends, ends * math.log(2))}
    points = {"random classes": (logs, dimensions), "conjunctions": (dims, exact)}
    title = f"{classes} random classes: VC dimension never above log₂|F|, conjunctions reach it"
    yield figure.curves(title, "log₂ of the number of members", "VC dimension", lines=lines, points=points)


@claim(sources=("eth", "sheet"))
def vc_inequality(
    key, n: Int(2000, 8000, log=True) = 3000, delta: Real(0.001, 0.5, log=True) = 0.1, sets: Int(50, 200) = 100
):
    r"""Vapnik–Chervonenkis inequality.

    Uniformly over a class with growth function Π, training and true error differ by more than ε with probability at
    most $8\, \Pi(n)\, e^{-n\epsilon^2/32}$. The bound is loose by orders of magnitude: for half-planes through the
    origin and ε = 0.1 it says nothing below 43,014 rows, where the true probability is far below 10⁻¹⁰⁰.

    $$P\left(\sup_F |\hat R - R| > \epsilon\right) \le 8\, \Pi(n)\, e^{-n \epsilon^2 / 32}$$

    Assumes: losses in {0, 1}; independent rows.

    Check: The bound is compared with the true probability for thresholds on the line, where the gap is Kolmogorov's
    distance and its distribution is exact, and for half-planes through the origin on uniform angles, at the ε where
    the bound equals `delta` and on a grid of ε.
    """
    from scipy.special import kolmogi, kolmogorov

    rng = data.generator(key)

    def log_growth(kind, dim=1):
        return lambda n: math.log(growth(kind, n, dim))

    for dim, least in ((2, 43_014), (10, 334_231)):
        found = vc_vacuous_below(log_growth("half-spaces", dim), 0.1)
        yield reference(
            found, least, f"half-spaces of R^{dim}, ε = 0.1: rows below which the bound is vacuous", digits=6
        )
    for m, value in ((50_000, 3275), (100_000, 0.00214)):
        bound = generalisation.vc_inequality(log_growth("affine half-spaces", 2)(m), m, 0.1).value
        yield reference(bound, value, f"bound for affine half-planes, ε = 0.1, n = {m}", digits=3)
    gaps = _distances(rng, n, sets)
    arcs = half_plane_errors(rng.uniform(0, 2 * np.pi, (sets, n)), np.ones((sets, n), int))
    planes = np.abs(arcs.errors / n - 0.5).max(axis=1)
    for name, kind, dim, found in (("thresholds", "thresholds", 1, gaps), ("half-planes", "half-spaces", 2, planes)):
        logs = log_growth(kind, dim)(n)
        eps = math.sqrt(32 * (math.log(8) + logs + math.log(1 / delta)) / n)
        bound = generalisation.vc_inequality(logs, n, eps).value
        yield close(bound, delta, f"{name}: bound at ε = {eps:.3f}, against δ", rtol=1e-9)
        yield frequency((found > eps).sum(), sets, delta, f"{name}: sup gap beyond ε = {eps:.3f}", side="at most")
        what = f"{name}: 90% quantile of the sup gap, against a third of ε = {eps:.3f}"
        yield at_most(np.quantile(found, 0.9), eps / 3, what)
    grid = np.geomspace(0.005, 1, 40)
    tail = kolmogorov(math.sqrt(n) * grid)
    bounds = [generalisation.vc_inequality(math.log(n + 1), n, e).log for e in grid]
    yield at_most(np.log(np.maximum(tail, 1e-300)), bounds, "thresholds: ln of the tail against ln of the bound, all ε")
    rows = np.geomspace(10, 1e5, 60).astype(int)
    bound = np.array([generalisation.vc_inequality(math.log(m + 1), int(m), 0.1).value for m in rows])
    lines = {"8 Π(n) e^(−nε²/32)": bound, "exact": kolmogorov(np.sqrt(rows) * 0.1)}
    lines = {name: (rows[values > 1e-12], values[values > 1e-12]) for name, values in lines.items()}
    few = rows[:30:6]
    points = {"simulated": (few, [np.mean(_distances(rng, int(m), 100) > 0.1) for m in few])}
    vacuous = vc_vacuous_below(log_growth("thresholds"), 0.1)
    rare = math.ceil((kolmogi(0.01) / 0.1) ** 2)
    title = f"Thresholds, ε = 0.1: the bound says nothing below n = {vacuous}, the truth is below 1% from n = {rare}"
    rules = {"vacuous above": ("y", 1.0)}
    yield figure.curves(title, "rows n", "P(sup gap > 0.1)", lines=lines, points=points, rules=rules, log="xy")


def _distances(rng, n: int, sets: int) -> np.ndarray:
    uniform = np.sort(rng.random((sets, n)), axis=1)
    steps = np.arange(1, n + 1) / n
    return np.maximum(steps - uniform, uniform - steps + 1 / n).max(axis=1)


@claim(sources=("penn",))
def vc_sample_complexity(
    key, noise: Real(0.0, 0.4) = 0.2, delta: Real(0.02, 0.2, log=True) = 0.05, sets: Int(100, 600) = 300
):
    r"""VC sample complexity in three forms.

    Three forms of the VC bound on the excess risk of empirical risk minimisation: (a) an order of magnitude of the
    number of rows, (b) a schematic formula whose constant is unproved, (c) $2\sqrt{(V(\ln(2n/V) + 1) +
    \ln(4/\delta))/n}$, which is a theorem for n ≥ V only. For half-planes (c) holds and is several times too large.

    $$R(\hat f) - R^* \le 2 \sqrt{\frac{V (\ln(2n/V) + 1) + \ln(4/\delta)}{n}}, \quad n \ge V$$

    Assumes: n ≥ V for (c).

    Check: Half-planes through the origin (V = 2) are fitted to uniform angles whose labels are flipped with
    probability `noise`. Both the empirical risk minimisation and the excess risk are exact.
    """
    rng = data.generator(key)
    confidence = 1 - delta
    rows = np.array([8, 25, 80, 250, 800])
    excess = [_excess(rng, int(n), sets, noise) for n in rows]

    def forms(rows):
        """The values of (b) and (c) at each n."""
        options = {"confidence": confidence}
        pair = generalisation.vc_schematic, vc_excess
        return ([form(2, int(n), **options).value for n in rows] for form in pair)

    coarse, refined = forms(rows)
    for n, found, bound in zip(rows, excess, refined, strict=True):
        beyond = (found > bound).sum()
        yield frequency(beyond, sets, delta, f"n = {n}: excess risk beyond (c) = {bound:.3f}", side="at most")
    refused = exactly(vc_excess(1e8, 50_000).valid, False, "(c) at V = 1e8 > n = 5e4: does it apply?")
    yield refused
    orders = vc_sample_orders(2, 0.05, confidence=confidence)
    yield at_least(orders.classical, orders.tight, "(a) with ln(1/ε) against the tight order, ε = 0.05")
    yield at_most(coarse, refined, "(b) against (c) at every n: smaller, and unproved")
    radicand = (1e8 * (math.log(2 * 5e4 / 1e8) + 1) + math.log(4 / 0.05)) / 5e4
    yield reference(radicand, -11816, "radicand of (c) at V = 1e8, n = 5e4", digits=5)
    wrong = at_least(radicand, 0.0, "radicand of (c) at V = 1e8, n = 5e4, against 0")
    yield erratum(wrong, of=refused, by="penn", prints="(13.4), which is (c), for any finite V")
    grid = np.unique(np.geomspace(8, 3000, 40).astype(int))
    quantiles = np.quantile(excess, confidence, axis=1)
    lines = {"(a) tight order": (grid, np.sqrt((2 + math.log(1 / delta)) / grid))}
    lines |= {name: (grid, values) for name, values in zip(("(b) schematic", "(c)"), forms(grid), strict=True)}
    measured = f"measured {confidence:.0%} quantile {quantiles[-1]:.3f}"
    title = f"Half-planes, n = 800: (c) allows an excess of {refined[-1]:.2f}, {measured}"
    points = {"simulated quantile": (rows, quantiles)}
    yield figure.curves(title, "rows n", "excess risk", lines=lines, points=points, log="xy")


def _excess(rng, n: int, sets: int, noise: float) -> np.ndarray:
    """The excess risk of the best half-plane on each of `sets` data sets: (1 − 2 noise) times the angle off, over π."""
    angles = rng.uniform(-np.pi, np.pi, (sets, n))
    labels = np.where(np.cos(angles) > 0, 1, -1) * np.where(rng.random((sets, n)) < noise, -1, 1)
    theta, _ = best_half_plane(angles, labels)
    off = np.abs(np.mod(theta + np.pi, 2 * np.pi) - np.pi)
    return (1 - 2 * noise) * off / np.pi
