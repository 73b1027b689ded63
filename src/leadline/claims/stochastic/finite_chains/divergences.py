"""Divergences between distributions: their values, their asymmetry, and why a Markov chain never increases them."""

import jax.numpy as jnp
import numpy as np

from leadline import data, probability
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly, instrument, mean
from leadline.presentation import figure
from leadline.probability.divergences import divergence_terms


@instrument(sources=("penn",))
def kl_divergence(
    key,
    outcomes: Int(2, 50) = 6,
    shift: Real(0.0, 3.0) = 1.0,
    deviation: Real(0.4, 2.5, log=True) = 1.5,
    draws: Int(2000, 100_000, log=True) = 20_000,
):
    r"""Kullback–Leibler divergence.

    KL(p‖q) = ∑ p log(p/q) is non-negative, 0 if and only if the distributions are equal, and infinite where q misses a
    point of p. It is computed by sums, by quadrature, in closed form for Gaussians, and from samples, alongside total
    variation, χ², Hellinger and Jensen–Shannon.

    $$\mathrm{KL}(p \| q) = \sum_x p(x) \log \frac{p(x)}{q(x)} \ge 2\, \mathrm{TV}(p, q)^2$$

    Check: Discrete distributions on `outcomes` points, and p = N(0, 1) against q = N(`shift`, `deviation`²).
    """
    rng = data.generator(key)
    p, q = rng.dirichlet(np.ones(outcomes), (2, 10_000))
    kl, reverse, tv, chi, root, js = (probability.divergence(p, q, kind) for kind in _KINDS)
    yield at_least(kl, 2 * tv**2, "KL against 2 TV² (Pinsker), 10,000 pairs", rtol=1e-12)
    yield at_least(kl, 0.0, "KL of unequal distributions", strict=True)
    yield at_most(np.abs(probability.divergence(p, p)), 1e-14, "KL of equal distributions")
    yield at_most(kl, np.log1p(chi), "KL against log(1 + χ²)", rtol=1e-12)
    yield close(reverse, probability.divergence(q, p), "reverse KL, against KL(q‖p)", rtol=1e-12)
    yield at_most(root, tv, "squared Hellinger against TV", rtol=1e-12)
    yield at_most(tv, np.sqrt(2 * root), "TV against √2 times Hellinger", rtol=1e-12)
    yield at_most(js, np.log(2), "Jensen-Shannon against log 2", rtol=1e-12)
    one = np.eye(outcomes)[0]
    yield exactly(np.isinf(probability.divergence(p[0], one)), True, "KL is infinite where q = 0 < p")
    yield close(probability.divergence(one, p[0]), -np.log(p[0, 0]), "0 log 0 = 0: KL of a point mass", rtol=1e-12)
    yield close(probability.kl_divergence(p[0], q[0]), kl[0], "KL of one pair in JAX, against NumPy", rtol=1e-9)
    first, second = _normal(0.0, 1.0), _normal(shift, deviation)
    reach = 12 * max(1.0, deviation)
    gaussian = [jnp.asarray(part) for part in ([0.0], [[1.0]], [shift], [[deviation**2]])]
    exact = -0.5 + np.log(deviation) + (1 + shift**2) / (2 * deviation**2)
    found = probability.gaussian_kl(*gaussian)
    yield close(found, exact, "KL of Gaussians, against the closed form", rtol=1e-12, atol=1e-12)
    integral = probability.density_divergence(first, second, -reach, reach)
    yield close(integral, exact, "KL of Gaussians by quadrature", atol=1e-8)
    squared = 1 - np.sqrt(2 * deviation / (1 + deviation**2)) * np.exp(-(shift**2) / (4 * (1 + deviation**2)))
    hellinger = probability.density_divergence(first, second, -reach, reach, "hellinger")
    yield close(hellinger, squared, "squared Hellinger of Gaussians by quadrature", atol=1e-8)
    sample = rng.normal(size=draws)
    log_ratio = -np.log(deviation) - (sample - shift) ** 2 / (2 * deviation**2) + sample**2 / 2
    spread = np.sqrt((1 - 1 / deviation**2) ** 2 / 2 + shift**2 / deviation**4)
    yield mean(-log_ratio, exact, f"KL from {draws} samples", deviation=max(spread, 1e-12))
    error = probability.kl_from_samples(log_ratio).plain_error
    yield close(error, spread / np.sqrt(draws), f"standard error of KL from {draws} samples", rtol=0.2, atol=1e-12)
    x = np.linspace(-4, 4 + shift, 161)
    terms = divergence_terms(first(x), second(x))
    title = f"The shaded integrand p log(p/q) is negative where q > p, and its integral is KL = {exact:.3g}"
    lines = {"p": (x, first(x)), "q": (x, second(x)), "p log(p/q)": (x, terms)}
    yield figure.curves(title, "x", "density", lines=lines, bands={"p log(p/q)": (x, np.zeros_like(x), terms)})


_KINDS = ("kl", "reverse kl", "total variation", "chi-square", "hellinger", "jensen-shannon")


def _normal(centre: float, deviation: float):
    return lambda x: np.exp(-0.5 * ((x - centre) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))


@claim(sources=("penn",))
def kl_asymmetry(key, separation: Real(3.0, 6.0) = 3.0, weight: Real(0.35, 0.65) = 0.5, outcomes: Int(2, 10) = 3):
    r"""Forward and reverse KL differ.

    KL is not a metric: it is not symmetric and the triangle inequality fails. A Gaussian fitted to two modes by
    KL(p‖q) matches the moments and covers both; fitted by KL(q‖p) it locks onto one.

    $$\operatorname{argmin}_q \mathrm{KL}(p \| q): \ \mu_q = \mu_p, \ \sigma_q^2 = \sigma_p^2$$

    Check: p has modes at ±`separation` with deviation 1 and weights `weight` (left) and 1 − `weight`.
    """
    rng = data.generator(key)
    left, right = _normal(-separation, 1.0), _normal(separation, 1.0)

    def density(x):
        return weight * left(x) + (1 - weight) * right(x)

    reach = separation + 12.0
    covering = probability.nearest_gaussian(density, "covering", start=(0.5, 2.0), low=-reach, high=reach)
    centre = (1 - 2 * weight) * separation
    deviation = np.sqrt(1 + separation**2 - centre**2)
    yield close(covering.mean, centre, "KL(p‖q): mean of the fit against p's", atol=1e-4)
    yield close(covering.deviation, deviation, "KL(p‖q): deviation of the fit against p's", rtol=1e-4)
    starts = (-separation, -separation / 2, separation / 2, separation)
    reached = {"low": -reach, "high": reach}
    seeking = [probability.nearest_gaussian(density, "seeking", start=(s, 1.0), **reached) for s in starts]
    modes = np.array([np.sign(fit.mean) * separation for fit in seeking])
    off = [abs(fit.mean - mode) for fit, mode in zip(seeking, modes, strict=True)]
    yield at_most(off, 0.25, "KL(q‖p): distance of each fit's mean to a mode")
    yield exactly(sorted(set(np.sign(modes))), [-1.0, 1.0], "KL(q‖p): both modes are found, from different starts")
    yield at_most([fit.deviation for fit in seeking], 1.3, "KL(q‖p): deviation of the fit, one mode's is 1")
    p, q, r = rng.dirichlet(np.ones(outcomes), (3, 10_000))
    there, back = probability.divergence(p, q), probability.divergence(q, p)
    yield at_least(np.abs(there - back).max(), 0.01, "largest |KL(p‖q) − KL(q‖p)| of 10,000 pairs")
    excess = probability.divergence(p, r) - there - probability.divergence(q, r)
    yield at_least(excess.max(), 0.0, "KL(p‖r) − KL(p‖q) − KL(q‖r), largest found", strict=True)
    half, uneven, rare = (np.array([u, 1 - u]) for u in (0.5, 0.25, 0.05))
    direct = probability.divergence(half, rare)
    detour = probability.divergence(half, uneven) + probability.divergence(uneven, rare)
    yield at_least(direct, detour, "KL(½‖.05), against KL(½‖¼) + KL(¼‖.05)", strict=True)
    x = np.linspace(-separation - 4, separation + 4, 241)
    one = seeking[-1]
    title = f"KL(p‖q) covers both modes with deviation {covering.deviation:.3g}, KL(q‖p) one with {one.deviation:.3g}"
    lines = {
        "KL(p‖q) least": (x, _normal(covering.mean, covering.deviation)(x)),
        "KL(q‖p) least": (x, _normal(one.mean, one.deviation)(x)),
    }
    yield figure.curves(title, "x", "density", lines=lines, points={"p": (x[::6], density(x)[::6])})


@claim(sources=("penn",))
def divergence_monotone_to_invariant(
    key,
    states: Int(3, 12) = 5,
    chains: Int(100, 1000) = 500,
    num_steps: Int(5, 40) = 20,
    start: OneOf("random", "corner") = "random",
):
    r"""Divergence to the invariant distribution never grows.

    For any chain with an invariant distribution π neither KL(π‖πₜ) nor KL(πₜ‖π), nor any other f-divergence, ever
    grows; reversibility is not needed. Deterministic cycles keep them constant; the Euclidean distance may grow.

    $$\mathrm{KL}(\pi \| \pi_{t+1}) \le \mathrm{KL}(\pi \| \pi_t), \qquad \pi_{t+1} = \pi_t P$$

    Assumes: π is invariant: πP = π.

    Check: The rows of P are uniform on the simplex; a “corner” start has all its mass on one state.
    """
    rng = data.generator(key)
    P = rng.dirichlet(np.ones(states), (chains, states))
    invariant = _invariant(P)
    begin = rng.dirichlet(np.ones(states), chains) if start == "random" else np.tile(np.eye(states)[0], (chains, 1))
    laws = _evolve(begin, P, num_steps)
    defect = np.abs(invariant[:, :, None] * P - np.swapaxes(invariant[:, :, None] * P, 1, 2)).max(axis=(1, 2))
    yield at_least(defect, 0.0, "π_i P_ij − π_j P_ji: the chains are not reversible", strict=True)
    shown = {}
    for name, kind in _MONOTONE.items():
        values = probability.divergence(laws, np.broadcast_to(invariant, laws.shape), kind)
        finite = np.isfinite(values[:-1])
        before, after = values[:-1][finite], values[1:][finite]
        yield at_most(after, before, f"{name}: each step, against the one before, {chains} chains", atol=1e-14)
        shown[name] = values[:, 0]
    infinite = probability.divergence(laws[0], invariant, "reverse kl")
    yield exactly(np.isinf(infinite), start == "corner", "KL(π‖π₀) is infinite iff π₀ has zeros")
    cycle = np.roll(np.eye(states), 1, axis=1)[None]
    turning = _evolve(rng.dirichlet(np.ones(states), 1), cycle, num_steps)
    flat = np.full(turning.shape, 1 / states)
    for name, kind in _MONOTONE.items():
        values = probability.divergence(turning, flat, kind)
        yield close(values, np.broadcast_to(values[0], values.shape), f"{name} on a cycle is constant", rtol=1e-12)
    sparse = rng.dirichlet(np.full(states, 0.3), (2000, states)) + 1e-6
    sparse /= sparse.sum(axis=2, keepdims=True)
    target = _invariant(sparse)
    # The direction of zero sum that P stretches most, from π as far as the simplex goes.
    left, stretch, _ = np.linalg.svd(sparse - sparse.mean(axis=1, keepdims=True))
    inside = target.min(axis=1) > 1e-3
    witness = int(np.argmax(np.where(inside, stretch[:, 0], 0.0)))
    away = left[:, :, 0] * np.min(target / np.maximum(np.abs(left[:, :, 0]), 1e-12), axis=1, keepdims=True)
    path = _evolve(target + 0.9 * away, sparse, 1)
    distance = np.linalg.norm(path - target, axis=2)
    before, after = distance[:, witness]
    yield at_least(after, before, "Euclidean distance to π after one step, against before: a witness", strict=True)
    before, after = probability.divergence(path[:, witness], np.tile(target[witness], (2, 1)))
    yield at_most(after, before, "KL(πₜ‖π) of the Euclidean witness after one step, against before", atol=1e-12)
    t = np.arange(num_steps + 1)
    keep = {name: (values > 1e-15) & np.isfinite(values) for name, values in shown.items()}
    title = f"Every f-divergence to π falls at every step of {chains} chains that are not reversible"
    points = {name: (t[keep[name]], values[keep[name]]) for name, values in shown.items()}
    yield figure.curves(title, "step", "divergence (one chain)", log="y", points=points)


_MONOTONE = {
    "KL(πₜ‖π)": "kl",
    "KL(π‖πₜ)": "reverse kl",
    "TV": "total variation",
    "χ²": "chi-square",
    "Hellinger²": "hellinger",
    "Jensen-Shannon": "jensen-shannon",
}


def _invariant(P: np.ndarray) -> np.ndarray:
    """π with πP = π, Σπ = 1, for a stack of chains, by linear solves."""
    n = P.shape[1]
    system = np.swapaxes(P, 1, 2) - np.eye(n)
    system[:, -1] = 1.0
    law = np.linalg.solve(system, np.broadcast_to(np.eye(n)[-1], P.shape[:2])[..., None])[..., 0]
    law = np.maximum(law, 0.0)
    return law / law.sum(axis=1, keepdims=True)


def _evolve(begin: np.ndarray, P: np.ndarray, num_steps: int) -> np.ndarray:
    """The laws π₀ … π_T of each chain, (steps + 1, chains, states)."""
    laws = [begin]
    for _ in range(num_steps):
        after = np.einsum("ci,cij->cj", laws[-1], P)
        laws.append(after / after.sum(axis=1, keepdims=True))
    return np.stack(laws)
