"""Crosstalk between patterns stored by Hebb's rule: the identity, the diagonal, its exact law, and one-step errors."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, memories
from leadline.evidence import Range, at_most, claim, close, counts_as, exactly, figure, mean, printed


def _whole_bars(sums: np.ndarray) -> tuple[np.ndarray, int]:
    """Whole numbers on a lattice and a number of bars that each take equally many lattice points."""
    steps = np.unique(np.diff(np.unique(sums)))
    step = int(np.gcd.reduce(steps)) if steps.size else 1
    points = int(sums.max() - sums.min()) // step
    each = max(1, round(points / 30))
    bins = max(1, points // each)
    return sums[sums <= sums.min() + step * each * bins], bins


@claim(
    "hopfield-crosstalk-identity",
    says="Under Hebb's rule with zero diagonal the field on a stored bit is (1 − 1/d) times the bit plus the crosstalk "
    "C of the other patterns; the bit is stable if and only if x C > −(1 − 1/d), ties by sgn(0) = +1.",
    formula=r"\sum_j w_{ij} x_{t,j} = \Big(1 - \frac{1}{d}\Big) x_{t,i} + C_{t,i}, \quad "
    r"C_{t,i} = \frac{1}{d} \sum_{r \ne t} \sum_{j \ne i} x_{r,i} x_{r,j} x_{t,j}",
    sources=("eth",),
)
def hopfield_crosstalk_identity(
    key, patterns: Annotated[int, Range(1, 100)] = 30, neurons: Annotated[int, Range(4, 256)] = 128
):
    """In whole numbers, so that identities are exact: fields from the weights, crosstalk from the overlaps."""
    from scipy.linalg import hadamard

    random = np.asarray(data.random_signs(patterns, neurons, key=key, dtype=int))
    power = 1 << (neurons.bit_length() - 1)
    orthogonal = hadamard(power)[:patterns].astype(int)
    for name, x in (("random", random), (f"orthogonal (d = {power})", orthogonal)):
        n, d = x.shape
        raw = x.T @ x  # d W before the diagonal is removed
        fields, crosstalk = x @ (raw - n * np.eye(d, dtype=int)), np.asarray(memories.crosstalk_sums(x))
        yield exactly(fields, (d - 1) * x + crosstalk, f"d h against (d − 1) x + d C, {name}")
        aligned = x * crosstalk
        stable = (aligned > -(d - 1)) | ((aligned == -(d - 1)) & (x == 1))
        network = memories.hebbian_network(x)
        yield exactly(
            np.asarray(memories.sgn(network.fields(x))) == x, stable, f"stable bits against x C > −(1 − 1/d), {name}"
        )
        settled = memories.asynchronous(network, x).flips == 0
        yield exactly(settled, stable.all(axis=1), f"patterns that stay against all their bits stable, {name}")
        yield exactly(settled, True, f"patterns that stay if every |C| < 1 − 1/d, {name}").given(
            (np.abs(crosstalk) < d - 1).all(), "every |C| < 1 − 1/d"
        )
        # With the diagonal and with j = i in the sum, signal 1 and threshold 1 are right; without the diagonal they
        # are not.
        overlap = x @ x.T
        np.fill_diagonal(overlap, 0)
        with_self = overlap @ x
        yield exactly(x @ raw, d * x + with_self, f"raw Hebbian weights: d h against d x + d C with j = i, {name}")
        yield printed(
            exactly(fields, d * x + with_self, f"zero diagonal: d h against d x + d C with j = i, {name}"),
            "eth",
            "h = x + C with C over all j, under w_ii = 0",
        )
        yield exactly(d * x + with_self - fields, n * x, f"error of the printed form against n x, {name}")
    n, d = orthogonal.shape
    yield exactly(
        memories.crosstalk_sums(orthogonal), -(n - 1) * orthogonal, "orthogonal patterns: d C against −(n − 1) x"
    )
    n, d = random.shape
    sums = (random * np.asarray(memories.crosstalk_sums(random))).ravel()
    shown, bins = _whole_bars(sums)
    yield figure.histogram(
        f"{np.mean(sums < -(d - 1)):.2%} of the stored bits lie beyond the threshold and are lost (n = {n}, d = {d})",
        x="x C, crosstalk along the stored bit",
        samples={"measured": shown / d},
        bins=bins,
        rules={"threshold −(1 − 1/d)": ("x", -(1 - 1 / d))},
    )


@claim(
    "hebbian-diagonal",
    says="Keeping the diagonal n/d of Hebb's rule steadies every stored bit: the one-step flip probability falls from "
    "Q(√((d−1)/(n−1))) to about Q((1+(n−1)/d)/√((n−1)(d−1)/d²)). The energy still never rises, as w_ii ≥ 0.",
    formula=r"p_{\mathrm{kept}} \approx Q\Big( \frac{1 + (n-1)/d}{\sqrt{(n-1)(d-1)/d^2}} \Big) "
    r"< p_{\mathrm{zero}} \approx Q\Big( \sqrt{\frac{d-1}{n-1}} \Big)",
    sources=("eth",),
    assumes=("the patterns are independent fair signs",),
)
def hebbian_diagonal(
    key,
    neurons: Annotated[int, Range(100, 2000)] = 1000,
    patterns: Annotated[int, Range(10, 400)] = 138,
    sets: Annotated[int, Range(20, 200)] = 60,
):
    """Flip rates of independent pattern sets, both ways; retrieval from noisy cues is shown, but not judged."""
    k_flips, k_descent, k_curve, k_retrieval = jax.random.split(key, 4)
    ways = {"zero diagonal": False, "diagonal kept": True}
    exact = {way: memories.bit_flip_probability(patterns, neurons, self_coupling=kept) for way, kept in ways.items()}
    products = (patterns - 1) * (neurons - 1)
    for way, kept in ways.items():
        counts = memories.sample_unstable_bits(
            patterns, neurons, sets=sets, key=k_flips, self_coupling=kept, observed=64
        )
        enough = exact[way] * counts.size * neurons >= 300
        yield mean(
            counts.mean(axis=1) / neurons,
            exact[way],
            f"flip rate against the exact law, {way}",
            confidence=1 - 0.01 / 2,
        ).given(enough, "at least 300 flips are expected")
        normal = memories.bit_flip_gaussian(patterns, neurons, self_coupling=kept)
        yield close(
            normal, exact[way], f"normal form against the exact law, {way}", atol=1 / np.sqrt(2 * np.pi * products)
        )
    yield at_most(
        exact["diagonal kept"],
        exact["zero diagonal"],
        "flip probability with the diagonal kept against without",
        strict=True,
    )

    x = data.random_signs(20, 100, key=k_descent)
    kept_weights = memories.hebbian(x, self_coupling=True)
    start = memories.flip_signs(x[0], 0.4, key=k_descent)
    yield at_most(
        np.diff(memories.trace(kept_weights, start, np.tile(np.arange(100), 4)).energies),
        0.0,
        "change of energy at a visit, diagonal kept",
        atol=1e-10,
    )

    loads = np.array([0.08, 0.12, 0.2, 0.3, 0.4])
    fine = np.geomspace(0.05, 0.5, 60)
    points, lines = {}, {}
    for way, kept in ways.items():
        found = [
            memories.sample_unstable_bits(
                round(a * 500), 500, sets=40, key=k_curve, self_coupling=kept, observed=40, slots=200
            )
            for a in loads
        ]
        points[way] = (loads, [float(np.mean(c)) / 500 for c in found])
        lines[way] = (fine, [memories.bit_flip_gaussian(a * 500, 500.0, self_coupling=kept) for a in fine])
    d, n, cues = 500, 40, 40
    truth = data.random_signs(n, d, key=k_retrieval)
    noisy = memories.flip_signs(truth[:cues], 0.3, key=k_retrieval)
    ends = {
        way: memories.asynchronous(memories.hebbian_network(truth, self_coupling=kept), noisy).states
        for way, kept in ways.items()
    }
    close_by = {way: float(np.mean(np.asarray((end * truth[:cues]).mean(axis=1)) > 0.95)) for way, end in ends.items()}
    yield figure.beside(
        f"With the diagonal kept, one-step errors at n/d = {patterns / neurons:.3g} fall from "
        f"{exact['zero diagonal']:.2g} to {exact['diagonal kept']:.2g}",
        figure.curves(
            "one-step errors, d = 500", x="load n/d", y="flip rate of a stored bit", log="y",
            lines=lines, points=points,
        ),
        figure.bars(
            "retrieval, n = 40, d = 500, 30% flipped", x="", y="share of cues ending with overlap > 0.95",
            values={"measured": close_by},
        ),
    )  # fmt: skip


@claim(
    "hopfield-crosstalk-law",
    says="For fair random signs the crosstalk on one stored bit is exactly binomial: d x C is a sum of (n−1)(d−1) "
    "independent fair signs, of mean 0 and variance (n−1)(d−1), so that x C tends to N(0, n/d).",
    formula=r"d\, x_{t,i} C_{t,i} = 2 \,\mathrm{Bin}\big((n-1)(d-1), \tfrac{1}{2}\big) - (n-1)(d-1)",
    sources=("eth",),
    assumes=("the patterns are independent fair signs", "one fixed bit"),
)
def hopfield_crosstalk_law(
    key,
    patterns: Annotated[int, Range(2, 60)] = 20,
    neurons: Annotated[int, Range(10, 300)] = 100,
    draws: Annotated[int, Range(500, 10000)] = 4000,
):
    """Each draw is a new set of patterns, of which one bit is looked at, so that draws are independent."""
    from scipy.stats import norm

    rng = data.generator(key)
    n, d, sums = patterns, neurons, []
    for size in [500] * (draws // 500) + [draws % 500] * (draws % 500 > 0):
        x = (2 * rng.integers(0, 2, size=(size, n, d), dtype=np.int8) - 1).astype(np.float32)
        aligned = np.einsum("srj,sj->sr", x[:, 1:, 1:], x[:, 0, 1:])  # overlaps with pattern 0, without bit 0
        sums.append((aligned * x[:, 1:, 0] * x[:, :1, 0]).sum(axis=1))
    s = np.concatenate(sums).astype(int)
    products, law = (n - 1) * (d - 1), memories.crosstalk_law(n, d)
    counts, level = np.bincount((s + products) // 2, minlength=products + 1), 1 - 0.01 / 3
    yield exactly(s % 2, products % 2, "parity of d x C against that of (n − 1)(d − 1)")
    yield counts_as(
        counts, law.pmf(np.arange(products + 1)), "one-bit law of d x C against the binomial", confidence=level
    )
    yield mean(s / d, 0.0, "mean of x C", confidence=level)
    yield mean((s / d) ** 2, products / d**2, "variance of x C against (n−1)(d−1)/d²", confidence=level)
    grid = np.arange(products + 1)
    gap = np.abs(law.cdf(grid) - norm.cdf((2 * grid - products) / np.sqrt(products))).max()
    yield at_most(
        gap, 0.56 / np.sqrt(products), "distance of the exact law from the normal one (Berry and Esseen)", trivial=0.5
    )

    spread, (shown, bins) = np.sqrt(n / d), _whole_bars(s)
    xs = np.linspace(-3.5 * spread, 3.5 * spread, 200)
    lattice = (2 * grid - products) / d
    near = np.abs(lattice) < 3.5 * spread
    thin = slice(None, None, max(1, int(near.sum()) // 300))
    ranks = (np.arange(1, 200) - 0.5) / 199
    yield figure.beside(
        f"Crosstalk on one bit is binomial with standard deviation {np.sqrt(products) / d:.3f}, measured "
        f"{np.sqrt(np.mean((s / d) ** 2)):.3f}; √(n/d) = {spread:.3f}",
        figure.histogram(
            "law of one bit", x="x C", samples={"measured": shown / d}, bins=bins,
            lines={
                "exact": (lattice[near][thin], law.pmf(grid)[near][thin] * d / 2),
                "N(0, n/d)": (xs, norm.pdf(xs, scale=spread)),
            },
        ),
        figure.curves(
            "quantiles against the normal limit", x="quantile of N(0, n/d)", y="quantile of x C",
            lines={"N(0, n/d)": (xs, xs)}, points={"measured": (spread * norm.ppf(ranks), np.quantile(s / d, ranks))},
        ),
    )  # fmt: skip


@claim(
    "hopfield-bit-flip",
    says="One update turns a stored bit round with probability P(S < −(d−1)) + P(S = −(d−1))/2 exactly, S a sum of "
    "(n−1)(d−1) fair signs; the normal form is Q(√((d−1)/(n−1))) and its limit Q(√(d/n)).",
    formula=r"p = P(S < -(d-1)) + \tfrac{1}{2} P(S = -(d-1)) \;\to\; Q\Big(\sqrt{d/n}\Big) = "
    r"\tfrac{1}{2}\Big(1 - \mathrm{erf}\sqrt{\tfrac{d}{2n}}\Big)",
    sources=("eth",),
    assumes=("the patterns are independent fair signs", "the diagonal of W is zero"),
)
def hopfield_bit_flip(
    key,
    neurons: Annotated[int, Range(50, 2000)] = 500,
    patterns: Annotated[int, Range(2, 1000)] = 100,
    sets: Annotated[int, Range(30, 200)] = 60,
):
    """Error rates of independent pattern sets; where fewer than 300 errors are expected there is nothing to judge."""
    from scipy.integrate import quad

    k_point, k_sweep = jax.random.split(key)
    loads, d = np.array([0.05, 0.1, 0.138, 0.2, 0.35, 0.6, 1.0]), 200
    cases = [
        (patterns, neurons, k_point),
        *((round(a * d), d, jax.random.fold_in(k_sweep, i)) for i, a in enumerate(loads)),
    ]
    rates = []
    for n, size, k in cases:
        # Slots of one size let the sweep over loads compile once.
        counts = memories.sample_unstable_bits(
            n, size, sets=sets, key=k, observed=64 if k is k_point else 10, slots=patterns if k is k_point else d
        )
        rates.append(counts.mean(axis=1) / size)
        exact = memories.bit_flip_probability(n, size)
        yield mean(
            rates[-1], exact, f"flip rate against the exact tail, n = {n}, d = {size}", confidence=1 - 0.01 / len(cases)
        ).given(exact * counts.size * size >= 300, "at least 300 errors are expected")
    exact, normal = memories.bit_flip_probability(patterns, neurons), memories.bit_flip_gaussian(patterns, neurons)
    yield close(
        normal,
        exact,
        "normal form against the exact tail",
        atol=1 / np.sqrt(2 * np.pi * (patterns - 1) * (neurons - 1)),
    )
    integral = np.array([quad(lambda z, a=a: np.exp(-(z**2) / (2 * a)), 1, np.inf)[0] for a in loads])
    yield close(
        integral / np.sqrt(2 * np.pi * loads),
        memories.bit_flip_limit(loads),
        "Q(√(d/n)) as a normal integral with its factor √(d/2πn)",
        rtol=1e-6,
    )
    yield printed(
        mean(rates[-1], integral[-1], "flip rate at n = d against the integral without its factor", confidence=0.99),
        "eth",
        "∫₁^∞ exp(−z² d/2n) dz without √(d/2πn)",
    )
    fine = np.linspace(0.04, 1.0, 100)
    whole = np.arange(8, d + 1)
    yield figure.curves(
        f"At n/d = 1 one update loses {rates[-1].mean():.1%} of the stored bits: exact "
        f"{memories.bit_flip_probability(d, d):.1%}, printed {integral[-1]:.1%}",
        x="load n/d", y="flip rate of a stored bit", log="y",
        lines={
            f"exact, d = {d}": (whole / d, memories.bit_flip_probability(whole, np.full(len(whole), d))),
            "limit Q(√(d/n))": (fine, memories.bit_flip_limit(fine)),
            "printed": (fine, np.sqrt(2 * np.pi * fine) * memories.bit_flip_limit(fine)),
        },
        points={f"measured, d = {d}": (loads, [r.mean() if r.mean() > 0 else np.nan for r in rates[1:]])},
    )  # fmt: skip
