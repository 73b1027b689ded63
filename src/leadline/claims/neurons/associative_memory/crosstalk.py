"""Crosstalk of patterns stored by Hebb's rule: the identity, the diagonal, the exact distribution, one-step errors."""

import jax
import numpy as np

from leadline import data, memories
from leadline.evidence import Int, at_most, claim, close, counts_as, erratum, exactly, mean
from leadline.memories.crosstalk import bit_flip_gaussian, bit_flip_probability, crosstalk_law, crosstalk_sums
from leadline.memories.dynamics import trace
from leadline.memories.hopfield import sgn
from leadline.presentation import figure


def _whole_bars(sums: np.ndarray) -> tuple[np.ndarray, int]:
    """Whole numbers on a lattice and a number of bars that each take equally many lattice points."""
    steps = np.unique(np.diff(np.unique(sums)))
    step = int(np.gcd.reduce(steps)) if steps.size else 1
    points = int(sums.max() - sums.min()) // step
    each = max(1, round(points / 30))
    bins = max(1, points // each)
    return sums[sums <= sums.min() + step * each * bins], bins


@claim(sources=("eth",))
def hopfield_crosstalk_identity(key, patterns: Int(1, 100) = 30, neurons: Int(4, 256) = 128):
    r"""Signal and crosstalk in a Hopfield network.

    Under Hebb's rule with zero diagonal, the field on a stored bit x is (1 − 1/d) times the bit plus the crosstalk C
    of the other patterns. The bit is stable if and only if xC > −(1 − 1/d), with ties decided by sgn(0) = +1.

    $$\sum_j w_{ij} x_{t,j} = \Big(1 - \frac{1}{d}\Big) x_{t,i} + C_{t,i}, \quad C_{t,i} = \frac{1}{d} \sum_{r \ne t}
    \sum_{j \ne i} x_{r,i} x_{r,j} x_{t,j}$$

    Check: All arithmetic is in whole numbers, so that the identities are exact.
    """
    from scipy.linalg import hadamard

    random = np.asarray(data.random_signs(patterns, neurons, key=key, dtype=int))
    power = 1 << (neurons.bit_length() - 1)
    orthogonal = hadamard(power)[:patterns].astype(int)
    for name, x in (("random", random), (f"orthogonal (d = {power})", orthogonal)):
        n, d = x.shape
        raw = x.T @ x  # d W before the diagonal is removed
        fields, crosstalk = x @ (raw - n * np.eye(d, dtype=int)), np.asarray(crosstalk_sums(x))
        yield exactly(fields, (d - 1) * x + crosstalk, f"d h against (d − 1) x + d C, {name}")
        aligned = x * crosstalk
        stable = (aligned > -(d - 1)) | ((aligned == -(d - 1)) & (x == 1))
        network = memories.hebbian_network(x)
        kept = np.asarray(sgn(network.fields(x))) == x
        yield exactly(kept, stable, f"stable bits against x C > −(1 − 1/d), {name}")
        settled = memories.asynchronous(network, x).flips == 0
        yield exactly(settled, stable.all(axis=1), f"patterns that stay against all their bits stable, {name}")
        lost = exactly((~settled).sum(), 0, f"patterns that do not stay though every |C| < 1 − 1/d, {name}")
        yield lost.given((np.abs(crosstalk) < d - 1).all(), "every |C| < 1 − 1/d")
        # With the diagonal, and j = i in the sum, signal 1 and threshold 1 are right; without it they are off by n x.
        overlap = x @ x.T
        np.fill_diagonal(overlap, 0)
        with_self = overlap @ x
        yield exactly(x @ raw, d * x + with_self, f"raw Hebbian weights: d h against d x + d C with j = i, {name}")
        off = d * x + with_self - fields
        yield exactly(off, n * x, f"zero diagonal: d x + d C with j = i, less d h, against n x, {name}")
    n, d = orthogonal.shape
    crosstalk = crosstalk_sums(orthogonal)
    yield exactly(crosstalk, -(n - 1) * orthogonal, "orthogonal patterns: d C against −(n − 1) x")
    n, d = random.shape
    sums = (random * np.asarray(crosstalk_sums(random))).ravel()
    shown, bins = _whole_bars(sums)
    title = f"{np.mean(sums < -(d - 1)):.2%} of the stored bits lie beyond the threshold (n = {n}, d = {d})"
    samples, rules = {"measured": shown / d}, {"threshold −(1 − 1/d)": ("x", -(1 - 1 / d))}
    yield figure.histogram(title, "x C, crosstalk along the stored bit", samples=samples, bins=bins, rules=rules)


@claim(sources=("eth",))
def hebbian_diagonal(key, neurons: Int(100, 2000) = 1000, patterns: Int(10, 400) = 138, sets: Int(20, 200) = 60):
    r"""Self-coupling in Hebb's rule.

    Keeping the diagonal n/d of Hebb's rule stabilises every stored bit: the one-step flip probability falls from
    $Q\big(\sqrt{(d-1)/(n-1)}\big)$ to about $Q\Big(\frac{1+(n-1)/d}{\sqrt{(n-1)(d-1)/d^2}}\Big)$. The energy still
    never rises, as wᵢᵢ ≥ 0.

    $$p_{\mathrm{kept}} \approx Q\Big( \frac{1 + (n-1)/d}{\sqrt{(n-1)(d-1)/d^2}} \Big) < p_{\mathrm{zero}} \approx
    Q\Big( \sqrt{\frac{d-1}{n-1}} \Big)$$

    Assumes: the patterns are independent fair signs.

    Check: Retrieval from noisy cues is shown but not judged.
    """
    k_flips, k_descent, k_curve, k_retrieval = jax.random.split(key, 4)
    ways = {"zero diagonal": False, "diagonal kept": True}
    exact = {way: bit_flip_probability(patterns, neurons, self_coupling=kept) for way, kept in ways.items()}
    products = (patterns - 1) * (neurons - 1)
    for way, kept in ways.items():
        settings = {"sets": sets, "key": k_flips, "self_coupling": kept, "observed": 64}
        counts = memories.sample_unstable_bits(patterns, neurons, **settings)
        enough = exact[way] * counts.size * neurons >= 300
        what = f"flip rate against the exact probability, {way}"
        rate = mean(counts.mean(axis=1) / neurons, exact[way], what, confidence=1 - 0.01 / 2)
        yield rate.given(enough, "at least 300 flips are expected")
        normal, atol = bit_flip_gaussian(patterns, neurons, self_coupling=kept), (2 * np.pi * products) ** -0.5
        yield close(normal, exact[way], f"normal form against the exact probability, {way}", atol=atol)
    what = "flip probability with the diagonal kept against without"
    yield at_most(exact["diagonal kept"], exact["zero diagonal"], what, strict=True)
    x = data.random_signs(20, 100, key=k_descent)
    kept_weights = memories.hebbian(x, self_coupling=True)
    start = memories.flip_signs(x[0], 0.4, key=k_descent)
    energies = trace(kept_weights, start, np.tile(np.arange(100), 4)).energies
    yield at_most(np.diff(energies), 0.0, "change of energy at a visit, diagonal kept", atol=1e-10)
    loads = np.array([0.08, 0.12, 0.2, 0.3, 0.4])
    fine = np.geomspace(0.05, 0.5, 60)
    points, lines = {}, {}
    for way, kept in ways.items():
        settings = {"sets": 40, "key": k_curve, "self_coupling": kept, "observed": 40, "slots": 200}
        found = [memories.sample_unstable_bits(round(a * 500), 500, **settings) for a in loads]
        points[way] = (loads, [float(np.mean(c)) / 500 for c in found])
        lines[way] = (fine, [bit_flip_gaussian(a * 500, 500.0, self_coupling=kept) for a in fine])
    d, n, cues = 500, 40, 40
    truth = data.random_signs(n, d, key=k_retrieval)
    noisy = memories.flip_signs(truth[:cues], 0.3, key=k_retrieval)
    values = {"measured": {}}
    for way, kept in ways.items():
        end = memories.asynchronous(memories.hebbian_network(truth, self_coupling=kept), noisy).states
        values["measured"][way] = np.mean(np.asarray((end * truth[:cues]).mean(axis=1)) > 0.95)
    rate, share = "flip rate of a stored bit", "share of cues ending with overlap > 0.95"
    title = f"One-step errors: {exact['zero diagonal']:.2g} without the diagonal, {exact['diagonal kept']:.2g} with it"
    left = figure.curves("one-step errors, d = 500", "load n/d", rate, log="y", lines=lines, points=points)
    yield figure.beside(title, left, figure.bars("retrieval, n = 40, d = 500, 30% flipped", "", share, values=values))


@claim(sources=("eth",))
def hopfield_crosstalk_law(key, patterns: Int(2, 60) = 20, neurons: Int(10, 300) = 100, draws: Int(500, 10000) = 4000):
    r"""The crosstalk is exactly binomial.

    For fair random signs the crosstalk on one stored bit is exactly binomial: d·xC is a sum of (n−1)(d−1) independent
    fair signs, with mean 0 and variance (n−1)(d−1), so that the distribution of xC tends to N(0, n/d).

    $$d\, x_{t,i} C_{t,i} = 2 \,\mathrm{Bin}\big((n-1)(d-1), \tfrac{1}{2}\big) - (n-1)(d-1)$$

    Assumes: the patterns are independent fair signs; one fixed bit.

    Check: Each draw is a new set of patterns, of which only one bit is examined, so that the draws are independent.
    """
    from scipy.stats import norm

    rng = data.generator(key)
    n, d, sums = patterns, neurons, []
    for size in [500] * (draws // 500) + [draws % 500] * (draws % 500 > 0):
        x = (2 * rng.integers(0, 2, size=(size, n, d), dtype=np.int8) - 1).astype(np.float32)
        aligned = np.einsum("srj,sj->sr", x[:, 1:, 1:], x[:, 0, 1:])  # overlaps with pattern 0, without bit 0
        sums.append((aligned * x[:, 1:, 0] * x[:, :1, 0]).sum(axis=1))
    s = np.concatenate(sums).astype(int)
    products, exact = (n - 1) * (d - 1), crosstalk_law(n, d)
    counts = np.bincount((s + products) // 2, minlength=products + 1)
    level = 1 - 0.001 / 3  # three tests of one sample: together they miss once in a thousand runs
    yield exactly(s % 2, products % 2, "parity of d x C against that of (n − 1)(d − 1)")
    grid = np.arange(products + 1)
    yield counts_as(counts, exact.pmf(grid), "d x C of one bit against the binomial distribution", confidence=level)
    yield mean(s / d, 0.0, "mean of x C", confidence=level, deviation=np.sqrt(products) / d)
    fourth = np.sqrt(2 * products * (products - 1)) / d**2  # the standard deviation of (xC)²
    what = "variance of x C against (n−1)(d−1)/d²"
    yield mean((s / d) ** 2, products / d**2, what, confidence=level, deviation=fourth)
    gap = np.abs(exact.cdf(grid) - norm.cdf((2 * grid - products) / np.sqrt(products))).max()
    what = "distance of the exact distribution from the normal one (Berry and Esseen)"
    yield at_most(gap, 0.56 / np.sqrt(products), what, trivial=0.5)
    spread, (shown, bins) = np.sqrt(n / d), _whole_bars(s)
    xs = np.linspace(-3.5 * spread, 3.5 * spread, 200)
    lattice = (2 * grid - products) / d
    near = np.abs(lattice) < 3.5 * spread
    thin = slice(None, None, max(1, int(near.sum()) // 300))
    ranks = (np.arange(1, 200) - 0.5) / 199
    density = {
        "exact": (lattice[near][thin], exact.pmf(grid)[near][thin] * d / 2),
        "N(0, n/d)": (xs, norm.pdf(xs, scale=spread)),
    }
    lines = {"N(0, n/d)": (xs, xs)}
    points = {"measured": (spread * norm.ppf(ranks), np.quantile(s / d, ranks))}
    title, axes = "quantiles against the normal limit", ("quantile of N(0, n/d)", "quantile of x C")
    title = f"Crosstalk on one bit has standard deviation {np.std(s / d):.3f}, exactly {np.sqrt(products) / d:.3f}"
    left = figure.histogram("one bit", "x C", samples={"measured": shown / d}, bins=bins, lines=density)
    yield figure.beside(title, left, figure.curves(title, *axes, lines=lines, points=points))


@claim(sources=("eth",))
def hopfield_bit_flip(key, neurons: Int(50, 2000) = 500, patterns: Int(2, 1000) = 100, sets: Int(30, 200) = 60):
    r"""Bit-flip probability of a Hopfield network.

    One update flips a stored bit with probability exactly P(S < −(d−1)) + P(S = −(d−1))/2, where S is a sum of
    (n−1)(d−1) fair signs. The normal approximation is $Q\big(\sqrt{(d-1)/(n-1)}\big)$, and its limit is
    $Q\big(\sqrt{d/n}\big)$.

    $$p = P(S < -(d-1)) + \tfrac{1}{2} P(S = -(d-1)) \;\to\; Q\Big(\sqrt{d/n}\Big) = \tfrac{1}{2}\Big(1 -
    \mathrm{erf}\sqrt{\tfrac{d}{2n}}\Big)$$

    Assumes: the patterns are independent fair signs; the diagonal of W is zero.

    Check: Where fewer than 300 errors are expected, no judgement is made.
    """
    from scipy.integrate import quad

    k_point, k_sweep = jax.random.split(key)
    loads, d = np.array([0.05, 0.1, 0.138, 0.2, 0.35, 0.6, 1.0]), 200
    # Slots of one size let the sweep over loads compile once.
    cases = [(patterns, neurons, k_point, 64, patterns)]
    cases += [(round(a * d), d, jax.random.fold_in(k_sweep, i), 10, d) for i, a in enumerate(loads)]
    rates, level = [], 1 - 0.01 / len(cases)
    for n, size, k, observed, slots in cases:
        counts = memories.sample_unstable_bits(n, size, sets=sets, key=k, observed=observed, slots=slots)
        rates.append(counts.mean(axis=1) / size)
        exact = bit_flip_probability(n, size)
        rate = mean(rates[-1], exact, f"flip rate against the exact tail, n = {n}, d = {size}", confidence=level)
        yield rate.given(exact * counts.size * size >= 300, "at least 300 errors are expected")
    exact, normal = bit_flip_probability(patterns, neurons), bit_flip_gaussian(patterns, neurons)
    atol = (2 * np.pi * (patterns - 1) * (neurons - 1)) ** -0.5
    yield close(normal, exact, "normal form against the exact tail", atol=atol)
    integral = np.array([quad(lambda z, a=a: np.exp(-(z**2) / (2 * a)), 1, np.inf)[0] for a in loads])
    what = "normal integral with its factor √(d/2πn), against Q(√(d/n))"
    right = close(integral / np.sqrt(2 * np.pi * loads), memories.bit_flip_limit(loads), what, rtol=1e-6)
    yield right
    wrong = mean(rates[-1], integral[-1], "flip rate at n = d against the integral without its factor", confidence=0.99)
    yield erratum(wrong, of=right, by="eth", prints="∫₁^∞ exp(−z² d/(2n)) dz, without the factor √(d/(2πn))")
    fine, whole = np.linspace(0.04, 1.0, 100), np.arange(8, d + 1)
    title = (
        f"At n/d = 1 one update loses {rates[-1].mean():.1%} of the stored bits; without the factor {integral[-1]:.1%}"
    )
    lines = {
        f"exact, d = {d}": (whole / d, bit_flip_probability(whole, np.full(len(whole), d))),
        "limit Q(√(d/n))": (fine, memories.bit_flip_limit(fine)),
        "without its factor": (fine, np.sqrt(2 * np.pi * fine) * memories.bit_flip_limit(fine)),
    }
    points = {f"measured, d = {d}": (loads, [r.mean() for r in rates[1:]])}
    yield figure.curves(title, "load n/d", "flip rate of a stored bit", log="y", lines=lines, points=points)
