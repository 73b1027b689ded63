"""The Langevin model against Gibbs' law: invariant densities, the error of a finite step, averages along one run."""

from typing import Annotated

import numpy as np

from leadline import chains, optimisation
from leadline.claims.stochastic.well_grids import divergence, langevin_on_wells, well_losses
from leadline.data import generator
from leadline.evidence import Range, assume, at_least, claim, close, figure, mean, printed

_REFERENCE = {  # (TV, KL, mass right of 0) at β = 20 for η = 0.2, 0.1, 0.05
    0.2: (0.0705, 0.0220, 0.02404),
    0.1: (0.0322, 0.00438, 0.02286),
    0.05: (0.0155, 0.00099, 0.02250),
}


@claim(
    "gibbs-invariant-distribution",
    says=(
        "As η → 0 with β = 2b/η fixed the invariant density of the isotropic model tends to Gibbs' e^{−βl}/Z. At "
        "a finite step the error is of first order in η in total variation, of second order in KL."
    ),
    formula=r"\pi_\eta \to \frac{e^{-\beta l}}{Z(\beta)}, \quad \mathrm{TV} = O(\eta), \quad \mathrm{KL} = O(\eta^2)",
    sources=("penn",),
    assumes=("e^{−βl} is integrable", "isotropic noise"),
)
def gibbs_invariant_distribution(
    key,
    beta: Annotated[float, Range(10.0, 40.0)] = 20.0,
    step: Annotated[float, Range(0.05, 0.2)] = 0.2,
    tilt: Annotated[float, Range(0.0, 0.2)] = 0.1,
):
    """Exact grid kernels of the tilted double well at η, η/2, η/4, η/8."""
    integral = chains.partition_function(lambda w: well_losses(w[..., 0], tilt), beta)
    assume(integral.finite, "e^{−βl} is integrable")
    steps = step / 2.0 ** np.arange(4)
    found, drawn = [], {}
    for eta in steps:
        _, kernel, losses = langevin_on_wells(eta, beta, tilt=tilt)
        law, gibbs = chains.invariant_law(kernel.chain), chains.gibbs_law(losses, beta)
        right = kernel.points > 0
        found.append((chains.total_variation(law, gibbs), divergence(law, gibbs), law[right].sum(), gibbs[right].sum()))
        drawn[eta] = (kernel.points, law / (kernel.points[1] - kernel.points[0]))
    variation, kl, mass, limit = np.array(found, float).T
    for k, eta in enumerate(steps):
        if eta in _REFERENCE and (beta, tilt) == (20.0, 0.1):
            reference = _REFERENCE[eta]
            measured = [variation[k], kl[k], mass[k]]
            yield close(measured, reference, f"TV, KL and mass right of 0 at η = {eta:g}, computed before", rtol=0.01)
    yield close(np.log2(variation[2] / variation[3]), 1.0, "order of the TV in η, last halving", atol=0.25)
    yield close(np.log2(kl[2] / kl[3]), 2.0, "order of the KL in η, last halving", atol=0.25)
    errors = np.abs(mass - limit)
    yield at_least(errors[0], errors[-1], "error of the mass right of 0 at η, against η/8")
    points, density = drawn[steps[0]]
    line = np.exp(-beta * well_losses(points, tilt) - integral.log_value)
    thin = slice(None, None, max(1, len(points) // 90))
    yield figure.beside(
        f"Exact law against Gibbs, β = {beta:g}: TV {variation[0]:.3g} at η = {step:g}, {variation[3]:.2g} at η/8",
        figure.curves(
            f"Invariant density, η = {step:g}",
            x="w",
            y="density",
            lines={"Gibbs": (points, line)},
            points={"exact law of the model": (points[thin], density[thin])},
        ),
        figure.curves(
            "Error against η: slopes 1 and 2",
            x="step η",
            y="distance to Gibbs",
            lines={
                "slope 1": (steps, variation[3] * steps / steps[3]),
                "slope 2": (steps, kl[3] * (steps / steps[3]) ** 2),
            },
            points={"total variation": (steps, variation), "KL": (steps, kl)},
            log="xy",
        ),
    )


@claim(
    "gibbs-discretisation-error",
    says=(
        "On a parabola of curvature h the exact stationary variance is Gibbs' η/(2bh) times 1/(1 − ηh/2): a third"
        " too small a prediction at ηh = 1/2, and infinite at ηh = 2."
    ),
    formula=r"\operatorname{Var} = \frac{\eta}{2bh} \cdot \frac{1}{1 - \eta h/2}",
    sources=("penn",),
    assumes=("0 < ηh < 2",),
)
def gibbs_discretisation_error(
    key,
    product: Annotated[float, Range(0.05, 1.9)] = 0.5,
    batch: Annotated[float, Range(1.0, 64.0, log=True)] = 4.0,
    curvature: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
    runs: Annotated[int, Range(1000, 20_000, log=True)] = 4000,
):
    """The formula, the exact grid kernel, and independent runs, at ηh = `product`."""
    langevin = chains.IsotropicLangevin(product / curvature, batch)
    exact, gibbs = langevin.stationary_variance(curvature), 1 / (langevin.beta * curvature)
    yield close(exact / gibbs, 1 / (1 - product / 2), "exact variance over Gibbs'", rtol=1e-12)

    def on_grid(ratio):
        model = chains.IsotropicLangevin(ratio / curvature, batch)
        wide = model.stationary_variance(curvature) ** 0.5
        points = chains.even_grid(-8 * wide, 8 * wide, int(np.ceil(48 * wide / model.deviation)) + 1)
        law = chains.invariant_law(chains.gaussian_kernel(points, (1 - ratio) * points, model.deviation).chain)
        return law @ points**2 * model.beta * curvature

    yield close(on_grid(product), 1 / (1 - product / 2), "ratio from the exact grid kernel", rtol=1e-7)
    rng, w = generator(key), np.zeros(runs)
    for _ in range(int(np.ceil(12 / min(product, 2 - product)))):
        w = (1 - product) * w + langevin.deviation * rng.standard_normal(runs)
    yield mean(w**2, exact, f"squared state of {runs} runs", deviation=2**0.5 * exact)
    if (product, batch, curvature) == (0.5, 4.0, 1.0):
        yield close([exact, gibbs], [0.08333, 0.0625], "variance at η = 0.5, b = 4, h = 1: exact and Gibbs'", atol=5e-6)
    line, marks = np.linspace(0.01, 1.9, 190), np.array([0.1, 0.3, 0.6, 0.9, 1.2, 1.5, 1.7, 1.85])
    yield figure.curves(
        f"Gibbs' variance is too small by {1 / (1 - product / 2):.3g} at ηh = {product:g}; the factor diverges at 2",
        x="ηh",
        y="exact variance / Gibbs' variance",
        lines={"1/(1 − ηh/2)": (line, 1 / (1 - line / 2))},
        points={
            "grid kernel": (marks, [on_grid(m) for m in marks]),
            f"{runs} runs": ([product], [np.mean(w**2) / gibbs]),
        },
        log="y",
    )


@claim(
    "gibbs-time-averages",
    says=(
        "Along one long run the mean of W tends to E[w] and the mean of WWᵀ to E[wwᵀ] under the invariant law; "
        "the error is √(variance × 2τ/T) with the correlation time τ."
    ),
    formula=r"\frac1T \sum_t W^t \to \mathbb{E}[w], \quad \frac1T \sum_t W^t W^{t\top} \to \mathbb{E}[w w^{\top}]",
    sources=("penn",),
    assumes=("the run is long against the mixing time",),
)
def gibbs_time_averages(
    key,
    step: Annotated[float, Range(0.05, 0.2)] = 0.1,
    beta: Annotated[float, Range(4.0, 10.0)] = 8.0,
    steps: Annotated[int, Range(1000, 10_000, log=True)] = 3000,
    runs: Annotated[int, Range(30, 200)] = 60,
):
    """Stationary runs in the double well, with the exact variance of a time average; then a Gaussian in the plane."""
    rng = generator(key)
    langevin, kernel, _ = langevin_on_wells(step, beta, reach=3.0)
    law, points = chains.invariant_law(kernel.chain), kernel.points
    spacing = points[1] - points[0]
    start = rng.choice(points, size=runs, p=law) + spacing * (rng.random(runs) - 0.5)
    path = np.asarray(
        langevin.run(optimisation.DoubleWell(), start[:, None], steps - 1, key=key)[..., 0]
    )  # (steps, runs)
    for power, what in ((1, "W"), (2, "W²")):
        exact = float(law @ points**power)
        spread = chains.time_average_variance(kernel.chain, points**power, steps, law) ** 0.5
        averages = (path**power).mean(axis=0)
        yield mean(averages, exact, f"mean of {what} over {steps} steps, {runs} runs", deviation=spread)
        yield mean(
            ((averages - exact) / spread) ** 2,
            1.0,
            f"squared error of the mean of {what}, predicted 1",
            deviation=2**0.5,
        )
    first, second = float(law @ points), float(law @ points**2)
    longest = path[:, 0]
    yield printed(
        close(longest.sum(), first, "sum of W over one run, against E[w]", rtol=0.5),
        "penn", "the time average is the sum of the W^t",
    )  # fmt: skip
    doubled = np.sum(longest) ** 2 / steps
    wide = close(doubled, second, "(1/T) ΣΣ W^s W^t of one run, against E[w²]", rtol=0.5)
    yield printed(wide.given(abs(longest.mean()) > 0.1, "a mean away from 0"), "penn", "(1/T) Σ_s Σ_t W^s (W^t)ᵀ")

    curvatures = np.array([1.0, 0.3])
    model = chains.IsotropicLangevin.at(step, beta)
    shrink = 1 - step * curvatures
    variance = np.array([model.stationary_variance(h) for h in curvatures])
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    v = np.sqrt(variance) * rng.standard_normal((runs, 2))
    total, half = np.zeros((runs, 2, 2)), min(steps, 3000)
    for _ in range(half):
        w = v @ turn.T
        total += w[:, :, None] * w[:, None, :]
        v = shrink * v + model.deviation * rng.standard_normal((runs, 2))
    moments, exact = total / half, turn * variance @ turn.T
    # A product of two Gaussian coordinates with factors a, b forgets by ab: (1 + ab)/(1 − ab) steps a draw.
    for i, j in ((0, 0), (0, 1), (1, 1)):
        yield mean(moments[:, i, j], exact[i, j], f"entry {i + 1}{j + 1} of the mean of WWᵀ, a Gaussian in the plane")

    times = np.unique(np.geomspace(20, steps, 14).astype(int))
    band = np.array([4 * chains.time_average_variance(kernel.chain, points, int(t), law) ** 0.5 for t in times])
    running = np.cumsum(path[:, :3], axis=0)[times - 1] / times[:, None]
    yield figure.curves(
        f"Running means of W settle on E[w] = {first:.4g}: 4 predicted errors are {band[-1]:.2g} after {steps} steps",
        x="steps",
        y="running mean of W",
        lines={"E[w], exact": (times, np.full(len(times), first))},
        bands={"± 4 predicted errors": (times, first - band, first + band)},
        points={f"run {k + 1}": (times, running[:, k]) for k in range(3)},
        log="x",
    )
