"""Gradient descent against SGD, in iterations and in gradients of single examples."""

from typing import Annotated

import numpy as np

from leadline import data, stochastic
from leadline.evidence import Range, at_most, claim, exactly, figure, mean, slope


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


def _ridge_logistic(rng, samples, dim, penalty):
    """x of scales 2 to ½, y = ±1 from a logistic model; value (of rows w), gradient, and w* by Newton's method."""
    x = rng.normal(size=(samples, dim)) * np.geomspace(2.0, 0.5, dim)
    y = np.where(rng.random(samples) < _sigmoid(x.sum(axis=1)), 1.0, -1.0)
    z = x * y[:, None]

    def value(w):
        return np.mean(np.logaddexp(0, -w @ z.T), axis=-1) + penalty / 2 * np.sum(w**2, axis=-1)

    def gradient(w):
        return -z.T @ _sigmoid(-z @ w) / samples + penalty * w

    best = np.zeros(dim)
    for _ in range(20):
        s = _sigmoid(z @ best)
        best = best - np.linalg.solve((z.T * (s * (1 - s))) @ z / samples + penalty * np.eye(dim), gradient(best))
    return z, value, gradient, best


@claim(
    "sgd-slower-than-gd",
    says=(
        "On a strongly convex loss SGD needs O(1/ε) iterations where gradient descent needs O(κ log 1/ε). Counted in "
        "gradients of single examples gradient descent pays n times more per iteration, so SGD wins at low accuracy."
    ),
    formula=r"T_{SGD} = O(1/\epsilon), \qquad T_{GD} = O(\kappa \log 1/\epsilon), \qquad cost_{GD} = n\, T_{GD}",
    sources=("penn",),
    assumes=("l is strongly convex and smooth",),
)
def sgd_slower_than_gd(
    key,
    samples: Annotated[int, Range(800, 4000, log=True)] = 1000,
    penalty: Annotated[float, Range(0.1, 0.4)] = 0.2,
    runs: Annotated[int, Range(60, 200)] = 80,
):
    """Ridge-logistic regression in 3 dimensions; SGD with b = 1 and step 2/(m(t + t₀)), 20000 steps, many runs."""
    rng = data.generator(key)
    z, value, gradient, best = _ridge_logistic(rng, samples, 3, penalty)
    minimum = value(best[None])[0]
    smoothness = float(np.linalg.eigvalsh(z.T @ z / samples)[-1] / 4 + penalty)
    w, descent = np.zeros(3), []
    while not descent or descent[-1] > 1e-8:
        descent.append(value(w[None])[0] - minimum)
        w = w - gradient(w) / smoothness
    descent = np.array(descent)
    rate = (smoothness - penalty) / smoothness
    yield at_most(descent, descent[0] * rate ** np.arange(len(descent)), "gap of gradient descent, linear", rtol=1e-9)

    horizon = 20_000
    shift = 2 * float(np.max(np.sum(z**2, axis=1)) / 4 + penalty) / penalty
    w, gaps = np.zeros((runs, 3)), []
    looks = np.unique(np.geomspace(10, horizon, 200).round().astype(int))
    wanted = set(looks.tolist())
    rows = rng.integers(samples, size=(horizon, runs))
    for t in range(1, horizon + 1):
        picked = z[rows[t - 1]]
        step = 2 / (penalty * (t + shift))
        w = w + step * (picked * _sigmoid(-np.sum(picked * w, axis=1))[:, None] - penalty * w)
        if t in wanted:
            gaps.append(value(w).mean() - minimum)
    gaps = np.array(gaps)
    late = looks > 8 * shift  # the start is forgotten, and t + t₀ is nearly t
    constant = float(np.exp(np.mean(np.log((looks * gaps)[late]))))
    parts = np.array_split(np.flatnonzero(late), 8)
    needed = np.array([np.exp(np.log(looks[p]).mean()) for p in parts])
    targets = np.array([gaps[p].mean() for p in parts])
    yield slope(1 / targets, needed, 1.0, "iterations of SGD against 1/ε", within=0.1)

    def descent_steps(eps):
        return np.argmax(descent[None] <= np.atleast_1d(eps)[:, None], axis=1)

    passes = 3
    early = float(np.interp(passes * samples, looks, gaps))
    yield at_most(early, descent[passes], f"gap of SGD after {passes} n gradients, against gradient descent's")
    yield at_most(
        samples * descent_steps(1e-8)[0], constant / 1e-8, "to 10⁻⁸: gradients of GD, against SGD's at its rate c/ε"
    )
    accuracies = np.geomspace(1e-1 * descent[0], 1e-8, 40)
    costs = samples * np.maximum(descent_steps(accuracies), 1)
    crossing = float(accuracies[np.argmax(costs < constant / accuracies)])
    yield figure.beside(
        f"SGD needs {constant:.2g}/ε iterations; counted in gradients it is cheaper down to ε = {crossing:.1g} "
        f"for n = {samples}",
        figure.curves(
            "Iterations",
            x="accuracy ε",
            y="iterations",
            lines={"SGD, c/ε": (accuracies, constant / accuracies)},
            points={
                "SGD": (targets, needed),
                "gradient descent": (accuracies, np.maximum(descent_steps(accuracies), 1)),
            },
            log="xy",
        ),
        figure.curves(
            "Gradients of single examples",
            x="accuracy ε",
            y="gradients",
            lines={"SGD, c/ε": (accuracies, constant / accuracies)},
            points={"SGD": (targets, needed), "gradient descent": (accuracies, costs)},
            rules={"crossing": ("x", crossing)},
            log="xy",
        ),
    )


def _huber_gap(w, knee):
    """Huber's function with curvature 1 inside the knee, less its minimum 0."""
    size = np.abs(w)
    return np.where(size <= knee, w**2 / 2, knee * size - knee**2 / 2)


def _averaged_gaps(rng, accuracy, steps, runs, noise):
    """Gaps of averaged SGD with step 1/(B√T) on Huber(knee 2ε) + B s w, s = ±1 balanced, from 1."""
    w, total, eta = np.ones(runs), np.zeros(runs), 1 / (noise * np.sqrt(steps))
    signs = rng.choice(np.array([-1.0, 1.0]), (steps, runs))
    for t in range(steps):
        total += w
        w = w - eta * (np.clip(w, -2 * accuracy, 2 * accuracy) + noise * signs[t])
    return _huber_gap(total / steps, 2 * accuracy)


@claim(
    "gd-vs-sgd-crossover",
    says=(
        "For convex losses gradient descent costs nLR²/(2ε) gradients of single examples, SGD (RB/ε)²: they are "
        "equal at ε* = 2B²/(nL). Gradient descent is the cheaper one only for accuracies below about 1/n; a family "
        "hard for both shows it."
    ),
    formula=r"\epsilon^* = \frac{2 B^2}{n L}",
    sources=("penn",),
    assumes=("l is convex and smooth", "E‖ĝ‖² ≤ B²"),
    shows=("stochastic.convex_costs", "stochastic.crossover_accuracy"),
)
def gd_vs_sgd_crossover(
    key,
    noise: Annotated[float, Range(0.7, 1.5)] = 1.0,
    runs: Annotated[int, Range(300, 1500)] = 500,
):
    """lⁱ = Huber with knee 2ε + B s_i w, w⁰ = 1, L = R = 1, at ε = 0.1 … 0.0125: least T with mean gap ≤ ε."""
    rng = data.generator(key)
    accuracies = np.array([0.1, 0.05, 0.025, 0.0125])
    steps, needed = [], []
    for eps in accuracies:
        w, t = 1.0, 0
        while _huber_gap(w, 2 * eps) > eps * (1 + 1e-12):
            w, t = w - np.clip(w, -2 * eps, 2 * eps), t + 1
        steps.append(t)
        low, high = 0.25 * noise**2 / eps**2, 0.9 * noise**2 / eps**2  # T ε²/B² tends to ½
        for _ in range(5):
            middle = np.sqrt(low * high)
            reached = _averaged_gaps(rng, eps, int(middle), runs, noise).mean() <= eps
            low, high = (low, middle) if reached else (middle, high)
        needed.append(np.sqrt(low * high))
    needed = np.array(needed)
    yield exactly(steps, np.ceil(1 / (4 * accuracies) - 0.5 - 1e-9), "steps of gradient descent, against 1/(4ε) − ½")
    level = _averaged_gaps(rng, 0.0125, int(0.5 * noise**2 / 0.0125**2), 4 * runs, noise) / 0.0125
    yield mean(level, 1.1, "averaged SGD, T = B²/(2ε²), ε = 0.0125: gap over ε, at most 1.1", side="at most")
    yield mean(level, 0.9, "averaged SGD, T = B²/(2ε²), ε = 0.0125: gap over ε, at least 0.9", side="at least")
    yield at_most(needed, (noise**2 + 0.04) / accuracies**2, "iterations of averaged SGD, against (RB/ε)²")
    crossing = needed / (1 / (4 * accuracies) - 0.5)  # the n at which both cost the same
    yield slope(crossing, accuracies, -1.0, "accuracy at the crossing against n", within=0.1)
    advice = [stochastic.convex_costs(1000, e, gradient_bound=noise).cheaper for e in (0.1, 1e-5)]
    yield exactly(advice, ["SGD", "gradient descent"], "advice for n = 1000 at ε = 0.1 and 10⁻⁵")
    predicted = np.array([stochastic.crossover_accuracy(n, gradient_bound=noise) for n in crossing])
    n = 100
    fine = np.geomspace(0.005, 0.2, 40)
    yield figure.beside(
        f"The crossing tends to ε* = 2B²/n: at n = {crossing[-1]:.0f} it is {accuracies[-1]:.3g}, "
        f"predicted {predicted[-1]:.3g}",
        figure.curves(
            f"Gradients needed, n = {n}",
            x="accuracy ε",
            y="gradients of single examples",
            lines={
                "gradient descent, n(1/(4ε) − ½)": (fine, n * (1 / (4 * fine) - 0.5)),
                "averaged SGD, B²/(2ε²)": (fine, noise**2 / (2 * fine**2)),
            },
            points={"gradient descent": (accuracies, n * np.array(steps)), "averaged SGD": (accuracies, needed)},
            log="xy",
        ),
        figure.curves(
            "Accuracy at which both cost the same",
            x="examples n",
            y="ε*",
            lines={"2B²/(nL)": (crossing, predicted)},
            points={"measured": (crossing, accuracies)},
            log="xy",
        ),
    )
