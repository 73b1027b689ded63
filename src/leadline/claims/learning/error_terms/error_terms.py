"""The three error terms with the supremum computed, and the decomposition of the excess risk into them."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, instrument
from leadline.learning.risk.error_terms import QuadraticRisk, ascend_gap, projected_descent
from leadline.presentation import figure


def _gaussian_task(dim: int, curve: float, sigma: float, slope: float):
    """x ~ N(0, I), y = w·x + curve (z² − 1)/√2 + N(0, σ²) with z = w·x/‖w‖, ‖w‖ = slope.

    The quadratic part is orthogonal to linear functions: S = I, c = w, v = ‖w‖² + curve² + σ², R* = σ².
    """
    w = np.zeros(dim)
    w[0] = slope
    return QuadraticRisk(np.eye(dim), w, np.array(slope**2 + curve**2 + sigma**2)), w


def _draw(rng, shape, w, curve, sigma):
    x = rng.standard_normal((*shape, len(w)))
    return x, x @ w + curve * (x[..., 0] ** 2 - 1) / np.sqrt(2) + sigma * rng.standard_normal(shape)


def _samples(rng, count, n, w, curve, sigma):
    """Empirical risks of many samples, drawn in portions to spare memory."""
    portion = max(1, 2_000_000 // (n * len(w)))
    parts = []
    for start in range(0, count, portion):
        x, y = _draw(rng, (min(portion, count - start), n), w, curve, sigma)
        parts.append(learning.empirical_moments(x, y))
    return QuadraticRisk(*(np.concatenate(each) for each in zip(*parts, strict=True)))


@instrument(sources=("cam",), shows=("learning.finite_error_terms", "learning.population_moments"))
def error_terms(
    key,
    samples: Int(5, 2000, log=True) = 50,
    dim: Int(1, 20) = 5,
    radius: Real(0.1, 10.0, log=True) = 1.5,
    num_steps: Int(1, 200) = 30,
    sigma: Real(0.0, 3.0) = 0.5,
):
    r"""Approximation, generalisation and optimisation errors.

    The three error terms say what a class cannot express, how far the empirical risk can be off anywhere in it, and
    what the algorithm leaves unoptimised. For linear functions in a ball and squared loss the supremum amounts to two
    trust-region problems, which are solved exactly; for networks, ascent gives a lower bound.

    $$\varepsilon_{\mathrm{app}} = \inf_{\mathcal F} R - R^*, \quad \varepsilon_{\mathrm{gen}} = \sup_{f \in \mathcal F}
    |\hat R(f) - R(f)|, \quad \varepsilon_{\mathrm{opt}} = \hat R(f_Z) - \inf_{\mathcal F} \hat R$$

    Assumes: the distribution is known; a bounded class, for the supremum.

    Check: Linear functions are fitted to data from a Gaussian distribution with a quadratic part. The supremum is
    compared with 100,000 random functions from the ball, and a small network follows.
    """
    population, w = _gaussian_task(dim, 0.7, sigma, 1.0)
    rng = data.generator(key)
    x, y = _draw(rng, (samples,), w, 0.7, sigma)
    empirical = learning.empirical_moments(x, y)
    gap = learning.uniform_gap(empirical, population, radius)
    scale = max(1.0, float(gap.value))
    tried = rng.standard_normal((100_000, dim))
    length = radius * rng.random((100_000, 1)) ** (1 / dim)
    tried *= length / np.linalg.norm(tried, axis=1, keepdims=True)
    difference = empirical.minus(population)
    spread = np.abs(np.einsum("ni,ij,nj->n", tried, difference.S, tried) - 2 * tried @ difference.c + difference.v)
    yield at_most(spread, gap.value, "|R̂ − R| at 100000 random functions of the ball, against the supremum")
    attained = abs(empirical(gap.argument) - population(gap.argument))
    yield close(attained / scale, gap.value / scale, "|R̂ − R| at the function that attains the supremum", atol=1e-12)
    norm = np.linalg.norm(gap.argument)
    yield at_most(norm, radius, "norm of the function that attains the supremum, against the radius", rtol=1e-12)
    signs = [difference, QuadraticRisk(-difference.S, -difference.c, -difference.v)]
    certificates = [np.abs(learning.ball_minimum(d, radius).gap) for d in signs]
    yield at_most(certificates, 1e-9 * scale, "distance of both trust-region values from their dual bounds")
    unbounded = learning.uniform_gap(empirical, population, np.inf).value
    yield exactly(np.isinf(unbounded), True, "without the norm bound the supremum is infinite")
    path = projected_descent(empirical, radius, num_steps)
    least = learning.ball_minimum(empirical, radius).value
    optimisation = np.array([empirical(theta) - least for theta in path])
    yield at_least(optimisation, 0.0, "ε_opt along full-batch descent", atol=1e-10 * empirical.v)
    yield at_most(np.diff(optimisation), 0.0, "change of ε_opt by a step", atol=1e-12 * empirical.v)
    inside = population.v - (1.0 if radius >= 1 else 2 * radius - radius**2)
    approximation = learning.ball_minimum(population, radius).value
    yield close(approximation, inside, "least population risk in the ball, against its closed form", rtol=1e-9)
    yield from _network_bound(key)

    def terms(theta, each, reach):
        return learning.linear_error_terms(theta, each, population, radius=reach, bayes_risk=sigma**2)

    def trained(each, reach):
        return terms(projected_descent(each, reach, num_steps)[-1], each, reach)

    sizes, radii = np.geomspace(10, 3000, 7).round().astype(int), np.geomspace(0.1, 5, 7)
    by_size = [trained(_samples(rng, 40, int(n), w, 0.7, sigma), radius) for n in sizes]
    each = _samples(rng, 40, samples, w, 0.7, sigma)
    by_radius = [trained(each, float(reach)) for reach in radii]
    by_step = [terms(theta, each, radius) for theta in projected_descent(each, radius, num_steps)]
    names = dict(approximation="ε_approx", generalisation="ε_gen", optimisation="ε_opt", excess="true excess")

    def panel(title, x, xs, found, log):
        medians = {name: [np.median(getattr(t, field)) for t in found] for field, name in names.items()}
        points = {name: (xs, _visible(values)) for name, values in medians.items()}
        return figure.curves(title, x, "squared loss", points=points, log=log)

    first, last = (np.median(t.generalisation) for t in (by_size[0], by_size[-1]))
    yield figure.beside(
        f"From n = {sizes[0]} to {sizes[-1]} the uniform gap falls from {first:.2g} to {last:.2g}; the approximation "
        "error stays (medians of 40 samples)",
        panel(f"Against n, B = {radius:g}, {num_steps} steps", "n", sizes, by_size, "xy"),
        panel(f"Against the radius B, n = {samples}", "B", radii, by_radius, "xy"),
        panel(f"Against steps, n = {samples}, B = {radius:g}", "steps", np.arange(num_steps + 1), by_step, "y"),
        columns=3,
    )


def _visible(values):
    """Without what is too small to matter beside the rest, on a logarithmic axis."""
    return np.where(np.array(values) > 1e-4, values, np.nan)


def _network_bound(key):
    """A network with weights clipped to [−2, 2] on [0, 1]: its population risk is a quadrature, the ascent a bound."""
    noise = learning.noise_distribution("gaussian", 0.3)
    wave = lambda x: np.sin(2 * np.pi * x[..., 0])  # noqa: E731
    law = learning.RegressionDistribution(wave, learning.UniformInputs(), noise)
    x, y = learning.draw_sample(law, 30, key=key)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    at = (nodes[:, None] + 1) / 2
    rng = data.generator(jax.random.fold_in(key, 1))
    nets = [jnp.asarray(rng.normal(size=(6, width))) for width in (8, 8, 8, 1)]
    arrays = [jnp.asarray(a) for a in (x[:, 0], y, at[:, 0], weights / 2, law.mean(at), law.variance(at))]
    bounds = ascend_gap(_network_gap, nets, optax.adam(0.02), 150, *arrays)
    starts = jax.jit(jax.vmap(lambda *net: jnp.abs(_network_gap(net, *arrays))))(*nets)
    yield at_least(bounds, starts, "network: |R̂ − R| after ascent, a lower bound on ε_gen, against the start")
    largest = 2 * 8 + 2  # of |f|: eight units within ±1, weights and bias within ±2
    ceiling = max((largest + np.abs(y).max()) ** 2, (largest + 1) ** 2 + 0.3**2)
    yield at_most(bounds, ceiling, "network: |R̂ − R| after ascent, against the largest loss of the class")


def _network_gap(net, x, y, at, weights, mean, variance):
    """R̂ − R of x ↦ a·tanh(w x + b) + c, all parameters clipped to [−2, 2]."""
    w, b, a, c = (jnp.clip(part, -2, 2) for part in net)

    def output(x):
        return jnp.tanh(x[:, None] * w + b) @ a + c[0]

    seen = jnp.mean((output(x) - y) ** 2)
    return seen - jnp.sum(weights * ((output(at) - mean) ** 2 + variance))


@claim(sources=("cam",))
def error_decomposition(
    key,
    samples: Int(10, 10_000, log=True) = 100,
    radius: Real(0.05, 10.0, log=True) = 1.5,
    functions: Int(10, 10_000, log=True) = 1000,
    num_steps: Int(0, 100) = 2,
    dim: Int(1, 10) = 5,
):
    r"""Excess-risk decomposition.

    For every sample, not only on average, the excess risk of the learned function is at most the approximation error
    plus twice the uniform generalisation error plus the optimisation error.

    $$R(f_Z) - R^* \le \varepsilon_{\mathrm{app}} + 2\, \varepsilon_{\mathrm{gen}} + \varepsilon_{\mathrm{opt}}$$

    Assumes: $f_Z$ lies in the class.

    Check: 500 samples are drawn for a ball of linear functions under a Gaussian distribution, and 500 for a finite
    class of random classifiers.
    """
    count, curve, sigma = 500, 0.7, 0.5
    population, w = _gaussian_task(dim, curve, sigma, 1.0)
    rng = data.generator(key)

    def linear(n, reach, many):
        empirical = _samples(rng, many, n, w, curve, sigma)
        theta = projected_descent(empirical, reach, num_steps)[-1]
        return learning.linear_error_terms(theta, empirical, population, radius=reach, bayes_risk=sigma**2)

    ball = linear(samples, radius, count)
    crowd = _finite_terms(rng, samples, functions, num_steps, count)
    for terms, name in ((ball, "the ball"), (crowd, f"{functions} classifiers")):
        yield at_most(terms.excess, terms.bound, f"R(f_Z) − R* in {name}, {count} samples", atol=1e-10)
        held = np.sum(terms.excess <= terms.bound + 1e-10)
        yield exactly(held, count, f"samples in which the bound holds, {name}")
        yield at_least(terms.excess, 0.0, f"excess risk in {name}", atol=1e-10)
    sizes = np.unique(np.geomspace(20, 3000, 8).round().astype(int))
    sweep = [linear(int(n), radius, 100) for n in sizes]
    excess, bound = (np.concatenate([getattr(t, name) for t in sweep]) for name in ("excess", "bound"))
    yield at_most(excess, bound, f"R(f_Z) − R* in the ball for n from {sizes[0]} to {sizes[-1]}", atol=1e-10)
    middle = {name: np.array([np.median(getattr(t, name)) for t in sweep]) for name in sweep[0]._fields}
    first = middle["approximation"]
    second = first + middle["optimisation"]
    third = second + 2 * middle["generalisation"]
    loose = [np.median(t.bound / np.maximum(t.excess, 1e-12)) for t in (ball, crowd)]
    bands = {"ε_approx": (0 * first, first), "+ ε_opt": (first, second), "+ 2 ε_gen": (second, third)}
    bands = {name: (sizes, *ends) for name, ends in bands.items()}
    lines, points = {"the bound": (sizes, third)}, {"true excess R(f_Z) − R*": (sizes, middle["excess"])}
    title = f"The bound is {loose[0]:.3g} times the excess in the median (ball), {loose[1]:.3g} times (finite class)"
    loss = "squared loss, median of 100 samples"
    yield figure.curves(title, "n", loss, bands=bands, lines=lines, points=points, log="x")


def _finite_terms(rng, n, functions, steps, count):
    """Random labellings of 64 cells, also the inputs; f_Z is the best of the first share that was searched."""
    cells = 64
    weight = rng.dirichlet(np.ones(cells))
    eta = rng.uniform(-1, 1, cells)
    family = np.where(rng.random((functions, cells)) < 0.5, -1.0, 1.0)
    population = (1 - family @ (weight * eta)) / 2
    joint = np.concatenate([weight * (1 + eta) / 2, weight * (1 - eta) / 2])
    counts = rng.multinomial(n, joint / joint.sum(), size=count)
    signed = (counts[:, :cells] - counts[:, cells:]) / n
    empirical = (1 - signed @ family.T) / 2
    searched = max(1, round(functions * (steps + 1) / 101))
    learned = empirical[:, :searched].argmin(1)
    floor = float(np.sum(weight * (1 - np.abs(eta)) / 2))
    return learning.finite_error_terms(learned, empirical, population, bayes_risk=floor)
