"""How much Hebb's rule can hold: nearly all of each pattern up to a critical load, or every bit up to d over ln d."""

from functools import partial

import jax
import numpy as np

from leadline import memories
from leadline.evidence import Int, Real, at_least, at_most, claim, erratum, exactly, frequency, mean, reference, smaller
from leadline.memories.capacity import (
    expected_unstable_bits,
    perfect_storage,
    perfect_storage_limit,
    retrieved_overlaps,
)
from leadline.presentation import figure


@claim(sources=("eth",))
def hopfield_capacity_transition(key, neurons: Int(500, 4000, log=True) = 1000, load: Real(0.04, 0.2) = 0.11):
    r"""Hopfield capacity of 0.138 d.

    Run to convergence from a stored pattern, the network keeps an overlap close to 1 up to a load n/d of 0.138
    patterns per neuron and loses it beyond. The one-step errors show no such jump.

    $$y \Big( \sqrt{2\alpha} + \tfrac{2}{\sqrt{\pi}} e^{-y^2} \Big) = \mathrm{erf}(y), \quad m = \mathrm{erf}(y), \quad
    \alpha_c = 0.137906, \quad m_c = 0.9674$$

    Assumes: the patterns are independent fair signs; d is large.

    Check: Independent sets of patterns are used, more of them for smaller networks, and the results are compared with
    networks of a fifth of the neurons.
    """
    from scipy.special import erf

    k_large, k_small, k_middle, k_wrong = jax.random.split(key, 4)
    point, ys = memories.critical_load(), np.linspace(1e-3, 6, 20_001)
    yield reference(point.load, 0.137906, "critical load n/d of a Hopfield network", digits=6)
    yield reference(point.overlap, 0.9674, "overlap at the critical load", digits=4)
    residual = ys * (np.sqrt(2 * point.load * 1.0001) + 2 / np.sqrt(np.pi) * np.exp(-(ys**2))) - erf(ys)
    what = "left less right side of the equation just above the critical load: no root"
    yield at_least(residual.min(), 0.0, what, strict=True)
    roots = [memories.mean_field_overlap(a) for a in (0.05, 0.1, 0.12, 0.13)]
    yield reference(roots[0], 1.0, "mean-field overlap at load 0.05", digits=4)
    yield reference(roots[1:], [0.998, 0.993, 0.987], "mean-field overlap at loads 0.10, 0.12, 0.13", digits=3)
    # The largest networks take many sweeps beyond the transition: fewer loads, and no network of half the size.
    huge = neurons > 2000
    loads = np.unique([0.05, 0.10, 0.12, 0.13, 0.14, *(() if huge else (0.15,)), 0.16, 0.18, load])
    sizes = (neurons, *(() if huge else (neurons // 2,)), neurons // 5)
    overlaps = {}
    for d, k in zip(sizes, (k_large, k_small, k_middle), strict=False):
        sets, cues = int(np.clip(8000 // d, 8, 48)), int(np.clip(16_000 // d, 4, 0.04 * d))
        counts = tuple(round(a * d) for a in loads)
        found = retrieved_overlaps(counts, d, sets=sets, cues=cues, key=k)
        overlaps[d] = np.asarray(found).mean(axis=2)  # (loads, sets)
    large, small = overlaps[neurons], overlaps[neurons // 5]
    below = np.flatnonzero(loads <= 0.12)
    for i in below:
        theory = memories.mean_field_overlap(round(loads[i] * neurons) / neurons)
        for side, off in (("at least", -0.01), ("at most", 0.01)):
            what, confidence = f"overlap at load {loads[i]:.3g}: {side} theory {off:+.2f}", 1 - 0.01 / (2 * len(below))
            near = mean(large[i], theory + off, what, side=side, confidence=confidence)
            yield near.given(neurons >= 1000, "d is at least 1000")
    low, high = np.searchsorted(loads, (0.12, 0.18))
    what = f"fall of the overlap from load 0.12 to 0.18: d = {neurons // 5} against {neurons}"
    sharper = smaller(small[low] - small[high], large[low] - large[high], what)
    yield sharper
    one_step = memories.bit_flip_limit(np.array([point.load - 0.001, point.load + 0.001]))
    fall = 2 * (one_step[1] - one_step[0])
    yield at_most(fall, 0.001, "fall of the overlap after one step, across the critical load")
    beyond = np.asarray(retrieved_overlaps((round(100 / 0.14),), 100, sets=8, cues=20, key=k_wrong))
    wrong = mean(beyond.mean(axis=2), 0.9, "overlap at d/n = 0.14", side="at least")
    prints = "d/n = 0.138, in the version of February 2025 (n/d in that of November 2024)"
    yield erratum(wrong, of=sharper, by="eth", prints=prints)
    curve = np.append(np.linspace(0.03, point.load - 1e-9, 80), point.load - 1e-12)
    fine = np.linspace(0.03, 0.2, 60)
    title = f"Up to load {point.load:.3f} patterns are kept, beyond it they are lost; the fall sharpens with d"
    lines = {
        "mean field": (curve, [memories.mean_field_overlap(a) for a in curve]),
        "after one step": (fine, 1 - 2 * memories.bit_flip_limit(fine)),
    }
    points = {f"d = {d}": (loads, m.mean(axis=1)) for d, m in overlaps.items()}
    axes, rules = ("load n/d, patterns per neuron", "final overlap m"), {f"{point.load:.3f}": ("x", point.load)}
    yield figure.curves(title, *axes, lines=lines, points=points, rules=rules)


@claim(sources=("eth",))
def hopfield_capacity_log_bound(
    key, neurons: Int(100, 1500) = 1000, probability: Real(0.8, 0.99) = 0.95, sets: Int(100, 600) = 300
):
    r"""Error-free Hopfield capacity, d/(2 ln d).

    Without any error, one given pattern is stored with probability → 1 up to n = d/(2 ln d), and all n patterns up to
    n = d/(4 ln d). At finite d the limits follow from the products (1−p)ᵈ and (1−p)ⁿᵈ.

    $$P(\text{one}) \approx (1-p)^d \to 1 \text{ at } n = \frac{d}{2 \ln d}, \qquad P(\text{all}) \approx (1-p)^{nd}
    \to 1 \text{ at } n = \frac{d}{4 \ln d}$$

    Assumes: the patterns are independent fair signs.
    """
    limit = partial(perfect_storage_limit, probability=probability)
    one, everything = (limit(neurons, patterns=p) for p in ("one", "all"))
    k_one, k_all, k_curve = jax.random.split(key, 3)
    # Unstable bits come in company (they share the overlaps of the patterns), so the products understate the chance
    # a little, by Jensen's inequality: at the limit it is at least the product, a third beyond it has been lost.
    more, level = {"one": -(-4 * one // 3), "all": -(-4 * everything // 3)}, 1 - 0.01 / 4
    cases = (("one", k_one, one), ("one", k_one, more["one"]), ("all", k_all, everything), ("all", k_all, more["all"]))
    draw = partial(memories.sample_unstable_bits, sets=sets, slots=more["one"])
    at = {(name, n): draw(n, neurons, key=jax.random.fold_in(k, n)) == 0 for name, k, n in cases}
    shares, product = at["one", one].mean(axis=1), perfect_storage(one, neurons)
    what = f"share of stable patterns at n = {one}, at least (1 − p)ᵈ"
    yield mean(shares, product, what, side="at least", confidence=level)
    what = f"share of stable patterns at n = {more['one']}, at most {probability:.3g}"
    yield mean(at["one", more["one"]].mean(axis=1), probability, what, side="at most", confidence=level)
    whole, product = at["all", everything].all(axis=1), perfect_storage(everything, neurons, patterns="all")
    what = f"share of sets without any error at n = {everything}, at least (1 − p)ⁿᵈ"
    yield frequency(whole.sum(), sets, product, what, side="at least", confidence=level)
    what = f"share of sets without any error at n = {more['all']}, at most {probability:.3g}"
    whole = at["all", more["all"]].all(axis=1)
    yield frequency(whole.sum(), sets, probability, what, side="at most", confidence=level)
    pinned = {100: (10, 7), 500: (37, 25), 1000: (67, 45), 4000: (226, 147)}
    limits = [[perfect_storage_limit(d, patterns=p) for p in ("one", "all")] for d in pinned]
    yield exactly(limits, list(pinned.values()), "95% limits (one, all) at d = 100, 500, 1000, 4000")
    huge = np.geomspace(1e4, 1e16, 7)
    for name, divisor in (("all", 4), ("one", 2)):
        loads = [c * huge / (divisor * np.log(huge)) for c in (1.0, 1.3)]
        below, above = (expected_unstable_bits(n, huge, patterns=name) for n in loads)
        at_bound = f"n = d/({divisor} ln d), {name}"
        yield at_most(np.diff(below), 0.0, f"change with d of the expected errors at {at_bound}", strict=True)
        what = f"change with d of the expected errors at 1.3 × {at_bound}"
        natural = at_least(np.diff(above), 0.0, what, strict=True)
        yield natural
    binary = expected_unstable_bits(1.3 * huge / (2 * np.log2(huge)), huge)
    wrong = at_least(binary[-1], 1.0, "expected errors in one pattern at 1.3 d/(2 log₂ d), d = 10¹⁶")
    yield erratum(wrong, of=natural, by="eth", prints="s ≤ d/(2 log₂ d) for one pattern")
    sizes, found = np.array([100, 200, 400, 800]), {"one": [], "all": []}
    for d in sizes:
        top = round(1.5 * limit(int(d)))
        grid = np.unique(np.linspace(0.35 * top, top, 7).astype(int))
        stable = [memories.sample_unstable_bits(int(n), int(d), sets=100, key=k_curve, slots=top) == 0 for n in grid]
        shares = np.array([[s.mean(), s.all(axis=1).mean()] for s in stable])
        for i, name in enumerate(found):  # where the measured share, made monotone, crosses the probability
            found[name].append(np.interp(-probability, -np.minimum.accumulate(shares[:, i]), grid))
    fine = np.geomspace(80, 1500, 60)
    title = f"{probability:.0%} limits at d = {neurons}: n = {one} for one given pattern, n = {everything} for all"
    lines = {
        "d/(2 ln d), one pattern": (fine, fine / (2 * np.log(fine))),
        "d/(4 ln d), all": (fine, fine / (4 * np.log(fine))),
        "d/(2 log₂ d)": (fine, fine / (2 * np.log2(fine))),
    }
    points = {f"measured, {name}": (sizes, found[name]) for name in found}
    yield figure.curves(title, "neurons d", "patterns n", log="xy", lines=lines, points=points)
