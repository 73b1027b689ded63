"""Contrastive predictive coding of a series whose information is known, and the bound on that information."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import networks, regularisation, training
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, mean, model
from leadline.presentation import figure
from leadline.regularisation.pretraining.contrastive_coding import autoregression, autoregression_information

LENGTH, SERIES = 12, 64


@model(sources=("sheet",), shows=("regularisation.ContrastiveCoder", "regularisation.InfoNCE"))
def contrastive_predictive_coding(key, rho: Real(0.6, 0.9) = 0.8, ahead: Int(1, 4) = 3, num_steps: Int(200, 600) = 300):
    r"""Contrastive predictive coding.

    An encoder of every observation and a causal context of the past are trained to score the true future above the
    futures of other series. At the optimum exp(score) is proportional to p(x|c)/p(x): what the score has learned is the
    information between past and future, in nats, of which log N minus the loss is a lower bound.

    $$f_k = \exp(z_{t+k}^\top W_k c_t), \qquad L = -E \log \frac{f_k(x_{t+k}, c_t)}{\sum_{j \le N} f_k(x_j, c_t)},
    \qquad f_k \propto \frac{p(x_{t+k} | c_t)}{p(x_{t+k})}$$

    Assumes: series that are independent and stationary, so that those of the batch are draws from p(x).

    Check: Gaussian autoregression, where the information k steps ahead is −½ ln(1 − ρ²ᵏ); 64 series of 12 to a batch;
    the bound is measured on 60 fresh batches. The learned scores are compared with the true log ratio.
    """
    keys = jax.random.split(key, 4)
    encoder = networks.MLP((1, 32, 8), "tanh", dtype=jnp.float32, key=keys[0])
    coder = regularisation.ContrastiveCoder(encoder, 8, 16, ahead, dtype=jnp.float32, key=keys[1])

    def draw(key):
        return autoregression(SERIES, LENGTH, rho, key=key)[..., None].astype(jnp.float32)

    objective, rule = regularisation.InfoNCE(), optax.adam(1e-2)
    run = training.fit(
        coder, draw, objective=objective, optimiser=rule, epochs=10, num_steps=num_steps // 10, key=keys[2]
    )
    fresh = jax.vmap(draw)(jax.random.split(keys[3], 60))
    losses = np.asarray(_fresh_losses(run.model, fresh), float)  # (batches, ahead)
    bounds = np.log(SERIES) - losses
    steps = 1 + np.arange(ahead)
    truth = autoregression_information(rho, steps)
    for k in range(ahead):
        what = f"log N less the loss, {k + 1} ahead, on fresh series: at most the information"
        yield mean(bounds[:, k], float(truth[k]), what, side="at most")
    what = "log N less the loss, 1 ahead, mean over fresh batches: at least half the information"
    yield at_least(bounds[:, 0].mean(), 0.5 * truth[0], what).as_empirical()
    likeness = _score_likeness(run.model, fresh[0], rho)
    what = "correlation of learned scores with log p(x|c)/p(x), both less their means over candidates"
    yield at_least(likeness, 0.9, what).as_empirical()
    low, high = (bounds.mean(axis=0) + s * 3.3 * bounds.std(axis=0) / np.sqrt(len(bounds)) for s in (-1, 1))
    title = f"Of {truth[0]:.2f} nats one step ahead the code holds {bounds[:, 0].mean():.2f}"
    left = figure.curves(
        "Information against how far ahead",
        "steps ahead k",
        "nats",
        lines={"−½ ln(1 − ρ²ᵏ)": (steps, truth)},
        points={"log N − loss": (steps, bounds.mean(axis=0), low, high)},
    )
    epochs = run.history["step"]
    right = figure.curves("Training", "step", "loss", points={"InfoNCE": (epochs, run.history["loss"])})
    yield figure.beside(title, left, right)


@eqx.filter_jit
def _fresh_losses(coder, batches):
    """For each batch and step ahead the mean loss."""

    def one(series):
        rows, _ = regularisation.InfoNCE()(coder, series, None, None)
        return rows.losses.mean(axis=(0, 2))

    return jax.lax.map(one, batches)


def _score_likeness(coder, series, rho):
    """Correlation of the scores one step ahead from the middle of the series with the true log ratio."""
    scores = np.asarray(coder.scores(series), float)[:, 0]  # (series, starts, candidates)
    x = np.asarray(series, float)[..., 0]
    t = scores.shape[1] // 2
    exact = np.asarray(log_ratio(x[None, :, t + 1], x[:, t, None], rho))
    both = [m - m.mean(axis=1, keepdims=True) for m in (scores[:, t], exact)]
    return float(np.corrcoef(both[0].ravel(), both[1].ravel())[0, 1])


def log_ratio(x, c, r):
    """log p(x|c)/p(x) for standard normal x and c of correlation r."""
    return -jnp.log1p(-(r**2)) / 2 - (r**2 * (x**2 + c**2) - 2 * r * x * c) / (2 * (1 - r**2))


@claim(sources=("sheet",), shows=("regularisation.info_nce",))
def infonce_lower_bound(
    key, rho: Real(0.05, 0.97) = 0.9, ahead: Int(1, 5) = 1, candidates: OneOf(2, 8, 32, 128, 512, 1024) = 128
):
    r"""InfoNCE bounds information from below.

    With N candidates of which one is positive, log N minus the loss is at most the information between context and
    future, and at most log N whatever the information. With the optimal score it is tight for large N: it misses at
    most log(1 + χ²/N), where 1 + χ² is the mean of the density ratio over true pairs.

    $$I - \log\!\left(1 + \frac{\chi^2}{N}\right) \le \log N - L_{\mathrm{NCE}} \le \min(I, \log N), \qquad I =
    -\tfrac12 \ln(1 - \rho^{2k}), \;\; \chi^2 = \frac{\rho^{2k}}{1 - \rho^{2k}}$$

    Assumes: candidates that are independent draws of p(x), but for the positive one; the left side, the optimal score.

    Check: Gaussian autoregression with the exact score, 4000 contexts; what is missed is measured context by context,
    which has little noise. The bound holds for wrong scores as well: one of half the slope is tried.
    """
    r, information = rho**ahead, float(autoregression_information(rho, ahead))
    samples = _samples(key, r, candidates, 4000)
    estimates, ceiling = samples["optimal"], np.log(candidates)
    missed = samples["ratio"] - estimates  # of each context: what the positive pair has, less what was estimated
    chi = r**2 / (1 - r**2)
    yield mean(missed, 0.0, "information less estimate, context by context: not below 0", side="at least")
    what = "information less estimate, context by context: at most log(1 + χ²/N)"
    yield mean(missed, float(np.log1p(chi / candidates)), what, side="at most")
    yield mean(samples["ratio"], information, "log ratio of true pairs, against −½ ln(1 − ρ²ᵏ)")
    yield at_most(estimates, ceiling, "log N − loss of every context, against log N", atol=1e-9)
    what = "log N − loss with a score of half the slope, mean: at most the information"
    yield mean(samples["wrong"], information, what, side="at most")
    spots = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995])
    axis = np.sort(np.concatenate([np.linspace(0.05, 0.99, 60), spots]))
    lines = {"true information": (axis, autoregression_information(axis, ahead))}
    points = {
        f"estimate, N = {n}": (spots, [_samples(key, s**ahead, n, 2000)["optimal"].mean() for s in spots])
        for n in (2, 8, 128)
    }
    rules = {f"log {n}": ("y", float(np.log(n))) for n in (2, 8)}
    last, true = points["estimate, N = 8"][1][-1], float(autoregression_information(0.995, ahead))
    title = (
        f"ρ = 0.995, {ahead} ahead: of {true:.2f} nats 8 candidates show {last:.2f}, and never more than log 8 = 2.08"
    )
    yield figure.curves(title, "correlation ρ", "nats", lines=lines, points=points, rules=rules)


def _samples(key, r, candidates, contexts):
    """For each context the log ratio of its pair, log N − loss with the optimal score, and with a worse one."""
    return {name: np.asarray(v) for name, v in _drawn(key, jnp.asarray(r), candidates, contexts).items()}


@eqx.filter_jit
def _drawn(key, r, candidates, contexts):
    def some(key):
        key_c, key_x = jax.random.split(key)
        c = jax.random.normal(key_c, (contexts // 20, 1))
        x = jax.random.normal(key_x, (contexts // 20, candidates))
        x = x.at[:, :1].set(r * c + jnp.sqrt(1 - r**2) * x[:, :1])
        exact = log_ratio(x, c, r)
        estimates = [jnp.log(candidates) - regularisation.info_nce(s) for s in (exact, exact / 2)]
        return {"ratio": exact[:, 0], "optimal": estimates[0], "wrong": estimates[1]}

    parts = jax.lax.map(some, jax.random.split(key, 20))
    return jax.tree.map(jnp.ravel, parts)
