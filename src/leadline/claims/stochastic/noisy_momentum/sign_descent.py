"""Descent along signs: what it sends, and where it goes."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation, stochastic
from leadline.evidence import Int, OneOf, Real, at_most, claim, close, exactly, mean, method
from leadline.presentation import figure


def _skewed_loss(w, noise):
    """w²/2 + ξ w: the gradient is w + ξ."""
    return w @ w / 2 + noise * w[0]


def _distance_loss(w, point):
    return jnp.sum((w - point) ** 2) / 2


def _root_rate(learning_rate) -> optax.GradientTransformation:
    return optax.scale_by_schedule(lambda t: -learning_rate / jnp.sqrt(t + 1.0))


def _feedback(learning_rate, scale) -> optax.GradientTransformation:
    return optax.chain(stochastic.error_feedback(scale), _root_rate(learning_rate))


def _scaled_feedback(learning_rate) -> optax.GradientTransformation:
    return optax.chain(stochastic.error_feedback(), _root_rate(learning_rate))


def _sign(learning_rate) -> optax.GradientTransformation:
    return optax.chain(optax.scale_by_sign(), _root_rate(learning_rate))


@method(sources=("sheet",), shows=("stochastic.majority_vote", "stochastic.error_feedback", "stochastic.one_bit_sign"))
def signsgd(
    key,
    workers: Int(1, 15) = 5,
    dimension: Int(2, 60) = 20,
    tie: OneOf("zero", "plus") = "zero",
    step_size: Real(0.05, 0.5, log=True) = 0.2,
):
    r"""SignSGD with majority vote.

    SignSGD moves by the sign of each gradient coordinate: one bit instead of 32. Several workers can vote by majority;
    error feedback adds what was cut off to the next gradient, so that nothing is lost in the sum.

    $$w \leftarrow w - \eta_t\, \mathrm{sign}(\hat g), \qquad p = g + e, \quad e \leftarrow p - C(p)$$

    Check: The mean of 100 random points, in 400 steps of η/√t from far away; then the skewed gradient.
    """
    rng = data.generator(key)
    points = rng.standard_normal((100, dimension))
    problem = stochastic.FiniteSum(_distance_loss, (points,))
    best, steps = points.mean(axis=0), 400
    start = jnp.asarray(best + rng.choice([-2.0, 2.0], dimension))
    rows = jnp.asarray(rng.integers(100, size=(steps, workers)))
    rates = step_size / np.sqrt(np.arange(1, steps + 1))
    zero = 0.0 if tie == "zero" else 1.0
    voted = np.asarray(stochastic.majority_run(problem, start, jnp.asarray(rates), rows, zero=zero))
    moves = -np.diff(voted, axis=0) / rates[:, None]
    levels = np.unique(np.round(moves, 6))
    most = 3 if tie == "zero" and workers % 2 == 0 else 2
    yield at_most(levels.size, most, "different moves of a coordinate / η: what one bit says, or a tie")
    one, full = (stochastic.bits_per_step(dimension, scheme, workers=workers) for scheme in ("sign", "full"))
    yield exactly(one * 32, full, "bits of signs × 32, against bits of numbers of 32 bits")
    votes = np.sign(np.asarray(start)[None] - points[np.asarray(rows[0])]).sum(axis=0)
    expected = np.where(votes == 0, zero, np.sign(votes))
    yield close(moves[0], expected, "first move / η, against the sign of the sum of signs", atol=1e-9)
    rule = optimisation.tunable(_scaled_feedback, learning_rate=step_size)
    fed = np.asarray(stochastic.rule_run(problem, rule, start, rows).points)
    plain = np.asarray(stochastic.sgd_run(problem, start, rates, rows).points)
    gradients = fed[:-1] - points[np.asarray(rows)].mean(axis=1)
    kept, sent = np.zeros(dimension), np.zeros(dimension)
    for g in gradients:  # the telescoped sum: what was sent and what is kept are all gradients so far
        total = g + kept
        message = np.abs(total).mean() * np.where(total < 0, -1, 1)
        kept, sent = total - message, sent + message
    made = (-np.diff(fed, axis=0) / rates[:, None]).sum(axis=0)
    what = "error feedback: all that was sent, and what is kept, against Σ g"
    yield close(made + kept, gradients.sum(axis=0), what, atol=1e-7)
    runs = {"SGD": plain, "majority of signs": voted, "error feedback, one sender": fed}
    gaps = {name: ((run - best) ** 2).sum(axis=1) / 2 for name, run in runs.items()}
    sent = dict(zip(runs, (("full", workers), ("sign", workers), ("scaled sign", 1)), strict=True))
    bits = {
        n: stochastic.bits_per_step(dimension, s, workers=many) * np.arange(steps + 1) for n, (s, many) in sent.items()
    }
    for name in ("SGD", "error feedback, one sender"):
        yield at_most(gaps[name][-1], gaps[name][0] / 2, f"{name}: gap at the end, against half of that at the start")
    # one coordinate, gradient w + ξ with ξ = 3.75 once and −1.25 three times: the sign alone goes to 1.25
    skewed = stochastic.FiniteSum(_skewed_loss, (np.array([3.75, -1.25, -1.25, -1.25]),))
    draws = jnp.asarray(rng.integers(4, size=(20, 4000, 1)))
    rule = optimisation.tunable(_feedback, learning_rate=0.5, scale=8.0)
    ends = np.asarray(jax.vmap(lambda r: stochastic.rule_run(skewed, rule, jnp.zeros(1), r, every=4000).last[0])(draws))
    yield mean(ends, 0.0, "error feedback on the skewed gradient, scale 8: w after 4000 steps, 20 runs, against w* = 0")
    title = f"Bits a step: {bits['SGD'][1]:,} for SGD, {bits['majority of signs'][1]:,} for signs"
    yield figure.curves(title, "bits sent", "gap", lines={n: (b[1:], gaps[n][1:]) for n, b in bits.items()}, log="xy")


@claim(sources=("sheet",))
def signsgd_bias(key, rare: Int(2, 8) = 5, low: Real(0.5, 2.0) = 1.25, batch: Int(2, 64) = 16):
    r"""SignSGD converges to the median.

    The sign of an unbiased gradient is biased: a gradient that is +4 one time in four and −1 otherwise has mean +0.25
    but mean sign −0.5. In one dimension signSGD converges to where the median of the stochastic gradient is 0, and SGD
    to the minimum.

    $$\mathrm{E}\,\hat g = w + \mathrm{E}\,\xi = w, \qquad w_{\mathrm{sign}} = -\mathrm{median}(\xi)$$

    Check: w²/2 with noise that is positive `rare` times in 20 and −`low` otherwise; 20 000 steps of 0.5/√t.
    """
    rng = data.generator(key)
    share = rare / 20
    high = low * (1 - share) / share
    kinds = np.where(np.arange(20) < rare, high, -low)
    yield close([0.25 * 4 + 0.75 * -1, 0.25 - 0.75], [0.25, -0.5], "gradient +4 or −1: mean, and mean sign", atol=1e-15)
    steps, seeds = 20_000, 16
    problem = stochastic.FiniteSum(_skewed_loss, (kinds,))
    draws = jnp.asarray(rng.integers(20, size=(seeds, steps, 1)))
    paths = {}
    for name, make in (("signSGD", _sign), ("SGD", _root_rate)):
        rule = optimisation.tunable(make, learning_rate=0.5)
        run = jax.vmap(lambda r, rule=rule: stochastic.rule_run(problem, rule, jnp.zeros(1), r, every=100).points[:, 0])
        paths[name] = np.asarray(run(draws))
    late = {n: p[:, 100:].mean(axis=1) for n, p in paths.items()}
    near = _hunting(steps, 1 - 2 * share)
    yield close(late["signSGD"], low, "signSGD: mean w of the second half, against minus the median", atol=near)
    variance = 0.0
    for t in range(steps):  # Var w ← (1 − η)² Var w + η² Var ξ, exactly
        rate = 0.5 / np.sqrt(t + 1)
        variance = (1 - rate) ** 2 * variance + rate**2 * np.var(kinds)
    yield mean(paths["SGD"][:, -1], 0.0, "SGD: w at the end, against 0", deviation=np.sqrt(variance))
    sizes = np.unique([1, 4, batch, 64])
    counts = rng.binomial(sizes, share, (steps, len(sizes)))
    batches = (counts * high - (sizes - counts) * low) / sizes
    shares = np.array([0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4])
    up, down = np.sqrt((1 - shares) / shares), np.sqrt(shares / (1 - shares))  # noise of variance 1
    skews = np.where(rng.random((steps, len(shares))) < shares, up, -down)
    symmetric = rng.standard_normal((steps, seeds))
    found, ends = _sign_paths(np.concatenate([batches, skews, symmetric], axis=1))
    yield mean(ends[-seeds:], 0.0, "symmetric noise, signSGD: w at the end, against 0")
    medians, margins = np.array([_median(b, share, high, low) for b in sizes]).T
    for b, value, median, margin in zip(sizes, found, medians, margins, strict=False):
        what, near = f"batch {b}: mean w of the second half, against minus the median", _hunting(steps, margin)
        found_there = close(value, -median, what, atol=near)
        yield found_there.given(margin > 0.1, "a median that two values do not nearly share")
    yield at_most(abs(medians[-1]), low / 4, "|median of the noise| with batch 64, against a quarter of that of one")
    limits = found[len(sizes) : -seeds]
    what = "noise of variance 1: limits of signSGD over seven skews, against √(q/(1 − q))"
    yield close(limits, down, what, atol=_hunting(steps, 0.2))
    fine = np.linspace(0.1, 0.4, 50)
    title = f"SGD goes to the minimum 0, signSGD to minus the median: {late['signSGD'].mean():.3f} at {rare} in 20"
    lines = {"signSGD": (fine, np.sqrt(fine / (1 - fine))), "SGD": (fine, np.zeros(50))}
    points = {"signSGD": (shares, limits), "SGD": ([share], [late["SGD"].mean()])}
    across = "probability q of the large positive noise (variance 1)"
    yield figure.curves(title, across, "limit of w", lines=lines, points=points)


def _sign_paths(noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w²/2 by signs of w + ξ at 0.5/√t, a column each: the mean of the second half, and the end."""
    steps = len(noise)
    w, total = np.zeros(noise.shape[1]), np.zeros(noise.shape[1])
    for t in range(steps):
        w -= 0.5 / np.sqrt(t + 1) * np.sign(w + noise[t])
        total += w * (t >= steps // 2)
    return total / (steps - steps // 2), w


def _hunting(num_steps: int, margin: float) -> float:
    """How far from its limit a walk of ±η is in the second half, if it moves there `margin` more often than away."""
    return 0.5 / np.sqrt(num_steps / 2) * (1 + 4 / margin)


def _median(batch: int, share: float, high: float, low: float) -> tuple[float, float]:
    """The median of the mean of `batch` noises, and by how much the two halves beside it are decided."""
    from scipy.stats import binom

    k = int(binom.median(batch, share))
    margin = 2 * min(binom.cdf(k, batch, share) - 0.5, 0.5 - binom.cdf(k - 1, batch, share))
    return (k * high - (batch - k) * low) / batch, margin
