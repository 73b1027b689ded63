"""How long SGD's law takes to settle, and what settling means: of many runs, of one run, of the loss."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import chains, optimisation, probability
from leadline.chains.coupling import coupled_distances
from leadline.claims.scenarios.stochastic.well_grids import BARRIER, DEEP, HEIGHT, SHALLOW, langevin_on_wells
from leadline.data import generator
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, distributed_as, mean, reference
from leadline.presentation import figure


def _slow_rate(kernel) -> float:
    """1 − |λ₂| of a grid kernel."""
    return 1 - np.sort(np.abs(np.linalg.eigvals(kernel.chain.dense)))[-2]


@claim(sources=("penn",))
def sgd_equilibration_time(
    key,
    m: Real(0.05, 0.5) = 0.1,
    share: Real(0.05, 1.0) = 0.5,
    beta: Real(5.0, 100.0, log=True) = 20.0,
    penalty: Real(0.05, 0.5) = 0.1,
):
    r"""Equilibration time of SGD.

    With curvature between m and L, η ≤ 2/(m + L) and additive noise, two runs that share their noise approach each
    other by a factor 1 − ηm or faster in every step: (1/ηm) log(1/ε) steps equilibrate, and 1/(ηm) is the slowest
    correlation time. Without convexity it is $e^{\beta \Delta E}$.

    $$\|W_t - W'_t\| \le (1 - \eta m)^t \|W_0 - W'_0\|, \quad \tau = -1 / \log(1 - \eta m)$$

    Assumes: the loss is m-strongly convex and L-smooth; η ≤ 2/(m + L); the noise is additive.
    """
    rng = generator(key)
    bowl = optimisation.Quadratic(jnp.diag(jnp.array([m, (m + 1) / 2, 1.0])), jnp.zeros(3))
    x = rng.standard_normal((40, 3))
    labels = np.sign(x[:, 0] + rng.standard_normal(40))
    curved = optimisation.LogisticRidge(jnp.asarray(x), jnp.asarray(labels), penalty)
    drawn = {}
    for name, objective in (("parabola", bowl), ("logistic regression", curved)):
        constants = objective.constants()
        low, high = float(constants.strong_convexity), float(constants.smoothness)
        step = share * 2 / (low + high)
        model = chains.IsotropicLangevin.at(step, beta)
        far = coupled_distances(model, objective, 3.0 * rng.standard_normal(3), np.zeros(3), 60, key=key)
        bound = far[0] * (1 - step * low) ** np.arange(61)
        seen = bound > 1e-6  # below, rounding of the states shows
        what = f"distance of coupled runs over its bound (1 − ηm)ᵗ, {name}"
        yield at_most(far[seen] / bound[seen], 1.0, what, atol=1e-8)
        drawn[name] = (far, bound)
    step = share * 2 / (m + 1)
    model = chains.IsotropicLangevin.at(step, beta)
    wide = model.stationary_variance(m) ** 0.5
    points = chains.even_grid(-8 * wide, 8 * wide, int(np.ceil(40 * wide / model.deviation)) + 1)
    slowest = 1 - _slow_rate(chains.gaussian_kernel(points, (1 - step * m) * points, model.deviation))
    found, predicted = -1 / np.log(slowest), -1 / np.log(1 - step * m)
    yield close(found, predicted, "correlation time of the grid kernel along m, against −1/log(1 − ηm)", rtol=1e-4)
    lag = max(1, round(1 / (step * m)))
    v = wide * rng.standard_normal(20_000)
    later = v
    for _ in range(lag):
        later = (1 - step * m) * later + model.deviation * rng.standard_normal(len(v))
    what = f"correlation of 20000 runs with themselves {lag} steps later"
    yield mean(v * later / wide**2, (1 - step * m) ** lag, what)
    betas = np.array([15.0, 20.0, 25.0, 30.0])
    rates = np.array([_slow_rate(langevin_on_wells(0.1, b)[1]) for b in betas])
    growth = -np.polyfit(betas, np.log(rates), 1)[0]
    yield close(growth, HEIGHT, "fall of the log gap in β for the double well, against ΔE", rtol=0.1)
    # The gap is the rate out of both wells; Kramers gives the rate out of the shallow one.
    formula = np.array([0.1 / chains.kramers_time(1.68276, -0.96938, HEIGHT, b) for b in betas])
    t = np.arange(61)
    lines = {f"bound, {name}": (t, bound) for name, (_, bound) in drawn.items()}
    runs = {name: (t, far) for name, (far, _) in drawn.items()}
    title = "Distance of two runs with the same noise"
    coupled = figure.curves(title, "step", "distance", lines=lines, points=runs, log="y")
    lines, found = {"η / Kramers' time": (betas, formula)}, {"grid kernel": (betas, rates)}
    title = "Spectral gap of the double well, η = 0.1"
    gaps = figure.curves(title, "β", "1 − |λ₂|", lines=lines, points=found, log="y")
    title = f"Coupled runs approach by {1 - step * m:.3g} a step; the double well's gap falls like e^(−{growth:.3f}β)"
    yield figure.beside(title, coupled, gaps)


@claim(sources=("penn",))
def ensemble_versus_trajectory(
    key, beta: Real(5.0, 10.0) = 7.0, step_size: Real(0.05, 0.15) = 0.1, runs: Int(200, 1000) = 400
):
    r"""Ensemble average versus time average.

    The distribution at time t describes many independent runs at that time. The time average of one run agrees with it
    only after mixing: before that, and in a double well that is too cold to be crossed, the two differ.

    $$\frac1T \sum_{s \le T} \delta_{W^s} \to \pi \quad \text{only for } T \gg 1/(1 - |\lambda_2|)$$

    Check: N runs at time t and one run of N t steps from the shallow minimum of the double well; also when cold.
    """
    key_many, key_one = jax.random.split(key)
    langevin, kernel, _ = langevin_on_wells(step_size, beta, reach=3.0)
    points, law = kernel.points, chains.invariant_law(kernel.chain)
    gap = _slow_rate(kernel)
    late = 50 * int(np.ceil(8 / gap / 50))  # e^{−8} of the slowest mode is left
    early = max(2, int(0.1 / gap))
    start = kernel.start(SHALLOW)
    before = start @ np.linalg.matrix_power(kernel.chain.dense, early)
    after = start @ np.linalg.matrix_power(kernel.chain.dense, late)
    what = "Kolmogorov distance of π^t to π"
    yield at_least(np.abs(np.cumsum(before - law)).max(), 0.3, f"{what} at t = {early}, exact")
    yield at_most(np.abs(np.cumsum(after - law)).max(), 0.002, f"{what} at t = {late}, eight relaxation times")
    objective = optimisation.DoubleWell()
    many = np.asarray(langevin.run(objective, np.full((runs, 1), SHALLOW), late, every=late, key=key_many)[-1, :, 0])
    edges, cumulative = points[:-1] + np.diff(points) / 2, np.cumsum(law)[:-1]

    def exact(w):
        return np.interp(w, edges, cumulative)

    yield distributed_as(many, exact, f"{runs} runs at t = {late}, against π")
    length = runs * late
    alone = langevin.run(objective, np.full((1, 1), SHALLOW), length, every=length // runs, key=key_one)
    one = np.asarray(alone)[1:, 0, 0]
    yield distributed_as(one, exact, f"one run of {length} steps, every {late}-th, against π")
    _, frozen, _ = langevin_on_wells(0.05, 60.0)
    steps = 20_000
    stuck = (frozen.start(SHALLOW) @ np.linalg.matrix_power(frozen.chain.dense, steps))[frozen.points < BARRIER].sum()
    deep = chains.invariant_law(frozen.chain)[frozen.points < BARRIER].sum()
    yield at_least(deep - stuck, 0.9, f"share of the deep well at β = 60: π minus the law after {steps} steps")
    spacing = points[1] - points[0]
    lines = {"π^t of many runs": (points, before / spacing), "π": (points, law / spacing)}
    first = figure.curves(f"Before mixing, t = {early}", "w", "density", lines=lines)
    samples, lines = {f"{runs} runs at time t": many, "one run, thinned": one}, {"π": lines["π"]}
    then = figure.histogram(f"After mixing, t = {late}", "w", samples=samples, lines=lines, bins=30)
    title = f"One run agrees with {runs} after mixing; at β = 60 {stuck:.1%} have crossed, π: {deep:.2%}"
    yield figure.beside(title, first, then)


@claim(sources=("penn",))
def sgd_ensemble_monotone_progress(
    key,
    start: OneOf("global minimum", "shallow minimum", "barrier") = "global minimum",
    beta: Real(5.0, 40.0, log=True) = 10.0,
    width: Real(0.04, 0.1) = 0.05,
    num_steps: Int(50, 1000, log=True) = 400,
):
    r"""An ensemble of SGD runs always progresses.

    With a constant step size the distribution of the runs approaches its invariant distribution in every step, in KL,
    even for a non-convex loss. That is not progress in the loss: if the runs begin at the global minimum, the mean
    loss rises.

    $$\mathrm{KL}(\pi^{t+1} \| \pi) \le \mathrm{KL}(\pi^t \| \pi)$$

    Check: The exact law of the Langevin model in the tilted double well with η = 0.05, from a narrow Gaussian.
    """
    _, kernel, losses = langevin_on_wells(0.05, beta, reach=2.5)
    points = kernel.points
    law = chains.invariant_law(kernel.chain, "elimination")
    centre = {"global minimum": DEEP, "shallow minimum": SHALLOW, "barrier": BARRIER}[start]
    first = np.exp(-((points - centre) ** 2) / (2 * width**2))
    laws = kernel.chain.laws(first / first.sum(), num_steps)
    kl = probability.divergence(laws, np.broadcast_to(law, laws.shape))
    value = laws @ losses
    yield at_most(np.diff(kl), 0.0, f"change of KL(π^t‖π) in each of {num_steps} steps", atol=1e-13)
    yield at_most(kl[-1], kl[0], "KL(π^t‖π) at the end, against the start", strict=True)
    rise = at_least(value[-1], value[0], "mean loss at the end, against the start")
    narrow = start == "global minimum" and 1 / beta > 5 * width**2
    yield rise.given(narrow, "a start at the global minimum, narrower than π")
    if (start, beta, width, num_steps) == ("global minimum", 10.0, 0.05, 400):
        yield reference(kl[0], 1.225, "KL(π^t‖π) at the start", digits=4)
        yield reference(kl[-1], 0.018, "KL(π^t‖π) after 400 steps", digits=2)
        yield reference(value[[0, -1]], [-0.0995, -0.0259], "mean loss after 0 and 400 steps", digits=3)
    times = np.arange(num_steps + 1)
    falls = figure.curves("KL(π^t‖π) falls in every step", "step", "KL", points={"exact law": (times, kl)})
    lines, found = {"E l under π": ([0, num_steps], np.full(2, law @ losses))}, {"exact law": (times, value)}
    moves = figure.curves(f"Mean loss, begun at the {start}", "step", "E l", lines=lines, points=found)
    title = f"KL falls from {kl[0]:.3f} to {kl[-1]:.3f} while the mean loss goes from {value[0]:.4f} to {value[-1]:.4f}"
    yield figure.beside(title, falls, moves)
