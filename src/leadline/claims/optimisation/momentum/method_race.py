"""Which method wins: digits softmax regression, and quadratics."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from leadline import optimisation
from leadline.evidence import Int, Real, at_most, claim, reference, slope
from leadline.optimisation.rules.momentum_rules import MomentumTable
from leadline.presentation import figure


@eqx.filter_jit
def _value_and_gradient(problem, w):
    return problem(w), problem.gradient(w)


REFERENCE = {"descent 1/L": 390, "descent 2/(m+L)": 197, "Nesterov": 66, "Nesterov, growing": 260, "heavy ball": 36}


@claim(sources=("penn",))
def accelerated_method_comparison(
    key, penalty: Real(0.01, 1.0, log=True) = 0.1, modes: Int(60, 400) = 150, newton: bool = False
):
    r"""Accelerated methods compared on digits.

    On softmax regression for digits the order predicted by theory is found: gradient descent needs about κ log(1/ε)
    steps, accelerated methods about √κ log(1/ε) at the price of one buffer, and a restart makes up for an unknown m.
    On quadratics conjugate gradients are fastest.

    $$O(\kappa \log 1/\varepsilon) \;\text{against}\; O(\sqrt\kappa \log 1/\varepsilon)$$

    Assumes: $L = \lambda_{\max}(X^\top X/n)/2 + a$ and m = a are certified; a gap of 10⁻⁸ from W = 0.

    Check: Steps to gaps of 10⁻², 10⁻⁵ and 10⁻⁸ on digits are compared with the bounds; then quadratics with κ from 100
    to 10⁴ are run.
    """
    problem, zero = optimisation.digits_softmax(penalty), jnp.zeros(650)
    x = np.asarray(problem.x)
    smoothness = float(np.linalg.eigvalsh(x.T @ x / len(x))[-1]) / 2 + penalty
    kappa, ball = smoothness / penalty, optimisation.heavy_ball_tuning(smoothness, penalty)
    plan = optimisation.constant_schedule(*ball, int(7 * np.sqrt(kappa)) + 60)
    balls = optimisation.heavy_ball_velocity(lambda w: _value_and_gradient(problem, w)[1], np.zeros(650), plan)
    minimum, last = map(np.asarray, _value_and_gradient(problem, balls[-1]))
    yield at_most(last @ last / (2 * penalty), 1e-12, "l − l* where l* is taken, certified by ‖g‖²/(2m)")
    distance = float(np.linalg.norm(balls[-1]))
    longest, momentum = 6000, optimisation.nesterov_tuning(smoothness, penalty).momentum
    table, none = MomentumTable, MomentumTable(jnp.zeros(longest))
    growing = table(jnp.asarray(optimisation.growing_schedule(1.0, longest, first=2).momenta))
    rules = {
        "descent 1/L": optimisation.nesterov(1 / smoothness, none),
        "descent 2/(m+L)": optimisation.nesterov(2 / (smoothness + penalty), none),
        "Nesterov": optimisation.nesterov(1 / smoothness, table(jnp.full(longest, momentum))),
        "Nesterov, growing": optimisation.nesterov(1 / smoothness, growing),
        "growing, restarted": optimisation.nesterov(1 / smoothness, growing, restart="gradient"),
    }
    goals = (1e-2, 1e-5, 1e-8)
    counts = {
        name: [int(optimisation.steps_to_reach(problem, rule, zero, minimum + goal, 30000)[0]) for goal in goals]
        for name, rule in rules.items()
    }
    gaps = np.array([_value_and_gradient(problem, w)[0] for w in balls[: len(balls) // 2]]) - minimum
    counts["heavy ball"] = [int(np.argmax(gaps <= goal)) for goal in goals]
    known = smoothness, penalty, distance
    bounds = {
        "descent 1/L": [optimisation.gd_steps(*known, g, step_size=1 / smoothness) for g in goals],
        "descent 2/(m+L)": [optimisation.gd_steps(*known, g) for g in goals],
        "Nesterov": [optimisation.nesterov_steps(*known, g) for g in goals],
    }
    for name, promised in bounds.items():
        yield at_most(counts[name], promised, f"{name}: steps to 10⁻², 10⁻⁵, 10⁻⁸, against the bound")
    if penalty == 0.1:
        ends = [counts[n][-1] for n in REFERENCE]
        yield reference(ends, list(REFERENCE.values()), f"steps to 10⁻⁸ of {', '.join(REFERENCE)}", digits=3)
        yield reference(kappa, 58.2, "κ at a = 0.1", digits=3)
        yield reference(minimum, 1.668155, "l* at a = 0.1", digits=6)
    fast = [counts[n][-1] for n in ("Nesterov", "growing, restarted", "heavy ball")]
    yield at_most(fast, counts["descent 1/L"][-1], "accelerated: steps to 10⁻⁸, against descent at 1/L")
    if newton:
        count, _ = optimisation.steps_to_reach(problem, optimisation.newton(), zero, minimum + 1e-8, 30)
        yield at_most(int(count), 9, "Newton: steps to 10⁻⁸")

    kappas = np.geomspace(100, 1e4, 5)
    needed = {"descent": [], "Nesterov": [], "heavy ball": [], "conjugate gradients": []}
    for k in kappas:
        curvatures = np.geomspace(1.0, k, modes)

        def gradient(w, h=curvatures):
            return h * w

        forms = {
            "Nesterov": (optimisation.nesterov_two_line, optimisation.nesterov_tuning),
            "heavy ball": (optimisation.heavy_ball_velocity, optimisation.heavy_ball_tuning),
        }
        plan, start, root = optimisation.constant_schedule, np.ones(modes), np.sqrt(k)
        paths = {n: form(gradient, start, plan(*tune(k, 1.0), int(25 * root))) for n, (form, tune) in forms.items()}
        paths["conjugate gradients"] = optimisation.conjugate_gradient_points(gradient, start, int(8 * root))
        for name, path in paths.items():
            size = np.linalg.norm(path, axis=1)
            needed[name].append(int(np.flatnonzero(size > 1e-6 * size[0])[-1]) + 1)
        times = np.arange(int(10 * k), int(16 * k), max(1, int(k / 500)))  # descent in closed form, (1 − λ/L)ᵗ
        left = np.sqrt(np.sum((1 - curvatures[:12, None] / k) ** (2 * times), axis=0) / modes)
        needed["descent"].append(int(times[np.argmax(left <= 1e-6)]))
    for name, exponent in (("descent", 1.0), ("Nesterov", 0.5), ("heavy ball", 0.5)):
        # The counts have no noise, so the bare interval is thinner than the bias of a finite κ (heavy ball: 0.53).
        what = f"{name}: exponent of κ on quadratics (95% interval widened by 0.04 for finite κ)"
        yield slope(kappas, needed[name], exponent, what, confidence=0.95, within=0.04)
    for name in ("descent", "Nesterov", "heavy ball"):
        what = f"steps of conjugate gradients on quadratics, against {name}"
        yield at_most(needed["conjugate gradients"], needed[name], what)
    lines = {name: (promised, goals) for name, promised in bounds.items()}
    points = {name: (steps, goals) for name, steps in counts.items()}
    slopes = {
        "slope 1": (kappas, needed["descent"][-1] * kappas / kappas[-1]),
        "slope 1/2": (kappas, needed["Nesterov"][-1] * np.sqrt(kappas / kappas[-1])),
    }
    found = {name: (kappas, steps) for name, steps in needed.items()}
    title = "Quadratics: steps to a relative distance of 10⁻⁶"
    yield figure.beside(
        f"a = {penalty:g}, κ = {kappa:.1f}: {counts['descent 1/L'][-1]} steps of descent, "
        f"{counts['Nesterov'][-1]} of Nesterov, {counts['heavy ball'][-1]} of heavy ball",
        figure.curves("Digits softmax regression", "steps", "gap", lines=lines, points=points, log="xy"),
        figure.curves(title, "κ", "steps", lines=slopes, points=found, log="xy"),
    )
