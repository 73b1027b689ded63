"""Five laws, the Poisson limit, entropy and divergence."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, probability
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, instrument, mean, model


@model(
    "probability-distributions",
    says=(
        "Normal, exponential, Bernoulli, binomial and Poisson laws with density, sampler, moments and "
        "maximum-likelihood fit; the sum of n Bernoullis is binomial, the exponential forgets its past, and "
        "the Poisson law has equal mean and variance."
    ),
    formula=r"\log p(x) = -\tfrac12 (x-\mu)^\top \Sigma^{-1} (x-\mu) - \tfrac12 \log |2\pi\Sigma|",
    sources=("sheet",),
    shows=(
        "probability.Normal",
        "probability.Exponential",
        "probability.Binomial",
        "probability.Poisson",
        "probability.bernoulli",
    ),
)
def probability_distributions(
    key,
    rate: Annotated[float, Range(0.2, 20.0, log=True)] = 2.0,
    probability_of_success: Annotated[float, Range(0.02, 0.98)] = 0.3,
    trials: Annotated[int, Range(1, 200)] = 12,
    samples: Annotated[int, Range(500, 20000, log=True)] = 4000,
):
    """Mass, moments, fits and the three identities, with samples of each law."""
    from scipy.integrate import quad

    p, keys = probability_of_success, jax.random.split(key, 5)
    rng = data.generator(keys[4])
    root = rng.normal(size=(2, 2)) + 2 * np.eye(2)
    normal = probability.Normal(rng.normal(size=2), root @ root.T)
    exponential, poisson = probability.Exponential(rate), probability.Poisson(rate)
    binomial, coin = probability.Binomial(trials, p), probability.bernoulli(p)

    k = jnp.arange(int(rate + 40 * np.sqrt(rate) + 40))
    yield close(jnp.exp(binomial.log_density(k)).sum(), 1.0, "mass of the binomial law", atol=1e-8)
    yield close(jnp.exp(poisson.log_density(k)).sum(), 1.0, "mass of the Poisson law", atol=1e-8)
    mass = quad(lambda x: float(jnp.exp(exponential.log_density(jnp.asarray(x)))), 0, 60 / rate, epsabs=1e-12)[0]
    yield close(mass, 1.0, "mass of the exponential law", atol=1e-8)
    axes = np.asarray(normal.contour_axes())
    grid = np.linspace(-12, 12, 401)
    u, v = np.meshgrid(grid, grid)
    points = np.asarray(normal.mean) + u[..., None] * axes[0] + v[..., None] * axes[1]
    cell = (grid[1] - grid[0]) ** 2 * abs(np.linalg.det(axes))
    yield close(jnp.exp(normal.log_density(jnp.asarray(points))).sum() * cell, 1.0, "mass of the normal law", atol=1e-8)
    drop = normal.log_density(normal.mean) - normal.log_density(normal.mean + normal.contour_axes())
    yield close(drop, 0.5, "fall of log p at the ends of the axes √λ u", atol=1e-10)

    pmf = np.ones(1)
    single = np.exp(np.asarray(coin.log_density(jnp.arange(2))))
    for _ in range(trials):
        pmf = np.convolve(pmf, single)
    yield close(
        jnp.exp(binomial.log_density(jnp.arange(trials + 1))),
        pmf,
        "binomial law, against n Bernoullis convolved",
        atol=1e-12,
    )
    s, t = rng.exponential(1 / rate, size=(2, 50))
    tail = lambda x: np.exp(-rate * x)  # noqa: E731
    yield close(tail(s + t) / tail(s), tail(t), "P(X > s+t | X > s), against P(X > t)", atol=1e-12)

    drawn = {
        "normal": normal.sample(samples, key=keys[0])[:, 0],
        "exponential": exponential.sample(samples, key=keys[1]),
        "binomial": binomial.sample(samples, key=keys[2]),
        "poisson": poisson.sample(samples, key=keys[3]),
    }
    known = {
        "normal": (normal.mean[0], normal.covariance[0, 0], 3.0),
        "exponential": (exponential.mean, exponential.variance, 9.0),
        "binomial": (binomial.mean, binomial.variance, 3 + (1 - 6 * p * (1 - p)) / (trials * p * (1 - p))),
        "poisson": (poisson.mean, poisson.variance, 3 + 1 / rate),
    }
    for name, x in drawn.items():
        centre, variance, kurtosis = (float(value) for value in known[name])
        x = np.asarray(x, float)
        yield mean(x, centre, f"mean of {samples} {name} samples", deviation=np.sqrt(variance))
        spread = variance * np.sqrt(kurtosis - 1)
        if spread > 1e-9 * variance:
            yield mean((x - centre) ** 2, variance, f"variance of the {name} samples", deviation=spread)
    fitted = probability.Exponential.fit(drawn["exponential"])
    likelihood = lambda rate: float(probability.Exponential(rate).log_density(drawn["exponential"]).sum())  # noqa: E731
    nearby = max(likelihood(fitted.rate * factor) for factor in (0.99, 1.01))
    yield at_least(likelihood(fitted.rate), nearby, "log-likelihood at 1/mean, against 1% to either side")

    x = np.linspace(0, 6 / rate, 200)
    density = np.exp(np.asarray(exponential.log_density(jnp.asarray(x))))
    k = np.arange(trials + 1)
    counts = np.bincount(np.asarray(drawn["binomial"], int), minlength=trials + 1) / samples
    yield figure.beside(
        "Samples follow their laws",
        figure.histogram(
            f"Exponential samples follow their density (rate {rate:g})",
            x="x",
            samples={"samples": drawn["exponential"]},
            lines={"density": (x, density)},
        ),
        figure.curves(
            f"{trials} tosses: shares of samples on the binomial law",
            x="successes",
            y="probability",
            lines={"binomial": (k, pmf)},
            points={"samples": (k, counts)},
        ),
    )


@claim(
    "poisson-limit",
    says="The total variation between Binomial(n, λ/n) and Poisson(λ) is at most λ²/n: rare events are Poisson.",
    formula=r"\mathrm{TV}\left(\mathrm{Bin}(n, \lambda/n), \mathrm{Poi}(\lambda)\right) \le \lambda^2 / n",
    sources=("sheet",),
)
def poisson_limit(
    key,
    rate: Annotated[float, Range(0.1, 8.0, log=True)] = 2.0,
    most: Annotated[int, Range(50, 5000, log=True)] = 1000,
):
    """Exact sums for n from 8 to `most`, and the three published values."""
    trials = np.unique(np.geomspace(max(8, np.ceil(rate)), most, 12).astype(int))
    distance = np.array([probability.poisson_distance(int(n), rate) for n in trials])
    yield at_most(distance, rate**2 / trials, "total variation", trivial=1.0)
    for n, lam, value in ((10, 1.0, 0.0293), (100, 2.0, 0.00457), (1000, 2.0, 0.000452)):
        yield close(probability.poisson_distance(n, lam), value, f"total variation at n = {n}, λ = {lam:g}", rtol=2e-3)
    yield figure.curves(
        f"The exact distance is below λ²/n, at the end by a factor {rate**2 / trials[-1] / distance[-1]:.0f}",
        x="trials n",
        y="total variation",
        lines={"bound λ²/n": (trials, rate**2 / trials)},
        points={"exact distance": (trials, distance)},
        log="xy",
    )


def _mixture(separation: float, weight: float):
    """Two unit Gaussians at ± separation/2; the first has the given weight."""

    def density(x):
        bell = lambda c: np.exp(-0.5 * (x - c) ** 2) / np.sqrt(2 * np.pi)  # noqa: E731
        return weight * bell(-separation / 2) + (1 - weight) * bell(separation / 2)

    return density


@instrument(
    "information-measures",
    says=(
        "Entropy, differential entropy and KL divergence, exact, by quadrature and from samples. A Gaussian fitted "
        "to two far modes by KL(Q‖P) picks one of them; by KL(P‖Q) it matches mean and variance."
    ),
    formula=r"H(p) = -\sum_i p_i \log p_i, \quad \mathrm{KL}(Q \| P) = \sum_i q_i \log \frac{q_i}{p_i}",
    sources=("sheet",),
    shows=(
        "probability.entropy",
        "probability.kl_divergence",
        "probability.kl_from_samples",
        "probability.differential_entropy",
        "probability.nearest_gaussian",
    ),
)
def information_measures(
    key,
    outcomes: Annotated[int, Range(2, 50)] = 8,
    samples: Annotated[int, Range(200, 20000, log=True)] = 2000,
    separation: Annotated[float, Range(8.0, 14.0)] = 8.0,
    weight: Annotated[float, Range(0.2, 0.8)] = 0.6,
):
    """Random discrete laws; a mixture of two unit Gaussians."""
    rng = data.generator(key)
    laws = rng.dirichlet(np.ones(outcomes), size=200)
    entropies = np.asarray(probability.entropy(laws))
    yield at_least(entropies, 0.0, "entropy of 200 random laws")
    yield at_most(entropies, np.log(outcomes), "entropy of 200 random laws", atol=1e-12)
    uniform = np.full(outcomes, 1 / outcomes)
    yield close(probability.entropy(uniform), np.log(outcomes), "entropy of the uniform law", atol=1e-12)
    yield close(probability.entropy(np.eye(outcomes)[0]), 0.0, "entropy of a certain outcome", atol=0)

    # Plug-in bias: E Ĥ - H = -(m-1)/(2n) + O(1/n²), with n large enough that every outcome is seen.
    p = (laws[0] + 1 / outcomes) / 2
    n = 200 * outcomes
    drawn = rng.multinomial(n, p, size=4000) / n
    bias = np.asarray(probability.entropy(drawn)) - float(probability.entropy(p))
    second = np.sum(1 / p) / n**2  # the next term of the expansion is below this
    error = 4 * bias.std() / np.sqrt(len(bias)) + second
    yield close(bias.mean(), -(outcomes - 1) / (2 * n), f"bias of the plug-in entropy, n = {n}", atol=error)

    q, p = laws[1], laws[2]
    exact = float(probability.kl_divergence(q, p))
    yield at_least(
        [float(probability.kl_divergence(a, b)) for a, b in zip(laws[:20], laws[20:40], strict=True)], 0.0, "KL(Q‖P)"
    )
    yield close(probability.kl_divergence(q, q), 0.0, "KL(Q‖Q)", atol=1e-14)
    yield exactly(
        bool(np.isinf(probability.kl_divergence(uniform, np.eye(outcomes)[0]))), True, "KL is infinite off the support"
    )
    chosen = rng.choice(outcomes, size=samples, p=q)
    ratio = np.log(p[chosen]) - np.log(q[chosen])
    first, other = -np.log(p / q), p / q - 1 - np.log(p / q)
    for values, name in ((first, "-log r"), (other, "r - 1 - log r")):
        deviation = float(np.sqrt(np.sum(q * values**2) - exact**2))
        yield mean(values[chosen], exact, f"KL from {samples} samples, mean of {name}", deviation=deviation)
    estimate = probability.kl_from_samples(ratio)
    yield at_least(estimate.nonnegative, 0.0, "the nonnegative estimate")

    narrow = 1 / 8
    yield close(
        probability.differential_entropy(lambda x: 1 / narrow + 0 * x, 0.0, narrow), np.log(narrow),
        "differential entropy of the uniform law on an interval of length 1/8 (negative)", atol=1e-8,
    )  # fmt: skip
    density, reach = _mixture(separation, weight), separation / 2 + 12
    middle = (1 - 2 * weight) * separation / 2
    spread = np.sqrt(1 + weight * (1 - weight) * separation**2)
    covering = probability.nearest_gaussian(density, "covering", start=(0.5, 2.0), low=-reach, high=reach)
    yield close(covering.mean, middle, "mean of the covering fit, against the mixture's", atol=1e-4)
    yield close(covering.deviation, spread, "deviation of the covering fit, against the mixture's", atol=1e-4)
    seeking = [
        probability.nearest_gaussian(
            density, "seeking", start=(sign * separation / 2 + 0.3, 1.2), low=-reach, high=reach
        )
        for sign in (-1, 1)
    ]
    yield close(
        [s.mean for s in seeking],
        [-separation / 2, separation / 2],
        "means of the two seeking fits, against the modes",
        atol=0.02,
    )
    yield close(
        [s.divergence for s in seeking], [-np.log(weight), -np.log(1 - weight)],
        "divergence of the seeking fits, against -log of the mode's weight", atol=0.01,
    )  # fmt: skip
    x = np.linspace(-reach, reach, 400)
    bell = lambda fit: np.exp(-0.5 * ((x - fit.mean) / fit.deviation) ** 2) / fit.deviation / np.sqrt(2 * np.pi)  # noqa: E731
    yield figure.curves(
        "KL(Q‖P) seeks a mode, KL(P‖Q) covers both",
        x="x",
        y="density",
        bands={"mixture P": (x, np.zeros_like(x), density(x))},
        lines={"least KL(P‖Q): covers": (x, bell(covering)), "least KL(Q‖P): seeks": (x, bell(seeking[0]))},
    )


@claim(
    "gaussian-kl-formula",
    says="The divergence between two Gaussians has a closed form; against N(0, I) it is ½ Σ(μ² + s² - log s² - 1).",
    formula=(
        r"\mathrm{KL} = \tfrac12 \left[ (\mu_Q-\mu_P)^\top S_Q^{-1} (\mu_Q-\mu_P) + \mathrm{tr}(S_Q^{-1} S_P) "
        r"- \ln \frac{|S_P|}{|S_Q|} - n \right]"
    ),
    sources=("sheet",),
    shows=("probability.gaussian_kl", "probability.kl_to_standard"),
)
def gaussian_kl_formula(
    key,
    dim: Annotated[int, Range(1, 50)] = 5,
    shift: Annotated[float, Range(0.0, 2.0)] = 0.7,
    samples: Annotated[int, Range(1000, 50000, log=True)] = 10000,
):
    """Random covariances; samples of P, quadrature in one dimension, and equality."""
    from scipy.integrate import quad
    from scipy.stats import norm

    key_laws, key_samples = jax.random.split(key)
    rng = data.generator(key_laws)
    roots = np.eye(dim) + 0.5 * rng.normal(size=(2, dim, dim)) / np.sqrt(dim)
    p = probability.Normal(np.zeros(dim), roots[0] @ roots[0].T)
    q = probability.Normal(shift * rng.normal(size=dim) / np.sqrt(dim), roots[1] @ roots[1].T)
    exact = float(probability.gaussian_kl(p.mean, p.covariance, q.mean, q.covariance))
    x = p.sample(samples, key=key_samples)
    yield mean(np.asarray(p.log_density(x) - q.log_density(x)), exact, f"KL from {samples} samples")
    yield close(
        probability.gaussian_kl(p.mean, p.covariance, p.mean, p.covariance), 0.0, "KL of a law to itself", atol=1e-10
    )
    yield at_least(exact, 0.0, "KL of two laws", strict=True)
    s = rng.uniform(0.5, 2.0, size=dim)
    m = rng.normal(size=dim)
    yield close(
        probability.kl_to_standard(jnp.asarray(m), jnp.asarray(s)),
        probability.gaussian_kl(jnp.asarray(m), jnp.diag(jnp.asarray(s**2)), jnp.zeros(dim), jnp.eye(dim)),
        "diagonal form, against the general one",
        rtol=1e-10,
    )
    a, b = norm(m[0], s[0]), norm(0.3, 1.4)
    integral = quad(lambda t: a.pdf(t) * (a.logpdf(t) - b.logpdf(t)), m[0] - 12 * s[0], m[0] + 12 * s[0], epsabs=1e-12)[
        0
    ]
    formula = probability.gaussian_kl(
        jnp.array([m[0]]), jnp.array([[s[0] ** 2]]), jnp.array([0.3]), jnp.array([[1.96]])
    )
    yield close(formula, integral, "one dimension, against quadrature", atol=1e-8)
    means, scales = np.linspace(-2, 2, 41), np.geomspace(0.25, 4, 41)
    surface = 0.5 * (means[None, :] ** 2 + scales[:, None] ** 2 - np.log(scales[:, None] ** 2) - 1)
    yield figure.heatmap(
        "KL(N(μ, s²) ‖ N(0, 1)) vanishes at μ = 0, s = 1 alone",
        x="mean μ",
        y="deviation s",
        values=surface[::4, ::4],
        xs=[f"{v:.1f}" for v in means[::4]],
        ys=[f"{v:.2f}" for v in scales[::4]],
        colour="KL",
    )
