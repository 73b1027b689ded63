"""The mathematics of PAC-Bayes: change of measure, Gaussian divergences, the bound, and its price by directions."""

import jax.numpy as jnp
import numpy as np

from leadline import data, generalisation, probability
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, frequency, mean, method, reference
from leadline.generalisation.pac_bayes_bounds import change_of_measure_gap
from leadline.presentation import figure
from leadline.probability.divergences import divergence_terms


@claim(sources=("eth", "sheet"))
def change_of_measure(
    key, states: Int(2, 40) = 8, spread: Real(0.3, 3.0) = 1.0, samples: Int(50, 2000, log=True) = 200
):
    r"""Donsker–Varadhan change of measure.

    An expectation under Q is at most the divergence of Q from P plus the log-moment under P: $E_Q Z \le \mathrm{KL}(Q
    \| P) + \ln E_P e^Z$ for every Q and Z, with equality if and only if Q is P tilted by $e^Z$ (Donsker and Varadhan).

    $$E_Q Z \le \mathrm{KL}(Q \| P) + \ln E_P e^Z$$

    Assumes: Q is absolutely continuous with respect to P.

    Check: The inequality is tested on 300 random P, Q and Z on `states` points. Equality is then approached by
    gradient ascent on the logits of Q and along the path from Q to $P e^Z / E_P e^Z$, and the KL divergence is
    estimated from `samples` draws of P and Q by the right-hand side with the best Z.
    """
    rng = data.generator(key)
    gap = change_of_measure_gap

    def triple():
        return *rng.dirichlet(np.ones(states), size=2), spread * rng.normal(size=states)

    drawn = [gap(*triple()) for _ in range(300)]
    yield at_least(drawn, 0.0, "KL(Q‖P) + ln E_P e^Z − E_Q Z, 300 random triples", atol=1e-12)
    p, q, z = triple()
    p = 0.01 / states + 0.99 * p
    tilted = p * np.exp(z) / (p @ np.exp(z))
    yield close(gap(tilted, p, z), 0.0, "KL(Q‖P) + ln E_P e^Z − E_Q Z at Q ∝ P e^Z", atol=1e-12)
    best, moment = np.sum(tilted * np.log(tilted / p)), np.log(p @ np.exp(z))
    equality = close(tilted @ z - best, moment, "E_Q Z − E_Q ln(q/p) at Q ∝ P e^Z, against ln E_P e^Z", atol=1e-12)
    yield equality
    logits = np.zeros(states)
    for _ in range(4000):  # ascent on E_Q Z − KL(Q‖P) in the geometry of the simplex
        now = np.exp(logits - logits.max())
        now /= now.sum()
        logits += 0.05 * (z - np.log(now / p))
    yield close(gap(now, p, z), 0.0, "gap after 4000 steps of mirror ascent from the uniform Q", atol=1e-9)
    wrong = at_least(moment, tilted @ z + best, "ln E_P e^Z, against E_Q Z + E_Q ln(q/p) at Q ∝ P e^Z")
    yield erratum(wrong, of=equality, by="eth", prints="third line of the proof: E_q X + E_q ln(q/p)")
    optimal = np.log(tilted / p)
    a, b = (rng.choice(states, p=weights, size=(2000, samples)) for weights in (tilted, p))
    estimates = optimal[a].mean(axis=1) - np.log(np.exp(optimal)[b].mean(axis=1))
    what = "estimate of KL from samples with the best Z: never too small on average"
    yield mean(estimates, best, what, side="at least")
    t = np.linspace(0, 1, 41)
    path = [(1 - s) * q + s * tilted for s in t]
    gaps = [gap(mixed, p, z) for mixed in path]
    direct = [np.sum(divergence_terms(mixed, tilted)) for mixed in path]
    yield close(gaps, direct, "gap along the path, KL(Q‖P e^Z/E_P e^Z)", atol=1e-12, rtol=1e-10)
    lines, points = {"KL(Q ‖ P e^Z)": (t, direct)}, {"KL(Q‖P) + ln E_P e^Z − E_Q Z": (t[::2], gaps[::2])}
    told = f"{samples} samples tell KL = {best:.3g} up to {estimates.std():.2g}"
    title = f"The gap falls from {gaps[0]:.3g} to 0 on the way to P e^Z; {told}"
    yield figure.curves(title, "share of P e^Z in Q", "nats", lines=lines, points=points)


@method(sources=("eth",))
def diagonal_gaussian_kl(
    key,
    dim: Int(1, 50) = 10,
    prior_deviation: Real(0.1, 3.0, log=True) = 0.7,
    samples: Int(1000, 20000, log=True) = 4000,
):
    r"""KL divergence of diagonal Gaussians.

    The divergence of a diagonal Gaussian from an isotropic one is a sum over coordinates, ln(λ/s) + (s² + (μ −
    μ₀)²)/(2λ²) − ½ for each weight. It is the price of a posterior in every PAC-Bayes bound.

    $$\mathrm{KL} = \sum_i \left[ \ln \frac{\lambda}{s_i} + \frac{s_i^2 + (\mu_i - \mu_{0 i})^2}{2 \lambda^2} -
    \frac{1}{2} \right]$$

    Check: Random means and deviations in `dim` dimensions are used, and the formula is compared with the mean over
    `samples` draws from Q.
    """
    rng = data.generator(key)
    mu, mu0 = rng.normal(size=(2, dim))
    s = prior_deviation * rng.uniform(0.2, 1.5, dim)
    kl = float(generalisation.diagonal_gaussian_kl(mu, s, mu0, prior_deviation))
    noise = rng.normal(size=(samples, dim))
    drawn = mu + s * noise
    log_ratio = np.log(prior_deviation / s) - noise**2 / 2 + ((drawn - mu0) / prior_deviation) ** 2 / 2
    ratio = (s / prior_deviation) ** 2
    variance = np.sum((ratio - 1) ** 2 / 2 + ratio * ((mu - mu0) / prior_deviation) ** 2)
    yield mean(log_ratio.sum(axis=1), kl, "mean of ln q − ln p over draws from Q", deviation=float(np.sqrt(variance)))
    equal = np.full(dim, prior_deviation)
    same = generalisation.diagonal_gaussian_kl(mu0, equal, mu0, prior_deviation)
    yield close(same, 0.0, "KL of equal distributions", atol=1e-12)
    nudged = generalisation.diagonal_gaussian_kl(mu0 + 1e-3 * rng.normal(size=dim), equal, mu0, prior_deviation)
    yield at_least(nudged, 0.0, "KL of unequal distributions", strict=True)
    prior = prior_deviation**2 * np.eye(dim)
    dense = probability.gaussian_kl(*map(jnp.asarray, (mu, np.diag(s**2), mu0, prior)))
    yield close(dense, kl, "KL by Cholesky factors of full covariances, the sum over coordinates", rtol=1e-10)
    axes = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    turned = probability.gaussian_kl(*map(jnp.asarray, (axes @ mu, (axes * s**2) @ axes.T, axes @ mu0, prior)))
    yield close(turned, kl, "KL of both distributions rotated alike, the sum over coordinates", rtol=1e-8)


@claim(sources=("eth", "sheet"), shows=("generalisation.kl_inverse",))
def pac_bayes_bound(
    key,
    n: Int(20, 1000, log=True) = 100,
    rules: Int(2, 60) = 20,
    delta: Real(0.01, 0.3, log=True) = 0.05,
    greed: Real(0.1, 10.0, log=True) = 1.0,
):
    r"""PAC-Bayes kl bound.

    For a prior fixed before the data, with probability 1 − δ and for all posteriors Q at once, $\mathrm{kl}(E_Q \hat R
    \| E_Q R) \le (\mathrm{KL}(Q \| P) + \ln(2\sqrt n/\delta))/n$. It holds although Q is chosen on the data. The
    relaxed form adds to the training error the square root of half the right-hand side.

    $$\mathrm{kl}(E_Q \hat R \| E_Q R) \le \frac{\mathrm{KL}(Q \| P) + \ln (2 \sqrt n / \delta)}{n}$$

    Assumes: losses in [0, 1], independent examples, n ≥ 8; P does not depend on the data.

    Check: The class has `rules` members with risks from 0.05 to 0.95 and a uniform prior. On each of 10⁴ data sets Q
    is the Gibbs posterior, proportional to $e^{-g n \hat R}$ with g = `greed`.
    """
    rng = data.generator(key)
    risks = np.linspace(0.05, 0.95, rules)
    seen = rng.binomial(n, risks, size=(10_000, rules)) / n
    weights = np.exp(-greed * n * (seen - seen.min(axis=1, keepdims=True)))
    weights /= weights.sum(axis=1, keepdims=True)
    empirical, risk = np.clip(np.sum(weights * seen, axis=1), 0, 1), weights @ risks
    kl = np.maximum(np.sum(divergence_terms(weights, np.full(rules, 1 / rules)), axis=1), 0.0)
    bound = generalisation.pac_bayes_bound(empirical, kl, n, delta)
    missed = np.sum(risk > bound.value)
    yield frequency(missed, 10_000, delta, "data sets whose risk is above the kl form, δ", side="at most")
    loosely = np.sum(risk > bound.relaxed)
    yield frequency(loosely, 10_000, delta, "data sets whose risk is above the relaxed form, δ", side="at most")
    yield at_most(bound.value, bound.relaxed, "kl form, relaxed form (Pinsker)", rtol=1e-12)
    inverse = generalisation.bernoulli_kl(empirical, bound.value)
    yield close(inverse, bound.budget, "kl(E_Q R̂ ‖ value of the kl form), the budget", rtol=1e-6)
    prices = np.array([0.0, 5.0, 50.0, 500.0])
    relaxed = generalisation.pac_bayes_bound(0.0, prices, 1000, 0.05).relaxed
    yield reference(relaxed[:2], [0.060, 0.078], "relaxed form, n = 1000, KL = 0, 5", digits=2)
    yield reference(relaxed[2:], [0.169, 0.504], "relaxed form, n = 1000, KL = 50, 500", digits=3)
    grown = [float(generalisation.pac_bayes_bound(0.0, 0.0, m, 0.05).budget) * m for m in (100, 10_000)]
    yield close(grown[1] - grown[0], np.log(100) / 2, "growth of n·budget from n = 100 to 10⁴: ½ ln 100", rtol=1e-10)
    log = np.log(2 * np.sqrt(1000) / 0.05)
    looser = {
        "√(2(KL + ln(2√n/δ))/n)": lambda price: np.sqrt(2 * (price + log) / 1000),
        "√((2KL + ln(2√n/δ))/n)": lambda price: np.sqrt((2 * price + log) / 1000),
    }
    for name, form in looser.items():
        yield at_least(form(prices), relaxed, f"valid but loose form {name}, n = 1000, against the relaxed form")
    first, second = (form(prices) for form in looser.values())
    what = "valid but loose form {}, n = 1000, KL = {}".format
    plain, mixed = looser
    yield reference(first[:3], [0.120, 0.156, 0.338], what(plain, "0, 5, 50"), digits=3)
    yield reference(first[3], 1.007, what(plain, "500"), digits=4)
    yield reference(second[0], 0.085, what(mixed, "0"), digits=2)
    yield reference(second[1:3], [0.131, 0.327], what(mixed, "5, 50"), digits=3)
    yield reference(second[3], 1.004, what(mixed, "500"), digits=4)
    line = np.linspace(0, 600, 61)
    curve = generalisation.pac_bayes_bound(0.0, line, 1000, 0.05)
    forms = {"kl form": (line, curve.value), "relaxed": (line, curve.relaxed)}
    forms |= {name: (line, form(line)) for name, form in looser.items()}
    order, rules, says = np.argsort(kl)[:: 10_000 // 60], {"says nothing": ("y", 1.0)}, "bound on the risk"
    points = {"kl form": (risk[order], bound.value[order]), "relaxed": (risk[order], bound.relaxed[order])}
    lines, gibbs = {"bound = risk": ([0, 1], [0, 1])}, f"Gibbs posteriors on data sets of {n}"
    yield figure.beside(
        f"The bound missed in {missed} of 10000 data sets (δ = {delta:g}); at KL = 500 only the sharp forms speak",
        figure.curves("Training error 0, n = 1000: four forms", "KL(Q‖P)", says, lines=forms, rules=rules),
        figure.curves(gibbs, "risk E_Q R", says, lines=lines, points=points),
    )
