"""Capacity of networks: their VC dimension, and why it does not explain their small gap."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, generalisation, networks, training
from leadline.claims.scenarios.networks.digit_networks import cross_entropy
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, reference
from leadline.generalisation.capacity.capacity_calculator import growth_bound, relu_vc_orders
from leadline.generalisation.capacity.growth_functions import network_vc_ceiling
from leadline.presentation import figure


def shuffled_digits(rng) -> tuple[np.ndarray, np.ndarray]:
    """All 1797 digits, in random order, pixels between 0 and 1."""
    x, y, test, labels = (np.asarray(part) for part in data.digits_split())
    x, y = np.concatenate([x, test]).reshape(len(y) + len(labels), -1), np.concatenate([y, labels])
    order = rng.permutation(len(x))
    return x[order].astype(float), y[order].astype(int)


def layer_counts(widths: list[int]) -> tuple[list[int], list[int]]:
    """The hidden units of an MLP and its parameters up to each layer, biases included."""
    return widths[1:-1], np.cumsum([(a + 1) * b for a, b in itertools.pairwise(widths)]).tolist()


@claim(sources=("penn",))
def vc_of_relu_networks(key, hidden: Int(1, 3) = 2, width: Int(16, 96, log=True) = 32, epochs: Int(10, 30) = 15):
    r"""VC dimension of ReLU networks.

    A ReLU network with p weights in L layers has VC dimension between the orders pL ln(p/L) and pL ln p. With a
    million weights in ten layers this is of order 10⁸, and the schematic bound at 50,000 rows is +126: vacuous by two
    orders of magnitude, though such networks generalise. The same is true of a small network on digits.

    $$c\, p L \ln(p/L) \le \mathrm{VC} \le C\, p L \ln p$$

    Assumes: constants c and C are not specified: orders only.

    Check: The numbers of the source are recomputed. An MLP with `hidden` layers is then trained by Adam on 150, 450
    and 1350 digits, and its gap is measured on the other 447.
    """
    orders = relu_vc_orders(10**6, 10)
    yield reference(orders, [1.15e8, 1.38e8], "p = 10⁶, L = 10: pL ln(p/L) and pL ln p", digits=3)
    big, small = (generalisation.vc_schematic(dimension, 50_000).value for dimension in (1e8, 1e7))
    right = reference(big, 126.5, "schematic bound at V = 10⁸, n = 50,000", digits=4)
    yield right
    yield at_least(big, 1.0, "schematic bound at V = 10⁸, n = 50,000: vacuous from 1 on")
    wrong = close(big, 40.0, "schematic bound at V = 10⁸, n = 50,000, against 40", atol=0.1)
    yield erratum(wrong, of=right, by="penn", prints="(13.3) with VC ≈ 10⁸ and n = 50,000 gives +40")
    yield reference(small, 40.0, "schematic bound at V = 10⁷, pL without the log, n = 50,000", digits=3)

    def bound(dimension, rows):
        return [generalisation.vc_schematic(dimension, math.ceil(n)).value for n in rows]

    x, y = shuffled_digits(data.generator(key))
    widths = [64, *[width] * hidden, 10]
    _, counts = layer_counts(widths)
    p = counts[-1]
    low, high = relu_vc_orders(p, len(counts))
    one_output = layer_counts([*widths[:-1], 1])
    ceiling = network_vc_ceiling(*one_output)
    yield at_least(ceiling, one_output[1][-1] / 2, "explicit ceiling on VC against half the parameters")
    rows, gaps = np.array([150, 450, 1350]), []
    for n in rows:
        seen, unseen = ((jnp.asarray(x[part]), jnp.asarray(y[part])) for part in (slice(n), slice(1350, None)))
        start = networks.MLP(widths, key=key)
        rule, count = optax.adam(3e-3), epochs * int(n) // 50
        net, _ = training.minimise(cross_entropy, start, rule, count, *seen, batch=50, key=key)
        gaps.append(float(networks.accuracy(net, *seen) - networks.accuracy(net, *unseen)))
    what = f"digits, {p} parameters: measured gap against the schematic bound with V = pL ln(p/L)"
    yield at_most(gaps, bound(low, rows), what, trivial=1.0)
    needed = (8 * low - 4 * math.log(0.05)) / 0.1**2
    yield close(bound(low, [needed]), 0.1, f"schematic bound with V = pL ln(p/L) at {needed:.3g} rows", rtol=1e-6)
    grid = np.geomspace(100, 10 * needed, 40)
    lines = {"V = pL ln(p/L)": (grid, bound(low, grid)), "V = pL ln p": (grid, bound(high, grid))}
    measured = f"the measured gap at 1350 is {gaps[-1]:.3f}"
    title = f"{p} parameters: the VC bound needs {needed:.1g} rows for ±0.1, {measured}"
    points, rules = {"trained on digits": (rows, gaps)}, {"vacuous above": ("y", 1.0)}
    yield figure.curves(title, "rows n", "gap", lines=lines, points=points, rules=rules, log="xy")


@claim(sources=("eth",))
def capacity_bounds_are_vacuous(
    key, n: Int(100, 1437) = 1437, excess: Real(1.5, 3.0) = 2.0, labellings: Int(1, 20) = 10
):
    r"""Capacity bounds are vacuous for interpolating networks.

    A network that realises every labelling of its n training points has Π(n) = 2ⁿ there, so its VC dimension is at
    least n, and $8 \cdot 2^n e^{-n\epsilon^2/32}$ exceeds 1 for every ε ≤ 1, since 1/32 < ln 2: VC theory cannot
    explain its small gap on true labels. This does not make the dimension infinite.

    $$\Pi(n) = 2^n \;\Rightarrow\; \ln\left(8 \cdot 2^n e^{-n \epsilon^2 / 32}\right) \ge n (\ln 2 - 1/32) > 0$$

    Assumes: the points are distinct; there are more hidden units than points.

    Check: A ReLU network 64-m-10 with m = `excess`·n random hidden units and a least-squares read-out is fitted to
    random labellings of n digits and to the true one. Features of rank n realise all 2ⁿ labellings, not only those
    tried.
    """
    from scipy.linalg import cho_factor, cho_solve

    rng = data.generator(key)
    x, y = shuffled_digits(rng)
    width = int(excess * n)
    w, b = rng.normal(size=(64, width)) / 8, rng.uniform(-1, 1, width)
    features = np.maximum((x - x[:n].mean(axis=0)) @ w * 4 + b, 0) / math.sqrt(width)
    kernel = features[:n] @ features[:n].T
    factor = cho_factor(kernel)
    least = 1 / _largest_of(lambda v: cho_solve(factor, v), n, rng) / np.trace(kernel)
    yield at_least(least, 1e-12, "least eigenvalue of the features' Gram matrix, as a share of its trace")
    labels = np.column_stack([rng.integers(0, 10, size=(n, labellings)), y[:n]])
    readout = features[:n].T @ cho_solve(factor, np.eye(10)[labels].reshape(n, -1))
    fitted = (features[:n] @ readout).reshape(n, labellings + 1, 10).argmax(axis=-1)
    wrong = (fitted != labels).sum(axis=0)
    yield exactly(wrong[:-1], 0, f"training errors on {labellings} random labellings")
    yield exactly(wrong[-1], 0, "training errors on the true labels")
    error = float(((features[n:] @ readout[:, -10:]).argmax(axis=1) != y[n:]).mean())
    chance = generalisation.exact_interval(round(error * (len(x) - n)), len(x) - n, confidence=0.999)
    yield at_most(chance.high, 0.5, "true labels: gap on fresh digits, upper end of its exact interval")
    eps = np.linspace(0.01, 1, 100)
    logs = np.array([generalisation.vc_inequality(n * math.log(2), n, e).log for e in eps])
    yield at_least(logs, n * (math.log(2) - 1 / 32), "ln of the VC bound at every ε ≤ 1, against n(ln 2 − 1/32)")
    bound = growth_bound(0.0, n * math.log(2), n)
    yield at_most(error, bound.value, "true labels: gap against the VC bound", trivial=1.0)
    ceiling = network_vc_ceiling(*layer_counts([64, width, 1]))
    right = at_least(ceiling, n, "explicit ceiling on the VC dimension of the whole class, against n")
    yield right
    wrong = at_least(ceiling, math.inf, "explicit ceiling on the VC dimension of the whole class, against ∞")
    yield erratum(wrong, of=right, by="eth", prints="the network fits random labels, so its VC dimension is infinite")
    title = f"n = {n}: ln of the VC bound stays above {logs.min():.0f} for all ε; the measured gap is {error:.3f}"
    lines, rules = {"ln(8·2ⁿ) − nε²/32": (eps, logs)}, {"vacuous above 0": ("y", 0.0), f"gap {error:.3f}": ("x", error)}
    yield figure.curves(title, "ε", "ln of the bound on P(sup gap > ε)", lines=lines, rules=rules)


def _largest_of(solve, n: int, rng) -> float:
    """The largest eigenvalue of a positive map, by power iteration from below."""
    v = rng.normal(size=n)
    for _ in range(30):
        v = solve(v / np.linalg.norm(v))
    return float(np.linalg.norm(v))
