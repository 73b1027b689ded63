"""Annealing: exact success probabilities of schedules, and how they compare."""

from typing import Annotated

import jax
import numpy as np

from leadline import chains, optimisation
from leadline.claims.stochastic.well_grids import well_losses
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, frequency, method

_SHALLOW, _BARRIER, _HEIGHT = 0.945649, 0.101031, 0.157665  # of the tilted double well
_STEP = 0.05


def _success(schedule, *, tolerance: float = 0.03, cells: int = 200, step: float = _STEP):
    """(times, probability of the deep well, last law, points) along a schedule, begun in the shallow minimum."""
    stretches = chains.in_stretches(schedule, tolerance)
    points = chains.even_grid(-2.2, 2.2, cells + 1)
    objective = optimisation.DoubleWell()
    start = chains.GridKernel(points, chains.FiniteChain(np.eye(len(points))), np.zeros(len(points))).start(_SHALLOW)
    laws = chains.annealed_laws(objective, points, start, stretches, step=step)
    times = np.concatenate([[0], np.cumsum(stretches.lengths)])
    return times, laws[:, points < _BARRIER].sum(axis=1), laws[-1], points, stretches


@method(
    "annealed-sgd",
    says=(
        "Descent with isotropic noise whose temperature falls: like c/log k, geometrically, or in stages that "
        "equilibrate before the next. On a grid the probability to end in the deep well is exact; exchanging "
        "walkers between temperatures (parallel tempering) is the rival."
    ),
    formula=r"W^{+} = W - \eta\, g(W) + \sqrt{2 \eta T_k}\, \xi, \quad T_k = \frac{c}{\log(k + 2)}",
    sources=("penn",),
    shows=(
        "chains.logarithmic_cooling",
        "chains.geometric_cooling",
        "chains.staged_cooling",
        "chains.in_stretches",
        "chains.annealed_laws",
        "chains.annealed_runs",
        "chains.parallel_tempering",
    ),
)
def annealed_sgd(
    key,
    schedule: Annotated[str, Choice("logarithmic", "geometric", "staged")] = "logarithmic",
    c: Annotated[float, Range(0.15, 0.35)] = 0.25,
    budget: Annotated[int, Range(500, 4000)] = 1500,
    runs: Annotated[int, Range(500, 5000, log=True)] = 1000,
):
    """One schedule in the tilted double well from the shallow minimum: exact, and simulated."""
    key_runs, key_temper = jax.random.split(key)
    schedules = {
        "logarithmic": chains.logarithmic_cooling(c, budget),
        "geometric": chains.geometric_cooling(c / 2, 0.01, budget),
        "staged": chains.staged_cooling(c / 2 * 0.6 ** np.arange(5), budget),
    }
    curves, results = {}, {}
    for name, temperatures in schedules.items():
        times, share, _law, _points, stretches = _success(temperatures)
        curves[name], results[name] = (times, share), (float(share[-1]), stretches)
    probability, stretches = results[schedule]
    objective, start = optimisation.DoubleWell(), np.full((runs, 1), _SHALLOW)
    ends = chains.annealed_runs(objective, start, stretches.schedule, step=_STEP, key=key_runs)
    hits = int(np.sum(np.asarray(ends) < _BARRIER))
    yield frequency(hits, runs, probability, f"runs that end in the deep well, {schedule}, against the exact law")
    finer = _success(schedules[schedule], tolerance=0.01, cells=300)[1][-1]
    yield close(finer, probability, "success with stretches three times as short, on a finer grid", atol=2e-3)

    cold = 0.05
    levels = np.geomspace(0.25, cold, 4)
    walkers = chains.parallel_tempering(
        objective, start[:400], levels, step=_STEP, rounds=max(1, budget // 40), between=10, key=key_temper
    )
    found = int(np.sum(np.asarray(walkers)[:, 0] < _BARRIER))
    yield frequency(
        found, len(start[:400]), probability, "coldest walker of parallel tempering in the deep well, equal gradients",
        side="at least",
    ).given(probability < 0.8, "a schedule that succeeds less than 80 times in 100")  # fmt: skip
    yield figure.curves(
        f"{schedule.capitalize()}: the deep well is reached with probability {probability:.3f}, {hits} of {runs} runs; "
        f"tempering {found / len(start[:400]):.2f}",
        x="step",
        y="probability of the deep well",
        lines=curves,
        points={f"{runs} runs, {schedule}": ([budget], [hits / runs])},
    )


@claim(
    "annealing-reaches-global-minimum",
    says=(
        "Cooling like c/log k with c at least the depth of the shallow well converges to the global minimum, "
        "unusably slowly: the escape rate falls like k^(−ΔE/c). Faster cooling freezes; a constant temperature "
        "mixes but stays spread. This holds for isotropic noise, not for SGD's own."
    ),
    formula=r"T_k = \frac{c}{\log (k + 2)}, \quad c \ge \Delta E, \quad \text{rate} \propto k^{-\Delta E / c}",
    sources=("penn",),
    assumes=("isotropic noise", "c ≥ ΔE"),
)
def annealing_reaches_global_minimum(
    key,
    c: Annotated[float, Range(0.16, 0.3)] = 0.2,
    budget: Annotated[int, Range(5000, 100_000, log=True)] = 20_000,
    hot: Annotated[float, Range(0.04, 0.08)] = 0.05,
):
    """The tilted double well from the shallow minimum, η = 0.05: four schedules on the exact grid kernel."""
    times, slow, _, points, _stretches = _success(chains.logarithmic_cooling(c, budget))
    yield at_least(
        np.diff(slow[times >= 100]), 0.0, "rise of the success probability under logarithmic cooling", atol=1e-9
    )
    rate = -np.diff(np.log(1 - slow)) / np.diff(times)
    middle = np.sqrt(times[1:] * np.maximum(times[:-1], 1.0))
    late = middle > 500
    fall = np.polyfit(np.log(middle[late]), np.log(rate[late]), 1)[0]
    yield close(fall, -_HEIGHT / c, "exponent of the escape rate in k, against −ΔE/c", atol=0.05)
    losses = well_losses(points)

    geometric = np.concatenate([chains.geometric_cooling(hot, 0.005, 2000), np.full(budget - 2000, 0.005)])
    g_times, frozen, _, _, _ = _success(geometric)
    at_end = float(np.interp(2000, g_times, frozen))
    yield at_most(frozen[-1] - at_end, 1e-6, "gain after the geometric schedule has ended: frozen")
    gibbs = chains.gibbs_law(losses, 1 / 0.005)[points < _BARRIER].sum()
    yield at_most(frozen[-1], 0.9 * gibbs, "success of the geometric schedule, against the Gibbs share at its end")

    _, warm, law, _, _ = _success(np.full(budget, hot))
    kernel = chains.IsotropicLangevin.at(_STEP, 1 / hot).kernel(optimisation.DoubleWell(), points)
    limit = chains.invariant_law(kernel.chain)
    gap = 1 - np.sort(np.abs(np.linalg.eigvals(kernel.chain.dense)))[-2]
    left = float(np.exp(-gap * budget))  # of the distance to the invariant law
    share = limit[points < _BARRIER].sum()
    yield close(warm[-1], share, "constant temperature: success, against the invariant law", atol=1.5 * left + 1e-9)
    excess = float(limit @ losses - losses.min())
    yield close(law @ losses - losses.min(), excess, "its mean excess loss, which stays", atol=left + 1e-9)
    yield at_least(excess, hot / 2, "that excess, against T/2: the loss never settles")
    cold = _success(np.full(budget, 0.005))[1][-1]
    yield at_most(cold, 1e-9, "success at constant temperature 0.005")
    if c == 0.2 and hot == 0.05:
        blocks = (np.arange(2000) // 100) * 100
        held = [_success(t, tolerance=1e-9)[1][-1] for t in (0.2 / np.log(blocks + 2), 0.05 * 10 ** (-blocks / 2000))]
        yield close(
            held,
            [0.519, 0.097],
            "2000 steps, T renewed every 100: logarithmic and geometric, computed before",
            atol=1e-3,
        )
        early = np.linalg.matrix_power(kernel.chain.dense, 2000)
        start = int(np.argmin(np.abs(points - _SHALLOW)))
        yield close(early[start, points < _BARRIER].sum(), 0.535, "2000 steps at T = 0.05, computed before", atol=5e-3)
        yield close(excess, 0.033, "mean excess loss at T = 0.05, computed before", atol=1e-3)
    grid, power, warm_line = [], kernel.chain.dense, []
    while not grid or 2 * grid[-1] <= budget:
        grid.append(2 * grid[-1] if grid else 1)
        warm_line.append(float((kernel.start(_SHALLOW) @ power)[points < _BARRIER].sum()))
        power = power @ power
    yield figure.curves(
        f"After {budget} steps: logarithmic cooling {slow[-1]:.3f} and rising, geometric frozen at {frozen[-1]:.3f}, "
        f"constant {warm[-1]:.3f} but spread",
        x="step",
        y="probability of the deep well",
        lines={
            f"logarithmic, c = {c:g}": (times[1:], slow[1:]),
            f"geometric, {hot:g} to 0.005": (g_times[1:], frozen[1:]),
            f"constant {hot:g}": (grid, warm_line),
            "constant 0.005": (grid, np.full(len(grid), cold)),
        },
        log="x",
    )
