"""Heavy ball beyond quadratics: a cycle, and flat minima."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation.momentum_problems import huber_gap, lessard_slope, noisy_logistic
from leadline.evidence import (
    Range,
    at_most,
    claim,
    close,
    exactly,
    figure,
    printed,
)

CYCLE = np.array([792.0, -2208.0, 2592.0]) / 1225


@claim(
    "heavy-ball-limit-cycle",
    says=(
        "The tuning that is best on quadratics need not converge on smooth strongly convex functions: on a "
        "function with slopes 25, 1, 25 (m = 1, L = 25) heavy ball from 3.3 tends to a 3-cycle, while gradient descent "
        "and Nesterov's method reach 0."
    ),
    formula=r"\{792, -2208, 2592\}/1225 \quad\text{at } \eta = 1/9,\; \rho = 4/9",
    sources=("penn", "sheet"),
    assumes=("η = 1/9, ρ = 4/9",),
)
def heavy_ball_limit_cycle(
    key,
    start: Annotated[float, Range(3.1, 3.43)] = 3.3,
    steps: Annotated[int, Range(1000, 5000)] = 3000,
):
    """One run from the start, and 1201 starts between −6 and 6 of which those that cycle are found."""
    objective = optimisation.Lessard()
    tuned = optimisation.heavy_ball_tuning(25.0, 1.0)
    yield close(tuned, (1 / 9, 4 / 9), "the tuning for m = 1, L = 25", atol=1e-12)

    def slope(w):
        return np.where(w < 1, 25 * w, np.where(w < 2, w + 24, 25 * w - 24))

    probe = np.linspace(-3, 4, 15)
    mine = np.array([float(objective.gradient(jnp.array([u]))[0]) for u in probe[:3]])
    yield close(mine, slope(probe[:3]), "gradient, against the library's function", atol=1e-12)
    starts = np.append(np.linspace(-6, 6, 1201), start)
    paths = optimisation.heavy_ball_velocity(slope, starts, optimisation.constant_schedule(*tuned, steps))
    last = np.sort(paths[-3:, -1])
    yield close(last, np.sort(CYCLE), "last three points, against {792, −2208, 2592}/1225", atol=1e-10)
    w, before = CYCLE[1], CYCLE[0]
    after = w - tuned.step * slope(w) + tuned.momentum * (w - before)
    yield close(after, CYCLE[2], "one step on the cycle lands on the cycle", atol=1e-12)
    plain = optimisation.heavy_ball_velocity(slope, starts, optimisation.constant_schedule(1 / 25, 0.0, 600))[-1]
    ahead = optimisation.nesterov_two_line(slope, starts, optimisation.constant_schedule(1 / 25, 2 / 3, 600))[-1]
    yield at_most(np.abs(plain), 1e-10, "|w|, gradient descent at 1/25, all starts")
    yield at_most(np.abs(ahead), 1e-10, "|w|, Nesterov's method at (1/25, 2/3), all starts")
    cycling = np.abs(paths[-1, :-1]) > 1e-3
    edges = np.flatnonzero(np.diff(np.concatenate([[0], cycling.astype(int), [0]])))
    found = starts[edges.reshape(-1, 2) - np.array([0, 1])]
    reference = np.array(
        [(-4.37, -4.10), (-3.37, -3.22), (-3.05, -2.89), (0.98, 1.03), (2.76, 2.92), (3.07, 3.46), (5.40, 5.55)]
    )
    yield exactly(len(found), len(reference), "intervals of starts that cycle")
    if len(found) == len(reference):
        yield close(found, reference, "their ends: reference", atol=0.015)
    yield printed(
        at_most(np.abs(paths[-1, -1]), 1e-3, "|w| after the run with the tuned parameters"),
        "penn", "the tuned heavy ball converges at the accelerated rate on strongly convex functions",
    )  # fmt: skip
    t = np.arange(40)
    series = figure.curves(
        f"From {start:g} the run settles on three values",
        x="step t",
        y="wᵗ",
        lines={
            "cycle 0.6465": (t, 0 * t + CYCLE[0]),
            "cycle −1.8024": (t, 0 * t + CYCLE[1]),
            "cycle 2.1159": (t, 0 * t + CYCLE[2]),
        },
        points={"heavy ball": (t, paths[t, -1])},
    )
    web = figure.curves(
        "The run in the plane (wᵗ, wᵗ⁺¹)",
        x="wᵗ",
        y="wᵗ⁺¹",
        lines={"first 30 steps": (paths[:30, -1], paths[1:31, -1])},
        points={"cycle": (CYCLE, np.roll(CYCLE, -1))},
    )
    basin = figure.curves(
        f"{100 * np.mean(cycling):.0f}% of the starts in [−6, 6] cycle, in {len(found)} intervals",
        x="start w⁰",
        y="|w| after the run",
        points={"starts": (starts[:-1], np.abs(paths[-1, :-1]))},
    )
    yield figure.beside(
        "Heavy ball tuned for quadratics cycles for ever on a smooth strongly convex function", series, web, basin
    )


@claim(
    "heavy-ball-convex-rate",
    says=(
        "For convex functions heavy ball has no accelerated guarantee: proved is 1/t, for averaged points. And no "
        "method has a rate for the distance: on |w|^q/q heavy ball falls like t to the −1/(q − 2), Nesterov's "
        "growing momentum like t to the −2/(q − 2)."
    ),
    formula=r"l(\bar w^t)-l^* \le \frac{1}{t+1}\left[\frac{\rho(l(w^0)-l^*)}{1-\rho}+\frac{(1-\rho)R^2}{2\eta}\right]",
    sources=("penn",),
    assumes=("convex, L-smooth", "η ≤ (1 − ρ)/L for the average"),
    shows=("optimisation.heavy_ball_average_bound", "optimisation.flat_minimum_exponents"),
)
def heavy_ball_convex_rate(
    key,
    q: Annotated[float, Range(4.0, 6.5)] = 4.0,
    momentum: Annotated[float, Range(0.0, 0.9)] = 0.9,
    longest: Annotated[int, Range(60_000, 200_000)] = 100_000,
):
    """Averages on Huber functions, logistic regression and the worst chain; then |w|^q/q with η = 0.05 from 1."""
    rng = data.generator(key)
    t = np.arange(1001)

    def averaged(points):
        return np.cumsum(points, axis=0) / (t[:, None] + 1)

    step = 1 - momentum
    plan = optimisation.constant_schedule(step, momentum, 1000)
    knee = np.geomspace(1e-3, 1.0, 13)
    points = optimisation.heavy_ball_velocity(lambda w: np.clip(w, -knee, knee), np.ones(13), plan)
    gaps = huber_gap(averaged(points), knee)
    bounds = [
        optimisation.heavy_ball_average_bound(1.0, 1.0, float(g), step, momentum, t)
        for g in huber_gap(np.ones(13), knee)
    ]
    yield at_most(gaps, np.stack(bounds, axis=1), "average on 13 Huber functions, every t", rtol=1e-9)
    points = averaged(optimisation.heavy_ball_velocity(optimisation.chain_gradient, np.zeros(201), plan))
    first = optimisation.chain_gap(np.zeros(201))
    bound = optimisation.heavy_ball_average_bound(1.0, optimisation.chain_distance(201), first, step, momentum, t)
    yield at_most(optimisation.chain_gap(points), bound, "average on the worst chain, every t", rtol=1e-9)
    value, gradient, smoothness, best = noisy_logistic(rng)
    plan = optimisation.constant_schedule(step / smoothness, momentum, 1000)
    start = best + 3 * rng.normal(size=3)
    points = averaged(optimisation.heavy_ball_velocity(gradient, start, plan))
    bound = optimisation.heavy_ball_average_bound(
        smoothness,
        float(np.linalg.norm(start - best)),
        float(value(start) - value(best)),
        step / smoothness,
        momentum,
        t,
    )
    yield at_most(value(points) - value(best), bound, "average on logistic regression, every t", rtol=1e-9, atol=1e-12)

    times = np.unique(np.geomspace(longest / 10, longest, 40).astype(int))
    runs, slopes, drawn = {}, {}, np.unique(np.geomspace(10, longest, 40).astype(int))
    for power in sorted({q, 6.0}):
        for name in ("heavy ball", "Nesterov"):

            def flat(w, power=power):
                return abs(w) ** (power - 2) * w

            if name == "heavy ball":
                path = optimisation.heavy_ball_velocity(
                    flat, np.array(1.0), optimisation.constant_schedule(0.05, momentum, longest)
                )
            else:
                path = optimisation.nesterov_two_line(
                    flat, np.array(1.0), optimisation.growing_schedule(0.05, longest, first=2)
                )
            runs[name, power] = np.abs(path[drawn])
            slopes[name, power] = np.polyfit(np.log(times), np.log(np.abs(path[times])), 1)[0]
    theory = dict(zip(("heavy ball", "Nesterov"), optimisation.flat_minimum_exponents(q), strict=True))
    yield close(
        slopes["heavy ball", q], theory["heavy ball"], f"heavy ball: slope of the distance on |w|^{q:g}", atol=0.03
    )
    # In log t the accelerated path oscillates around its power law, undamped at q = 4: its amplitude is bounded.
    amplitude = runs["Nesterov", q] * (np.sqrt(0.05) * drawn) ** -theory["Nesterov"]
    yield at_most(
        np.abs(np.log(amplitude)), np.log(2.0), f"Nesterov on |w|^{q:g}: |log of w τ^(2/(q − 2))|, every t ≥ 10"
    )
    yield close(slopes["Nesterov", 6.0], -0.5, "Nesterov: slope of the distance on |w|^6", atol=0.03)
    settled = runs["Nesterov", 6.0][-1] * (np.sqrt(0.05) * longest) ** 0.5
    yield close(settled, 0.75**0.25, "w τ^(1/2) on |w|^6, against (α(2 − α))^(1/4), α = 1/2", rtol=0.01)
    for name in theory:
        yield printed(
            at_most(slopes[name, q], -1.9, f"{name}: slope of the distance"),
            "penn", "1/√ε steps for convex functions, in distance",
        )  # fmt: skip
    tuned = optimisation.heavy_ball_tuning(25.0, 1.0)
    cycle = optimisation.heavy_ball_velocity(lessard_slope, np.array(3.3), optimisation.constant_schedule(*tuned, 1000))
    yield printed(
        at_most(np.abs(cycle[-1]), 1e-3, "|w| on the 3-cycle function after 1000 steps, tuned parameters"),
        "penn", "accelerated convergence with the tuned parameters",
    )  # fmt: skip
    yield figure.curves(
        f"On |w|^{q:g} the distance falls with slope {slopes['heavy ball', q]:.3f} (heavy ball) and "
        f"{slopes['Nesterov', q]:.3f} (Nesterov), not −2",
        x="t",
        y="|w|",
        lines={"slope −2, as printed": (drawn[:12], (drawn[:12] / 10.0) ** -2)},
        points={f"{name}, q = {power:g}": (drawn, values) for (name, power), values in runs.items()},
        log="xy",
    )
