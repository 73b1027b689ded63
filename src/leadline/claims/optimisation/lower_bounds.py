"""What first-order methods are, what none of them can do, and how near they come."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, instrument, printed

REFERENCE = {10: (0.005300, 0.005682, 0.01488, 0.02491), 50: (0.001208, 0.001225, 0.003808, 0.01279)}


def gd(gradient, start, steps):
    return optimisation.heavy_ball_one_line(gradient, start, optimisation.constant_schedule(1.0, 0.0, steps))


def accelerated(gradient, start, steps):
    return optimisation.nesterov_two_line(gradient, start, optimisation.growing_schedule(1.0, steps, first=2))


@instrument(
    "first-order-span-test",
    says=(
        "A method is first-order in the span sense if wᵗ − w⁰ lies in the span of the gradients it asked for before: "
        "gradient descent, heavy ball, Nesterov's and conjugate gradients do, Newton, Adam, AdaGrad and sign descent "
        "leave it. Any Optax rule can be put in."
    ),
    formula=r"w^t - w^0 \in \mathrm{span}\{g_0, \dots, g_{t-1}\}",
    sources=("penn",),
    assumes=("fewer steps than dimensions", "an objective without symmetry"),
    shows=("optimisation.check_span", "optimisation.span_residuals", "optimisation.SpanTest"),
)
def first_order_span_test(
    key,
    dim: Annotated[int, Range(6, 40)] = 12,
    condition: Annotated[float, Range(2.0, 1000.0, log=True)] = 50.0,
):
    """A quadratic in a random basis, half as many steps as dimensions; the residual of every method at every step."""
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    bowl = optimisation.spread_quadratic(dim, condition, rotation=basis)
    start, steps = rng.normal(size=dim), dim // 2
    matrix = np.asarray(bowl.matrix)
    tuned = optimisation.nesterov_tuning(condition, 1.0)
    rules = {
        "gradient descent": optimisation.nesterov(1 / condition, 0.0),
        "heavy ball": optimisation.heavy_ball(*optimisation.heavy_ball_tuning(condition, 1.0)),
        "Nesterov": optimisation.nesterov(*tuned),
        "Adam": optimisation.tunable(optax.adam, learning_rate=0.05, b1=0.9, b2=0.999, eps=1e-8),
        "AdaGrad": optimisation.tunable(optax.adagrad, learning_rate=0.05),
        "sign descent": optimisation.tunable(optax.adam, learning_rate=0.05, b1=0.0, b2=0.0, eps=0.0),
    }
    tests = {name: optimisation.check_span(bowl, rule, jnp.asarray(start), steps) for name, rule in rules.items()}
    residuals = {name: test.residuals for name, test in tests.items()}
    conjugate = optimisation.conjugate_gradient_points(lambda w: matrix @ w, start, steps)
    residuals["conjugate gradients"] = optimisation.span_residuals(conjugate, conjugate @ matrix)
    one = start - np.linalg.solve(matrix, matrix @ start) * (1 - 1e-3)  # not quite there: its gradients do not vanish
    residuals["Newton"] = optimisation.span_residuals(np.stack([start, one]), (matrix @ start)[None])
    inside = ("gradient descent", "heavy ball", "Nesterov", "conjugate gradients")
    for name, residual in residuals.items():
        if name in inside:
            yield at_most(np.max(residual), 1e-8, f"{name}: largest relative residual")
        else:
            yield at_least(np.max(residual), 1e-3, f"{name}: largest relative residual")
    yield exactly([test.first_order for test in tests.values()], [name in inside for name in tests], "verdicts")

    jump = np.stack([start, rng.normal(size=dim)])  # on ½‖w‖² the gradient is the point itself
    yield at_least(optimisation.span_residuals(jump, jump)[0], 1e-3, "a random jump on ½‖w‖² is not explained")
    after_the_fact = optimisation.span_residuals(jump, jump, ahead=1)[0]
    yield printed(
        at_least(after_the_fact, 1e-3, "a random jump on ½‖w‖² is not explained"),
        "penn", "the span reaches to the gradient at wᵗ itself",
    )  # fmt: skip
    yield figure.curves(
        f"Four methods stay in the span to {max(np.max(residuals[n]) for n in inside):.0e}, the others leave",
        x="step t",
        y="part of wᵗ − w⁰ outside the span",
        points={name: (np.arange(1, len(r) + 1), np.maximum(r, 1e-17)) for name, r in residuals.items()},
        rules={"threshold 10⁻⁸": ("y", 1e-8)},
        log="y",
    )


@claim(
    "nesterov-lower-bound",
    says=(
        "For every t ≤ (p − 1)/2 a convex L-smooth function keeps every first-order method's gap above "
        "(3/32)LR²/(t + 1)². On the chain with 2t + 1 links the best point in the span has gap L/(16(t + 1)), and "
        "conjugate gradients reach it. The chain depends on t."
    ),
    formula=r"l(w^t) - l^* \ge \frac{L}{16(t+1)} \ge \frac{3}{32} \frac{L R^2}{(t+1)^2}",
    sources=("penn",),
    assumes=("the method stays in the span of its gradients", "t ≤ (p − 1)/2"),
)
def nesterov_lower_bound(
    key,
    t: Annotated[int, Range(1, 500)] = 50,
    smoothness: Annotated[float, Range(0.01, 100.0, log=True)] = 1.0,
):
    """Chains for several t up to the given one: the bound, the best in the span, and three methods from w = 0."""
    times = np.unique(np.concatenate([np.geomspace(1, t, 9).round().astype(int), [10, 50]]))
    ends = {"conjugate gradients": [], "Nesterov": [], "gradient descent": []}
    bound, best = [], optimisation.chain_best_gap(times, smoothness)
    for steps in times:
        start = np.zeros(2 * steps + 1)
        bound.append(
            optimisation.first_order_lower_bound(smoothness, optimisation.chain_distance(len(start)), int(steps))
        )
        paths = (
            optimisation.conjugate_gradient_points(optimisation.chain_gradient, start, int(steps)),
            accelerated(optimisation.chain_gradient, start, int(steps)),
            gd(optimisation.chain_gradient, start, int(steps)),
        )
        for name, path in zip(ends, paths, strict=True):
            ends[name].append(optimisation.chain_gap(path[-1], smoothness))
    yield at_least(best, bound, "best gap in the span, against (3/32)LR²/(t + 1)²")
    yield close(ends["conjugate gradients"], best, "conjugate gradients, against L/(16(t + 1))", rtol=1e-10)
    for name in ("Nesterov", "gradient descent"):
        yield at_least(ends[name], best, f"{name}, against the best in the span", rtol=1e-9)
    for steps, numbers in REFERENCE.items():
        i = int(np.flatnonzero(times == steps)[0])
        row = np.array([bound[i], best[i], ends["Nesterov"][i], ends["gradient descent"][i]]) / smoothness
        yield close(row, numbers, f"bound, best, Nesterov, descent at t = {steps}, L = 1: reference", rtol=5e-4)

    links = 2 * t + 1  # once t reaches the dimension conjugate gradients have the minimiser
    exact = optimisation.conjugate_gradient_points(optimisation.chain_gradient, np.zeros(links), links)[-1]
    gap = optimisation.chain_gap(exact, smoothness)
    floor = optimisation.first_order_lower_bound(smoothness, optimisation.chain_distance(links), links)
    yield at_most(gap, 1e-6 * floor, "conjugate gradients after p steps: no lower bound is left")
    yield printed(
        at_least(gap, floor, "gap after t = p steps"),
        "penn", "no first-order method beats the rate, without t ≤ (p − 1)/2",
    )  # fmt: skip
    i = int(np.flatnonzero(times == t)[0])
    yield figure.curves(
        (
            f"At t = {t} no first-order method has a gap below {best[i]:.3g}; Nesterov's is "
            f"{ends['Nesterov'][i] / best[i]:.2f} times that, descent's {ends['gradient descent'][i] / best[i]:.1f}"
        ),
        x="t (the chain has 2t + 1 links)",
        y="gap after t steps",
        lines={"bound (3/32)LR²/(t+1)²": (times, bound), "best in the span": (times, best)},
        points={name: (times, gaps) for name, gaps in ends.items()},
        log="xy",
    )


@claim(
    "acceleration-gap",
    says=(
        "In the worst case over a family (chains and Huber functions) gradient descent's gap falls like 1/t, exactly "
        "1/(4t + 2), and Nesterov's like 1/t², as the lower bound permits. No single function shows both: on the "
        "chain alone descent looks like t to the −1.5."
    ),
    formula=r"E(t) = \max_l \frac{l(w^t) - l^*}{L R^2}: \quad \frac{1}{4t+2} \text{ and } O(t^{-2})",
    sources=("penn",),
    assumes=("convex and L-smooth", "η = 1/L"),
)
def acceleration_gap(
    key,
    longest: Annotated[int, Range(200, 800)] = 400,
    knees: Annotated[int, Range(500, 5000)] = 2000,
):
    """t from 10 to the longest; the worst gap over the chain for t and the knees, for both methods."""
    times = np.unique(np.geomspace(10, longest, 13).round().astype(int))
    chains, worst = {}, {}
    for name, run in {"gradient descent": gd, "Nesterov": accelerated}.items():
        chain, huber = optimisation.worst_gaps(run, times, knees=knees)
        chains[name], worst[name] = chain, np.maximum(chain, huber)
    bound = optimisation.first_order_lower_bound(1.0, 1.0, times)
    fits = {name: np.polyfit(np.log(times), np.log(gaps), 1)[0] for name, gaps in worst.items()}
    yield close(
        worst["gradient descent"], 1 / (4 * times + 2), "gradient descent's E(t), against 1/(4t + 2)", rtol=1e-9
    )
    yield close(fits["gradient descent"], -1.0, "slope of gradient descent", atol=0.03)
    yield close(fits["Nesterov"], -2.0, "slope of Nesterov's method", atol=0.2)
    local = np.diff(np.log(worst["Nesterov"][-3:]))[-1] / np.diff(np.log(times[-3:]))[-1]
    yield close(local, -2.0, "Nesterov's local slope at the longest t", atol=0.05)
    for name, gaps in worst.items():
        yield at_least(gaps, bound, f"{name}'s E(t), against (3/32)/(t + 1)²")
    alone = np.polyfit(np.log(times), np.log(chains["gradient descent"]), 1)[0]
    yield close(alone, -1.5, "slope of gradient descent on the chain alone", atol=0.1)
    yield figure.curves(
        f"Worst cases fall with slope {fits['gradient descent']:.3f} (descent) and {fits['Nesterov']:.3f} (Nesterov)",
        x="t",
        y="worst gap / (L R²)",
        lines={
            "1/(4t + 2)": (times, 1 / (4 * times + 2)),
            "lower bound (3/32)/(t+1)²": (times, bound),
            "slope −2": (times, worst["Nesterov"][-1] * (times[-1] / times) ** 2),
        },
        points={
            name: (times, gaps) for name, gaps in (worst | {"descent, chain alone": chains["gradient descent"]}).items()
        },
        log="xy",
    )
