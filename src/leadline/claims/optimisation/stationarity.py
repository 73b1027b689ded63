"""How soon gradient descent meets a small gradient where nothing is convex."""

from math import sin
from typing import Annotated

import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation import plain_problems
from leadline.evidence import Range, at_most, claim, figure, printed

ACCURACIES = np.array([1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6])


@claim(
    "gd-critical-point-rate",
    says=(
        "Without convexity: at η = 1/L the least gradient seen obeys min ‖g‖² ≤ 2L(l₀ − l_low)/T, so ‖g‖ ≤ ε is met "
        "within ⌈2L(l₀ − l_low)/ε²⌉ steps; for other η < 2/L divide l₀ − l_low by Tη(1 − ηL/2)."
    ),
    formula=r"\min_{t<T} \|g_t\|^2 \le \frac{l_0 - l_{low}}{T\, \eta (1 - \eta L/2)}",
    sources=("eth", "sheet"),
    assumes=("L-smooth where the run goes", "bounded below"),
)
def gd_critical_point_rate(
    key,
    step: Annotated[float, Range(0.2, 1.6)] = 1.0,
    hidden: Annotated[int, Range(1, 10)] = 3,
    start: Annotated[float, Range(-1.3, 1.3)] = 0.3,
):
    """`step` is ηL. A double well, x² + 3 sin² x, Rosenbrock's valley in a box, and a network whose L is measured."""
    rng = data.generator(key)
    runs = {"double well": _gradient_norms(*_double_well(start), step, 20_000)}
    runs["x² + 3 sin² x"] = _gradient_norms(*_sine_parabola(4.0 * start / 1.3 + np.sign(start + 1e-9)), step, 20_000)
    runs["Rosenbrock"] = _gradient_norms(*_rosenbrock(), step, 400_000)
    runs["network"] = _network_norms(rng, hidden, step, 1500)
    points = {}
    for name, (norms, smoothness, gap, eta, inside) in runs.items():
        least, t = np.minimum.accumulate(norms), np.arange(1, len(norms) + 1)
        bound = np.sqrt(optimisation.gd_stationarity_bound(smoothness, gap, t, step=eta))
        box = "every point stays where L was taken"
        yield at_most(least, bound, f"least gradient norm up to each T, {name}", rtol=1e-12).given(inside, box)
        met = ACCURACIES[least[-1] <= ACCURACIES]
        if met.size:
            hits = np.array([np.argmax(least <= e) + 1 for e in met])
            most = [optimisation.gd_stationarity_steps(smoothness, gap, e, step=eta) for e in met]
            yield at_most(hits, np.maximum(most, 1), f"steps to ε = 0.1 … {met[-1]:.0e}, {name}").given(inside, box)
        shown = np.unique(np.geomspace(1, len(norms), 25).astype(int)) - 1
        shown = shown[least[shown] > 1e-9 * bound[0]]
        points[name] = (t[shown], least[shown] / bound[0])
    norms, smoothness, gap, eta, _ = runs["Rosenbrock"]
    without, claimed = (optimisation.gd_stationarity_bound(smoothness, gap, T, step=eta) for T in (1, len(norms)))
    yield printed(
        at_most(without, claimed, f"bound on min ‖g‖² when the sum of {len(norms)} terms is only ≥ min, not T min"),
        "eth", "one step of the proof bounds the sum by min ‖g‖² without the factor T",
    )  # fmt: skip
    lines = {"bound, slope −1/2": (np.array([1, 4e5]), np.array([1.0, 4e5**-0.5]))}
    yield figure.curves(
        "The least gradient norm stays under the bound √(gap/(Tη(1 − ηL/2))) on four non-convex functions",
        x="T",
        y="least ‖g‖ up to T, relative to the bound at T = 1",
        lines=lines,
        points=points,
        log="xy",
    )


def _gradient_norms(gradient, start, smoothness, gap, inside, step, most):
    """‖g‖ along a descent in plain floats until it is 1e-6, (…, L, gap, η, whether the run stayed in the box)."""
    eta, w, norms, kept = step / smoothness, start, [], True
    for _ in range(most):
        g = gradient(w)
        norms.append(float(np.hypot(*g)) if len(g) == 2 else abs(g[0]))
        kept = kept and inside(w)
        if norms[-1] <= 1e-6:
            break
        w = tuple(a - eta * b for a, b in zip(w, g, strict=True))
    return np.array(norms), smoothness, gap, eta, kept


def _double_well(start):
    problem = plain_problems.double_well()
    gap = float(problem.gap(np.array([start])))
    return lambda w: (w[0] ** 3 - w[0] + 0.1,), (start,), problem.smoothness, gap, lambda w: abs(w[0]) <= 1.3


def _sine_parabola(start):
    gap = float(plain_problems.sine_parabola().gap(np.array([start])))
    return lambda w: (2 * w[0] + 3 * sin(2 * w[0]),), (float(start),), 8.0, gap, lambda w: True


def _rosenbrock():
    """From (−0.5, 0.5) in the box |w₁| ≤ 1.2, −0.5 ≤ w₂ ≤ 1.5, where rows of the Hessian sum to at most L."""

    def gradient(w):
        above = w[1] - w[0] ** 2
        return -2 * (1 - w[0]) - 400 * w[0] * above, 200 * above

    smoothness = 2 + 400 * 0.5 + 1200 * 1.2**2 + 400 * 1.2
    gap = 1.5**2 + 100 * 0.25**2
    return gradient, (-0.5, 0.5), smoothness, gap, lambda w: abs(w[0]) <= 1.2 and -0.5 <= w[1] <= 1.5


def _network_norms(rng, hidden, step, steps):
    """a·tanh(wx + b) fitted to 20 points of a sine; L is the largest ‖H‖ seen on the way, ends of steps and middles."""
    x = np.linspace(-2, 2, 20)
    y, w = np.sin(2 * x), rng.normal(size=3 * hidden)
    most = _network_curvature(w[None], x, y)[0]
    eta, norms, path = step / (2 * most), [], [w]  # the run may sharpen: start from half
    first = _network(w, x, y)[0]
    for _ in range(steps):
        g = _network(w, x, y)[1]
        norms.append(np.linalg.norm(g))
        w = w - eta * g
        path.append(w)
    path = np.array(path)
    seen = np.concatenate([path[::15], (path[:-1:15] + path[1::15]) / 2])
    smoothness = 1.01 * float(_network_curvature(seen, x, y).max())
    return np.array(norms), smoothness, first, eta, eta * smoothness < 2


def _network(w, x, y):
    inner, bias, outer = np.split(w, 3)
    s = np.tanh(np.outer(x, inner) + bias)
    error = (s @ outer - y) / len(x)
    back = error[:, None] * outer * (1 - s**2)
    return len(x) * error @ error / 2, np.concatenate([x @ back, back.sum(0), error @ s])


def _network_curvature(ws, x, y):
    """‖H‖ at each row by central differences of the gradient."""
    norms = []
    for w in ws:
        shift = 1e-5 * np.eye(len(w))
        h = np.array([_network(w + d, x, y)[1] - _network(w - d, x, y)[1] for d in shift]) / 2e-5
        norms.append(np.linalg.norm(h, 2))
    return np.array(norms)
