"""Two rules that store patterns in a Hopfield network, and how firmly the patterns are held."""

import jax
import numpy as np

from leadline import data, memories
from leadline.evidence import Int, Real, assume, at_least, at_most, close, erratum, exactly, instrument, method
from leadline.memories.stability import flip_exactly
from leadline.memories.storage import remove_pattern
from leadline.presentation import figure


@method(sources=("eth",))
def hebbian_storage(key, patterns: Int(1, 100) = 6, neurons: Int(4, 200) = 40):
    r"""Hebb's rule.

    Hebb's rule stores patterns as the sum of their outer products, divided by d, with the diagonal n/d removed.
    Patterns can be added and removed one at a time, in any order.

    $$W = \frac{1}{d} \sum_{t=1}^n x_t x_t^T - \frac{n}{d} I$$
    """
    from scipy.linalg import hadamard

    k_patterns, k_order = jax.random.split(key)
    x = np.asarray(data.random_signs(patterns, neurons, key=k_patterns))
    w = np.asarray(memories.hebbian(x))
    yield exactly(w, w.T, "symmetry, w_ij against w_ji")
    empty = exactly(np.diag(w), 0.0, "diagonal of Hebb's weights")
    yield empty
    added = np.zeros_like(w)
    for pattern in np.asarray(jax.random.permutation(k_order, x)):
        added = np.asarray(memories.add_pattern(added, pattern))
    yield close(added, w, "weights after adding the patterns in another order", atol=1e-12)
    one_less = remove_pattern(w, x[-1])
    loops = (x[:-1, :, None] * x[:-1, None, :]).sum(axis=0) / neurons * (1 - np.eye(neurons))
    yield close(one_less, loops, "weights after removing a pattern", atol=1e-12)
    d = 1 << (neurons.bit_length() - 1)
    orthogonal = hadamard(d)[: min(patterns, d - 1)].astype(float)
    fixed = memories.measure_stability(memories.hebbian_network(orthogonal), orthogonal).fixed
    yield exactly((~fixed).sum(), 0, f"orthogonal patterns (d = {d}) that are no fixed points")
    raw = memories.hebbian(x, self_coupling=True)
    yield close(np.diag(raw), patterns / neurons, "diagonal of the raw sum against n/d", atol=1e-12)
    wrong = close(np.diag(raw), 0.0, "diagonal of the raw sum", atol=1e-12)
    yield erratum(wrong, of=empty, by="eth", prints="W = (1/d) Σ xₜ xₜᵀ, together with w_ii = 0")
    title = f"Hebb's weights of {patterns} patterns: symmetric, no diagonal, spread ±{np.sqrt(patterns) / neurons:.2g}"
    yield figure.heatmap(title, "neuron j", "neuron i", values=w[:40, :40], colour="w_ij", diverging=True)


@method(sources=("eth",))
def projection_storage(key, patterns: Int(1, 199) = 40, neurons: Int(4, 200) = 100, correlation: Real(0.0, 0.9) = 0.1):
    r"""Pseudo-inverse (projection) storage rule.

    The pseudo-inverse rule projects on the span of linearly independent patterns, so that every stored pattern stays
    fixed as long as all Wᵢᵢ < 1, however correlated the patterns are, for any number n < d of them.

    $$W = P^T (P P^T)^{-1} P, \qquad W x_t = x_t, \qquad x_{t,i} h_i = 1 - W_{ii}$$

    Assumes: the patterns are linearly independent.

    Check: Each bit is +1 with probability (1 + √c)/2, so that two patterns have the expected overlap c.
    """
    assume(patterns < neurons, "there are fewer patterns than neurons")
    loads = neurons * np.array([0.01, 0.03, 0.06, 0.1, 0.15, 0.25, 0.5, 0.75, 1.0])
    loads = np.unique(np.clip(loads.astype(int), 1, neurons - 1))
    x = np.where(jax.random.uniform(key, (neurons - 1, neurons)) < 0.5 * (1 + np.sqrt(correlation)), 1.0, -1.0)
    assume(np.linalg.matrix_rank(x[:patterns]) == patterns, "the patterns are linearly independent")
    stored = x[:patterns]
    w = np.asarray(memories.projection(stored, self_coupling=True))
    yield close(stored @ w, stored, "W x_t against x_t", atol=1e-10)
    yield close(w @ w, w, "W² against W", atol=1e-10)
    network, largest = memories.projection_network(stored), np.diag(w).max()
    kept = memories.measure_stability(network, stored)
    yield close(stored * network.fields(stored), 1 - np.diag(w), "x_{t,i} h_i against 1 − W_ii", atol=1e-10)
    lost = exactly((~kept.fixed).sum(), 0, "stored patterns that are no fixed points")
    yield lost.given(largest < 1 - 1e-9, "every W_ii < 1")
    independent = [n for n in loads if np.linalg.matrix_rank(x[:n]) == n]
    projectors = {n: np.asarray(memories.projection(x[:n], self_coupling=True)) for n in independent}
    independent = [n for n in independent if np.diag(projectors[n]).max() < 1 - 1e-9]
    assume(independent, "some load leaves every W_ii < 1")
    shares = {"projection": [], "Hebb": []}
    for n in independent:
        raw = {"projection": projectors[n], "Hebb": np.asarray(memories.hebbian(x[:n], self_coupling=True))}
        for name, matrix in raw.items():
            fields = x[:n] @ (matrix - np.diag(np.diag(matrix)))
            shares[name].append(np.mean(np.all(np.where(fields >= 0, 1, -1) == x[:n], axis=1)))
    what = "share of fixed patterns at every load, projection against Hebb"
    yield at_least(shares["projection"], shares["Hebb"], what)
    half = independent[int(np.argmin(np.abs(np.array(independent) / neurons - 0.5)))]
    at_half = independent.index(half)
    what = f"share that Hebb's rule keeps at n = {half}, against projection"
    fewer = at_most(shares["Hebb"][at_half], shares["projection"][at_half], what, strict=True)
    yield fewer.given(neurons >= 50 and 0.3 * neurons < half, "the load is above 0.3 and d is at least 50")
    by_rule = ", ".join(f"{name} {values[at_half]:.0%}" for name, values in shares.items())
    title = f"Patterns kept at n = {half}, d = {neurons}: {by_rule}"
    points = {name: (np.array(independent) / neurons, values) for name, values in shares.items()}
    rules, share = {"0.138": ("x", 0.138)}, "share of patterns that are fixed points"
    yield figure.curves(title, "load n/d", share, rules=rules, points=points)


@instrument(sources=("eth",), shows=("memories.flip_signs",))
def hopfield_stability(key, neurons: Int(20, 200) = 100, patterns: Int(1, 60) = 12, cues: Int(20, 120) = 100):
    r"""Stability and basins of stored patterns.

    For stored patterns this reports which are fixed points, what share of their bits is stable, how large the smallest
    aligned field is, and up to what share of flipped bits at least 95% of the cues return.

    $$\min_i x_{t,i} h_i, \qquad \rho_t = \max\{ f : P(\text{return} \mid \text{share } f \text{ flipped}) \ge 0.95
    \}$$
    """
    from scipy.linalg import hadamard

    k_patterns, k_basin, k_grid = jax.random.split(key, 3)
    x = data.random_signs(patterns, neurons, key=k_patterns)
    network = memories.hebbian_network(x)
    report, run = memories.measure_stability(network, x), memories.asynchronous(network, x)
    yield exactly(report.fixed, run.flips == 0, "fixed points against runs that change nothing")
    fields = np.asarray(x) @ np.asarray(memories.hebbian(x))
    fields = np.where(np.abs(fields) < 1e-9, 0, fields)  # ties, up to the rounding of w = k/d
    bits = np.mean(np.where(fields >= 0, 1, -1) == np.asarray(x), axis=1)
    yield close(report.bits, bits, "share of fixed bits against one step with the weight matrix", atol=1e-12)
    lost = ((report.minimal > 0) & ~report.fixed).sum()
    yield exactly(lost, 0, "patterns of positive minimal stability that are no fixed points")
    basin = memories.basin_radius(network, x, key=k_basin)
    yield exactly(basin.returned[0] == 1, report.fixed, "unflipped cues that stay against fixed points")
    # All but one row of a Hadamard matrix are fixed points whose fields are too weak to correct a wrong bit.
    rows = hadamard(16)[1:].astype(float)
    full = memories.hebbian_network(rows)
    one_wrong = rows[:, None] * (1 - 2 * np.eye(16))
    back = np.asarray(memories.asynchronous(full, one_wrong).states == rows[:, None]).all(axis=-1).mean()
    fixed = memories.measure_stability(full, rows).fixed.sum()
    yield exactly(fixed, 15, "fixed points among 15 orthogonal patterns of 16 neurons")
    what = "share of cues with one wrong bit that return to one of 15 orthogonal patterns: the basin is empty"
    yield at_most(back, 0.95, what, strict=True)
    flips, counts = np.linspace(0, 0.45, 10), np.rint(neurons * np.linspace(0.02, 0.2, 7)).astype(int)
    counts = np.unique(np.maximum(1, counts))
    sets, returned = 4, np.zeros((len(flips), len(counts)))
    for j, n in ((j, n) for j, n in enumerate(counts) for _ in range(sets)):
        k_grid, k_set, k_which, k_flips = jax.random.split(k_grid, 4)
        stored = np.asarray(data.random_signs(int(counts[-1]), neurons, key=k_set))[:n]
        truth = stored[np.asarray(jax.random.randint(k_which, (len(flips), cues // sets), 0, n))]
        wrong = np.broadcast_to(np.rint(flips * neurons).astype(int)[:, None], truth.shape[:2])
        start = flip_exactly(truth, wrong, key=k_flips)
        end = memories.asynchronous(memories.hebbian_network(stored, slots=int(counts[-1])), start).states
        returned[:, j] += np.asarray(end == truth).all(axis=-1).mean(axis=1) / sets
    loads, grid = np.round(counts / neurons, 3), {"xs": np.round(counts / neurons, 3), "ys": np.round(flips[::-1], 2)}
    title = (
        f"Unflipped cues return: {returned[0, 0]:.0%} at n/d = {loads[0]:.2g}, {returned[0, -1]:.0%} at {loads[-1]:.2g}"
    )
    values, share = returned[::-1], "share of flipped bits"
    yield figure.heatmap(title, "load n/d", share, colour="share returned", values=values, **grid)
