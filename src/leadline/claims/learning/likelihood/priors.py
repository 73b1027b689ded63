"""Other noise than Gaussian, chosen by held-out likelihood; a prior on the weights, which is ridge regression."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, Real, at_least, claim, close, frequency, method
from leadline.learning.regression.noise_models import NOISE_FAMILIES
from leadline.presentation import figure


@method(sources=("penn",))
def noise_model_choice(
    key, samples: Int(300, 800) = 500, dim: Int(1, 4) = 2, runs: Int(8, 30) = 20, flips: Real(0.05, 0.25) = 0.2
):
    r"""Choosing a noise model by held-out likelihood.

    One regression is fitted under several noise distributions, one-sided ones included, and these are ranked by the
    log-likelihood of held-out data. The distribution that generated the data is at the top or within error of it.

    $$\hat{p} = \operatorname{argmax}_{p \in \{\text{Gauss}, \text{Laplace}, t, \text{exp}, \Gamma\}} \frac1m
    \sum_{j=1}^m \log p(y_j - \hat w_p \cdot x_j - \hat b_p)$$

    Check: There are runs for each of five sources of noise (among them Student's t with 3 degrees of freedom and a
    gamma distribution of shape 2), with n examples to fit and n to score.
    """
    rng = data.generator(key)
    families = NOISE_FAMILIES
    scores = np.empty((len(families), runs, len(families)))
    near, least = 0, []
    gains = {"laplace": [], "exponential": []}
    for i, source in enumerate(families):
        law = learning.noise_distribution(source)
        for j in range(runs):
            x = rng.normal(size=(2 * samples, dim))
            y = x @ rng.normal(size=dim) + law.rvs(size=2 * samples, random_state=rng)
            split = x[:samples], y[:samples], x[samples:], y[samples:]
            ranking = learning.rank_noise_models(*split)
            k = ranking.families.index(source)
            near += ranking.scores[0] - ranking.scores[k] <= 2 * ranking.shortfall_errors[k] + 1e-12
            scores[i, j] = [ranking.scores[ranking.families.index(f)] for f in families]
            if source in gains:
                gains[source].append(scores[i, j, i] - scores[i, j, 0])
            if source == "exponential" and j < 3:
                for one_sided in ("exponential", "gamma"):
                    least.append(learning.fit_noise_model(x, y, one_sided).residuals(x, y).min())
    what = "runs in which the true family is within 2 errors of the best"
    yield frequency(near, runs * len(families), 0.95, what, side="at least")
    for source, gain in gains.items():
        low = np.mean(gain) - 3.3 * np.std(gain, ddof=1) / np.sqrt(runs)
        yield at_least(low, 0.0, f"gain over a Gaussian fit on {source} data, nats, lower end", strict=True)
    yield at_least(least, -1e-9, "least residual of the one-sided fits")
    gain, rows = [], 4 * samples
    for _ in range(10):
        x = rng.normal(size=(2 * rows, dim))
        clean = np.where(rng.random(2 * rows) < 1 / (1 + np.exp(-12 * x[:, 0] - 2)), 1.0, -1.0)
        labels = clean * np.where(rng.random(2 * rows) < flips, -1, 1)
        fits = [learning.fit_label_flips(x[:rows], labels[:rows], flips=f) for f in (True, False)]
        gain.append(np.subtract(*(fit.log_probability(x[rows:], labels[rows:]).mean() for fit in fits)))
    low = np.mean(gain) - 3.3 * np.std(gain, ddof=1) / np.sqrt(10)
    yield at_least(low, 0.0, f"gain of the flip model with {flips:.0%} of labels flipped, lower end", strict=True)
    table = (scores.max(-1, keepdims=True) - scores).mean(1)
    lost = f"a Gaussian fit loses {table[families.index('exponential'), 0]:.2g} nats on exponential noise"
    title = f"The true family is within 2 errors of the best in {near} of {runs * len(families)} runs; {lost}"
    shape = {"xs": ["Gauss", "Laplace", "t", "exp.", "gamma"], "ys": families, "colour": "nats lost", "text": True}
    yield figure.heatmap(title, "fitted under", "data from", values=np.round(table, 2), **shape)


@claim(sources=("cam",))
def ridge_is_map(
    key,
    samples: Int(2, 500, log=True) = 15,
    dim: Int(1, 30) = 5,
    tau: Real(0.01, 100.0, log=True) = 0.5,
    sigma: Real(0.05, 20.0, log=True) = 1.0,
):
    r"""Ridge regression is MAP estimation.

    With prior θ ~ N(0, τI) and noise N(0, σ²) the posterior mode is ridge regression with γ = σ²/(nτ), which depends
    on n; the posterior is N(mode, (XᵀX/σ² + I/τ)⁻¹).

    $$\hat\theta_{\mathrm{MAP}} = \operatorname{argmin}_\theta \frac1n \|X\theta - y\|^2 + \gamma \|\theta\|^2, \quad
    \gamma = \frac{\sigma^2}{n \tau}$$

    Assumes: τ is a variance; no intercept.

    Check: The mode is found by one Newton step on the log posterior. n and σ are also halved, τ is doubled.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = x @ (np.sqrt(tau) * rng.normal(size=dim)) + sigma * rng.normal(size=samples)
    scale = np.abs(y).max()
    half = max(samples // 2, 1)
    for n, t, s in ((samples, tau, sigma), (half, tau, sigma), (samples, 2 * tau, sigma), (samples, tau, sigma / 2)):
        posterior = learning.gaussian_posterior(x[:n], y[:n], sigma=s, prior_variance=t)
        ridge = learning.ridge(x[:n], y[:n], s**2 / (n * t), intercept=False).weights
        what = f"ridge with γ = σ²/(nτ), against the posterior mean: n = {n}, τ = {t:.3g}, σ = {s:.3g}"
        yield close(ridge / scale, posterior.mean / scale, what, atol=1e-9)
    slope, hessian = _derivatives_at_zero(jnp.asarray(x), jnp.asarray(y), tau, sigma)
    mode = -np.linalg.solve(hessian, slope)
    posterior = learning.gaussian_posterior(x, y, sigma=sigma, prior_variance=tau)
    yield close(mode / scale, posterior.mean / scale, "mode by a Newton step on the log posterior", atol=1e-8)
    product = -np.asarray(hessian) @ posterior.covariance
    yield close(product, np.eye(dim), "posterior covariance times minus the Hessian of the log posterior", atol=1e-8)
    without = learning.ridge(x, y, sigma**2 / tau, intercept=False).weights
    miss = np.abs(without - posterior.mean).max()
    yield at_least(miss, 1e-9 * scale, "miss of ridge with γ = σ²/τ, without the n", strict=True)
    plane = rng.normal(size=(8, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    target = plane @ np.array([1.2, -0.3]) * np.sqrt(tau) + sigma * rng.normal(size=8)
    both = learning.gaussian_posterior(plane, target, sigma=sigma, prior_variance=tau)
    alone = learning.least_squares(plane, target, intercept=False).weights
    flat = sigma**2 * np.linalg.inv(plane.T @ plane)
    ellipses = {
        "prior": _ellipse(np.zeros(2), tau * np.eye(2)),
        "likelihood": _ellipse(alone, flat),
        "posterior": _ellipse(both.mean, both.covariance),
    }
    edges = 1.05 * np.concatenate([ellipses["prior"], ellipses["likelihood"]], axis=1)
    norms = f"the posterior mode has norm {np.linalg.norm(both.mean):.3g}, least squares {np.linalg.norm(alone):.3g}"
    points = {"prior": np.zeros((1, 2)), "likelihood": alone[None], "posterior": both.mean[None]}
    domain = tuple(zip(edges.min(axis=1), edges.max(axis=1), strict=True))
    yield figure.plane(f"One-deviation ellipses: {norms}", "θ₁", "θ₂", points=points, lines=ellipses, domain=domain)


def _log_posterior(theta, x, y, tau, sigma):
    return -jnp.sum((y - x @ theta) ** 2) / (2 * sigma**2) - jnp.sum(theta**2) / (2 * tau)


@jax.jit
def _derivatives_at_zero(x, y, tau, sigma):
    zero = jnp.zeros(x.shape[1])
    return jax.grad(_log_posterior)(zero, x, y, tau, sigma), jax.hessian(_log_posterior)(zero, x, y, tau, sigma)


def _ellipse(centre, covariance):
    angle = np.linspace(0, 2 * np.pi, 120)
    x, y = centre[:, None] + np.linalg.cholesky(covariance) @ np.stack([np.cos(angle), np.sin(angle)])
    return x, y
