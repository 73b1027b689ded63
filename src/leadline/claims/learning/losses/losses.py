"""Losses: what they are, which constant each of them likes best, and what Huber's lies between."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, method, smaller
from leadline.learning.loss_minimisers import best_constant
from leadline.presentation import figure


@method(
    sources=("eth", "cam", "penn"),
    shows=(
        "learning.loss_slope",
        "learning.squared",
        "learning.half_squared",
        "learning.absolute",
        "learning.huber",
        "learning.epsilon_insensitive",
        "learning.zero_one",
        "learning.perceptron_hinge",
        "learning.hinge",
        "learning.exponential",
        "learning.logistic",
    ),
)
def loss_functions(
    key,
    delta: Real(0.1, 5.0, log=True) = 1.0,
    tau: Real(0.05, 0.95) = 0.75,
    epsilon: Real(0.05, 2.0) = 0.5,
    samples: Int(50, 2000) = 400,
):
    r"""Regression and classification losses.

    A loss says what a prediction costs: in the residual r = y − f for regression, in the margin z = y f for
    classification. Each comes with its slope, a subgradient at its kinks, and its properties: convex, above the
    zero-one loss, calibrated.

    $$r^2, \ |r|, \ \tfrac12 r^2 \,\text{or}\, \delta(|r|-\tfrac{\delta}{2}), \ r(\tau-1_{r<0}); \quad 1_{z\le 0}, \
    (1-z)_+, \ e^{-z}, \ \log(1+e^{-z})$$

    Check: Finite differences are taken away from the kinks. `samples` residuals and margins are drawn uniformly.
    """
    cards, h, side = learning.LOSSES, 1e-5, 1e-9
    drawn = data.generator(key).uniform(-6, 6, samples)
    kinks = np.array([-delta, -epsilon, 0.0, epsilon, delta, 1.0])
    edge = np.array([-delta, delta])
    places = {
        "drawn": drawn,
        "right": drawn + h,
        "left": drawn - h,
        "kink": kinks,
        "after": kinks + side,
        "before": kinks - side,
        "far": np.array([-1e4, 1e4]),
        "edge": np.concatenate([np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf)]),
        "grid": np.linspace(-8, 8, 1601),
        "shown": np.linspace(-3, 3, 241),
    }
    table = _table(np.concatenate(list(places.values())), delta, tau, epsilon)
    cuts = np.cumsum([len(u) for u in places.values()])[:-1]
    value, slope = (
        {n: dict(zip(places, np.split(row, cuts), strict=True)) for n, row in zip(cards, np.asarray(rows), strict=True)}
        for rows in table
    )

    smooth = np.abs(drawn[:, None] - kinks).min(axis=1) > 1e-3
    miss = [np.abs((value[n]["right"] - value[n]["left"]) / (2 * h) - slope[n]["drawn"])[smooth].max() for n in cards]
    yield at_most(miss, 1e-6, "slope against finite differences, every loss")
    convex = [n for n in cards if cards[n].convex]
    chosen = [slope[n]["kink"] for n in convex]
    bend = 2.1 * side  # what the squared losses' own curvature adds
    before, after = ([slope[n][place] for n in convex] for place in ("before", "after"))
    yield at_most(before, chosen, "slope left of a kink against the one there", atol=bend)
    yield at_least(after, chosen, "slope right of a kink against the one there", atol=bend)

    infinite = [n for n in cards if not np.isfinite(value[n]["far"]).all()]
    yield exactly(infinite, ["exponential"], "losses without a finite value at ±10⁴")
    logarithm = jax.nn.logsumexp(-places["far"])
    yield close(logarithm, 1e4, "logarithm of the exponential loss at −10⁴, by log-sum-exp", rtol=1e-12)
    half = learning.pinball(drawn, 0.0, 0.5)
    yield close(half, value["absolute"]["drawn"] / 2, "pinball at τ = 1/2, half the absolute loss", rtol=1e-14)
    yield close(value["huber"]["edge"], delta**2 / 2, "Huber's value on both sides of ±δ", rtol=1e-12)
    yield close(np.abs(slope["huber"]["edge"]), delta, "Huber's slope on both sides of ±δ", rtol=1e-12)

    bent = {n: np.diff(value[n]["grid"], 2).min() for n in cards}
    yield at_least([bent[n] for n in convex], 0.0, "least second difference, losses declared convex", atol=1e-9)
    others = [bent[n] for n in cards if n not in convex]
    yield at_most(others, -1e-9, "least second difference, losses declared not convex", strict=True)
    residual, margin = ([n for n in cards if cards[n].of == of] for of in ("residual", "margin"))
    error = value["zero_one"]["grid"]
    room = {n: ((cards[n].dominates or 1e6) * value[n]["grid"] - error).min() for n in margin}
    above = [room[n] for n in margin if cards[n].dominates]
    yield at_least(above, 0.0, "loss less the zero-one loss, losses declared to be above it", atol=1e-12)
    below = [room[n] for n in margin if not cards[n].dominates]
    yield at_most(below, -1e-12, "10⁶ times the loss less the zero-one loss, all other losses", strict=True)
    calibrated = [cards[n].convex and slope[n]["kink"][2] < 0 for n in margin]
    yield exactly(calibrated, [cards[n].calibrated for n in margin], "convex with a negative slope at 0, as declared")

    def panel(title, what, names, table, across, low, high):
        lines = {n.replace("_", " "): (places["shown"], np.clip(table[n]["shown"], low, high)) for n in names}
        return figure.curves(title, across, what, lines=lines)

    yield figure.beside(
        f"{len(cards)} losses and their slopes: only the zero-one loss is flat wherever it has a slope",
        panel("regression: the loss", "loss", residual, value, "residual r", 0, 6),
        panel("its slope in r", "slope", residual, slope, "residual r", -4, 4),
        panel("classification: the loss", "loss", margin, value, "margin z", 0, 5),
        panel("its slope in z", "slope", margin, slope, "margin z", -5, 0),
    )


@jax.jit
def _table(u, delta, tau, epsilon):
    """Value and slope of every loss where its residual or its margin is u, one row a loss."""
    shapes = {"huber": (delta,), "pinball": (tau,), "epsilon_insensitive": (epsilon,)}
    values, slopes = [], []
    for name, card in learning.LOSSES.items():

        def at(v, name=name, card=card):
            return card.value(v) if card.of == "margin" else card.value(0.0, v, *shapes.get(name, ()))

        values.append(at(u))
        slopes.append(learning.loss_slope(at, u))
    return jnp.stack(values), jnp.stack(slopes)


@claim(sources=("penn",))
def loss_optimal_constants(
    key, samples: Int(5, 300) = 25, delta: Real(0.05, 5.0, log=True) = 1.0, farthest: Real(1e3, 1e6, log=True) = 1e6
):
    r"""Mean, median and Huber's constant.

    The best constant is the mean for the squared loss, a median for the absolute loss, and in between for Huber's. One
    point moved to infinity drags the mean along, but moves Huber's constant and the median only by a bounded amount.

    $$\sum_i 2(y_i - c) = 0, \qquad \#\{y_i < c\} = \#\{y_i > c\}, \qquad \sum_i \mathrm{clip}(y_i - c, -\delta,
    \delta) = 0$$

    Check: The smallest of the `samples` points is dragged to the right, from 10 to `farthest`.
    """
    from scipy.optimize import brentq

    y = np.sort(data.generator(key).standard_t(4, samples))
    low, high = y[0] - 1, y[-1] + 1

    def pull(c, loss, *shape):
        return float(learning.loss_slope(loss, jnp.full(samples, c), jnp.asarray(y), *shape).sum())

    numeric = brentq(pull, low, high, args=(learning.squared,), xtol=1e-13)
    yield close(numeric, best_constant(y, "squared"), "zero of the squared loss's slope, the mean", atol=1e-8)
    huber = best_constant(y, "huber", delta)
    yield close(np.clip(y - huber, -delta, delta).sum(), 0.0, "pull on Huber's constant", atol=1e-9)
    middle = y[(samples - 1) // 2], y[samples // 2]
    rivals = np.concatenate([y, np.linspace(low, high, 200), np.linspace(*middle, 9)])
    for loss, shape in (("squared", ()), ("huber", (delta,)), ("absolute", ())):
        constants = np.append(rivals, best_constant(y, loss, *shape))
        cost = np.asarray(learning.LOSSES[loss].value(constants[:, None], y, *shape)).sum(axis=1)
        what = f"{loss} loss of its constant against those of {len(rivals)} others"
        yield at_most(cost[-1], cost[:-1], what, rtol=1e-12)
    yield close(cost[-10:-1], cost[-1], "absolute loss of every median", rtol=1e-12)
    small, wide = 10.0 ** -np.arange(1, 7), y[-1] - y[0]
    distance = [abs(best_constant(y, "huber", d) - np.median(y)) - (middle[1] - middle[0]) / 2 for d in small]
    yield at_most(distance, small, "way from Huber's constant to the medians as δ falls to 10⁻⁶, at most δ", atol=1e-12)
    far = [best_constant(y, "huber", d * wide) for d in (1.0, 10.0, 1000.0)]
    yield close(far, y.mean(), "Huber's constant for δ ≥ the range, the mean", atol=1e-9)
    places, rest = np.geomspace(10.0, farthest, 13), y[1:]
    ends = rest[0] - delta, rest[-1] + delta
    limit = brentq(lambda c: np.clip(rest - c, -delta, delta).sum() + delta, *ends, xtol=1e-13)
    limit_median = np.median(np.append(rest, np.inf))
    shifts = {
        loss: np.array([best_constant(np.append(rest, place), loss, *shape) for place in places])
        for loss, shape in (("squared", ()), ("huber", (delta,)), ("absolute", ()))
    }
    mean_line = rest.sum() / samples + places / samples
    yield close(shifts["squared"], mean_line, "mean with one point far away: it follows at 1/n of the pace", rtol=1e-12)
    yield at_most(shifts["huber"], limit, "Huber's constant against the balance of a pull of δ", atol=1e-9)
    yield at_most(shifts["absolute"], limit_median, "median against the next points in order", atol=1e-12)
    still = places > max(limit + delta, rest[-1])
    yield close(shifts["huber"][still], limit, "Huber's constant once the point is out of reach", atol=1e-9)
    yield close(learning.absolute(0.0, places), places, "absolute loss of the far point: linear", rtol=1e-14)
    start = {"mean": y.mean(), "Huber": huber, "median": np.median(y)}
    ends = (mean_line, np.full(13, limit), np.full(13, limit_median))
    lines = {name: (places, end - start[name]) for name, end in zip(start, ends, strict=True)}
    points = {name: (places, m - start[name]) for name, m in zip(start, shifts.values(), strict=True)}
    mean_, huber_, median_ = (end[-1] for _, end in lines.values())
    title = (
        f"Dragging one of {samples} points to {farthest:.3g} moves the mean by {mean_:.3g}, Huber's constant by "
        f"{huber_:.2g}, the median by {median_:.2g}"
    )
    yield figure.curves(title, "place of the point", "shift of the constant", log="xy", lines=lines, points=points)


@claim(sources=("penn",))
def huber_limits(
    key,
    delta: Real(0.2, 2.0) = 1.0,
    place: Real(15.0, 1000.0, log=True) = 30.0,
    samples: Int(40, 150) = 50,
    seeds: Int(20, 60) = 30,
):
    r"""Huber loss and its two limits.

    Huber's loss is r²/2 once δ ≥ max|r|, and divided by δ it is |r| up to δ/2 as δ → 0; its slope is the residual
    clipped to [−δ, δ]. With outliers its fits, like those of the absolute loss, beat least squares.

    $$\Bigl|\tfrac{1}{\delta} H_\delta(r) - |r|\Bigr| \le \tfrac{\delta}{2}, \qquad H_\delta'(r) = \mathrm{clip}(r,
    -\delta, \delta)$$

    Check: Lines are fitted to y = 1 + 2x + N(0, 1/4) after a share of the points has been raised by `place`.
    """
    r = np.linspace(-10, 10, 2001)
    for d in (10.0, 30.0, 1e4):
        what = f"Huber's loss at δ = {d:g} ≥ max|r|, against r²/2"
        yield close(learning.huber(r, 0.0, d), learning.half_squared(r, 0.0), what, atol=1e-12)
    small = 10.0 ** -np.arange(0, 7)
    gap = [np.abs(np.asarray(learning.huber(r, 0.0, d)) / d - np.abs(r)).max() for d in small]
    yield at_most(gap, small / 2, "largest |Huber/δ − |r||, δ from 1 to 10⁻⁶, against δ/2", atol=1e-13, rtol=1e-9)
    slope = learning.loss_slope(lambda p: learning.huber(p, 0.0, delta), r)
    yield close(slope, np.clip(r, -delta, delta), "slope of Huber's loss against the clipped residual", atol=1e-14)
    rng = data.generator(key)
    shares, names = (0.0, 0.1, 0.2, 0.4), ("squared", "huber", "absolute")
    errors = np.zeros((len(shares), len(names), seeds))
    for s in range(seeds):
        x = rng.normal(size=(samples, 1))
        clean = 1 + 2 * x[:, 0] + 0.5 * rng.normal(size=samples)
        for i, q in enumerate(shares):
            y = clean + place * (np.arange(samples) < round(q * samples))
            errors[i, :, s] = [_line_error(x, y, name, delta) for name in names]
    for i, q in enumerate(shares[1:], start=1):
        for j, whose in enumerate(("Huber's", "the absolute"), start=1):
            what = f"error of {whose} line below least squares', outlier share {q:g}"
            yield smaller(errors[i, j], errors[i, 0], what).as_empirical()
    raised = np.arange(samples) < samples // 5
    places = np.geomspace(0.3, 100, 15)
    drawn = {name: [_line_error(x, clean + p * raised, name, delta) for p in places] for name in names}
    low, centre, high = np.quantile(errors, (0.25, 0.5, 0.75), axis=2)
    title, error = "one sample, a fifth of the points moved up", "error of (slope, intercept)"
    points = {name: (places, drawn[name]) for name in names}
    moved = figure.curves(title, "how far the outliers are moved", error, log="xy", points=points)
    title = f"median and quartiles of {seeds} samples, outliers moved by {place:.3g}"
    at = {n: np.array(shares) + 0.006 * (j - 1) for j, n in enumerate(names)}
    points = {n: (at[n], centre[:, j], low[:, j], high[:, j]) for j, n in enumerate(names)}
    shared = figure.curves(title, "share of outliers", error, log="y", points=points)
    off = f"least squares off by {drawn['squared'][-1]:.3g}, Huber's line by {drawn['huber'][-1]:.2g}"
    yield figure.beside(f"A fifth of the points moved 100 up puts {off}", moved, shared)


def _line_error(x, y, loss: str, delta: float) -> float:
    """The distance of the fitted (slope, intercept) from (2, 1)."""
    w = learning.fit_affine(x, y, loss, delta if loss == "huber" else None)
    return float(np.hypot(w[0] - 2, w[1] - 1))
