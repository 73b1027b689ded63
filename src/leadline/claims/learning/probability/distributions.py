"""Five distributions, the Poisson limit, entropy and divergence."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, probability
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, instrument, mean, model, reference
from leadline.presentation import figure
from leadline.probability.information import kl_to_standard
from leadline.probability.tail_bounds import poisson_distance


@model(sources=("sheet",))
def probability_distributions(
    key,
    rate: Real(0.2, 20.0, log=True) = 2.0,
    probability_of_success: Real(0.02, 0.98) = 0.3,
    trials: Int(1, 200) = 12,
    samples: Int(500, 20000, log=True) = 4000,
):
    r"""Five standard probability distributions.

    The normal, exponential, Bernoulli, binomial and Poisson distributions come with density, sampler, moments and
    maximum-likelihood fit. The sum of n Bernoulli variables is binomial, the exponential distribution is memoryless,
    and the Poisson distribution has equal mean and variance.

    $$\log p(x) = -\tfrac12 (x-\mu)^\top \Sigma^{-1} (x-\mu) - \tfrac12 \log |2\pi\Sigma|$$
    """
    from scipy.integrate import quad

    p, keys = probability_of_success, jax.random.split(key, 5)
    rng = data.generator(keys[4])
    root = rng.normal(size=(2, 2)) + 2 * np.eye(2)
    normal = probability.Normal(rng.normal(size=2), root @ root.T)
    exponential, poisson = probability.Exponential(rate), probability.Poisson(rate)
    binomial, coin = probability.Binomial(trials, p), probability.bernoulli(p)

    k = jnp.arange(int(rate + 40 * np.sqrt(rate) + 40))
    for name, law in {"binomial": binomial, "Poisson": poisson}.items():
        yield close(jnp.exp(law.log_density(k)).sum(), 1.0, f"mass of the {name} distribution", atol=1e-8)
    mass = quad(lambda x: float(jnp.exp(exponential.log_density(jnp.asarray(x)))), 0, 60 / rate, epsabs=1e-12)[0]
    yield close(mass, 1.0, "mass of the exponential distribution", atol=1e-8)
    axes = np.asarray(normal.contour_axes())
    grid = np.linspace(-12, 12, 401)
    u, v = np.meshgrid(grid, grid)
    points = np.asarray(normal.mean) + u[..., None] * axes[0] + v[..., None] * axes[1]
    cell = (grid[1] - grid[0]) ** 2 * abs(np.linalg.det(axes))
    mass = jnp.exp(normal.log_density(jnp.asarray(points))).sum() * cell
    yield close(mass, 1.0, "mass of the normal distribution", atol=1e-8)
    drop = normal.log_density(normal.mean) - normal.log_density(normal.mean + normal.contour_axes())
    yield close(drop, 0.5, "fall of log p at the ends of the normal distribution's axes √λ u", atol=1e-10)

    pmf = np.ones(1)
    single = np.exp(np.asarray(coin.log_density(jnp.arange(2))))
    for _ in range(trials):
        pmf = np.convolve(pmf, single)
    density = jnp.exp(binomial.log_density(jnp.arange(trials + 1)))
    yield close(density, pmf, "binomial distribution, against n Bernoullis convolved", atol=1e-12)
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
    for name, (centre, variance, kurtosis) in known.items():
        x = np.asarray(drawn[name], float)
        yield mean(x, centre, f"mean of {samples} {name} samples", deviation=np.sqrt(variance))
        spread = variance * np.sqrt(kurtosis - 1)
        if spread > 1e-9 * variance:
            yield mean((x - centre) ** 2, variance, f"variance of the {name} samples", deviation=spread)
    fitted = probability.Exponential.fit(drawn["exponential"])
    tried = fitted.rate * jnp.array([1.0, 0.99, 1.01])
    best, *nearby = (probability.Exponential(rate).log_density(drawn["exponential"]).sum() for rate in tried)
    yield at_least(best, nearby, "exponential log-likelihood at 1/mean, against 1% to either side")

    x, k = np.linspace(0, 6 / rate, 200), np.arange(trials + 1)
    counts = np.bincount(np.asarray(drawn["binomial"], int), minlength=trials + 1) / samples
    lines, title = {"density": (x, np.exp(exponential.log_density(x)))}, f"exponential samples, rate {rate:g}"
    bars = figure.histogram(title, "x", samples={"samples": drawn["exponential"]}, lines=lines)
    lines, points = {"binomial": (k, pmf)}, {"samples": (k, counts)}
    title = f"{trials} tosses: shares of samples"
    tosses = figure.curves(title, "successes", "probability", lines=lines, points=points)
    yield figure.beside("Samples follow their distributions", bars, tosses)


@claim(sources=("sheet",))
def poisson_limit(key, rate: Real(0.1, 8.0, log=True) = 2.0, most: Int(50, 5000, log=True) = 1000):
    r"""Poisson limit of the binomial.

    The total variation distance between Binomial(n, λ/n) and Poisson(λ) is at most λ²/n: rare events are Poisson.

    $$\mathrm{TV}\left(\mathrm{Bin}(n, \lambda/n), \mathrm{Poi}(\lambda)\right) \le \lambda^2 / n$$
    """
    trials = np.unique(np.geomspace(max(8, np.ceil(rate)), most, 12).astype(int))
    distance = np.array([poisson_distance(int(n), rate) for n in trials])
    yield at_most(distance, rate**2 / trials, "total variation, against λ²/n", trivial=1.0)
    for n, lam, value in ((10, 1.0, 0.0293), (100, 2.0, 0.00457), (1000, 2.0, 0.000452)):
        found = poisson_distance(n, lam)
        yield reference(found, value, f"total variation at n = {n}, λ = {lam:g}", digits=3)
    title = f"The exact distance is below λ²/n, at the end by a factor {rate**2 / trials[-1] / distance[-1]:.0f}"
    lines, points = {"bound λ²/n": (trials, rate**2 / trials)}, {"exact distance": (trials, distance)}
    yield figure.curves(title, "trials n", "total variation", lines=lines, points=points, log="xy")


@instrument(sources=("sheet",))
def information_measures(
    key,
    outcomes: Int(2, 50) = 8,
    samples: Int(200, 20000, log=True) = 2000,
    separation: Real(8.0, 14.0) = 8.0,
    weight: Real(0.2, 0.8) = 0.6,
):
    r"""Entropy and Kullback–Leibler divergence.

    Entropy, differential entropy and KL divergence are computed exactly, by quadrature and from samples. A Gaussian
    fitted to two distant modes by minimising KL(Q‖P) picks one of them; by minimising KL(P‖Q) it matches mean and
    variance.

    $$H(p) = -\sum_i p_i \log p_i, \quad \mathrm{KL}(Q \| P) = \sum_i q_i \log \frac{q_i}{p_i}$$
    """
    rng = data.generator(key)
    laws = rng.dirichlet(np.ones(outcomes), size=200)
    entropies = np.asarray(probability.entropy(laws))
    yield at_least(entropies, 0.0, "entropy of 200 random distributions, against 0")
    yield at_most(entropies, np.log(outcomes), "entropy of 200 random distributions, against log m", atol=1e-12)
    uniform, certain = np.full(outcomes, 1 / outcomes), np.eye(outcomes)[0]
    yield close(probability.entropy(uniform), np.log(outcomes), "entropy of the uniform distribution", atol=1e-12)
    yield close(probability.entropy(certain), 0.0, "entropy of a certain outcome", atol=0)

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
    pairs = [probability.kl_divergence(a, b) for a, b in zip(laws[:20], laws[20:40], strict=True)]
    yield at_least(pairs, 0.0, "KL(Q‖P) of 20 random pairs")
    yield close(probability.kl_divergence(q, q), 0.0, "KL of a distribution from itself", atol=1e-14)
    yield exactly(np.isinf(probability.kl_divergence(uniform, certain)), True, "KL is infinite off the support")
    chosen = rng.choice(outcomes, size=samples, p=q)
    log_ratio = np.log(p / q)
    for values, name in ((-log_ratio, "−log r"), (p / q - 1 - log_ratio, "r − 1 − log r")):
        deviation = np.sqrt(np.sum(q * values**2) - exact**2)
        yield mean(values[chosen], exact, f"KL from {samples} samples, mean of {name}", deviation=deviation)
    estimate = probability.kl_from_samples(log_ratio[chosen])
    yield at_least(estimate.nonnegative, 0.0, "nonnegative estimate of KL")

    found = probability.differential_entropy(lambda x: 8 + 0 * x, 0.0, 1 / 8)
    what = "differential entropy of the uniform distribution on an interval of length 1/8 (negative)"
    yield close(found, np.log(1 / 8), what, atol=1e-8)
    reach, modes = separation / 2 + 12, np.array([-separation / 2, separation / 2])

    def bell(x, centre, deviation=1.0):
        return np.exp(-0.5 * ((x - centre) / deviation) ** 2) / deviation / np.sqrt(2 * np.pi)

    def density(x):
        return weight * bell(x, modes[0]) + (1 - weight) * bell(x, modes[1])

    def fitted(kind, *start):
        return probability.nearest_gaussian(density, kind, start=start, low=-reach, high=reach)

    middle = (1 - 2 * weight) * separation / 2
    spread = np.sqrt(1 + weight * (1 - weight) * separation**2)
    covering = fitted("covering", 0.5, 2.0)
    yield close(covering.mean, middle, "mean of the covering fit, against the mixture's", atol=1e-4)
    yield close(covering.deviation, spread, "deviation of the covering fit, against the mixture's", atol=1e-4)
    seeking = [fitted("seeking", mode + 0.3, 1.2) for mode in modes]
    yield close([s.mean for s in seeking], modes, "means of the two seeking fits, against the modes", atol=0.02)
    what, lost = (
        "divergence of the seeking fits, against −log of the mode's weight",
        [-np.log(weight), -np.log(1 - weight)],
    )
    yield close([s.divergence for s in seeking], lost, what, atol=0.01)
    x = np.linspace(-reach, reach, 400)
    fits = {"least KL(P‖Q): covers": covering, "least KL(Q‖P): seeks": seeking[0]}
    lines = {name: (x, bell(x, fit.mean, fit.deviation)) for name, fit in fits.items()}
    bands = {"mixture P": (x, np.zeros_like(x), density(x))}
    yield figure.curves("KL(Q‖P) seeks a mode, KL(P‖Q) covers both", "x", "density", bands=bands, lines=lines)


@claim(sources=("sheet",))
def gaussian_kl_formula(
    key, dim: Int(1, 50) = 5, shift: Real(0.0, 2.0) = 0.7, samples: Int(1000, 50000, log=True) = 10000
):
    r"""KL divergence between two Gaussians.

    The divergence between two Gaussians has a closed form; against N(0, I) it is ½ ∑(μ² + s² − log s² − 1).

    $$\mathrm{KL} = \tfrac12 \left[ (\mu_Q-\mu_P)^\top S_Q^{-1} (\mu_Q-\mu_P) + \mathrm{tr}(S_Q^{-1} S_P) - \ln
    \frac{|S_P|}{|S_Q|} - n \right]$$
    """
    from scipy.integrate import quad
    from scipy.stats import norm

    key_laws, key_samples = jax.random.split(key)
    rng = data.generator(key_laws)
    roots = np.eye(dim) + 0.5 * rng.normal(size=(2, dim, dim)) / np.sqrt(dim)
    p = probability.Normal(np.zeros(dim), roots[0] @ roots[0].T)
    q = probability.Normal(shift * rng.normal(size=dim) / np.sqrt(dim), roots[1] @ roots[1].T)
    exact = float(probability.gaussian_kl(p.mean, p.covariance, q.mean, q.covariance))
    x = p.sample(samples, key=key_samples)
    yield mean(p.log_density(x) - q.log_density(x), exact, f"KL of two Gaussians from {samples} samples")
    itself = probability.gaussian_kl(p.mean, p.covariance, p.mean, p.covariance)
    yield close(itself, 0.0, "KL of a Gaussian to itself", atol=1e-10)
    yield at_least(exact, 0.0, "KL of two Gaussians", strict=True)
    s, m = rng.uniform(0.5, 2.0, size=dim), rng.normal(size=dim)
    general = probability.gaussian_kl(jnp.asarray(m), jnp.diag(jnp.asarray(s**2)), jnp.zeros(dim), jnp.eye(dim))
    diagonal = kl_to_standard(jnp.asarray(m), jnp.asarray(s))
    yield close(diagonal, general, "KL to N(0, I) by the diagonal form, against the general one", rtol=1e-10)
    a, b = norm(m[0], s[0]), norm(0.3, 1.4)
    ends = m[0] - 12 * s[0], m[0] + 12 * s[0]
    integral = quad(lambda t: a.pdf(t) * (a.logpdf(t) - b.logpdf(t)), *ends, epsabs=1e-12)[0]
    parameters = ([m[0]], [[s[0] ** 2]], [0.3], [[1.96]])
    formula = probability.gaussian_kl(*(jnp.array(v) for v in parameters))
    yield close(formula, integral, "KL in one dimension, against quadrature", atol=1e-8)
    means, scales = np.linspace(-2, 2, 11), np.geomspace(0.25, 4, 11)
    surface = 0.5 * (means**2 + scales[:, None] ** 2 - np.log(scales[:, None] ** 2) - 1)
    names = {"xs": [f"{v:.1f}" for v in means], "ys": [f"{v:.2f}" for v in scales]}
    title = "KL(N(μ, s²) ‖ N(0, 1)) vanishes at μ = 0, s = 1 alone"
    yield figure.heatmap(title, "mean μ", "deviation s", values=surface, **names, colour="KL")
