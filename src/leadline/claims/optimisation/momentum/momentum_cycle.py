"""Heavy ball beyond quadratics: a cycle, and flat minima."""

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_regressions import noisy_logistic
from leadline.evidence import Int, Real, at_most, claim, close, erratum, exactly, reference
from leadline.optimisation.bounds.momentum_bounds import flat_minimum_exponents, heavy_ball_average_bound
from leadline.presentation import figure

CYCLE = np.array([792.0, -2208.0, 2592.0]) / 1225


@claim(sources=("penn", "sheet"))
def heavy_ball_limit_cycle(key, start: Real(3.1, 3.43) = 3.3, num_steps: Int(1000, 5000) = 3000):
    r"""Heavy ball can cycle (Lessard's example).

    The tuning that is best on quadratics need not converge on smooth strongly convex functions: on a function whose
    gradient has slopes 25, 1, 25 (m = 1, L = 25), heavy ball from 3.3 tends to a 3-cycle, while gradient descent and
    Nesterov's method reach 0.

    $$\{792, -2208, 2592\}/1225 \quad\text{at } \eta = 1/9,\; \rho = 4/9$$

    Assumes: η = 1/9 and ρ = 4/9.

    Check: One run is made from the given start; of 1201 starts between −6 and 6, those that end in the cycle are
    found.
    """
    tuned = optimisation.heavy_ball_tuning(25.0, 1.0)
    yield close(tuned, (1 / 9, 4 / 9), "the tuning for m = 1, L = 25", atol=1e-12)
    probe = np.linspace(-3, 4, 15)
    lessard_slope = optimisation.Lessard().gradient  # of each number by itself
    expected = np.where(probe < 1, 25 * probe, np.where(probe < 2, probe + 24, 25 * probe - 24))
    what = "gradient of the library's function, against 25w, w + 24, 25w − 24"
    yield close(lessard_slope(probe), expected, what, atol=1e-12)
    starts, plan = np.append(np.linspace(-6, 6, 1201), start), optimisation.constant_schedule
    paths = optimisation.heavy_ball_velocity(lessard_slope, starts, plan(*tuned, num_steps))
    last = np.sort(paths[-3:, -1])
    yield close(last, np.sort(CYCLE), "last three points, against {792, −2208, 2592}/1225", atol=1e-10)
    w, before = CYCLE[1], CYCLE[0]
    after = w - tuned.step * lessard_slope(w) + tuned.momentum * (w - before)
    yield close(after, CYCLE[2], "one step on the cycle lands on the cycle", atol=1e-12)
    plain = optimisation.heavy_ball_velocity(lessard_slope, starts, plan(1 / 25, 0.0, 600))[-1]
    ahead = optimisation.nesterov_two_line(lessard_slope, starts, plan(1 / 25, 2 / 3, 600))[-1]
    yield at_most(np.abs(plain), 1e-10, "|w|, gradient descent at 1/25, all starts")
    yield at_most(np.abs(ahead), 1e-10, "|w|, Nesterov's method at (1/25, 2/3), all starts")
    cycling = np.abs(paths[-1, :-1]) > 1e-3
    edges = np.flatnonzero(np.diff(np.concatenate([[0], cycling.astype(int), [0]])))
    found = starts[edges.reshape(-1, 2) - np.array([0, 1])]
    known = [(-4.37, -4.10), (-3.37, -3.22), (-3.05, -2.89), (0.98, 1.03), (2.76, 2.92), (3.07, 3.46), (5.40, 5.55)]
    yield exactly(len(found), 7, "intervals of starts that cycle")
    if len(found) == 7:
        yield reference(found, known, "ends of the intervals of starts that cycle", digits=3)
    t, run = np.arange(40), paths[:, -1]
    levels, points = {f"cycle {w:.4f}": (t, 0 * t + w) for w in CYCLE}, {"heavy ball": (t, run[t])}
    web, orbit = {"first 30 steps": (run[:30], run[1:31])}, {"cycle": (CYCLE, np.roll(CYCLE, -1))}
    ends, share = {"starts": (starts[:-1], np.abs(paths[-1, :-1]))}, 100 * np.mean(cycling)
    title = f"{share:.0f}% of the starts in [−6, 6] cycle, in {len(found)} intervals"
    settles = f"From {start:g} the run settles on three values"
    yield figure.beside(
        "Heavy ball tuned for quadratics cycles for ever on a smooth strongly convex function",
        figure.curves(settles, "step t", "wᵗ", lines=levels, points=points),
        figure.curves("The run in the plane (wᵗ, wᵗ⁺¹)", "wᵗ", "wᵗ⁺¹", lines=web, points=orbit),
        figure.curves(title, "start w⁰", "|w| after the run", points=ends),
    )


@claim(sources=("penn",))
def heavy_ball_convex_rate(
    key, q: Real(4.0, 6.5) = 4.0, momentum: Real(0.0, 0.9) = 0.9, longest: Int(60_000, 200_000) = 100_000
):
    r"""Heavy ball on convex functions.

    For convex functions heavy ball has no accelerated guarantee: what is proved is 1/t, for averaged points. And no
    method has a rate for the distance: on $|w|^q/q$ heavy ball falls like $t^{-1/(q-2)}$, and Nesterov's method with
    growing momentum like $t^{-2/(q-2)}$.

    $$l(\bar w^t)-l^* \le \frac{1}{t+1}\left[\frac{\rho(l(w^0)-l^*)}{1-\rho}+\frac{(1-\rho)R^2}{2\eta}\right]$$

    Assumes: l is convex and L-smooth; for the average: η ≤ (1 − ρ)/L.

    Check: Averages are taken on Huber functions, logistic regression and the worst chain; then $|w|^q/q$ is minimised
    with η = 0.05 from 1.
    """
    rng = data.generator(key)
    t = np.arange(1001)

    def averaged(points):
        return np.cumsum(points, axis=0) / (t[:, None] + 1)

    step = 1 - momentum
    plan = optimisation.constant_schedule(step, momentum, 1000)
    knee = np.geomspace(1e-3, 1.0, 13)
    hubers, ones = optimisation.Huber(knee[:, None]), np.ones((13, 1))
    points = optimisation.heavy_ball_velocity(hubers.gradient, ones, plan)[..., 0]
    gaps, first = hubers(averaged(points)[..., None]), hubers(ones)
    bound = heavy_ball_average_bound
    bounds = [bound(1.0, 1.0, float(g), step, momentum, t) for g in first]
    yield at_most(gaps, np.stack(bounds, axis=1), "average on 13 Huber functions, every t", rtol=1e-9)
    points = averaged(optimisation.heavy_ball_velocity(optimisation.chain_gradient, np.zeros(201), plan))
    first = optimisation.chain_gap(np.zeros(201))
    limit = bound(1.0, optimisation.chain_distance(201), first, step, momentum, t)
    yield at_most(optimisation.chain_gap(points), limit, "average on the worst chain, every t", rtol=1e-9)
    loss, best = noisy_logistic(rng)
    smoothness = loss.constants().smoothness
    plan = optimisation.constant_schedule(step / smoothness, momentum, 1000)
    start = best + 3 * rng.normal(size=3)
    points = averaged(optimisation.heavy_ball_velocity(loss.gradient, start, plan))
    far, height = float(np.linalg.norm(start - best)), float(loss(start) - loss(best))
    limit = bound(smoothness, far, height, step / smoothness, momentum, t)
    yield at_most(loss(points) - loss(best), limit, "average on logistic regression, every t", rtol=1e-9, atol=1e-12)

    times = np.unique(np.geomspace(longest / 10, longest, 40).astype(int))
    runs, slopes, drawn = {}, {}, np.unique(np.geomspace(10, longest, 40).astype(int))
    ball, growing = optimisation.heavy_ball(0.05, momentum), optimisation.nesterov_growing(0.05, first=2)
    for power in sorted({q, 6.0}):
        for name, rule in {"heavy ball": ball, "Nesterov": growing}.items():
            path = optimisation.descend(optimisation.PowerFunction(power), rule, jnp.ones(1), longest).points[:, 0]
            runs[name, power] = np.abs(path[drawn])
            slopes[name, power] = np.polyfit(np.log(times), np.log(np.abs(path[times])), 1)[0]
    theory = dict(zip(("heavy ball", "Nesterov"), flat_minimum_exponents(q), strict=True))
    measured, distance = slopes["heavy ball", q], f"heavy ball: slope of the distance on |w|^{q:g}"
    law = close(measured, theory["heavy ball"], distance, atol=0.03)
    yield law
    # In log t the accelerated path oscillates around its power law, undamped at q = 4: its amplitude is bounded.
    amplitude = runs["Nesterov", q] * (np.sqrt(0.05) * drawn) ** -theory["Nesterov"]
    what = f"Nesterov on |w|^{q:g}: |log of w τ^(2/(q − 2))|, every t ≥ 10"
    yield at_most(np.abs(np.log(amplitude)), np.log(2.0), what)
    yield close(slopes["Nesterov", 6.0], -0.5, "Nesterov: slope of the distance on |w|^6", atol=0.03)
    settled = runs["Nesterov", 6.0][-1] * (np.sqrt(0.05) * longest) ** 0.5
    yield close(settled, 0.75**0.25, "w τ^(1/2) on |w|^6, against (α(2 − α))^(1/4), α = 1/2", rtol=0.01)
    wrong = at_most(measured, -1.9, distance)
    yield erratum(wrong, of=law, by="penn", prints="1/√ε steps for convex functions, in distance")
    tuned, slope = optimisation.heavy_ball_tuning(25.0, 1.0), optimisation.Lessard().gradient
    cycle = optimisation.heavy_ball_velocity(slope, np.array(3.3), optimisation.constant_schedule(*tuned, 1000))
    wrong = at_most(np.abs(cycle[-1]), 1e-3, "|w| on the 3-cycle function after 1000 steps, tuned parameters")
    yield erratum(wrong, of=law, by="penn", prints="1/√ε steps for convex functions, with the tuned parameters")
    found = f"{measured:.3f} (heavy ball) and {slopes['Nesterov', q]:.3f} (Nesterov)"
    title = f"On |w|^{q:g} the distance falls with slope {found}, not −2"
    points = {f"{name}, q = {power:g}": (drawn, values) for (name, power), values in runs.items()}
    lines = {"slope −2": (drawn[:12], (drawn[:12] / 10.0) ** -2)}
    yield figure.curves(title, "t", "|w|", lines=lines, points=points, log="xy")
