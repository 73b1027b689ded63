"""What first-order methods are, what none of them can do, and how near they come."""

import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, instrument, reference
from leadline.optimisation.bounds.lower_bounds import worst_gaps
from leadline.presentation import figure

REFERENCE = {10: (0.005300, 0.005682, 0.01488, 0.02491), 50: (0.001208, 0.001225, 0.003808, 0.01279)}


def gd(gradient, start, steps):
    return optimisation.heavy_ball_one_line(gradient, start, optimisation.constant_schedule(1.0, 0.0, steps))


def accelerated(gradient, start, steps):
    return optimisation.nesterov_two_line(gradient, start, optimisation.growing_schedule(1.0, steps, first=2))


@instrument(sources=("penn",))
def first_order_span_test(key, dim: Int(6, 40) = 12, condition: Real(2.0, 1000.0, log=True) = 50.0):
    r"""Span test for first-order methods.

    A method is first-order in the span sense if wᵗ − w⁰ lies in the span of the gradients it has asked for before.
    Gradient descent, heavy ball, Nesterov's method and conjugate gradients stay in that span; Newton's method, Adam,
    AdaGrad and sign descent leave it. Any Optax rule can be tested.

    $$w^t - w^0 \in \mathrm{span}\{g_0, \dots, g_{t-1}\}$$

    Assumes: fewer steps than dimensions; an objective without symmetry.

    Check: Every method runs on a quadratic in a random basis for half as many steps as dimensions, and its residual is
    taken at every step.
    """
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
        relation, limit = (at_most, 1e-8) if name in inside else (at_least, 1e-3)
        yield relation(np.max(residual), limit, f"{name}: largest relative residual")
    verdicts = [test.first_order for test in tests.values()]
    yield exactly(verdicts, [name in inside for name in tests], "verdicts on the six rules: first-order or not")
    far = np.stack([start, np.linalg.solve(np.eye(dim) + 1e3 * matrix, start)])  # w¹ = w⁰ − 1000 g(w¹)
    left = optimisation.span_residuals(far, far @ matrix)[0]
    explained = optimisation.span_residuals(far, far @ matrix, ahead=1)[0]
    implicit = at_least(left, 1e-3, "implicit (proximal) step: part outside the span of g₀")
    yield implicit
    wrong = at_least(explained, 1e-3, "implicit (proximal) step: part outside the span of g₀ and g₁")
    yield erratum(wrong, of=implicit, by="penn", prints="wᵗ − w⁰ in a span that ends with the gradient at wᵗ itself")
    title = f"Four methods stay in the span to {max(np.max(residuals[n]) for n in inside):.0e}, the others leave"
    points = {name: (np.arange(1, len(r) + 1), r) for name, r in residuals.items()}
    rule = {"threshold 10⁻⁸": ("y", 1e-8)}
    yield figure.curves(title, "step t", "part of wᵗ − w⁰ outside the span", points=points, rules=rule, log="y")


@claim(sources=("penn",))
def nesterov_lower_bound(key, t: Int(1, 500) = 50, smoothness: Real(0.01, 100.0, log=True) = 1.0):
    r"""Nesterov's lower bound.

    For every t ≤ (p − 1)/2 there is a convex L-smooth function on which every first-order method's gap stays at or
    above (3/32) LR²/(t + 1)². On the chain with 2t + 1 links the best point in the span has gap L/(16(t + 1)), and
    conjugate gradients reach it. The chain depends on t.

    $$l(w^t) - l^* \ge \frac{L}{16(t+1)} \ge \frac{3}{32} \frac{L R^2}{(t+1)^2}$$

    Assumes: the method stays in the span of its gradients; t ≤ (p − 1)/2.

    Check: For chains with several t up to the given one, the bound, the best point in the span and three methods
    started from w = 0 are compared.
    """
    times = np.unique(np.concatenate([np.geomspace(1, t, 9).round().astype(int), [10, 50]]))
    ends = {"conjugate gradients": [], "Nesterov": [], "gradient descent": []}
    bound, best = [], optimisation.chain_best_gap(times, smoothness)
    for steps in times.tolist():
        start = np.zeros(2 * steps + 1)
        far = optimisation.chain_distance(len(start))
        bound.append(optimisation.first_order_lower_bound(smoothness, far, steps))
        for name, run in zip(ends, (optimisation.conjugate_gradient_points, accelerated, gd), strict=True):
            path = run(optimisation.chain_gradient, start, steps)
            ends[name].append(optimisation.chain_gap(path[-1], smoothness))
    sublinear = at_least(best, bound, "best gap in the span, against (3/32)LR²/(t + 1)²")
    yield sublinear
    yield close(ends["conjugate gradients"], best, "conjugate gradients, against L/(16(t + 1))", rtol=1e-10)
    for name in ("Nesterov", "gradient descent"):
        yield at_least(ends[name], best, f"{name}, against the best in the span", rtol=1e-9)
    for steps, numbers in REFERENCE.items():
        i = np.flatnonzero(times == steps)[0]
        row = np.array([bound[i], best[i], ends["Nesterov"][i], ends["gradient descent"][i]]) / smoothness
        yield reference(row, numbers, f"gap of bound, best, Nesterov, descent at t = {steps}, L = 1", digits=4)
    links = 2 * t + 1  # once t reaches the dimension conjugate gradients have the minimiser
    exact = optimisation.conjugate_gradient_points(optimisation.chain_gradient, np.zeros(links), links)[-1]
    gap = optimisation.chain_gap(exact, smoothness)
    floor = optimisation.first_order_lower_bound(smoothness, optimisation.chain_distance(links), links)
    yield at_most(gap, 1e-6 * floor, "conjugate gradients after p steps: no lower bound is left")
    linear = bound[0] * (bound[1] / bound[0]) ** ((times - times[0]) / (times[1] - times[0]))
    wrong = close(bound, linear, "lower bound, against a linear rate through its first two values", rtol=0.01)
    prints = "we cannot do better than a linear convergence rate (the theorem itself has 1/t²)"
    yield erratum(wrong, of=sublinear, by="penn", prints=prints)
    i = np.flatnonzero(times == t)[0]
    fast, slow = (ends[name][i] / best[i] for name in ("Nesterov", "gradient descent"))
    title = f"At t = {t} the least gap is {best[i]:.3g}; Nesterov's is {fast:.2f} times that, descent's {slow:.1f}"
    lines = {"bound (3/32)LR²/(t+1)²": (times, bound), "best in the span": (times, best)}
    points = {name: (times, gaps) for name, gaps in ends.items()}
    axes = "t (the chain has 2t + 1 links)", "gap after t steps"
    yield figure.curves(title, *axes, lines=lines, points=points, log="xy")


@claim(sources=("penn",))
def acceleration_gap(key, longest: Int(200, 800) = 400, knees: Int(500, 5000) = 2000):
    r"""Gradient descent versus acceleration, worst case.

    In the worst case over a family (chains and Huber functions) the gap of gradient descent falls like 1/t, exactly as
    1/(4t + 2), and that of Nesterov's method like 1/t², as the lower bound permits. No single function shows both: on
    the chain alone descent looks like $t^{-1.5}$.

    $$E(t) = \max_l \frac{l(w^t) - l^*}{L R^2}: \quad \frac{1}{4t+2} \text{ and } O(t^{-2})$$

    Assumes: l is convex and L-smooth; η = 1/L.

    Check: For t from 10 to the longest run, the worst gap over the chain for that t and over the knees of the Huber
    functions is taken for both methods.
    """
    times = np.unique(np.geomspace(10, longest, 13).round().astype(int))
    chains, worst = {}, {}
    for name, run in {"gradient descent": gd, "Nesterov": accelerated}.items():
        chain, huber = worst_gaps(run, times, knees=knees)
        chains[name], worst[name] = chain, np.maximum(chain, huber)
    bound = optimisation.first_order_lower_bound(1.0, 1.0, times)
    fits = {name: np.polyfit(np.log(times), np.log(gaps), 1)[0] for name, gaps in worst.items()}
    slow = 1 / (4 * times + 2)
    yield close(worst["gradient descent"], slow, "gradient descent's E(t), against 1/(4t + 2)", rtol=1e-9)
    yield close(fits["gradient descent"], -1.0, "slope of gradient descent's E(t)", atol=0.03)
    yield close(fits["Nesterov"], -2.0, "slope of E(t) of Nesterov's method", atol=0.2)
    local = np.diff(np.log(worst["Nesterov"][-3:]))[-1] / np.diff(np.log(times[-3:]))[-1]
    yield close(local, -2.0, "Nesterov's local slope at the longest t", atol=0.05)
    for name, gaps in worst.items():
        yield at_least(gaps, bound, f"{name}'s E(t), against (3/32)/(t + 1)²")
    alone = np.polyfit(np.log(times), np.log(chains["gradient descent"]), 1)[0]
    yield close(alone, -1.5, "slope of gradient descent on the chain alone", atol=0.1)
    lines = {
        "1/(4t + 2)": (times, slow),
        "lower bound (3/32)/(t+1)²": (times, bound),
        "slope −2": (times, worst["Nesterov"][-1] * (times[-1] / times) ** 2),
    }
    shown = worst | {"descent, chain alone": chains["gradient descent"]}
    points = {name: (times, gaps) for name, gaps in shown.items()}
    slopes = f"{fits['gradient descent']:.3f} (descent) and {fits['Nesterov']:.3f} (Nesterov)"
    title = f"Worst cases fall with slope {slopes}"
    yield figure.curves(title, "t", "worst gap / (LR²)", lines=lines, points=points, log="xy")
