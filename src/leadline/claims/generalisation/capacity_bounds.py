"""What VC theory says with its constants, beside simulated truth."""

import math
from typing import Annotated

import numpy as np

from leadline import data, generalisation
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, frequency, printed


def conjunctions(dim: int) -> np.ndarray:
    """All monotone conjunctions of `dim` bits on all inputs, one row of 0 and 1 each."""
    numbers = np.arange(2**dim)
    return ((numbers[:, None] & numbers) == numbers[:, None]).astype(int)


@claim(
    "vc-finite-class",
    says=(
        "A class of |F| members has VC dimension at most log₂|F|, so a network stored in b bits has at most b. The "
        "base is 2: monotone conjunctions of d bits number 2^d and reach d, more than ln 2^d = 0.69 d."
    ),
    formula=r"VC(F) \le \log_2 |F|",
    sources=("sheet", "penn"),
    shows=("generalisation.class_vc_dimension", "generalisation.bits_bound"),
)
def vc_finite_class(
    key,
    domain: Annotated[int, Range(3, 10)] = 8,
    classes: Annotated[int, Range(10, 120)] = 60,
    bits: Annotated[int, Range(1, 3)] = 2,
):
    """Random classes on `domain` points, of up to 300 members; all conjunctions of 2, 3, 4 bits; and every threshold
    unit of two inputs with `bits` bits for each weight and the bias, on a grid of 5 × 5 inputs."""
    rng = data.generator(key)
    sizes = np.exp(rng.uniform(0, np.log(300), classes)).astype(int)
    members = [rng.integers(0, 2, size=(size, domain)) for size in sizes]
    dimensions = np.array([generalisation.class_vc_dimension(m) for m in members])
    distinct = np.array([len(np.unique(m, axis=0)) for m in members])
    yield at_most(dimensions, np.log2(distinct), "random classes: VC dimension against log₂|F|", rtol=1e-12)
    dims = np.array([2, 3, 4])
    exact = np.array([generalisation.class_vc_dimension(conjunctions(int(d))) for d in dims])
    yield exactly(exact, dims, "conjunctions of 2, 3, 4 bits: VC dimension")
    weights = np.linspace(-1.5, 1.5, 2**bits)
    w = np.stack(np.meshgrid(weights, weights, weights), -1).reshape(-1, 3)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 5)] * 2), -1).reshape(-1, 2)
    unit = (w @ np.column_stack([grid, np.ones(25)]).T > 0).astype(int)
    yield at_most(
        generalisation.class_vc_dimension(unit), 3 * bits, f"threshold unit of {3 * bits} stored bits: VC dimension"
    )
    yield printed(
        at_most(exact, dims * math.log(2), "conjunctions: VC dimension against ln|F|"),
        "penn",
        "VC ≤ log|F|, log natural",
    )
    ends = np.array([0.0, np.log2(distinct).max() + 0.3])
    yield figure.curves(
        f"{classes} random classes: VC dimension never above log₂|F|, conjunctions reach it",
        x="log₂ of the number of members",
        y="VC dimension",
        lines={"log₂|F|": (ends, ends), "ln|F|": (ends, ends * math.log(2))},
        points={"random classes": (np.log2(distinct), dimensions), "conjunctions": (dims, exact)},
    )


@claim(
    "vc-inequality",
    says=(
        "Uniformly over a class with growth function Π, training and true error differ by more than ε with probability "
        "at most 8 Π(n) e^(−nε²/32). It is orders of magnitude loose: for half-planes through the origin and ε = 0.1 "
        "it says nothing below 43,014 rows, where the true probability is far below 10⁻¹⁰⁰."
    ),
    formula=r"P\left(\sup_F |\hat R - R| > \epsilon\right) \le 8\, \Pi(n)\, e^{-n \epsilon^2 / 32}",
    sources=("eth", "sheet"),
    assumes=("losses in {0, 1}", "independent rows"),
    shows=("generalisation.vc_inequality", "generalisation.vc_vacuous_below", "generalisation.growth"),
)
def vc_inequality(
    key,
    n: Annotated[int, Range(2000, 8000, log=True)] = 3000,
    delta: Annotated[float, Range(0.001, 0.5, log=True)] = 0.1,
    sets: Annotated[int, Range(50, 200)] = 100,
):
    """Thresholds on the line (the gap is Kolmogorov's distance, its law exact) and half-planes through the origin on
    uniform angles, at the ε where the bound is `delta` and on a grid of ε."""
    from scipy.special import kolmogi, kolmogorov

    rng = data.generator(key)

    def log_growth(kind, dim=1):
        return lambda n: math.log(generalisation.growth(kind, n, dim))

    for dim, least in ((2, 43_014), (10, 334_231)):
        found = generalisation.vc_vacuous_below(log_growth("half-spaces", dim), 0.1)
        yield exactly(found, least, f"half-spaces of R^{dim}, ε = 0.1: vacuous below n")
    affine = [generalisation.vc_inequality(log_growth("affine half-spaces", 2)(m), m, 0.1) for m in (50_000, 100_000)]
    yield close([b.value for b in affine], [3275, 0.00214], "affine half-planes, ε = 0.1, n = 5e4 and 1e5", rtol=3e-3)

    gaps = _distances(rng, n, sets)
    arcs = generalisation.half_plane_errors(rng.uniform(0, 2 * np.pi, (sets, n)), np.ones((sets, n), int))
    planes = np.abs(arcs.errors / n - 0.5).max(axis=1)
    for name, kind, dim, found in (("thresholds", "thresholds", 1, gaps), ("half-planes", "half-spaces", 2, planes)):
        logs = log_growth(kind, dim)(n)
        eps = math.sqrt(32 * (math.log(8) + logs + math.log(1 / delta)) / n)
        yield close(
            generalisation.vc_inequality(logs, n, eps).value, delta, f"{name}: bound at ε = {eps:.3f}", rtol=1e-9
        )
        yield frequency((found > eps).sum(), sets, delta, f"{name}: sup gap beyond this ε", side="at most")
        yield at_most(np.quantile(found, 0.9), eps / 3, f"{name}: 90% quantile of the sup gap against a third of ε")
    grid = np.geomspace(0.005, 1, 40)
    tail = kolmogorov(math.sqrt(n) * grid)
    bounds = [generalisation.vc_inequality(math.log(n + 1), n, e).log for e in grid]
    yield at_most(np.log(np.maximum(tail, 1e-300)), bounds, "thresholds: ln of the tail against ln of the bound, all ε")

    everything = generalisation.vc_inequality(n * math.log(2), n, 1.0)
    yield printed(
        exactly(everything.log >= 0, False, "all finite sets, whose gap is 1 at every n: does the inequality fail?"),
        "eth", "the inequality holds given uniform convergence",
    )  # fmt: skip
    rows = np.geomspace(10, 1e5, 60).astype(int)
    bound = np.array([generalisation.vc_inequality(math.log(m + 1), int(m), 0.1).value for m in rows])
    truth = kolmogorov(np.sqrt(rows) * 0.1)
    shown = [np.where(v > 1e-12, v, np.nan) for v in (bound, truth)]
    few = rows[::6]
    measured = [np.mean(_distances(rng, int(m), 100) > 0.1) for m in few[:5]]
    vacuous = generalisation.vc_vacuous_below(log_growth("thresholds"), 0.1)
    rare = math.ceil((kolmogi(0.01) / 0.1) ** 2)
    yield figure.curves(
        f"Thresholds, ε = 0.1: the bound says nothing below n = {vacuous}, the truth is below 1% from n = {rare}",
        x="rows n",
        y="P(sup gap > 0.1)",
        lines={"8 Π(n) e^(−nε²/32)": (rows, shown[0]), "exact": (rows, shown[1])},
        points={"simulated": (few[:5], np.where(np.array(measured) > 0, measured, np.nan))},
        rules={"vacuous above": ("y", 1.0)},
        log="xy",
    )


def _distances(rng, n: int, sets: int) -> np.ndarray:
    uniform = np.sort(rng.random((sets, n)), axis=1)
    steps = np.arange(1, n + 1) / n
    return np.maximum(steps - uniform, uniform - steps + 1 / n).max(axis=1)


@claim(
    "vc-sample-complexity",
    says=(
        "Three forms of the VC bound on the excess risk of empirical risk minimisation: (a) an order of rows, (b) a "
        "schematic formula whose constant is unproved, (c) 2√((V(ln(2n/V) + 1) + ln(4/δ))/n), which is a theorem for "
        "n ≥ V only. For half-planes (c) holds and is several times too large."
    ),
    formula=r"R(\hat f) - R^* \le 2 \sqrt{\frac{V (\ln(2n/V) + 1) + \ln(4/\delta)}{n}}, \quad n \ge V",
    sources=("penn",),
    assumes=("n ≥ V for (c)",),
    shows=("generalisation.vc_sample_orders", "generalisation.vc_schematic", "generalisation.vc_excess"),
)
def vc_sample_complexity(
    key,
    noise: Annotated[float, Range(0.0, 0.4)] = 0.2,
    delta: Annotated[float, Range(0.02, 0.2, log=True)] = 0.05,
    sets: Annotated[int, Range(100, 600)] = 300,
):
    """Half-planes through the origin (V = 2) on uniform angles, labels flipped with probability `noise`; exact
    empirical risk minimisation, exact excess risk."""
    rng = data.generator(key)
    confidence = 1 - delta
    rows = np.array([8, 25, 80, 250, 800])
    excess = {int(n): _excess(rng, int(n), sets, noise) for n in (1, *rows)}
    refined = [generalisation.vc_excess(2, int(n), confidence=confidence).value for n in rows]
    for n, bound in zip(rows, refined, strict=True):
        yield frequency((excess[int(n)] > bound).sum(), sets, delta, f"n = {n}: excess beyond (c) = {bound:.3f}",
                        side="at most")  # fmt: skip
    yield exactly(generalisation.vc_excess(1e8, 50_000).valid, False, "(c) with V > n: does it apply?")
    orders = generalisation.vc_sample_orders(2, 0.05, confidence=confidence)
    yield at_least(orders.classical, orders.tight, "(a) with ln(1/ε) against the tight order, ε = 0.05")
    coarse = [generalisation.vc_schematic(2, int(n), confidence=confidence).value for n in rows]
    yield at_most(coarse, refined, "(b) against (c) at every n: smaller, and unproved")

    radicand = (1e8 * (math.log(2 * 5e4 / 1e8) + 1) + math.log(4 / 0.05)) / 5e4
    yield close(radicand, -11816, "radicand of (c) at V = 1e8, n = 5e4", atol=0.5)
    yield printed(at_least(radicand, 0.0, "radicand of (c) at V = 1e8, n = 5e4"), "penn", "(c) without a range")
    yield printed(
        frequency((excess[1] > 0.05).sum(), sets, delta, "one row: excess beyond 0.05", side="at most"),
        "penn", "n = Ω((V/ε²) ln(1/ε) + ln(1/δ)/ε²) rows suffice, whatever the constant",
    )  # fmt: skip
    grid = np.unique(np.geomspace(8, 3000, 40).astype(int))
    quantiles = np.array([np.quantile(excess[int(n)], confidence) for n in rows])
    yield figure.curves(
        f"Half-planes, n = 800: (c) allows an excess of {refined[-1]:.2f}, measured {confidence:.0%} quantile "
        f"{quantiles[-1]:.3f}",
        x="rows n",
        y="excess risk",
        lines={
            "(a) tight order": (grid, np.sqrt((2 + math.log(1 / delta)) / grid)),
            "(b) schematic": (
                grid,
                [generalisation.vc_schematic(2, int(n), confidence=confidence).value for n in grid],
            ),
            "(c)": (grid, [generalisation.vc_excess(2, int(n), confidence=confidence).value for n in grid]),
        },
        points={"simulated quantile": (rows, np.where(quantiles > 0, quantiles, np.nan))},
        log="xy",
    )


def _excess(rng, n: int, sets: int, noise: float) -> np.ndarray:
    """The excess risk of the best half-plane on each of `sets` data sets: (1 − 2 noise) times the angle off, over π."""
    angles = rng.uniform(-np.pi, np.pi, (sets, n))
    labels = np.where(np.cos(angles) > 0, 1, -1) * np.where(rng.random((sets, n)) < noise, -1, 1)
    theta, _ = generalisation.best_half_plane(angles, labels)
    off = np.abs(np.mod(theta + np.pi, 2 * np.pi) - np.pi)
    return (1 - 2 * noise) * off / np.pi
