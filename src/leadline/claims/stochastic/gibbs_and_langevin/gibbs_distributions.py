"""The Langevin model against the Gibbs distribution: densities, the error of a finite step, averages along one run."""

import numpy as np

from leadline import chains, optimisation, probability
from leadline.claims.scenarios.stochastic.well_grids import langevin_on_wells, well_losses
from leadline.data import generator
from leadline.evidence import Int, Real, assume, at_least, claim, close, erratum, mean, reference
from leadline.presentation import figure

_REFERENCE = {  # (TV, KL, mass right of 0) at β = 20 for η = 0.2, 0.1, 0.05
    0.2: (0.0705, 0.0220, 0.02404),
    0.1: (0.0322, 0.00438, 0.02286),
    0.05: (0.0155, 0.000989, 0.02250),
}


@claim(sources=("penn",))
def gibbs_invariant_distribution(
    key, beta: Real(10.0, 40.0) = 20.0, step_size: Real(0.05, 0.2) = 0.2, tilt: Real(0.0, 0.2) = 0.1
):
    r"""Gibbs distribution as the small-step limit.

    As η → 0 with β = 2b/η fixed, the invariant density of the isotropic model tends to the Gibbs density $e^{-\beta
    l}/Z$. At a finite step size the error is of first order in η in total variation, and of second order in KL.

    $$\pi_\eta \to \frac{e^{-\beta l}}{Z(\beta)}, \quad \mathrm{TV} = O(\eta), \quad \mathrm{KL} = O(\eta^2)$$

    Assumes: $e^{-\beta l}$ is integrable; isotropic noise.

    Check: Exact grid kernels of the tilted double well at η, η/2, η/4 and η/8.
    """
    integral = chains.partition_function(lambda w: well_losses(w[..., 0], tilt), beta)
    assume(integral.finite, "e^{−βl} is integrable")
    steps = step_size / 2.0 ** np.arange(4)
    found, drawn = [], {}
    for eta in steps:
        _, kernel, losses = langevin_on_wells(eta, beta, tilt=tilt)
        law, gibbs = chains.invariant_law(kernel.chain), chains.gibbs_law(losses, beta)
        right = kernel.points > 0
        apart = chains.total_variation(law, gibbs), probability.divergence(law, gibbs)
        found.append((*apart, law[right].sum(), gibbs[right].sum()))
        drawn[eta] = (kernel.points, law / (kernel.points[1] - kernel.points[0]))
    variation, kl, mass, limit = np.array(found, float).T
    for k, eta in enumerate(steps):
        if eta in _REFERENCE and (beta, tilt) == (20.0, 0.1):
            measured = [variation[k], kl[k], mass[k]]
            yield reference(measured, _REFERENCE[eta], f"TV, KL and mass right of 0 at η = {eta:g}", digits=3)
    yield close(np.log2(variation[2] / variation[3]), 1.0, "order in η of the TV to Gibbs, last halving", atol=0.25)
    yield close(np.log2(kl[2] / kl[3]), 2.0, "order in η of the KL to Gibbs, last halving", atol=0.25)
    errors = np.abs(mass - limit)
    yield at_least(errors[0], errors[-1], "error of the mass right of 0 at η, against η/8")
    points, density = drawn[steps[0]]
    line = np.exp(-beta * well_losses(points, tilt) - integral.log_value)
    lines, found = {"Gibbs": (points, line)}, {"exact law of the model": (points, density)}
    shape = figure.curves(f"Invariant density, η = {step_size:g}", "w", "density", lines=lines, points=found)
    ratio = steps / steps[3]
    lines = {"slope 1": (steps, variation[3] * ratio), "slope 2": (steps, kl[3] * ratio**2)}
    found = {"total variation": (steps, variation), "KL": (steps, kl)}
    title = "Error against η: slopes 1 and 2"
    error = figure.curves(title, "step size η", "distance to Gibbs", lines=lines, points=found, log="xy")
    title = f"TV of the exact law to Gibbs: {variation[0]:.3g} at η = {step_size:g}, {variation[3]:.2g} at η/8"
    yield figure.beside(title, shape, error)


@claim(sources=("penn",))
def gibbs_discretisation_error(
    key,
    product: Real(0.05, 1.9) = 0.5,
    batch: Real(1.0, 64.0, log=True) = 4.0,
    curvature: Real(0.1, 10.0, log=True) = 1.0,
    runs: Int(1000, 20_000, log=True) = 4000,
):
    r"""Finite-step error of the Gibbs variance.

    On a parabola of curvature h the exact stationary variance is the Gibbs value η/(2bh) times 1/(1 − ηh/2): a third
    larger than predicted at ηh = 1/2, and infinite at ηh = 2.

    $$\operatorname{Var} = \frac{\eta}{2bh} \cdot \frac{1}{1 - \eta h/2}$$

    Assumes: 0 < ηh < 2.
    """
    langevin = chains.IsotropicLangevin(product / curvature, batch)
    exact, gibbs = langevin.stationary_variance(curvature), 1 / (langevin.beta * curvature)
    yield close(exact / gibbs, 1 / (1 - product / 2), "exact variance over Gibbs', against 1/(1 − ηh/2)", rtol=1e-12)

    def on_grid(ratio):
        model = chains.IsotropicLangevin(ratio / curvature, batch)
        wide = model.stationary_variance(curvature) ** 0.5
        points = chains.even_grid(-8 * wide, 8 * wide, int(np.ceil(48 * wide / model.deviation)) + 1)
        law = chains.invariant_law(chains.gaussian_kernel(points, (1 - ratio) * points, model.deviation).chain)
        return law @ points**2 * model.beta * curvature

    what = "exact variance over Gibbs' from the grid kernel, against 1/(1 − ηh/2)"
    yield close(on_grid(product), 1 / (1 - product / 2), what, rtol=1e-7)
    rng, w = generator(key), np.zeros(runs)
    for _ in range(int(np.ceil(12 / min(product, 2 - product)))):
        w = (1 - product) * w + langevin.deviation * rng.standard_normal(runs)
    yield mean(w**2, exact, f"squared state of {runs} runs, against the exact variance", deviation=2**0.5 * exact)
    if (product, batch, curvature) == (0.5, 4.0, 1.0):
        what = "variance at η = 0.5, b = 4, h = 1: exact and Gibbs'"
        yield reference([exact, gibbs], [0.083333, 0.0625], what, digits=5)
    line, marks = np.linspace(0.01, 1.9, 190), np.array([0.1, 0.3, 0.6, 0.9, 1.2, 1.5, 1.7, 1.85])
    title = f"Gibbs' variance is too small by a factor {1 / (1 - product / 2):.3g} at ηh = {product:g}"
    lines = {"1/(1 − ηh/2)": (line, 1 / (1 - line / 2))}
    points = {"grid kernel": (marks, [on_grid(m) for m in marks]), f"{runs} runs": ([product], [np.mean(w**2) / gibbs])}
    yield figure.curves(title, "ηh", "exact variance / Gibbs' variance", lines=lines, points=points, log="y")


@claim(sources=("penn",))
def gibbs_time_averages(
    key,
    step_size: Real(0.05, 0.2) = 0.1,
    beta: Real(4.0, 10.0) = 8.0,
    num_steps: Int(1000, 10_000, log=True) = 3000,
    runs: Int(30, 200) = 60,
):
    r"""Time averages along one SGD run.

    Along one long run the mean of W tends to E[w] and the mean of WWᵀ to E[wwᵀ] under the invariant distribution; the
    error is √(variance × 2τ/T) with the correlation time τ.

    $$\frac1T \sum_t W^t \to \mathbb{E}[w], \quad \frac1T \sum_t W^t W^{t\top} \to \mathbb{E}[w w^{\top}]$$

    Assumes: the run is long against the mixing time.

    Check: Stationary runs in the double well, against the exact variance of a time average; a Gaussian in the plane.
    """
    rng = generator(key)
    langevin, kernel, _ = langevin_on_wells(step_size, beta, reach=3.0)
    law, points = chains.invariant_law(kernel.chain), kernel.points
    spacing = points[1] - points[0]
    start = rng.choice(points, size=runs, p=law) + spacing * (rng.random(runs) - 0.5)
    path = np.asarray(langevin.run(optimisation.DoubleWell(), start[:, None], num_steps - 1, key=key)[..., 0])
    for power, what in ((1, "W"), (2, "W²")):
        exact = law @ points**power
        spread = chains.time_average_variance(kernel.chain, points**power, num_steps, law) ** 0.5
        averages = (path**power).mean(axis=0)  # over time, of every run
        right = mean(averages, exact, f"mean of {what} over {num_steps} steps, {runs} runs", deviation=spread)
        yield right
        squares = ((averages - exact) / spread) ** 2
        yield mean(squares, 1.0, f"squared error of the mean of {what}, over the predicted one", deviation=2**0.5)
    first, second, longest = law @ points, law @ points**2, path[:, 0]
    doubled = np.sum(longest) ** 2 / num_steps
    wrong = close(doubled, second, "(1/T) ΣΣ W^s W^t of one run, against E[w²]", rtol=0.5)
    wrong = wrong.given(abs(longest.mean()) > 0.1, "a mean away from 0")
    yield erratum(wrong, of=right, by="penn", prints="(1/T) Σ_s Σ_t W^s (W^t)ᵀ for the second moment")
    curvatures = np.array([1.0, 0.3])
    model = chains.IsotropicLangevin.at(step_size, beta)
    shrink = 1 - step_size * curvatures
    variance = np.array([model.stationary_variance(h) for h in curvatures])
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    v = np.sqrt(variance) * rng.standard_normal((runs, 2))
    total, half = np.zeros((runs, 2, 2)), min(num_steps, 3000)
    for _ in range(half):
        w = v @ turn.T
        total += w[:, :, None] * w[:, None, :]
        v = shrink * v + model.deviation * rng.standard_normal((runs, 2))
    moments, exact = total / half, turn * variance @ turn.T
    # A product of two Gaussian coordinates with factors a, b forgets by ab: (1 + ab)/(1 − ab) steps a draw.
    for i, j in ((0, 0), (0, 1), (1, 1)):
        yield mean(moments[:, i, j], exact[i, j], f"entry {i + 1}{j + 1} of the mean of WWᵀ, a Gaussian in the plane")
    times = np.unique(np.geomspace(20, num_steps, 14).astype(int))
    band = np.array([4 * chains.time_average_variance(kernel.chain, points, int(t), law) ** 0.5 for t in times])
    running = np.cumsum(path[:, :3], axis=0)[times - 1] / times[:, None]
    title = f"Running means of W settle on E[w] = {first:.4g}: 4 predicted errors are {band[-1]:.2g} at the end"
    lines = {"E[w], exact": (times, np.full(len(times), first))}
    bands = {"± 4 predicted errors": (times, first - band, first + band)}
    runs_shown = {f"run {k + 1}": (times, running[:, k]) for k in range(3)}
    yield figure.curves(title, "steps", "running mean of W", lines=lines, bands=bands, points=runs_shown, log="x")
