"""Gradient descent against SGD, in iterations and in gradients of single examples."""

import jax
import numpy as np
from scipy.special import expit

from leadline import data, optimisation, stochastic
from leadline.evidence import Int, Real, at_most, claim, exactly, mean, slope
from leadline.presentation import figure
from leadline.stochastic.cost_rules import convex_costs, crossover_accuracy


@claim(sources=("penn",))
def sgd_slower_than_gd(
    key, samples: Int(800, 4000, log=True) = 1000, penalty: Real(0.1, 0.4) = 0.2, runs: Int(60, 200) = 80
):
    r"""SGD versus gradient descent by cost.

    On a strongly convex loss SGD needs O(1/ε) iterations where gradient descent needs O(κ log 1/ε). Counted in
    gradients of single examples, gradient descent pays n times more per iteration, so SGD wins at low accuracy.

    $$T_{\mathrm{SGD}} = O(1/\epsilon),
    \qquad T_{GD} = O(\kappa \log 1/\epsilon), \qquad \mathrm{cost}_{GD} = n\, T_{GD}$$

    Assumes: l is strongly convex and smooth.

    Check: Ridge-logistic regression in 3 dimensions; SGD makes 20 000 steps of 2/(m(t + t₀)) with b = 1.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, 3)) * np.geomspace(2.0, 0.5, 3)
    y = np.where(rng.random(samples) < expit(x.sum(axis=1)), 1.0, -1.0)
    task = optimisation.LogisticRidge(x, y, penalty)
    smoothness, _, _, _, minimum = task.constants()
    rate, start = (smoothness - penalty) / smoothness, np.zeros(3)
    most = int(np.ceil(np.log(1e-8 / task.gap(start)) / np.log(rate)))
    descent = task.gap(optimisation.gradient_path(task.gradient, start, 1 / smoothness, most))
    descent = descent[: np.argmax(descent <= 1e-8) + 1]
    bound = descent[0] * rate ** np.arange(len(descent))
    yield at_most(descent, bound, "gap of gradient descent, against (1 − m/L)ᵗ gap₀", rtol=1e-9)
    horizon = 20_000
    shift = 2 * task.largest_sample_smoothness / penalty
    looks = np.unique(np.geomspace(10, horizon, 200).round().astype(int))
    rows = rng.integers(samples, size=(horizon, runs))
    steps, sums = 2 / (penalty * (np.arange(1, horizon + 1) + shift)), stochastic.finite_logistic(task)
    points = np.asarray(jax.vmap(lambda picked: stochastic.sgd_run(sums, start, steps, picked).points, 1)(rows))
    gaps = np.array([task(points[:, t]).mean() for t in looks]) - minimum
    late = looks > 8 * shift  # the start is forgotten, and t + t₀ is nearly t
    constant = np.exp(np.mean(np.log((looks * gaps)[late])))
    parts = np.array_split(np.flatnonzero(late), 8)
    needed = np.array([np.exp(np.log(looks[p]).mean()) for p in parts])
    targets = np.array([gaps[p].mean() for p in parts])
    yield slope(1 / targets, needed, 1.0, "iterations of SGD against 1/ε", within=0.1)

    def descent_steps(eps):
        return np.argmax(descent[None] <= np.atleast_1d(eps)[:, None], axis=1)

    passes = 3
    early = np.interp(passes * samples, looks, gaps)
    yield at_most(early, descent[passes], f"gap of SGD after {passes} n gradients, against gradient descent's")
    gradients = samples * descent_steps(1e-8)[0]
    yield at_most(gradients, constant / 1e-8, "gradients of GD to gap 10⁻⁸, against SGD's at its rate c/ε")
    accuracies = np.geomspace(1e-1 * descent[0], 1e-8, 40)
    iterations = np.maximum(descent_steps(accuracies), 1)
    crossing = accuracies[np.argmax(samples * iterations < constant / accuracies)]
    lines, panels = {"SGD, c/ε": (accuracies, constant / accuracies)}, []
    rules = {"crossing": ("x", crossing)}
    for title, unit, marks in (("Iterations", 1, {}), ("Gradients of single examples", samples, rules)):
        points = {"SGD": (targets, needed), "gradient descent": (accuracies, unit * iterations)}
        name = title.split()[0].lower()
        panels.append(figure.curves(title, "accuracy ε", name, lines=lines, points=points, rules=marks, log="xy"))
    yield figure.beside(f"In gradients SGD is cheaper down to ε = {crossing:.1g} for n = {samples}", *panels)


def _averaged_gaps(rng, accuracy, steps, runs, noise):
    """Gaps of averaged SGD with step 1/(B√T) on Huber(knee 2ε) + B s w, s = ±1 balanced, from 1."""
    w, total, eta = np.ones(runs), np.zeros(runs), 1 / (noise * np.sqrt(steps))
    signs, huber = rng.choice(np.array([-1.0, 1.0]), (steps, runs)), optimisation.Huber(2 * accuracy)
    for t in range(steps):
        total += w
        w = w - eta * (huber.gradient(w) + noise * signs[t])
    return huber((total / steps)[:, None])


@claim(sources=("penn",))
def gd_vs_sgd_crossover(key, noise: Real(0.7, 1.5) = 1.0, runs: Int(300, 1500) = 500):
    r"""Crossover accuracy of GD and SGD.

    For convex losses gradient descent costs nLR²/(2ε) gradients of single examples, and SGD (RB/ε)²: they are equal at
    ε* = 2B²/(nL). Gradient descent is the cheaper one only for accuracies below about 1/n; a family that is hard for
    both shows it.

    $$\epsilon^* = \frac{2 B^2}{n L}$$

    Assumes: l is convex and smooth; E‖ĝ‖² ≤ B².

    Check: lⁱ is a Huber function with knee 2ε plus B sᵢ w, w⁰ = 1, L = R = 1; costs are the least T with mean gap ≤ ε.
    """
    rng = data.generator(key)
    accuracies = np.array([0.1, 0.05, 0.025, 0.0125])
    steps, needed = [], []
    for eps in accuracies:
        huber = optimisation.Huber(2 * eps)
        path = optimisation.gradient_path(huber.gradient, np.ones(1), 1.0, int(1 / eps))
        steps.append(np.argmax(huber(path) <= eps * (1 + 1e-12)))
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
    advice = [convex_costs(1000, e, gradient_bound=noise).cheaper for e in (0.1, 1e-5)]
    yield exactly(advice, ["SGD", "gradient descent"], "advice for n = 1000 at ε = 0.1 and 10⁻⁵")
    predicted = np.array([crossover_accuracy(n, gradient_bound=noise) for n in crossing])
    n, fine = 100, np.geomspace(0.005, 0.2, 40)
    lines = {
        "gradient descent, n(1/(4ε) − ½)": (fine, n * (1 / (4 * fine) - 0.5)),
        "averaged SGD, B²/(2ε²)": (fine, noise**2 / (2 * fine**2)),
    }
    points = {"gradient descent": (accuracies, n * np.array(steps)), "averaged SGD": (accuracies, needed)}
    title, y = f"Gradients needed, n = {n}", "gradients of single examples"
    costs = figure.curves(title, "accuracy ε", y, lines=lines, points=points, log="xy")
    lines, points = {"2B²/(nL)": (crossing, predicted)}, {"measured": (crossing, accuracies)}
    title = "Accuracy at which both cost the same"
    equal = figure.curves(title, "examples n", "ε*", lines=lines, points=points, log="xy")
    title = f"The crossing tends to ε* = 2B²/n: at n = {crossing[-1]:.0f} it is {accuracies[-1]:.3g}"
    yield figure.beside(f"{title}, predicted {predicted[-1]:.3g}", costs, equal)
