"""How soon gradient descent meets a small gradient where nothing is convex."""

from math import sin

import numpy as np

from leadline import data
from leadline.claims.scenarios.optimisation import plain_problems
from leadline.claims.scenarios.optimisation.small_networks import value_and_gradient
from leadline.evidence import Int, Real, at_most, claim
from leadline.optimisation.bounds.rate_bounds import gd_stationarity_bound, gd_stationarity_steps
from leadline.presentation import figure


@claim(sources=("eth", "sheet"))
def gd_critical_point_rate(key, step_size: Real(0.2, 1.6) = 1.0, hidden: Int(1, 10) = 3, start: Real(-1.3, 1.3) = 0.3):
    r"""Rate to a critical point without convexity.

    Without convexity, at η = 1/L the least gradient seen in T steps obeys $\min \|g\|^2 \le 2L(l_0 -
    l_{\text{low}})/T$, so ‖g‖ ≤ ε is met within $\lceil 2L(l_0 - l_{\text{low}})/\varepsilon^2 \rceil$ steps; for
    other η < 2/L the bound is $l_0 - l_{\text{low}}$ divided by Tη(1 − ηL/2).

    $$\min_{t<T} \|g_t\|^2 \le \frac{l_0 - l_{\text{low}}}{T\, \eta (1 - \eta L/2)}$$

    Assumes: l is L-smooth where the run goes; l is bounded below.

    Check: The parameter `step_size` is ηL. Gradient descent runs on a double well, on x² + 3 sin² x, in Rosenbrock's
    valley in a box, and on a network whose L is measured.
    """
    beyond = 4.0 * start / 1.3 + np.sign(start + 1e-9)
    runs = {
        "double well": _gradient_norms(*_double_well(start), step_size, 20_000),
        "x² + 3 sin² x": _gradient_norms(*_sine_parabola(beyond), step_size, 20_000),
        "Rosenbrock": _gradient_norms(*_rosenbrock(), step_size, 400_000),
        "network": _network_norms(data.generator(key), hidden, step_size, 1500),
    }
    points, box = {}, "every point stays where L was taken"
    for name, (norms, smoothness, gap, eta, inside) in runs.items():
        least, t = np.minimum.accumulate(norms), np.arange(1, len(norms) + 1)
        bound = np.sqrt(gd_stationarity_bound(smoothness, gap, t, step_size=eta))
        yield at_most(least, bound, f"least gradient norm up to each T, {name}", rtol=1e-12).given(inside, box)
        met = [e for e in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6) if least[-1] <= e]
        if met:
            hits = [np.argmax(least <= e) + 1 for e in met]
            most = [gd_stationarity_steps(smoothness, gap, e, step_size=eta) for e in met]
            yield at_most(hits, np.maximum(most, 1), f"steps to ε = 0.1 … {met[-1]:.0e}, {name}").given(inside, box)
        clear = least > 1e-9 * bound[0]
        points[name] = (t[clear], least[clear] / bound[0])
    title = "The least gradient norm stays under the bound √(gap/(Tη(1 − ηL/2))) on four non-convex functions"
    lines, y = {"bound, slope −1/2": ([1, 4e5], [1.0, 4e5**-0.5])}, "least ‖g‖ up to T, relative to the bound at T = 1"
    yield figure.curves(title, "T", y, lines=lines, points=points, log="xy")


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
    for _ in range(steps):
        g = value_and_gradient(path[-1], x, y)[1]
        norms.append(np.linalg.norm(g))
        path.append(path[-1] - eta * g)
    path = np.array(path)
    seen = np.concatenate([path[::15], (path[:-1:15] + path[1::15]) / 2])
    smoothness = 1.01 * float(_network_curvature(seen, x, y).max())
    return np.array(norms), smoothness, value_and_gradient(w, x, y)[0], eta, eta * smoothness < 2


def _network_curvature(ws, x, y):
    """‖H‖ at each row by central differences of the gradient."""
    norms = []
    for w in ws:
        shifts = 1e-5 * np.eye(len(w))
        ahead, behind = ([value_and_gradient(w + s * d, x, y)[1] for d in shifts] for s in (1, -1))
        norms.append(np.linalg.norm(np.subtract(ahead, behind) / 2e-5, 2))
    return np.array(norms)
