"""The mathematics of PAC-Bayes: change of measure, Gaussian divergences, the bound, and its price by directions."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, generalisation, probability
from leadline.evidence import Range, at_least, at_most, claim, close, figure, frequency, mean, method, printed


@claim(
    "change-of-measure",
    says=(
        "An expectation under Q is at most the divergence of Q from P plus the log-moment under P: E_Q Z ≤ KL(Q‖P) + "
        "ln E_P e^Z, for every Q and Z, with equality iff Q is P tilted by e^Z (Donsker and Varadhan)."
    ),
    formula=r"E_Q Z \le KL(Q \| P) + \ln E_P e^Z",
    sources=("eth", "sheet"),
    assumes=("Q is absolutely continuous with respect to P",),
    shows=("generalisation.change_of_measure_gap",),
)
def change_of_measure(
    key,
    states: Annotated[int, Range(2, 40)] = 8,
    spread: Annotated[float, Range(0.3, 3.0)] = 1.0,
    samples: Annotated[int, Range(50, 2000, log=True)] = 200,
):
    """300 random P, Q and Z on `states` points; then gradient ascent on the logits of Q, the path from Q to
    P e^Z/E_P e^Z, and KL estimated from `samples` of P and Q by the right-hand side with the best Z."""
    rng = data.generator(key)
    gap = generalisation.change_of_measure_gap
    drawn = [
        gap(rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states)), spread * rng.normal(size=states))
        for _ in range(300)
    ]
    yield at_least(drawn, 0.0, "KL(Q‖P) + ln E_P e^Z − E_Q Z, 300 random triples", atol=1e-12)

    p, q, z = (
        0.01 / states + 0.99 * rng.dirichlet(np.ones(states)),
        rng.dirichlet(np.ones(states)),
        spread * rng.normal(size=states),
    )
    tilted = p * np.exp(z) / (p @ np.exp(z))
    yield close(gap(tilted, p, z), 0.0, "gap at Q ∝ P e^Z", atol=1e-12)
    best = np.sum(tilted * np.log(tilted / p))
    yield close(tilted @ z - best, np.log(p @ np.exp(z)), "there: E_Q Z − KL, ln E_P e^Z", atol=1e-12)
    logits = np.zeros(states)
    for _ in range(4000):  # ascent on E_Q Z − KL(Q‖P) in the geometry of the simplex
        now = np.exp(logits - logits.max())
        now /= now.sum()
        logits += 0.05 * (z - np.log(now / p))
    yield close(gap(now, p, z), 0.0, "gap after 4000 steps of mirror ascent from the uniform Q", atol=1e-9)
    yield printed(
        at_least(np.log(p @ np.exp(z)), tilted @ z + best, "ln E_P e^Z, E_Q Z + E_Q ln(q/p) at Q ∝ P e^Z"),
        "eth",
        "third line of the proof: + E_q ln(q/p); it must be + E_q ln(p/q)",
    )

    optimal = np.log(tilted / p)
    truth = float(tilted @ optimal)
    a = rng.choice(states, p=tilted, size=(2000, samples))
    b = rng.choice(states, p=p, size=(2000, samples))
    estimates = optimal[a].mean(axis=1) - np.log(np.exp(optimal)[b].mean(axis=1))
    yield mean(
        estimates, truth, "estimate of KL from samples with the best Z: never too small on average", side="at least"
    )
    t = np.linspace(0, 1, 41)
    gaps = [gap((1 - s) * q + s * tilted, p, z) for s in t]
    direct = [float(np.sum(probability.divergence_terms((1 - s) * q + s * tilted, tilted))) for s in t]
    yield close(gaps, direct, "gap along the path, KL(Q‖P e^Z/E_P e^Z)", atol=1e-12, rtol=1e-10)
    yield figure.curves(
        f"The gap falls from {gaps[0]:.3g} to 0 on the way to P e^Z; {samples} samples tell KL = {truth:.3g} up to "
        f"{estimates.std():.2g}",
        x="share of P e^Z in Q", y="nats",
        lines={"KL(Q ‖ P e^Z)": (t, direct)}, points={"KL(Q‖P) + ln E_P e^Z − E_Q Z": (t[::2], gaps[::2])},
    )  # fmt: skip


@method(
    "diagonal-gaussian-kl",
    says=(
        "The divergence of a diagonal Gaussian from an isotropic one is a sum over coordinates, and the price of a "
        "posterior in every PAC-Bayes bound: ln(λ/s) + (s² + (μ − μ₀)²)/(2λ²) − ½ for each weight."
    ),
    formula=(
        r"KL = \sum_i \left[ \ln \frac{\lambda}{s_i} + \frac{s_i^2 + (\mu_i - \mu_{0 i})^2}{2 \lambda^2} "
        r"- \frac{1}{2} \right]"
    ),
    sources=("eth",),
    shows=("generalisation.diagonal_gaussian_kl",),
)
def diagonal_gaussian_kl(
    key,
    dim: Annotated[int, Range(1, 50)] = 10,
    prior_deviation: Annotated[float, Range(0.1, 3.0, log=True)] = 0.7,
    samples: Annotated[int, Range(1000, 20000, log=True)] = 4000,
):
    """Random means and deviations in `dim` dimensions, `samples` draws from Q."""
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
    yield close(
        generalisation.diagonal_gaussian_kl(mu0, equal, mu0, prior_deviation), 0.0, "KL of equal laws", atol=1e-12
    )
    nudged = generalisation.diagonal_gaussian_kl(mu0 + 1e-3 * rng.normal(size=dim), equal, mu0, prior_deviation)
    yield at_least(nudged, 0.0, "KL of unequal laws", strict=True)
    dense = probability.gaussian_kl(*map(jnp.asarray, (mu, np.diag(s**2), mu0, prior_deviation**2 * np.eye(dim))))
    yield close(float(dense), kl, "full covariances by Cholesky factors, the sum over coordinates", rtol=1e-10)
    axes = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    turned = probability.gaussian_kl(
        *map(jnp.asarray, (axes @ mu, (axes * s**2) @ axes.T, axes @ mu0, prior_deviation**2 * np.eye(dim)))
    )
    yield close(float(turned), kl, "both laws rotated alike: the same", rtol=1e-8)


@claim(
    "pac-bayes-bound",
    says=(
        "For a prior fixed before the data, with probability 1 − δ and for all posteriors Q at once: kl(E_Q R̂‖E_Q R) ≤ "
        "(KL(Q‖P) + ln(2√n/δ))/n. It holds though Q is chosen on the data; the relaxed form adds √(·/2) to the "
        "training error."
    ),
    formula=r"kl(E_Q \hat R \| E_Q R) \le \frac{KL(Q \| P) + \ln (2 \sqrt n / \delta)}{n}",
    sources=("eth", "sheet"),
    assumes=("losses in [0, 1], independent examples, n ≥ 8", "P does not depend on the data"),
    shows=("generalisation.pac_bayes_bound", "generalisation.kl_inverse"),
)
def pac_bayes_bound(
    key,
    n: Annotated[int, Range(20, 1000, log=True)] = 100,
    rules: Annotated[int, Range(2, 60)] = 20,
    delta: Annotated[float, Range(0.01, 0.3, log=True)] = 0.05,
    greed: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
):
    """A class of `rules` with risks from 0.05 to 0.95, uniform prior; on each of 10⁴ data sets the Gibbs posterior
    Q ∝ e^(−greed·n·R̂)."""
    rng = data.generator(key)
    risks = np.linspace(0.05, 0.95, rules)
    seen = rng.binomial(n, risks, size=(10_000, rules)) / n
    weights = np.exp(-greed * n * (seen - seen.min(axis=1, keepdims=True)))
    weights /= weights.sum(axis=1, keepdims=True)
    empirical, risk = np.clip(np.sum(weights * seen, axis=1), 0, 1), weights @ risks
    kl = np.maximum(np.sum(probability.divergence_terms(weights, np.full(rules, 1 / rules)), axis=1), 0.0)
    bound = generalisation.pac_bayes_bound(empirical, kl, n, delta)
    missed = int(np.sum(risk > bound.value))
    yield frequency(missed, 10_000, delta, "data sets whose risk is above the kl form, δ", side="at most")
    yield frequency(int(np.sum(risk > bound.relaxed)), 10_000, delta, "the same, relaxed form", side="at most")
    yield at_most(bound.value, bound.relaxed, "kl form, relaxed form (Pinsker)", rtol=1e-12)
    yield close(
        generalisation.bernoulli_kl(empirical, bound.value),
        bound.budget,
        "kl(E_Q R̂ ‖ value), the budget",
        rtol=1e-6,
    )

    prices = np.array([0.0, 5.0, 50.0, 500.0])
    table = generalisation.pac_bayes_bound(0.0, prices, 1000, 0.05)
    yield close(table.relaxed, [0.060, 0.078, 0.169, 0.504], "relaxed form, n = 1000, KL = 0, 5, 50, 500", atol=5e-4)
    grown = [float(generalisation.pac_bayes_bound(0.0, 0.0, m, 0.05).budget) * m for m in (100, 10_000)]
    yield close(grown[1] - grown[0], np.log(100) / 2, "a rate with a logarithm: n·budget grows by ½ ln n", rtol=1e-10)
    log = np.log(2 * np.sqrt(1000) / 0.05)
    forms = {
        "eth": lambda price: np.sqrt(2 * (price + log) / 1000),
        "sheet": lambda price: np.sqrt((2 * price + log) / 1000),
    }
    yield close(forms["eth"](prices), [0.120, 0.156, 0.338, 1.007], "eth's valid but loose form", atol=6e-4)
    yield close(forms["sheet"](prices), [0.085, 0.131, 0.327, 1.004], "sheet's valid but loose form", atol=6e-4)
    for source, form in (("eth", "√(2(KL + ln(2√n/δ))/n)"), ("sheet", "√((2KL + ln(2√n/δ))/n)")):
        says = at_most(forms[source](500.0), 1.0, "n = 1000, KL = 500: the excess is below 1", strict=True)
        yield printed(says, source, f"{form}: it says nothing where the relaxed form is 0.504")
    line = np.linspace(0, 600, 61)
    curve = generalisation.pac_bayes_bound(0.0, line, 1000, 0.05)
    order = np.argsort(kl)[:: 10_000 // 60]
    yield figure.beside(
        f"The bound missed in {missed} of 10000 data sets (δ = {delta:g}); at KL = 500 only the sharp forms speak",
        figure.curves(
            "Training error 0, n = 1000: four forms", x="KL(Q‖P)", y="bound on the risk",
            lines={
                "kl form": (line, curve.value), "relaxed": (line, curve.relaxed),
                "eth": (line, forms["eth"](line)), "sheet": (line, forms["sheet"](line)),
            },
            rules={"says nothing": ("y", 1.0)},
        ),
        figure.curves(
            f"Gibbs posteriors on data sets of {n}", x="risk E_Q R", y="bound on the risk",
            lines={"bound = risk": ([0, 1], [0, 1])},
            points={"kl form": (risk[order], bound.value[order]), "relaxed": (risk[order], bound.relaxed[order])},
        ),
    )  # fmt: skip
