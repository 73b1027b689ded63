"""The zone of confusion: where single examples disagree, and where SGD with a constant step stays."""

from typing import Annotated

import numpy as np

from leadline import data, stochastic
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, mean, printed, slope


def six():
    """x, y, and the moments of the six-point problem."""
    x, y = (np.asarray(a) for a in stochastic.six_points().arrays)
    return x[:, 0], y, stochastic.LeastSquaresMoments(x, y)


@claim(
    "least-squares-1d-minimiser",
    says=(
        "The minimiser Σxy/Σx² is the mean of the single minimisers yᵢ/xᵢ with weights xᵢ², so it lies between the "
        "least and the largest of them; it is unique unless all xᵢ = 0."
    ),
    formula=r"w^\star = \frac{\sum_i x_i y_i}{\sum_i x_i^2} = \frac{\sum_i x_i^2 w_i}{\sum_i x_i^2}, "
    r"\quad w_i = y_i/x_i",
    sources=("penn",),
)
def least_squares_1d_minimiser(
    key,
    samples: Annotated[int, Range(1, 50)] = 6,
    sets: Annotated[int, Range(100, 20000, log=True)] = 10000,
):
    """Random data sets; gradient descent with half the exact step, 60 steps, on all of them at once."""
    rng = data.generator(key)
    x, y = rng.standard_normal((sets, samples)), rng.standard_normal((sets, samples))
    own, weight = y / x, x**2
    best = np.sum(x * y, 1) / np.sum(weight, 1)
    yield close(
        np.sum(weight * own, 1) / np.sum(weight, 1),
        best,
        "weighted mean of yᵢ/xᵢ, against Σxy/Σx²",
        rtol=1e-9,
        atol=1e-12,
    )
    w = np.zeros(sets)
    h, c = np.mean(x * x, 1), np.mean(x * y, 1)
    for _ in range(60):
        w = w - 0.5 / h * (h * w - c)
    yield close(w, best, f"limit of gradient descent, {sets} data sets", rtol=1e-12, atol=1e-12)
    scale = np.abs(own).max(1)
    yield at_least((best - own.min(1)) / scale, 0.0, "w* − w_min, relative to the largest |yᵢ/xᵢ|", atol=1e-12)
    yield at_least((own.max(1) - best) / scale, 0.0, "w_max − w*, relative to it", atol=1e-12)
    flat = stochastic.LeastSquaresMoments(np.zeros(3), np.array([1.0, 2.0, 3.0]))
    yield close(flat.hessian, 0.0, "curvature when all xᵢ = 0: every w is a minimiser", atol=0.0)
    xs, ys, moments = six()
    points = ys / xs
    yield figure.curves(
        f"w* = {moments.minimiser[0]:.4f} is the mean of six minimisers from {points.min():.3g} to {points.max():.3g} "
        "with weights x²",
        x="minimiser yᵢ/xᵢ",
        y="weight xᵢ²/Σx²",
        points={"single examples": (points, xs**2 / np.sum(xs**2))},
        rules={"w*": ("x", float(moments.minimiser[0]))},
    )


@claim(
    "zone-of-confusion",
    says=(
        "Left of the least yᵢ/xᵢ every example pushes right, right of the largest every one pushes left; between, they "
        "disagree. If η xᵢ² ≤ 1 for all i, SGD enters this zone and never leaves; with larger steps it can."
    ),
    formula=r"w^+ = (1 - \eta x_i^2)\, w + \eta x_i^2\, w_i",
    sources=("penn",),
    assumes=("one dimension",),
)
def zone_of_confusion(
    key,
    eta: Annotated[float, Range(0.05, 1.0, log=True)] = 0.9,
    steps: Annotated[int, Range(10000, 500000, log=True)] = 200000,
    start: Annotated[float, Range(2.0, 20.0)] = 4.0,
):
    """The six points, b = 1, step η/max x², and 1.9/max x² for the exits; interpolating targets 0.7 x."""
    x, y, moments = six()
    own = y / x
    low, high = own.min(), own.max()
    points = np.concatenate([low - np.geomspace(1e-6, 10, 50), high + np.geomspace(1e-6, 10, 50)])
    pushes = -np.sign(x * (x * points[:, None] - y))
    yield exactly(pushes, np.where(points < low, 1.0, -1.0)[:, None], "direction of every example outside the zone")
    inside = np.linspace(low, high, 52)[1:-1]
    pushes = -np.sign(x * (x * inside[:, None] - y))
    yield exactly(pushes.max(1) - pushes.min(1), np.full(50, 2.0), "both directions occur inside")
    yield printed(
        at_least(pushes.min(1), 1.0, "direction of every example, w in the zone"),
        "penn",
        "all samples move right on (−∞, w_max)",
    )
    rows = stochastic.index_stream(6, steps, key=key)
    path = walk(x, y, start, eta / 1.44, rows)
    there = (path >= low - 1e-12) & (path <= high + 1e-12)  # at η = 1 an iterate can lie on the edge
    entry = int(np.argmax(there))
    yield exactly(bool(there.any()), True, "SGD enters the zone")
    yield exactly(int(np.sum(~there[entry:])), 0, f"steps outside after entry, of {steps}")
    wild = walk(x, y, float(moments.minimiser[0]), 1.9 / 1.44, rows)
    yield at_least(int(np.sum((wild < low) | (wild > high))), 1, "steps outside at 1.9/max x²")
    calm = walk(x, 0.7 * x, start, eta / 1.44, rows[:2000])
    rate = np.mean(np.log1p(-np.minimum(eta * x**2 / 1.44, 1 - 1e-16)))
    yield at_most(np.abs(calm[-1] - 0.7), 1e-12, "interpolation: |w − w*| after 2000 steps").given(
        2000 * rate < -60, "2000 steps suffice at this step size"
    )
    contraction = np.prod(1 - eta * x[rows[:20]] ** 2 / 1.44) * (start - 0.7)
    yield close(calm[20] - 0.7, contraction, "interpolation: w − w* after 20 steps, against Π(1 − ηx²)", atol=1e-12)
    slow = walk(x, y, start, eta / 14.4, rows)
    shown = min(max(6 * entry, 80), steps)
    times = np.arange(shown + 1)
    stride = max(shown // 400, 1)
    yield figure.curves(
        f"SGD enters the zone [{low:.3g}, {high:.3g}] at step {entry} and does not leave it in {steps} steps",
        x="step",
        y="w",
        bands={"zone of confusion": (np.array([0, shown]), np.full(2, low), np.full(2, high))},
        points={
            f"SGD, step {eta:.2g}/max x²": (times[::stride], path[: shown + 1 : stride]),
            f"SGD, step {eta / 10:.2g}/max x²": (times[::stride], slow[: shown + 1 : stride]),
        },
        rules={"w*": ("y", float(moments.minimiser[0]))},
    )


def walk(x, y, start, step, rows):
    """SGD with b = 1 in one dimension along a stream: w⁺ = a w + c, by the library's run in 64 bits."""
    problem = stochastic.least_squares_sum(x[:, None], y)
    return np.asarray(stochastic.sgd_run(problem, np.array([start]), step, rows).points)[:, 0]


@claim(
    "sgd-stationary-variance-1d",
    says=(
        "With a constant step on 1-D least squares the iterate settles at mean w* with variance "
        "ηE[x²r²]/(2E[x²] − ηE[x⁴]): linear in η for small η, infinite from η = 2E[x²]/E[x⁴] on, zero only if every "
        "residual is."
    ),
    formula=r"\mathrm{Var}\, w = \frac{\eta\, E[x^2 r^2]}{2E[x^2] - \eta\, E[x^4]}",
    sources=("penn", "sheet"),
    assumes=("b = 1, drawn with replacement", "η < 2E[x²]/E[x⁴]"),
)
def sgd_stationary_variance_1d(
    key,
    eta: Annotated[float, Range(0.02, 0.9, log=True)] = 0.9,
    noise: Annotated[float, Range(0.0, 3.0)] = 1.0,
    chains: Annotated[int, Range(1000, 20000, log=True)] = 5000,
):
    """The six points with residuals times `noise`, steps η/L_max; independent chains run until they are stationary."""
    x, y, moments = six()
    y = moments.minimiser[0] * x + noise * moments.residuals
    moments = stochastic.LeastSquaresMoments(x, y)

    def formula(step):
        return step * np.mean(x**2 * moments.residuals**2) / (2 * np.mean(x**2) - step * np.mean(x**4))

    shares = np.array([0.1, 0.5, 0.9, 1.5, 2.5, eta])
    solved = np.array([moments.stationary(s / 1.44)[0, 0] for s in shares])
    yield close(
        solved, formula(shares / 1.44), "fixed point of the recursion, against the formula", rtol=1e-12, atol=1e-15
    )
    original = six()[2]
    known = [original.stationary(s / 1.44)[0, 0] for s in (0.1, 0.5, 0.9)]
    yield close(known, [0.0070504, 0.0415307, 0.0909549], "six points, ηL_max = .1, .5, .9", atol=6e-8)
    limit = 2 * np.mean(x**2) / np.mean(x**4)
    yield close([moments.largest_step(), limit], 1.90684, "largest step, computed and 2E[x²]/E[x⁴]", atol=5e-6)
    if noise:
        tiny = np.geomspace(1e-5, 1e-4, 4)
        yield slope(tiny, formula(tiny), 1.0, "variance against η", within=1e-3)

    rng = data.generator(key)
    step = eta / 1.44
    settle = int(np.ceil(np.log(1e-10) / np.log(moments.contraction(step))))
    w = np.full(chains, moments.minimiser[0])
    for _ in range(settle):
        rows = rng.integers(6, size=chains)
        w = w - step * x[rows] * (x[rows] * w - y[rows])
    yield mean(w, moments.minimiser[0], f"mean of {chains} chains, against w*")
    square = (w - moments.minimiser[0]) ** 2
    if noise:
        yield mean(square, formula(step), "variance of the chains, against the formula")
    else:
        yield at_most(square.max(), 1e-25, "interpolation: the chains stay at w*")
    across = np.geomspace(0.01, 0.98, 60) * limit
    marks = [0.1, 0.5, 0.9, 1.5, 2.2]
    measured = []
    for share in marks:
        v = np.full(4000, moments.minimiser[0])
        for _ in range(150):
            rows = rng.integers(6, size=4000)
            v = v - share / 1.44 * x[rows] * (x[rows] * v - y[rows])
        measured.append(float(np.var(v)))
    yield figure.curves(
        f"The variance at step {step:.3g} is {np.var(w):.4g} (formula {formula(step):.4g}); it blows up at {limit:.4g}",
        x="step η",
        y="stationary variance",
        lines={"formula": (across, formula(across))},
        points={"4000 chains, 150 steps": (np.array(marks) / 1.44, measured)},
        rules={"2E[x²]/E[x⁴]": ("x", limit)},
        log="xy" if noise else "",
    )


@claim(
    "sgd-step-size-trade-off",
    says=(
        "The time to enter the zone of confusion scales as 1/η and the stationary variance as η, so their product is "
        "about constant for small steps: a fast start costs accuracy in the same proportion."
    ),
    formula=r"T_{\mathrm{entry}} \propto \frac{1}{\eta}, \qquad \mathrm{Var}\, w \propto \eta",
    sources=("penn",),
)
def sgd_step_size_trade_off(
    key,
    distance: Annotated[float, Range(2.0, 50.0, log=True)] = 10.0,
    runs: Annotated[int, Range(50, 400)] = 100,
):
    """The six points from w* + distance; the mean entry time of `runs` runs at eight steps from 0.001 to 0.1/max x²."""
    x, y, moments = six()
    rng, best = data.generator(key), moments.minimiser[0]
    high = (y / x).max()
    etas = np.geomspace(1e-3, 1e-1, 8) / 1.44
    times = []
    for eta in etas:
        w, t, entered = np.full(runs, best + distance), 0, np.zeros(runs)
        while (entered == 0).any():
            rows = rng.integers(6, size=runs)
            w = w - eta * x[rows] * (x[rows] * w - y[rows])
            t += 1
            entered = np.where((entered == 0) & (w <= high), t, entered)
        times.append(float(entered.mean()))
    times = np.array(times)
    variances = np.array([moments.stationary(eta)[0, 0] for eta in etas])
    yield slope(etas, times, -1.0, "entry time against η", within=0.05)
    yield slope(etas, variances, 1.0, "stationary variance against η", within=0.05)
    product = times * variances
    yield close(product, product.mean(), "entry time × variance at all steps, against their mean", rtol=0.15)
    guess = np.log(distance / (high - best)) / moments.hessian[0, 0]
    yield figure.beside(
        f"Entry time × variance is {product.min():.3g} to {product.max():.3g} over a hundredfold range of steps",
        figure.curves(
            "entry time falls as 1/η",
            x="η",
            y="steps to the zone",
            lines={"log(distance/(w_max − w*))/(ηH)": (etas, guess / etas)},
            points={f"mean of {runs} runs": (etas, times)},
            log="xy",
        ),
        figure.curves(
            "variance rises as η",
            x="η",
            y="stationary variance",
            lines={"ηE[x²r²]/(2E[x²])": (etas, etas * np.mean(x**2 * moments.residuals**2) / (2 * np.mean(x**2)))},
            points={"exact": (etas, variances)},
            log="xy",
        ),
    )
