"""How much Hebb's rule can hold: nearly all of each pattern up to a critical load, or every bit up to d over ln d."""

from typing import Annotated

import jax
import numpy as np

from leadline import memories
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, frequency, mean, printed, smaller


@claim(
    "hopfield-capacity-transition",
    says="Run to the end from a stored pattern, the network keeps an overlap close to 1 up to a load n/d of 0.138 "
    "patterns per neuron and loses it beyond; the one-step errors show no such jump.",
    formula=r"y \Big( \sqrt{2\alpha} + \tfrac{2}{\sqrt{\pi}} e^{-y^2} \Big) = \mathrm{erf}(y), \quad "
    r"m = \mathrm{erf}(y), \quad \alpha_c = 0.137906, \quad m_c = 0.9674",
    sources=("eth",),
    assumes=("the patterns are independent fair signs", "d is large"),
)
def hopfield_capacity_transition(
    key,
    neurons: Annotated[int, Range(500, 4000, log=True)] = 1000,
    load: Annotated[float, Range(0.04, 0.2)] = 0.11,
):
    """Independent pattern sets, more of them for smaller networks; compared with networks of a fifth of the neurons."""
    from scipy.special import erf

    k_large, k_small, k_middle, k_wrong = jax.random.split(key, 4)
    point, ys = memories.critical_load(), np.linspace(1e-3, 6, 20_001)
    yield close(point.load, 0.137906, "critical load", atol=5e-7)
    yield close(point.overlap, 0.9674, "overlap at the critical load", atol=5e-5)
    residual = ys * (np.sqrt(2 * point.load * 1.0001) + 2 / np.sqrt(np.pi) * np.exp(-(ys**2))) - erf(ys)
    yield at_least(residual.min(), 0.0, "no root just above the critical load", strict=True)
    roots = np.array([memories.mean_field_overlap(a) for a in (0.05, 0.1, 0.12, 0.13)])
    yield close(roots, [1.0, 0.998, 0.993, 0.987], "mean-field overlap at loads 0.05, 0.10, 0.12, 0.13", atol=5e-4)

    # The largest networks take many sweeps beyond the transition: fewer loads, and no network of half the size.
    huge = neurons > 2000
    loads = np.unique([0.05, 0.10, 0.12, 0.13, 0.14, *(() if huge else (0.15,)), 0.16, 0.18, load])
    sizes = {
        d: (int(np.clip(8000 // d, 8, 48)), int(np.clip(16_000 // d, 4, 0.04 * d)))
        for d in (neurons, *(() if huge else (neurons // 2,)), neurons // 5)
    }
    overlaps = {}
    for (d, (sets, cues)), k in zip(sizes.items(), (k_large, k_small, k_middle), strict=False):
        counts = tuple(round(a * d) for a in loads)
        found = memories.retrieved_overlaps(counts, d, sets=sets, cues=cues, key=k)
        overlaps[d] = np.asarray(found).mean(axis=2)  # (loads, sets)
    large, small = overlaps[neurons], overlaps[neurons // 5]
    below = np.flatnonzero(loads <= 0.12)
    for i in below:
        theory = memories.mean_field_overlap(round(loads[i] * neurons) / neurons)
        for side, edge in (("at least", theory - 0.01), ("at most", theory + 0.01)):
            yield mean(
                large[i],
                edge,
                f"overlap at load {loads[i]:.3g}: {side} theory {'−' if side == 'at least' else '+'} 0.01",
                side=side,
                confidence=1 - 0.01 / (2 * len(below)),
            ).given(neurons >= 1000, "d is at least 1000")
    low, high = np.searchsorted(loads, (0.12, 0.18))
    yield smaller(
        small[low] - small[high],
        large[low] - large[high],
        f"fall of the overlap from load 0.12 to 0.18: d = {neurons // 5} against {neurons}",
    )
    one_step = memories.bit_flip_limit(np.array([point.load - 0.001, point.load + 0.001]))
    yield at_most(
        2 * (one_step[1] - one_step[0]), 0.001, "fall of the overlap after one step, across the critical load"
    )
    beyond = np.asarray(memories.retrieved_overlaps((round(100 / 0.14),), 100, sets=8, cues=20, key=k_wrong)).mean(
        axis=2
    )
    yield printed(
        mean(beyond, 0.9, "overlap at d/n = 0.14", side="at least"), "eth", "the critical ratio is d/n = 0.138"
    )
    curve = np.append(np.linspace(0.03, point.load - 1e-9, 80), point.load - 1e-12)
    fine = np.linspace(0.03, 0.2, 60)
    yield figure.curves(
        f"Up to load {point.load:.3f} patterns are kept, beyond it they are lost; the fall sharpens with d "
        f"({large[low].mean():.2f} → {large[high].mean():.2f} at d = {neurons})",
        x="load n/d, patterns per neuron",
        y="final overlap m with the stored pattern",
        lines={
            "mean field": (curve, [memories.mean_field_overlap(a) for a in curve]),
            "after one step": (fine, 1 - 2 * memories.bit_flip_limit(fine)),
        },
        points={f"d = {d}": (loads, m.mean(axis=1)) for d, m in overlaps.items()},
        rules={f"{point.load:.3f}": ("x", point.load)},
    )


@claim(
    "hopfield-capacity-log-bound",
    says="Without any error, one given pattern is stored with probability → 1 up to n = d/(2 ln d), and all n patterns "
    "up to n = d/(4 ln d); at finite d the products (1−p)^d and (1−p)^{nd} give the limits.",
    formula=r"P(\text{one}) \approx (1-p)^d \to 1 \text{ at } n = \frac{d}{2 \ln d}, \qquad "
    r"P(\text{all}) \approx (1-p)^{nd} \to 1 \text{ at } n = \frac{d}{4 \ln d}",
    sources=("eth",),
    assumes=("the patterns are independent fair signs",),
)
def hopfield_capacity_log_bound(
    key,
    neurons: Annotated[int, Range(100, 1500)] = 1000,
    probability: Annotated[float, Range(0.8, 0.99)] = 0.95,
    sets: Annotated[int, Range(100, 600)] = 300,
):
    """Independent pattern sets at the predicted limits: shares of stable patterns, and of sets stable as a whole."""
    one, everything = (
        memories.perfect_storage_limit(neurons, patterns=p, probability=probability) for p in ("one", "all")
    )
    k_one, k_all, k_curve = jax.random.split(key, 3)
    # Unstable bits come in company (they share the overlaps of the patterns), so the products understate the chance
    # a little, by Jensen's inequality: at the limit it is at least the product, a third beyond it has been lost.
    more, level = {"one": -(-4 * one // 3), "all": -(-4 * everything // 3)}, 1 - 0.01 / 4
    cases = (("one", k_one, one), ("one", k_one, more["one"]), ("all", k_all, everything), ("all", k_all, more["all"]))
    at = {
        (name, n): memories.sample_unstable_bits(n, neurons, sets=sets, key=jax.random.fold_in(k, n), slots=more["one"])
        == 0
        for name, k, n in cases
    }
    yield mean(
        at["one", one].mean(axis=1),
        memories.perfect_storage(one, neurons),
        f"share of stable patterns at n = {one}, at least (1 − p)^d",
        side="at least",
        confidence=level,
    )
    yield mean(
        at["one", more["one"]].mean(axis=1),
        probability,
        f"share of stable patterns at n = {more['one']}, at most {probability:.3g}",
        side="at most",
        confidence=level,
    )
    yield frequency(
        at["all", everything].all(axis=1).sum(),
        sets,
        memories.perfect_storage(everything, neurons, patterns="all"),
        f"share of sets without any error at n = {everything}, at least (1 − p)^{{nd}}",
        side="at least",
        confidence=level,
    )
    yield frequency(
        at["all", more["all"]].all(axis=1).sum(),
        sets,
        probability,
        f"share of sets without any error at n = {more['all']}, at most {probability:.3g}",
        side="at most",
        confidence=level,
    )
    limits = {
        d: tuple(memories.perfect_storage_limit(d, patterns=p) for p in ("one", "all")) for d in (100, 500, 1000, 4000)
    }
    yield exactly(
        [limits[d] for d in limits],
        [(10, 7), (37, 25), (67, 45), (226, 147)],
        "95% limits (one, all) at d = 100, 500, 1000, 4000",
    )

    huge = np.geomspace(1e4, 1e16, 7)
    for name, divisor in (("one", 2), ("all", 4)):
        at = [
            memories.expected_unstable_bits(c * huge / (divisor * np.log(huge)), huge, patterns=name)
            for c in (1.0, 1.3)
        ]
        yield at_most(
            np.diff(at[0]), 0.0, f"change with d of the expected errors at n = d/({divisor} ln d), {name}", strict=True
        )
        yield at_least(np.diff(at[1]), 0.0, f"the same at 1.3 times that n, {name}", strict=True)
    binary = huge / (2 * np.log2(huge))
    yield printed(
        at_most(
            memories.expected_unstable_bits(binary, huge, patterns="all"),
            1.0,
            "expected errors in all patterns at n = d/(2 log₂ d)",
        ),
        "eth",
        "all patterns are stable up to n = d/(2 log₂ d)",
    )
    yield printed(
        at_least(
            memories.expected_unstable_bits(1.3 * binary, huge)[-1],
            1.0,
            "expected errors in one pattern at 1.3 d/(2 log₂ d), d = 10¹⁶",
        ),
        "eth",
        "one pattern is stable only up to n = d/(2 log₂ d)",
    )

    sizes, found = np.array([100, 200, 400, 800]), {"one": [], "all": []}
    for d in sizes:
        top = round(1.5 * memories.perfect_storage_limit(int(d), probability=probability))
        grid = np.unique(np.linspace(0.35 * top, top, 7).astype(int))
        shares = np.array(
            [
                [s.mean(), s.all(axis=1).mean()]
                for s in (
                    memories.sample_unstable_bits(int(n), int(d), sets=100, key=k_curve, slots=top) == 0 for n in grid
                )
            ]
        )
        for i, name in enumerate(found):  # where the measured share, made monotone, crosses the probability
            found[name].append(np.interp(-probability, -np.minimum.accumulate(shares[:, i]), grid))
    fine = np.geomspace(80, 1500, 60)
    yield figure.curves(
        f"{probability:.0%} limits at d = {neurons}: n = {one} for one given pattern, n = {everything} for all; "
        f"the printed bound says {int(neurons / (2 * np.log2(neurons)))}",
        x="neurons d", y="patterns n", log="xy",
        lines={
            "d/(2 ln d), one pattern": (fine, fine / (2 * np.log(fine))),
            "d/(4 ln d), all": (fine, fine / (4 * np.log(fine))),
            "printed d/(2 log2 d)": (fine, fine / (2 * np.log2(fine))),
        },
        points={f"measured, {name}": (sizes, found[name]) for name in found},
    )  # fmt: skip
