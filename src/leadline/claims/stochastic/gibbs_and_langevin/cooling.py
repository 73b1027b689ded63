"""Annealing: exact success probabilities of schedules, and how they compare."""

import jax
import numpy as np

from leadline import chains, optimisation
from leadline.chains.annealing import geometric_cooling, in_stretches
from leadline.chains.grid import GridKernel
from leadline.claims.scenarios.stochastic.well_grids import BARRIER, HEIGHT, SHALLOW, well_losses
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, frequency, method, reference
from leadline.presentation import figure

_STEP = 0.05


def _success(schedule, *, tolerance: float = 0.03, cells: int = 200, step_size: float = _STEP):
    """(times, probability of the deep well, last law, points) along a schedule, begun in the shallow minimum."""
    stretches = in_stretches(schedule, tolerance)
    points = chains.even_grid(-2.2, 2.2, cells + 1)
    objective = optimisation.DoubleWell()
    start = GridKernel(points, chains.FiniteChain(np.eye(len(points))), np.zeros(len(points))).start(SHALLOW)
    laws = chains.annealed_laws(objective, points, start, stretches, step_size=step_size)
    times = np.concatenate([[0], np.cumsum(stretches.lengths)])
    return times, laws[:, points < BARRIER].sum(axis=1), laws[-1], points, stretches


@method(sources=("penn",), shows=("chains.annealed_laws",))
def annealed_sgd(
    key,
    schedule: OneOf("logarithmic", "geometric", "staged") = "logarithmic",
    c: Real(0.15, 0.35) = 0.25,
    budget: Int(500, 4000) = 1500,
    runs: Int(500, 5000, log=True) = 1000,
):
    r"""Simulated annealing by noisy descent.

    Descent with isotropic noise whose temperature falls: like c/log k, geometrically, or in stages that equilibrate
    before the next. On a grid the probability of ending in the deep well is exact; exchanging walkers between
    temperatures (parallel tempering) is the rival.

    $$W^{+} = W - \eta\, g(W) + \sqrt{2 \eta T_k}\, \xi, \quad T_k = \frac{c}{\log(k + 2)}$$
    """
    key_runs, key_temper = jax.random.split(key)
    schedules = {
        "logarithmic": chains.logarithmic_cooling(c, budget),
        "geometric": geometric_cooling(c / 2, 0.01, budget),
        "staged": chains.staged_cooling(c / 2 * 0.6 ** np.arange(5), budget),
    }
    curves = {}
    for name, temperatures in schedules.items():
        times, share, _law, _points, stretches = _success(temperatures)
        curves[name] = (times, share)
        if name == schedule:
            probability, rule = share[-1], stretches.schedule
    objective, start = optimisation.DoubleWell(), np.full((runs, 1), SHALLOW)
    ends = chains.annealed_runs(objective, start, rule, step_size=_STEP, key=key_runs)
    hits = np.sum(np.asarray(ends) < BARRIER)
    yield frequency(hits, runs, probability, f"runs that end in the deep well, {schedule}, against the exact law")
    finer = _success(schedules[schedule], tolerance=0.01, cells=300)[1][-1]
    yield close(finer, probability, "success with stretches three times as short, on a finer grid", atol=2e-3)
    levels, few = np.geomspace(0.25, 0.05, 4), start[:400]
    exchange = {"step_size": _STEP, "rounds": max(1, budget // 40), "between": 10}
    walkers = chains.parallel_tempering(objective, few, levels, **exchange, key=key_temper)
    found = np.sum(np.asarray(walkers)[:, 0] < BARRIER)
    what = "coldest walker of parallel tempering in the deep well, equal gradients"
    rival = frequency(found, len(few), probability, what, side="at least")
    yield rival.given(probability < 0.8, "a schedule that succeeds less than 80 times in 100")
    title = f"{schedule.capitalize()}: the deep well with probability {probability:.3f}, found by {hits} of {runs} runs"
    points = {f"{runs} runs, {schedule}": ([budget], [hits / runs])}
    yield figure.curves(title, "step", "probability of the deep well", lines=curves, points=points)


@claim(sources=("penn",))
def annealing_reaches_global_minimum(
    key, c: Real(0.16, 0.3) = 0.2, budget: Int(5000, 100_000, log=True) = 20_000, hot: Real(0.04, 0.08) = 0.05
):
    r"""Logarithmic cooling finds the global minimum.

    Cooling like c/log k with c at least the depth of the shallow well converges to the global minimum, but unusably
    slowly: the escape rate falls like $k^{-\Delta E/c}$. Faster cooling freezes; a constant temperature mixes but
    stays spread out. This holds for isotropic noise, not for SGD's own.

    $$T_k = \frac{c}{\log (k + 2)}, \quad c \ge \Delta E, \quad \text{rate} \propto k^{-\Delta E / c}$$

    Assumes: isotropic noise; c ≥ ΔE.

    Check: Four schedules on the exact grid kernel of the tilted double well, from the shallow minimum, η = 0.05.
    """
    times, slow, _, points, _stretches = _success(chains.logarithmic_cooling(c, budget))
    rise = np.diff(slow[times >= 100])
    yield at_least(rise, 0.0, "rise of the success probability under logarithmic cooling", atol=1e-9)
    rate = -np.diff(np.log(1 - slow)) / np.diff(times)
    middle = np.sqrt(times[1:] * np.maximum(times[:-1], 1.0))
    late = middle > 500
    fall = np.polyfit(np.log(middle[late]), np.log(rate[late]), 1)[0]
    yield close(fall, -HEIGHT / c, "exponent of the escape rate in k, against −ΔE/c", atol=0.05)
    losses = well_losses(points)
    geometric = np.concatenate([geometric_cooling(hot, 0.005, 2000), np.full(budget - 2000, 0.005)])
    g_times, frozen, _, _, _ = _success(geometric)
    at_end = np.interp(2000, g_times, frozen)
    yield at_most(frozen[-1] - at_end, 1e-6, "gain of success after the geometric schedule has ended: frozen")
    gibbs = chains.gibbs_law(losses, 1 / 0.005)[points < BARRIER].sum()
    yield at_most(frozen[-1], 0.9 * gibbs, "success of the geometric schedule, against the Gibbs share at its end")
    _, warm, law, _, _ = _success(np.full(budget, hot))
    kernel = chains.IsotropicLangevin.at(_STEP, 1 / hot).kernel(optimisation.DoubleWell(), points)
    limit = chains.invariant_law(kernel.chain)
    gap = 1 - np.sort(np.abs(np.linalg.eigvals(kernel.chain.dense)))[-2]
    left = np.exp(-gap * budget)  # of the distance to the invariant law
    share = limit[points < BARRIER].sum()
    yield close(warm[-1], share, "constant temperature: success, against the invariant law", atol=1.5 * left + 1e-9)
    excess, what = limit @ losses - losses.min(), "constant temperature: mean excess loss"
    yield close(law @ losses - losses.min(), excess, f"{what}, against that of the invariant law", atol=left + 1e-9)
    yield at_least(excess, hot / 2, f"{what}, against T/2: the loss never settles")
    cold = _success(np.full(budget, 0.005))[1][-1]
    yield at_most(cold, 1e-9, "success at constant temperature 0.005")
    if c == 0.2 and hot == 0.05:
        blocks = (np.arange(2000) // 100) * 100
        held = [_success(t, tolerance=1e-9)[1][-1] for t in (0.2 / np.log(blocks + 2), 0.05 * 10 ** (-blocks / 2000))]
        what = "success after 2000 steps"
        yield reference(held, [0.519, 0.0971], f"{what}, T renewed every 100, logarithmic and geometric", digits=3)
        early = np.linalg.matrix_power(kernel.chain.dense, 2000)
        start = np.argmin(np.abs(points - SHALLOW))
        yield reference(early[start, points < BARRIER].sum(), 0.535, f"{what} at T = 0.05", digits=3)
        yield reference(excess, 0.033, "mean excess loss at T = 0.05", digits=2)
    grid, power, warm_line = [], kernel.chain.dense, []
    while not grid or 2 * grid[-1] <= budget:
        grid.append(2 * grid[-1] if grid else 1)
        warm_line.append((kernel.start(SHALLOW) @ power)[points < BARRIER].sum())
        power = power @ power
    title = f"After {budget} steps: logarithmic {slow[-1]:.3f} and rising, geometric frozen at {frozen[-1]:.3f}"
    lines = {
        f"logarithmic, c = {c:g}": (times[1:], slow[1:]),
        f"geometric, {hot:g} to 0.005": (g_times[1:], frozen[1:]),
        f"constant {hot:g}": (grid, warm_line),
        "constant 0.005": (grid, np.full(len(grid), cold)),
    }
    yield figure.curves(title, "step", "probability of the deep well", lines=lines, log="x")
