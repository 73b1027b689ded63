"""Which method wins: digits softmax regression, and quadratics."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import optimisation
from leadline.evidence import (
    Range,
    at_most,
    claim,
    close,
    figure,
    slope,
)


def softmax_loss(problem, w):
    """Value and gradient of a `SoftmaxRidge` problem in NumPy, for a few evaluations without compilation."""
    x, labels = np.asarray(problem.x), np.asarray(problem.labels)
    scores = x @ w.reshape(-1, problem.classes)
    scores -= scores.max(axis=1, keepdims=True)
    error = np.exp(scores)
    sums = error.sum(axis=1, keepdims=True)
    error, total = error / sums, np.log(sums[:, 0])
    error[np.arange(len(x)), labels] -= 1
    a = float(problem.penalty)
    value = np.mean(total - scores[np.arange(len(x)), labels]) + a * (w @ w) / 2
    return value, (x.T @ error / len(x)).ravel() + a * w


REFERENCE = {"descent 1/L": 390, "descent 2/(m+L)": 197, "Nesterov": 66, "Nesterov, growing": 260, "heavy ball": 36}


@claim(
    "accelerated-method-comparison",
    says=(
        "On digits softmax regression the order of the theory comes out: gradient descent needs about κ log 1/ε steps, "
        "accelerated methods about √κ log 1/ε at the price of one buffer, and a restart makes up for an unknown m. "
        "On quadratics conjugate gradients are fastest."
    ),
    formula=r"O(\kappa \log 1/\varepsilon) \;\text{against}\; O(\sqrt\kappa \log 1/\varepsilon)",
    sources=("penn",),
    assumes=("L = λ_max(XᵀX/n)/2 + a and m = a certified", "gap 10⁻⁸ from W = 0"),
    shows=("optimisation.MomentumTable", "optimisation.steps_to_reach"),
)
def accelerated_method_comparison(
    key,
    penalty: Annotated[float, Range(0.01, 1.0, log=True)] = 0.1,
    modes: Annotated[int, Range(60, 400)] = 150,
    newton: bool = False,
):
    """Steps to gaps of 10⁻², 10⁻⁵ and 10⁻⁸ on digits, against the bounds; then quadratics with κ from 100 to 10⁴."""
    problem, zero = optimisation.digits_softmax(penalty), jnp.zeros(650)
    x = np.asarray(problem.x)
    smoothness = float(np.linalg.eigvalsh(x.T @ x / len(x))[-1]) / 2 + penalty
    kappa, ball = smoothness / penalty, optimisation.heavy_ball_tuning(smoothness, penalty)
    plan = optimisation.constant_schedule(*ball, int(7 * np.sqrt(kappa)) + 60)
    balls = optimisation.heavy_ball_velocity(lambda w: softmax_loss(problem, w)[1], np.zeros(650), plan)
    minimum, last = softmax_loss(problem, balls[-1])
    yield at_most(last @ last / (2 * penalty), 1e-12, "l − l* where l* is taken, certified by ‖g‖²/(2m)")
    distance = float(np.linalg.norm(balls[-1]))
    constant, longest = optimisation.nesterov_tuning(smoothness, penalty), 6000

    def table(values):
        return optimisation.MomentumTable(jnp.asarray(values))

    growing = optimisation.growing_schedule(1.0, longest, first=2).momenta
    rules = {
        "descent 1/L": optimisation.nesterov(1 / smoothness, table(np.zeros(longest))),
        "descent 2/(m+L)": optimisation.nesterov(2 / (smoothness + penalty), table(np.zeros(longest))),
        "Nesterov": optimisation.nesterov(1 / smoothness, table(np.full(longest, constant.momentum))),
        "Nesterov, growing": optimisation.nesterov(1 / smoothness, table(growing)),
        "growing, restarted": optimisation.nesterov(1 / smoothness, table(growing), restart="gradient"),
    }
    goals = (1e-2, 1e-5, 1e-8)
    counts = {
        name: [int(optimisation.steps_to_reach(problem, rule, zero, minimum + goal, 30000)[0]) for goal in goals]
        for name, rule in rules.items()
    }
    gaps = np.array([softmax_loss(problem, w)[0] for w in balls[: len(balls) // 2]]) - minimum
    counts["heavy ball"] = [int(np.argmax(gaps <= goal)) for goal in goals]
    bounds = {
        "descent 1/L": [optimisation.gd_steps(smoothness, penalty, distance, g, step=1 / smoothness) for g in goals],
        "descent 2/(m+L)": [optimisation.gd_steps(smoothness, penalty, distance, g) for g in goals],
        "Nesterov": [optimisation.nesterov_steps(smoothness, penalty, distance, g) for g in goals],
    }
    for name, promised in bounds.items():
        yield at_most(counts[name], promised, f"{name}: steps to 10⁻², 10⁻⁵, 10⁻⁸, against the bound")
    reference = close(
        [counts[n][-1] for n in REFERENCE], list(REFERENCE.values()), "steps to 10⁻⁸: reference", rtol=0.01
    )
    yield reference.given(penalty == 0.1, "a = 0.1")
    if penalty == 0.1:
        yield close([smoothness / penalty, minimum], [58.2, 1.668155], "κ and l*: reference", rtol=1e-3)
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

        paths = {
            name: form(gradient, np.ones(modes), optimisation.constant_schedule(*tuning(k, 1.0), int(25 * np.sqrt(k))))
            for name, form, tuning in (
                ("Nesterov", optimisation.nesterov_two_line, optimisation.nesterov_tuning),
                ("heavy ball", optimisation.heavy_ball_velocity, optimisation.heavy_ball_tuning),
            )
        }
        paths["conjugate gradients"] = optimisation.conjugate_gradient_points(
            gradient, np.ones(modes), int(8 * np.sqrt(k))
        )
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
        yield at_most(needed["conjugate gradients"], needed[name], f"conjugate gradients, against {name}")
    yield figure.beside(
        f"a = {penalty:g}, κ = {kappa:.1f}: {counts['descent 1/L'][-1]} steps of descent, "
        f"{counts['Nesterov'][-1]} of Nesterov, {counts['heavy ball'][-1]} of heavy ball",
        figure.curves(
            "Digits softmax regression",
            x="steps",
            y="gap",
            lines={name: (promised, goals) for name, promised in bounds.items()},
            points={name: (steps, goals) for name, steps in counts.items()},
            log="xy",
        ),
        figure.curves(
            "Quadratics: steps to a relative distance of 10⁻⁶",
            x="κ",
            y="steps",
            lines={
                "slope 1": (kappas, needed["descent"][-1] * kappas / kappas[-1]),
                "slope 1/2": (kappas, needed["Nesterov"][-1] * np.sqrt(kappas / kappas[-1])),
            },
            points={name: (kappas, steps) for name, steps in needed.items()},
            log="xy",
        ),
    )
