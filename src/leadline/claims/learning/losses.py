"""Losses: what they are, which constant each of them likes best, and what Huber's lies between."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, method, printed, smaller


@method(
    "loss-functions",
    says=(
        "A loss says what a prediction costs: in the residual r = y − f for regression, in the margin z = y f for "
        "classification. Each comes with its slope, a subgradient at its kinks, and its properties: convex, above the "
        "zero-one loss, calibrated."
    ),
    formula=(
        r"r^2, \ |r|, \ \tfrac12 r^2 \,\text{or}\, \delta(|r|-\tfrac{\delta}{2}), \ r(\tau-1_{r<0}); \quad 1_{z\le 0}, "
        r"\ (1-z)_+, \ e^{-z}, \ \log(1+e^{-z})"
    ),
    sources=("eth", "cam", "penn"),
    shows=(
        "learning.LOSSES", "learning.LossCard", "learning.loss_slope", "learning.squared", "learning.half_squared",
        "learning.absolute", "learning.huber", "learning.epsilon_insensitive", "learning.pinball", "learning.zero_one",
        "learning.perceptron_hinge", "learning.hinge", "learning.exponential", "learning.logistic",
    ),
)  # fmt: skip
def loss_functions(
    key,
    delta: Annotated[float, Range(0.1, 5.0, log=True)] = 1.0,
    tau: Annotated[float, Range(0.05, 0.95)] = 0.75,
    epsilon: Annotated[float, Range(0.05, 2.0)] = 0.5,
    samples: Annotated[int, Range(50, 2000)] = 400,
):
    """Finite differences are taken away from kinks; `samples` residuals and margins are drawn uniformly."""
    cards, h, side = learning.LOSSES, 1e-5, 1e-9
    drawn = data.generator(key).uniform(-6, 6, samples)
    kinks = np.array([-delta, -epsilon, 0.0, epsilon, delta, 1.0])
    edge = np.array([-delta, delta])
    places = {
        "drawn": drawn, "right": drawn + h, "left": drawn - h, "kink": kinks, "after": kinks + side,
        "before": kinks - side, "far": np.array([-1e4, 1e4]),
        "edge": np.concatenate([np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf)]),
        "grid": np.linspace(-8, 8, 1601), "shown": np.linspace(-3, 3, 241),
    }  # fmt: skip
    value, slope = _everywhere(np.concatenate(list(places.values())), delta, tau, epsilon)
    cuts = np.cumsum([len(u) for u in places.values()])[:-1]
    value = {n: dict(zip(places, np.split(v, cuts), strict=True)) for n, v in zip(cards, value, strict=True)}
    slope = {n: dict(zip(places, np.split(v, cuts), strict=True)) for n, v in zip(cards, slope, strict=True)}

    smooth = np.abs(drawn[:, None] - kinks).min(axis=1) > 1e-3
    miss = [np.abs((value[n]["right"] - value[n]["left"]) / (2 * h) - slope[n]["drawn"])[smooth].max() for n in cards]
    yield at_most(miss, 1e-6, "slope against finite differences, every loss")
    convex = [n for n in cards if cards[n].convex]
    chosen = [slope[n]["kink"] for n in convex]
    bend = 2.1 * side  # what the squared losses' own curvature adds
    yield at_most([slope[n]["before"] for n in convex], chosen, "slope left of a kink against the one there", atol=bend)
    yield at_least(
        [slope[n]["after"] for n in convex], chosen, "slope right of a kink against the one there", atol=bend
    )

    finite = [n for n in cards if np.isfinite(value[n]["far"]).all()]
    yield exactly(sorted(set(cards) - set(finite)), ["exponential"], "losses without a finite value at ±10⁴")
    yield close(
        jax.nn.logsumexp(-places["far"]), 1e4, "logarithm of the exponential loss there, by log-sum-exp", rtol=1e-12
    )
    half = np.asarray(learning.pinball(drawn, 0.0, 0.5))
    yield close(half, value["absolute"]["drawn"] / 2, "pinball at τ = 1/2, half the absolute loss", rtol=1e-14)
    yield close(value["huber"]["edge"], delta**2 / 2, "Huber's value on both sides of ±δ", rtol=1e-12)
    yield close(np.abs(slope["huber"]["edge"]), delta, "Huber's slope on both sides of ±δ", rtol=1e-12)

    bent = [np.diff(value[n]["grid"], 2).min() >= -1e-9 for n in cards]
    yield exactly(bent, [card.convex for card in cards.values()], "convex on a grid, as declared")
    residual, margin = ([n for n in cards if cards[n].of == of] for of in ("residual", "margin"))
    error = value["zero_one"]["grid"]
    above = [((cards[n].dominates or 1e6) * value[n]["grid"] >= error - 1e-12).all() for n in margin]
    yield exactly(above, [cards[n].dominates is not None for n in margin], "above the zero-one loss, as declared")
    calibrated = [cards[n].convex and slope[n]["kink"][2] < 0 for n in margin]
    yield exactly(calibrated, [cards[n].calibrated for n in margin], "calibrated, as declared")

    def panel(title, what, names, table, across, low, high):
        lines = {n.replace("_", " "): (places["shown"], np.clip(table[n]["shown"], low, high)) for n in names}
        return figure.curves(title, x=across, y=what, lines=lines)

    yield figure.beside(
        f"{len(cards)} losses and their slopes: only the zero-one loss is flat wherever it has a slope",
        panel("regression: the loss", "loss", residual, value, "residual r", 0, 6),
        panel("its slope in r", "slope", residual, slope, "residual r", -4, 4),
        panel("classification: the loss", "loss", margin, value, "margin z", 0, 5),
        panel("its slope in z", "slope", margin, slope, "margin z", -5, 0),
    )


@jax.jit
def _table(u, delta, tau, epsilon):
    shapes = {"huber": (delta,), "pinball": (tau,), "epsilon_insensitive": (epsilon,)}
    values, slopes = [], []
    for name, card in learning.LOSSES.items():

        def at(v, name=name, card=card):
            return card.value(v) if card.of == "margin" else card.value(0.0, v, *shapes.get(name, ()))

        values.append(at(u))
        slopes.append(learning.loss_slope(at, u))
    return jnp.stack(values), jnp.stack(slopes)


def _everywhere(u, *shape):
    """Value and slope of every loss where its residual or its margin is u, one row a loss."""
    return (np.asarray(a) for a in _table(jnp.asarray(u), *(jnp.asarray(s) for s in shape)))


@claim(
    "loss-optimal-constants",
    says=(
        "The best constant is the mean for the squared loss, a median for the absolute loss, and in between for "
        "Huber's. "
        "One point moved to infinity drags the mean along, Huber's constant and the median only a bounded way."
    ),
    formula=(
        r"\sum_i 2(y_i - c) = 0, \qquad \#\{y_i < c\} = \#\{y_i > c\}, \qquad \sum_i \mathrm{clip}(y_i - c, -\delta, "
        r"\delta) = 0"
    ),
    sources=("penn",),
)
def loss_optimal_constants(
    key,
    samples: Annotated[int, Range(5, 300)] = 25,
    delta: Annotated[float, Range(0.05, 5.0, log=True)] = 1.0,
    farthest: Annotated[float, Range(1e3, 1e6, log=True)] = 1e6,
):
    """The smallest of the `samples` is dragged to the right, from 10 to `farthest`."""
    from scipy.optimize import brentq

    y = np.sort(data.generator(key).standard_t(4, samples))
    low, high = y[0] - 1, y[-1] + 1

    def pull(c, loss, *shape):
        return float(learning.loss_slope(loss, jnp.full(samples, c), jnp.asarray(y), *shape).sum())

    numeric = brentq(pull, low, high, args=(learning.squared,), xtol=1e-13)
    yield close(numeric, learning.best_constant(y, "squared"), "zero of the squared loss's slope, the mean", atol=1e-8)
    huber = learning.best_constant(y, "huber", delta)
    yield close(np.clip(y - huber, -delta, delta).sum(), 0.0, "pull on Huber's constant", atol=1e-9)
    middle = y[(samples - 1) // 2], y[samples // 2]
    rivals = np.concatenate([y, np.linspace(low, high, 200), np.linspace(*middle, 9)])
    for loss, shape in (("squared", ()), ("huber", (delta,)), ("absolute", ())):
        constants = np.append(rivals, learning.best_constant(y, loss, *shape))
        cost = np.asarray(learning.LOSSES[loss].value(constants[:, None], y, *shape)).sum(axis=1)
        yield at_most(
            cost[-1], cost[:-1], f"{loss} loss of its constant against those of {len(rivals)} others", rtol=1e-12
        )
    yield close(cost[-10:-1], cost[-1], "absolute loss of every median", rtol=1e-12)

    small, wide = 10.0 ** -np.arange(1, 7), y[-1] - y[0]
    distance = [abs(learning.best_constant(y, "huber", d) - np.median(y)) - (middle[1] - middle[0]) / 2 for d in small]
    yield at_most(distance, small, "way from Huber's constant to the medians as δ falls to 10⁻⁶, at most δ", atol=1e-12)
    far = [learning.best_constant(y, "huber", d * wide) for d in (1.0, 10.0, 1000.0)]
    yield close(far, y.mean(), "Huber's constant for δ ≥ the range, the mean", atol=1e-9)

    places = np.geomspace(10.0, farthest, 13)
    rest = y[1:]
    limit = brentq(
        lambda c: np.clip(rest - c, -delta, delta).sum() + delta, rest[0] - delta, rest[-1] + delta, xtol=1e-13
    )
    limit_median = np.median(np.append(rest, np.inf))
    shifts = {loss: [] for loss in ("squared", "huber", "absolute")}
    for place in places:
        for loss in shifts:
            shape = delta if loss == "huber" else None
            shifts[loss].append(learning.best_constant(np.append(rest, place), loss, shape))
    shifts = {loss: np.array(values) for loss, values in shifts.items()}
    mean_line = rest.sum() / samples + places / samples
    yield close(shifts["squared"], mean_line, "mean with one point far away: it follows at 1/n of the pace", rtol=1e-12)
    yield at_most(shifts["huber"], limit, "Huber's constant against the balance of a pull of δ", atol=1e-9)
    yield at_most(shifts["absolute"], limit_median, "median against the next points in order", atol=1e-12)
    still = places > max(limit + delta, rest[-1])
    yield close(shifts["huber"][still], limit, "Huber's constant once the point is out of reach", atol=1e-9)

    cost = np.asarray(learning.absolute(0.0, places))
    yield close(cost, places, "absolute loss of the far point: linear", rtol=1e-14)
    yield printed(
        at_most(cost[-1], cost[0], "absolute loss at the farthest place against that at 10"),
        "penn", "the absolute loss does not penalise outlier residuals",
    )  # fmt: skip

    start = {"mean": y.mean(), "Huber": huber, "median": float(np.median(y))}
    fine = np.geomspace(10.0, farthest, 100)
    ends = (
        rest.sum() / samples + fine / samples - start["mean"],
        np.full(100, limit - start["Huber"]),
        np.full(100, limit_median - start["median"]),
    )
    measured = (shifts["squared"], shifts["huber"], shifts["absolute"])
    yield figure.curves(
        f"Dragging one of {samples} points to {farthest:.3g} moves the mean by {ends[0][-1]:.3g}, Huber's constant by "
        f"{ends[1][-1]:.2g}, the median by {ends[2][-1]:.2g}",
        x="place of the dragged point", y="shift of the best constant", log="xy",
        lines={name: (fine, end) for name, end in zip(start, ends, strict=True)},
        points={name: (places, m - start[name]) for name, m in zip(start, measured, strict=True)},
    )  # fmt: skip


@claim(
    "huber-limits",
    says=(
        "Huber's loss is r²/2 once δ ≥ max|r|, and Huber/δ is |r| up to δ/2 as δ → 0; its slope is the residual "
        "clipped to "
        "[−δ, δ]. With outliers its fits, like those of the absolute loss, beat least squares."
    ),
    formula=(
        r"\Bigl|\tfrac{1}{\delta} H_\delta(r) - |r|\Bigr| \le \tfrac{\delta}{2}, \qquad H_\delta'(r) = "
        r"\mathrm{clip}(r, -\delta, \delta)"
    ),
    sources=("penn",),
)
def huber_limits(
    key,
    delta: Annotated[float, Range(0.2, 2.0)] = 1.0,
    place: Annotated[float, Range(15.0, 1000.0, log=True)] = 30.0,
    samples: Annotated[int, Range(40, 150)] = 50,
    seeds: Annotated[int, Range(20, 60)] = 30,
):
    """Lines y = 1 + 2x + N(0, 1/4) are fitted after a share of the points has been raised by `place`."""
    r = np.linspace(-10, 10, 2001)
    for d in (10.0, 30.0, 1e4):
        yield close(
            learning.huber(r, 0.0, d), learning.half_squared(r, 0.0), f"Huber at δ = {d:g} ≥ max|r|", atol=1e-12
        )
    small = 10.0 ** -np.arange(0, 7)
    gap = [np.abs(np.asarray(learning.huber(r, 0.0, d)) / d - np.abs(r)).max() for d in small]
    yield at_most(gap, small / 2, "largest |Huber/δ − |r||, δ from 1 to 10⁻⁶, against δ/2", atol=1e-13, rtol=1e-9)
    slope = np.asarray(learning.loss_slope(lambda p: learning.huber(p, 0.0, delta), r))
    yield close(slope, np.clip(r, -delta, delta), "slope against the clipped residual", atol=1e-14)

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
        yield smaller(errors[i, 1], errors[i, 0], f"error of Huber's line below least squares', outlier share {q:g}")
        yield smaller(
            errors[i, 2], errors[i, 0], f"error of the absolute line below least squares', outlier share {q:g}"
        )

    raised = np.arange(samples) < samples // 5
    places = np.geomspace(0.3, 100, 15)
    drawn = {name: np.array([_line_error(x, clean + p * raised, name, delta) for p in places]) for name in names}
    low, centre, high = np.quantile(errors, (0.25, 0.5, 0.75), axis=2)
    yield figure.beside(
        f"A fifth of the points moved 100 up puts least squares off by {drawn['squared'][-1]:.3g}, Huber's line by "
        f"{drawn['huber'][-1]:.2g}",
        figure.curves(
            "one sample, a fifth of the points moved up", x="how far the outliers are moved",
            y="error of (slope, intercept)", log="xy",
            points={name: (places, drawn[name]) for name in names},
        ),
        figure.curves(
            f"median and quartiles of {seeds} samples, outliers moved by {place:.3g}", x="share of outliers",
            y="error of (slope, intercept)", log="y",
            points={
                n: (np.array(shares) + 0.006 * (j - 1), centre[:, j], low[:, j], high[:, j])
                for j, n in enumerate(names)
            },
        ),
    )  # fmt: skip


def _line_error(x, y, loss: str, delta: float) -> float:
    """The distance of the fitted (slope, intercept) from (2, 1)."""
    w = learning.fit_affine(x, y, loss, delta if loss == "huber" else None)
    return float(np.hypot(w[0] - 2, w[1] - 1))
