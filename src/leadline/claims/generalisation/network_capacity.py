"""Capacity of networks: their VC dimension, and why it does not explain their small gap."""

import itertools
import math
import warnings
from typing import Annotated

import jax
import numpy as np

from leadline import data, generalisation
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed


def shuffled_digits(rng) -> tuple[np.ndarray, np.ndarray]:
    """All 1797 digits, in random order, pixels between 0 and 1."""
    x, y, test, labels = (np.asarray(part) for part in data.digits_split())
    x, y = np.concatenate([x, test]).reshape(len(y) + len(labels), -1), np.concatenate([y, labels])
    order = rng.permutation(len(x))
    return x[order].astype(float), y[order].astype(int)


def layer_counts(widths: list[int]) -> tuple[list[int], list[int]]:
    """The hidden units of an MLP and its parameters up to each layer, biases included."""
    return widths[1:-1], np.cumsum([(a + 1) * b for a, b in itertools.pairwise(widths)]).tolist()


@claim(
    "vc-of-relu-networks",
    says=(
        "A ReLU network with p weights in L layers has VC dimension between orders pL ln(p/L) and pL ln p. With a "
        "million weights in ten layers, 10⁸, the schematic bound at 50,000 rows is +126: vacuous by two orders of "
        "magnitude, though such networks generalise; so it is for a small network on digits."
    ),
    formula=r"c\, p L \ln(p/L) \le VC \le C\, p L \ln p",
    sources=("penn",),
    assumes=("constants c, C are not specified: orders only",),
    shows=("generalisation.relu_vc_orders", "generalisation.vc_schematic", "generalisation.network_vc_ceiling"),
)
def vc_of_relu_networks(
    key,
    hidden: Annotated[int, Range(1, 3)] = 2,
    width: Annotated[int, Range(16, 96, log=True)] = 32,
    epochs: Annotated[int, Range(10, 30)] = 15,
):
    """The numbers of the source, and an MLP with `hidden` layers trained by Adam on 150, 450 and 1350 digits, its gap
    measured on the other 447."""
    from sklearn.neural_network import MLPClassifier

    orders = generalisation.relu_vc_orders(10**6, 10)
    yield close(orders, [1.15e8, 1.38e8], "p = 10⁶, L = 10: pL ln(p/L) and pL ln p", rtol=5e-3)
    big = generalisation.vc_schematic(1e8, 50_000)
    yield close(big.value, 126.5, "form (b) at V = 10⁸, n = 50,000", atol=0.1)
    yield exactly(big.vacuous, True, "is it vacuous?")
    yield printed(close(big.value, 40.0, "form (b) at V = 10⁸, n = 50,000", atol=0.1), "penn", "+40")
    yield close(
        generalisation.vc_schematic(1e7, 50_000).value, 40.0, "the same at V = 10⁷, pL without the log", atol=0.1
    )

    x, y = shuffled_digits(data.generator(key))
    widths = [64, *[width] * hidden, 10]
    _, counts = layer_counts(widths)
    p, layers = counts[-1], len(counts)
    low, high = generalisation.relu_vc_orders(p, layers)
    one_output = layer_counts([*widths[:-1], 1])
    ceiling = generalisation.network_vc_ceiling(*one_output)
    yield at_least(ceiling, one_output[1][-1] / 2, "explicit ceiling on VC against half the parameters")
    rows = np.array([150, 450, 1350])
    gaps = []
    seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
    for n in rows:
        net = MLPClassifier(
            (width,) * hidden, batch_size=50, learning_rate_init=3e-3, max_iter=epochs, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says when the epochs are over
            net.fit(x[:n], y[:n])
        gaps.append(net.score(x[:n], y[:n]) - net.score(x[1350:], y[1350:]))
    bounds = [generalisation.vc_schematic(low, int(n)).value for n in rows]
    yield at_most(gaps, bounds, f"digits, {p} parameters: measured gap against (b) with V = pL ln(p/L)", trivial=1.0)
    needed = (8 * low - 4 * math.log(0.05)) / 0.1**2
    yield close(generalisation.vc_schematic(low, math.ceil(needed)).value, 0.1, f"(b) at {needed:.3g} rows", rtol=1e-6)
    grid = np.geomspace(100, 10 * needed, 40)
    yield figure.curves(
        f"{p} parameters: the VC bound needs {needed:.1g} rows for ±0.1, the measured gap at 1350 is {gaps[-1]:.3f}",
        x="rows n",
        y="gap",
        lines={
            "(b), V = pL ln(p/L)": (grid, [generalisation.vc_schematic(low, int(n)).value for n in grid]),
            "(b), V = pL ln p": (grid, [generalisation.vc_schematic(high, int(n)).value for n in grid]),
        },
        points={"trained on digits": (rows, np.where(np.array(gaps) > 0, gaps, np.nan))},
        rules={"vacuous above": ("y", 1.0)},
        log="xy",
    )


@claim(
    "capacity-bounds-are-vacuous",
    says=(
        "A network that realises every labelling of its n training points has Π(n) = 2ⁿ there, so its VC dimension is "
        "at least n, and 8·2ⁿ e^(−nε²/32) exceeds 1 for every ε ≤ 1, since 1/32 < ln 2: VC theory cannot explain its "
        "small gap on true labels. The dimension is not infinite for all that."
    ),
    formula=r"\Pi(n) = 2^n \;\Rightarrow\; \ln\left(8 \cdot 2^n e^{-n \epsilon^2 / 32}\right) \ge n (\ln 2 - 1/32) > 0",
    sources=("eth",),
    assumes=("the points are distinct", "there are more hidden units than points"),
    shows=("generalisation.vc_inequality", "generalisation.growth_bound", "generalisation.network_vc_ceiling"),
)
def capacity_bounds_are_vacuous(
    key,
    n: Annotated[int, Range(100, 1437)] = 1437,
    excess: Annotated[float, Range(1.5, 3.0)] = 2.0,
    labellings: Annotated[int, Range(1, 20)] = 10,
):
    """A ReLU network 64-m-10 with m = `excess`·n random hidden units and a read-out by least squares, fitted to random
    labellings of n digits and to the true one. Features of rank n realise all 2ⁿ labellings, not only those tried."""
    from scipy.linalg import cho_factor, cho_solve

    rng = data.generator(key)
    x, y = shuffled_digits(rng)
    width = int(excess * n)
    w, b = rng.normal(size=(64, width)) / 8, rng.uniform(-1, 1, width)
    features = np.maximum((x - x[:n].mean(axis=0)) @ w * 4 + b, 0) / math.sqrt(width)
    kernel = features[:n] @ features[:n].T
    factor = cho_factor(kernel)
    least = 1 / _largest_of(lambda v: cho_solve(factor, v), n, rng)
    yield at_least(
        least / np.trace(kernel), 1e-12, "least eigenvalue of the features' Gram matrix, as a share of its trace"
    )
    random = rng.integers(0, 10, size=(n, labellings))
    targets = np.eye(10)[np.column_stack([random, y[:n]])].reshape(n, -1)
    readout = features[:n].T @ cho_solve(factor, targets)
    fitted = (features[:n] @ readout).reshape(n, labellings + 1, 10).argmax(axis=-1)
    wrong = (fitted != np.column_stack([random, y[:n]])).sum(axis=0)
    yield exactly(wrong[:-1], 0, f"training errors on {labellings} random labellings")
    yield exactly(wrong[-1], 0, "training errors on the true labels")
    error = float(((features[n:] @ readout[:, -10:]).argmax(axis=1) != y[n:]).mean())
    chance = generalisation.exact_interval(round(error * (len(x) - n)), len(x) - n, confidence=0.999)
    yield at_most(chance.high, 0.5, "true labels: gap on fresh digits, upper end of its exact interval")

    eps = np.linspace(0.01, 1, 100)
    logs = np.array([generalisation.vc_inequality(n * math.log(2), n, e).log for e in eps])
    yield at_least(logs, n * (math.log(2) - 1 / 32), "ln of the VC bound at every ε ≤ 1")
    bound = generalisation.growth_bound(0.0, n * math.log(2), n)
    yield at_most(error, bound.value, "true labels: gap against the VC bound", trivial=1.0)
    units, counts = layer_counts([64, width, 1])
    ceiling = generalisation.network_vc_ceiling(units, counts)
    yield at_least(ceiling, n, "explicit ceiling on the VC dimension of the whole class, against n")
    yield printed(
        exactly(math.isinf(ceiling), True, "is the VC dimension infinite?"), "eth", "the VC dimension is infinite"
    )
    yield figure.curves(
        f"n = {n}: ln of the VC bound stays above {logs.min():.0f} for all ε; the measured gap is {error:.3f}",
        x="ε",
        y="ln of the bound on P(sup gap > ε)",
        lines={"ln(8·2ⁿ) − nε²/32": (eps, logs)},
        rules={"vacuous above 0": ("y", 0.0), f"gap {error:.3f}": ("x", error)},
    )


def _largest_of(solve, n: int, rng) -> float:
    """The largest eigenvalue of a positive map, by power iteration from below."""
    v = rng.normal(size=n)
    for _ in range(30):
        v = solve(v / np.linalg.norm(v))
    return float(np.linalg.norm(v))
