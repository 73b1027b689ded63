"""The three error terms with the supremum computed, and the decomposition of the excess risk into them."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, instrument


def _gaussian_task(dim: int, curve: float, sigma: float, slope: float):
    """x ~ N(0, I), y = w·x + curve (z² − 1)/√2 + N(0, σ²) with z = w·x/‖w‖, ‖w‖ = slope.

    The quadratic part is orthogonal to linear functions: S = I, c = w, v = ‖w‖² + curve² + σ², R* = σ².
    """
    w = np.zeros(dim)
    w[0] = slope
    return learning.QuadraticRisk(np.eye(dim), w, np.array(slope**2 + curve**2 + sigma**2)), w


def _draw(rng, shape, w, curve, sigma):
    x = rng.standard_normal((*shape, len(w)))
    z = x @ w
    unit = x[..., 0]
    return x, z + curve * (unit**2 - 1) / np.sqrt(2) + sigma * rng.standard_normal(shape)


def _samples(rng, count, n, w, curve, sigma):
    """Empirical risks of many samples, drawn in portions to spare memory."""
    portion = max(1, 2_000_000 // (n * len(w)))
    parts = []
    for start in range(0, count, portion):
        x, y = _draw(rng, (min(portion, count - start), n), w, curve, sigma)
        parts.append(learning.empirical_moments(x, y))
    return learning.QuadraticRisk(*(np.concatenate(each) for each in zip(*parts, strict=True)))


@instrument(
    "error-terms",
    says=(
        "What a class cannot express, how far the empirical risk can be off anywhere in it, and what the algorithm "
        "leaves. For linear functions in a ball and squared loss the supremum is two trust-region problems, solved "
        "exactly; for networks ascent gives a lower bound."
    ),
    formula=(
        r"\varepsilon_{app} = \inf_{\mathcal F} R - R^*, \quad \varepsilon_{gen} = \sup_{f \in \mathcal F} "
        r"|\hat R(f) - R(f)|, \quad \varepsilon_{opt} = \hat R(f_Z) - \inf_{\mathcal F} \hat R"
    ),
    sources=("cam",),
    assumes=("the law is known", "a bounded class for the supremum"),
    shows=(
        "learning.linear_error_terms",
        "learning.finite_error_terms",
        "learning.ErrorTerms",
        "learning.uniform_gap",
        "learning.UniformGap",
        "learning.ball_minimum",
        "learning.BallMinimum",
        "learning.QuadraticRisk",
        "learning.empirical_moments",
        "learning.population_moments",
        "learning.projected_descent",
        "learning.ascend_gap",
    ),
)
def error_terms(
    key,
    samples: Annotated[int, Range(5, 2000, log=True)] = 50,
    dim: Annotated[int, Range(1, 20)] = 5,
    radius: Annotated[float, Range(0.1, 10.0, log=True)] = 1.5,
    steps: Annotated[int, Range(1, 200)] = 30,
    sigma: Annotated[float, Range(0.0, 3.0)] = 0.5,
):
    """Linear functions on a Gaussian law with a quadratic part; 100000 random ones of the ball; a small network."""
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
    yield close(attained / scale, gap.value / scale, "|R̂ − R| at the function that attains it", atol=1e-12)
    yield at_most(np.linalg.norm(gap.argument), radius, "its norm, against the radius", rtol=1e-12)
    signs = [difference, learning.QuadraticRisk(-difference.S, -difference.c, -difference.v)]
    certificates = [abs(float(learning.ball_minimum(d, radius).gap)) for d in signs]
    yield at_most(certificates, 1e-9 * scale, "distance of both trust-region values from their dual bounds")
    unbounded = learning.uniform_gap(empirical, population, np.inf).value
    yield exactly(bool(np.isinf(unbounded)), True, "without the norm bound the supremum is infinite")
    path = learning.projected_descent(empirical, radius, steps)
    least = float(learning.ball_minimum(empirical, radius).value)
    optimisation = np.array([float(empirical(theta)) - least for theta in path])
    yield at_least(optimisation, 0.0, "ε_opt along full-batch descent", atol=1e-10 * float(empirical.v))
    yield at_most(np.diff(optimisation), 0.0, "change of ε_opt by a step", atol=1e-12 * float(empirical.v))
    inside = population.v - (1.0 if radius >= 1 else 2 * radius - radius**2)
    approximation = float(learning.ball_minimum(population, radius).value)
    yield close(approximation, inside, "least population risk in the ball, against its closed form", rtol=1e-9)

    yield from _network_bound(key)

    sizes, radii = np.geomspace(10, 3000, 7).round().astype(int), np.geomspace(0.1, 5, 7)
    by_size, by_radius = [], []
    for n in sizes:
        each = _samples(rng, 40, int(n), w, 0.7, sigma)
        theta = learning.projected_descent(each, radius, steps)[-1]
        by_size.append(learning.linear_error_terms(theta, each, population, radius=radius, bayes_risk=sigma**2))
    each = _samples(rng, 40, samples, w, 0.7, sigma)
    for reach in radii:
        theta = learning.projected_descent(each, float(reach), steps)[-1]
        by_radius.append(learning.linear_error_terms(theta, each, population, radius=float(reach), bayes_risk=sigma**2))
    by_step = [
        learning.linear_error_terms(theta, each, population, radius=radius, bayes_risk=sigma**2)
        for theta in learning.projected_descent(each, radius, steps)
    ]
    terms = {
        "ε_approx": lambda t: np.median(t.approximation),
        "ε_gen": lambda t: np.median(t.generalisation),
        "ε_opt": lambda t: np.median(t.optimisation),
        "true excess": lambda t: np.median(t.excess),
    }
    panels = {
        f"Against n, B = {radius:g}, {steps} steps": ("n", sizes, by_size, "xy"),
        f"Against the radius B, n = {samples}": ("B", radii, by_radius, "xy"),
        f"Against steps, n = {samples}, B = {radius:g}": ("steps", np.arange(steps + 1), by_step, "y"),
    }
    yield figure.beside(
        f"From n = {sizes[0]} to {sizes[-1]} the uniform gap falls from {np.median(by_size[0].generalisation):.2g} to "
        f"{np.median(by_size[-1].generalisation):.2g}; the approximation error stays (medians of 40 samples)",
        *(
            figure.curves(
                name,
                x=x,
                y="squared loss",
                points={term: (xs, _visible([get(t) for t in ts])) for term, get in terms.items()},
                log=log,
            )
            for name, (x, xs, ts, log) in panels.items()
        ),
        columns=3,
    )


def _visible(values):
    """Without what is too small to matter beside the rest, on a logarithmic axis."""
    return np.where(np.array(values) > 1e-4, values, np.nan)


def _network_bound(key):
    """A network with weights clipped to [−2, 2] on [0, 1]: its population risk is a quadrature, the ascent a bound."""
    law = learning.RegressionLaw(
        lambda x: np.sin(2 * np.pi * x[..., 0]), learning.UniformInputs(), learning.noise_law("gaussian", 0.3)
    )
    x, y = learning.draw_sample(law, 30, key=key)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    at = (nodes[:, None] + 1) / 2
    rng = data.generator(jax.random.fold_in(key, 1))
    nets = [jnp.asarray(rng.normal(size=(6, width))) for width in (8, 8, 8, 1)]
    arrays = [jnp.asarray(a) for a in (x[:, 0], y, at[:, 0], weights / 2, law.mean(at), law.variance(at))]
    bounds = learning.ascend_gap(_network_gap, nets, optax.adam(0.02), 150, *arrays)
    starts = jax.jit(jax.vmap(lambda *net: jnp.abs(_network_gap(net, *arrays))))(*nets)
    yield at_least(bounds, starts, "network: |R̂ − R| after ascent, a lower bound on ε_gen, against the start")
    largest = 2 * 8 + 2  # of |f|: eight units within ±1, weights and bias within ±2
    ceiling = max((largest + np.abs(y).max()) ** 2, (largest + 1) ** 2 + 0.3**2)
    yield at_most(bounds, ceiling, "network: the same, against the largest loss of the class")


def _network_gap(net, x, y, at, weights, mean, variance):
    """R̂ − R of x ↦ a·tanh(w x + b) + c, all parameters clipped to [−2, 2]."""
    w, b, a, c = (jnp.clip(part, -2, 2) for part in net)

    def output(x):
        return jnp.tanh(x[:, None] * w + b) @ a + c[0]

    seen = jnp.mean((output(x) - y) ** 2)
    return seen - jnp.sum(weights * ((output(at) - mean) ** 2 + variance))


@claim(
    "error-decomposition",
    says=(
        "For every sample, not in the mean, the excess risk of the learned function is at most the approximation "
        "error plus twice the uniform generalisation error plus the optimisation error."
    ),
    formula=r"R(f_Z) - R^* \le \varepsilon_{app} + 2\, \varepsilon_{gen} + \varepsilon_{opt}",
    sources=("cam",),
    assumes=("f_Z lies in the class",),
)
def error_decomposition(
    key,
    samples: Annotated[int, Range(10, 10_000, log=True)] = 100,
    radius: Annotated[float, Range(0.05, 10.0, log=True)] = 1.5,
    functions: Annotated[int, Range(10, 10_000, log=True)] = 1000,
    steps: Annotated[int, Range(0, 100)] = 2,
    dim: Annotated[int, Range(1, 10)] = 5,
):
    """500 samples for a ball of linear functions on a Gaussian law, 500 for a finite class of random classifiers."""
    count, curve, sigma = 500, 0.7, 0.5
    population, w = _gaussian_task(dim, curve, sigma, 1.0)
    rng = data.generator(key)

    def linear(n, reach, many):
        empirical = _samples(rng, many, n, w, curve, sigma)
        theta = learning.projected_descent(empirical, reach, steps)[-1]
        return learning.linear_error_terms(theta, empirical, population, radius=reach, bayes_risk=sigma**2)

    ball = linear(samples, radius, count)
    yield at_most(ball.excess, ball.bound, f"R(f_Z) − R* in the ball, {count} samples", atol=1e-10)
    held = int(np.sum(ball.excess <= ball.bound + 1e-10))
    yield exactly(held, count, "samples in which the bound holds, the ball")
    crowd = _finite_terms(rng, samples, functions, steps, count)
    yield at_most(crowd.excess, crowd.bound, f"R(f_Z) − R* in {functions} classifiers, {count} samples", atol=1e-10)
    among = int(np.sum(crowd.excess <= crowd.bound + 1e-10))
    yield exactly(among, count, "samples in which the bound holds, finite class")
    for terms, name in ((ball, "ball"), (crowd, "finite class")):
        yield at_least(terms.excess, 0.0, f"excess risk, {name}", atol=1e-10)
    sizes = np.unique(np.geomspace(20, 3000, 8).round().astype(int))
    sweep = [linear(int(n), radius, 100) for n in sizes]
    yield at_most(
        np.concatenate([t.excess for t in sweep]),
        np.concatenate([t.bound for t in sweep]),
        f"the same for n from {sizes[0]} to {sizes[-1]}",
        atol=1e-10,
    )
    middle = {name: np.array([np.median(getattr(t, name)) for t in sweep]) for name in sweep[0]._fields}
    base = np.zeros(len(sizes))
    first = middle["approximation"]
    second = first + middle["optimisation"]
    third = second + 2 * middle["generalisation"]
    loose = [float(np.median(t.bound / np.maximum(t.excess, 1e-12))) for t in (ball, crowd)]
    yield figure.curves(
        f"The bound holds in {held} of {count} samples; it is {loose[0]:.3g} times the excess in the median (ball), "
        f"{loose[1]:.3g} times (finite class)",
        x="n",
        y="squared loss, median of 100 samples",
        bands={
            "ε_approx": (sizes, base, first),
            "+ ε_opt": (sizes, first, second),
            "+ 2 ε_gen": (sizes, second, third),
        },
        lines={"the bound": (sizes, third)},
        points={"true excess R(f_Z) − R*": (sizes, middle["excess"])},
        log="x",
    )


def _finite_terms(rng, n, functions, steps, count):
    """Random labellings of 64 cells under a law of 64 cells; f_Z is the best of the first share that was searched."""
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
