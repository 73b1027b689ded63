"""How long SGD's law takes to settle, and what settling means: of many runs, of one run, of the loss."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import chains, optimisation
from leadline.claims.stochastic.well_grids import divergence, langevin_on_wells
from leadline.data import generator
from leadline.evidence import (
    Choice,
    Range,
    at_least,
    at_most,
    claim,
    close,
    distributed_as,
    figure,
    mean,
)

_SHALLOW, _BARRIER, _DEEP, _HEIGHT = 0.945649, 0.101031, -1.046681, 0.157665  # of the tilted double well


def _slow_rate(kernel) -> float:
    """1 − |λ₂| of a grid kernel."""
    return float(1 - np.sort(np.abs(np.linalg.eigvals(kernel.chain.dense)))[-2])


@claim(
    "sgd-equilibration-time",
    says=(
        "With curvature between m and L, η ≤ 2/(m + L) and additive noise, two runs that share their noise "
        "approach by 1 − ηm or faster in every step: (1/ηm) log(1/ε) steps equilibrate, and 1/(ηm) is the slowest"
        " correlation time. Without convexity it is e^{βΔE}."
    ),
    formula=r"\|W_t - W'_t\| \le (1 - \eta m)^t \|W_0 - W'_0\|, \quad \tau = -1 / \log(1 - \eta m)",
    sources=("penn",),
    assumes=("m-strongly convex, L-smooth", "η ≤ 2/(m + L)", "additive noise"),
)
def sgd_equilibration_time(
    key,
    m: Annotated[float, Range(0.05, 0.5)] = 0.1,
    share: Annotated[float, Range(0.05, 1.0)] = 0.5,
    beta: Annotated[float, Range(5.0, 100.0, log=True)] = 20.0,
    penalty: Annotated[float, Range(0.05, 0.5)] = 0.1,
):
    """Coupled runs on a parabola (curvatures m to 1) and on logistic regression; spectra of grid kernels."""
    rng = generator(key)
    bowl = optimisation.Quadratic(jnp.diag(jnp.array([m, (m + 1) / 2, 1.0])), jnp.zeros(3))
    x = rng.standard_normal((40, 3))
    curved = optimisation.LogisticRidge(
        jnp.asarray(x), jnp.asarray(np.sign(x[:, 0] + rng.standard_normal(40))), penalty
    )
    drawn = {}
    for name, objective in (("parabola", bowl), ("logistic regression", curved)):
        constants = objective.constants()
        low, high = float(constants.strong_convexity), float(constants.smoothness)
        step = share * 2 / (low + high)
        model = chains.IsotropicLangevin.at(step, beta)
        far = chains.coupled_distances(model, objective, 3.0 * rng.standard_normal(3), np.zeros(3), 60, key=key)
        bound = far[0] * (1 - step * low) ** np.arange(61)
        seen = bound > 1e-6  # below, rounding of the states shows
        yield at_most(
            far[seen] / bound[seen], 1.0, f"distance of coupled runs over its bound (1 − ηm)ᵗ, {name}", atol=1e-8
        )
        drawn[name] = (far, bound)

    step = share * 2 / (m + 1)
    model = chains.IsotropicLangevin.at(step, beta)
    wide = model.stationary_variance(m) ** 0.5
    points = chains.even_grid(-8 * wide, 8 * wide, int(np.ceil(40 * wide / model.deviation)) + 1)
    slowest = 1 - _slow_rate(chains.gaussian_kernel(points, (1 - step * m) * points, model.deviation))
    yield close(
        -1 / np.log(slowest), -1 / np.log(1 - step * m), "correlation time of the grid kernel along m", rtol=1e-4
    )
    lag = max(1, round(1 / (step * m)))
    v = wide * rng.standard_normal(20_000)
    later = v
    for _ in range(lag):
        later = (1 - step * m) * later + model.deviation * rng.standard_normal(len(v))
    yield mean(
        v * later / wide**2, (1 - step * m) ** lag, f"correlation of 20000 runs with themselves {lag} steps later"
    )

    betas = np.array([15.0, 20.0, 25.0, 30.0])
    rates = np.array([_slow_rate(langevin_on_wells(0.1, b)[1]) for b in betas])
    growth = -np.polyfit(betas, np.log(rates), 1)[0]
    yield close(growth, _HEIGHT, "fall of the log gap in β for the double well, against ΔE", rtol=0.1)
    # The gap is the rate out of both wells; Kramers gives the rate out of the shallow one.
    formula = np.array([0.1 / chains.kramers_time(1.68276, -0.96938, _HEIGHT, b) for b in betas])
    far, bound = drawn["parabola"]
    yield figure.beside(
        f"Coupled runs approach by {1 - step * m:.3g} a step; the double well's gap falls like e^(−{growth:.3f}β)",
        figure.curves(
            "Distance of two runs with the same noise",
            x="step",
            y="distance",
            lines={
                "bound, parabola": (np.arange(61), bound),
                "bound, logistic": (np.arange(61), drawn["logistic regression"][1]),
            },
            points={
                "parabola": (np.arange(61), far),
                "logistic regression": (np.arange(61), drawn["logistic regression"][0]),
            },
            log="y",
        ),
        figure.curves(
            "Spectral gap of the double well, η = 0.1",
            x="β",
            y="1 − |λ₂|",
            lines={"η / Kramers' time": (betas, formula)},
            points={"grid kernel": (betas, rates)},
            log="y",
        ),
    )


@claim(
    "ensemble-versus-trajectory",
    says=(
        "The law at time t describes many independent runs at that time. The time average of one run agrees with "
        "it only after mixing: before, and in a double well that is too cold to be crossed, the two differ."
    ),
    formula=r"\frac1T \sum_{s \le T} \delta_{W^s} \to \pi \quad \text{only for } T \gg 1/(1 - |\lambda_2|)",
    sources=("penn",),
)
def ensemble_versus_trajectory(
    key,
    beta: Annotated[float, Range(5.0, 10.0)] = 7.0,
    step: Annotated[float, Range(0.05, 0.15)] = 0.1,
    runs: Annotated[int, Range(200, 1000)] = 400,
):
    """The double well from the shallow minimum: N runs at time t and one run of N t steps, t short, long, and cold."""
    key_many, key_one = jax.random.split(key)
    langevin, kernel, _ = langevin_on_wells(step, beta, reach=3.0)
    points, law = kernel.points, chains.invariant_law(kernel.chain)
    gap = _slow_rate(kernel)
    late = 50 * int(np.ceil(8 / gap / 50))  # e^{−8} of the slowest mode is left
    early = max(2, int(0.1 / gap))
    start = kernel.start(_SHALLOW)
    before = start @ np.linalg.matrix_power(kernel.chain.dense, early)
    after = start @ np.linalg.matrix_power(kernel.chain.dense, late)
    yield at_least(np.abs(np.cumsum(before - law)).max(), 0.3, f"Kolmogorov distance of π^t to π at t = {early}, exact")
    yield at_most(np.abs(np.cumsum(after - law)).max(), 0.002, f"the same at t = {late}, eight relaxation times")

    objective = optimisation.DoubleWell()
    many = langevin.run(objective, np.full((runs, 1), _SHALLOW), late, every=late, key=key_many)[-1, :, 0]
    edges, cumulative = points[:-1] + np.diff(points) / 2, np.cumsum(law)[:-1]
    yield distributed_as(
        np.asarray(many), lambda w: np.interp(w, edges, cumulative), f"{runs} runs at t = {late}, against π"
    )
    length = runs * late
    one = np.asarray(langevin.run(objective, np.full((1, 1), _SHALLOW), length, every=length // runs, key=key_one))[
        1:, 0, 0
    ]
    yield distributed_as(
        one, lambda w: np.interp(w, edges, cumulative), f"one run of {length} steps, every {late}-th, against π"
    )

    _, frozen, _ = langevin_on_wells(0.05, 60.0)
    steps = 20_000
    stuck = (frozen.start(_SHALLOW) @ np.linalg.matrix_power(frozen.chain.dense, steps))[frozen.points < _BARRIER].sum()
    deep = chains.invariant_law(frozen.chain)[frozen.points < _BARRIER].sum()
    yield at_least(deep - stuck, 0.9, f"share of the deep well at β = 60: π minus the law after {steps} steps")
    spacing = points[1] - points[0]
    yield figure.beside(
        f"One run agrees with {runs} after mixing (gap {gap:.2g}); at β = 60 {stuck:.1%} have crossed, π: {deep:.2%}",
        figure.curves(
            f"Before mixing, t = {early}",
            x="w",
            y="density",
            lines={"π^t of many runs": (points, before / spacing), "π": (points, law / spacing)},
        ),
        figure.histogram(
            f"After mixing, t = {late}",
            x="w",
            samples={f"{runs} runs at time t": np.asarray(many), "one run, thinned": one},
            lines={"π": (points, law / spacing)},
            bins=30,
        ),
    )


@claim(
    "sgd-ensemble-monotone-progress",
    says=(
        "With a constant step the law of the runs approaches its invariant law in every step, in KL, even for a "
        "non-convex loss. That is not progress in the loss: begun at the global minimum, the mean loss rises."
    ),
    formula=r"\mathrm{KL}(\pi^{t+1} \| \pi) \le \mathrm{KL}(\pi^t \| \pi)",
    sources=("penn",),
)
def sgd_ensemble_monotone_progress(
    key,
    start: Annotated[str, Choice("global minimum", "shallow minimum", "barrier")] = "global minimum",
    beta: Annotated[float, Range(5.0, 40.0, log=True)] = 10.0,
    width: Annotated[float, Range(0.04, 0.1)] = 0.05,
    steps: Annotated[int, Range(50, 1000, log=True)] = 400,
):
    """The exact law of the Langevin model in the tilted double well, η = 0.05, from a narrow Gaussian."""
    _, kernel, losses = langevin_on_wells(0.05, beta, reach=2.5)
    points = kernel.points
    law = chains.invariant_law(kernel.chain, "elimination")
    centre = {"global minimum": _DEEP, "shallow minimum": _SHALLOW, "barrier": _BARRIER}[start]
    first = np.exp(-((points - centre) ** 2) / (2 * width**2))
    laws = kernel.chain.laws(first / first.sum(), steps)
    kl = np.array([divergence(p, law) for p in laws])
    value = laws @ losses
    yield at_most(np.diff(kl), 0.0, f"change of KL(π^t‖π) in each of {steps} steps", atol=1e-13)
    yield at_most(kl[-1], kl[0], "KL at the end, against the start", strict=True)
    low = start == "global minimum"
    yield at_least(value[-1], value[0], "mean loss at the end, against the start").given(
        low and 1 / beta > 5 * width**2, "a start at the global minimum, narrower than π"
    )
    if (start, beta, width, steps) == ("global minimum", 10.0, 0.05, 400):
        yield close([kl[0], kl[-1]], [1.225, 0.018], "KL at 0 and 400 steps, computed before", atol=1e-3)
        yield close(
            [value[0], value[-1]], [-0.0995, -0.0259], "mean loss at 0 and 400 steps, computed before", atol=1e-4
        )
    times = np.arange(steps + 1)
    shown = np.unique(np.geomspace(1, steps + 1, 40).astype(int)) - 1
    yield figure.beside(
        f"KL falls from {kl[0]:.3f} to {kl[-1]:.3f} while the mean loss goes from {value[0]:.4f} to {value[-1]:.4f}",
        figure.curves(
            "KL(π^t‖π) falls in every step", x="step", y="KL", points={"exact law": (times[shown], kl[shown])}
        ),
        figure.curves(
            f"Mean loss, begun at the {start}",
            x="step",
            y="E l",
            lines={"E l under π": (times[[0, -1]], np.full(2, law @ losses))},
            points={"exact law": (times[shown], value[shown])},
        ),
    )
