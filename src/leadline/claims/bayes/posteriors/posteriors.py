"""The posterior over the weights of a linear model, its mode, and the penalty that a Gaussian prior comes to."""

import jax.numpy as jnp
import numpy as np

from leadline import bayes, data, learning
from leadline.evidence import Int, Real, claim, close, distributed_as, method, slope
from leadline.presentation import figure


def straight_line_data(rng, n, sigma, alpha):
    """Inputs (1, x), x evenly over [−1, 1] and jittered, weights drawn from the prior, Gaussian noise."""
    x = np.column_stack([np.ones(n), np.linspace(-1, 1, n) + 0.1 * rng.normal(size=n)])
    return x, x @ rng.normal(size=2) / np.sqrt(alpha) + sigma * rng.normal(size=n)


def squared_energy(theta, x, y, sigma, alpha):
    """−ln likelihood − ln prior of the linear model with Gaussian noise and prior, up to a constant."""
    return jnp.sum((y - x @ theta) ** 2) / (2 * sigma**2) + alpha / 2 * jnp.sum(theta**2)


@method(sources=("eth", "penn", "sheet"))
def bayes_posterior(
    key, n: Int(3, 30) = 8, sigma: Real(0.2, 2.0, log=True) = 0.5, alpha: Real(0.1, 10.0, log=True) = 1.0
):
    r"""Bayes' rule and the Gaussian posterior.

    Bayes' rule turns a prior and a likelihood into the posterior $e^{-E}/Z$ with E = −∑ ln p(yᵢ | xᵢ, θ) − ln p(θ).
    For the Gaussian linear model it is Gaussian; a grid, the closed form and updating datum by datum agree.

    $$p(\theta | D) = \frac{e^{-E(\theta)}}{Z}, \quad S = (X^T X / \sigma^2 + \alpha I)^{-1}, \quad m = S X^T y /
    \sigma^2$$

    Assumes: Gaussian noise of known variance; Gaussian prior, for the closed form.

    Check: A straight line is fitted through n points: the posterior of intercept and slope is computed on a grid of
    401 × 401, in closed form, and by updating one point at a time.
    """
    rng = data.generator(key)
    x, y = straight_line_data(rng, n, sigma, alpha)
    exact = learning.gaussian_posterior(x, y, sigma=sigma, prior_variance=1 / alpha)
    path = bayes.sequential_posteriors(x, y, sigma=sigma, alpha=alpha)

    def energy(theta):
        return bayes.linear_energy(theta, x, y, sigma=sigma, alpha=alpha)

    spread = np.sqrt(np.diag(exact.covariance))
    axes = [np.linspace(m - 9 * s, m + 9 * s, 401) for m, s in zip(exact.mean, spread, strict=True)]
    grid, unit = bayes.grid_posterior(energy, *axes), np.outer(spread, spread)
    for name, found in {"grid": grid, "one datum at a time": path[-1]}.items():
        away, covariance = (found.mean - exact.mean) / spread, exact.covariance / unit
        yield close(away, 0.0, f"{name}: posterior mean, from the closed form, in sd", atol=1e-8)
        yield close(found.covariance / unit, covariance, f"{name}: posterior covariance in units of sd", atol=1e-8)
    order = rng.permutation(n)
    other = bayes.sequential_posteriors(x[order], y[order], sigma=sigma, alpha=alpha)[-1]
    yield close((other.mean - exact.mean) / spread, 0.0, "the data in another order: posterior mean", atol=1e-8)
    yield close(grid.weights.sum(), 1.0, "∫ e^{−E}/Z", atol=1e-12)
    log_evidence = bayes.linear_log_evidence(x, y, sigma=sigma, alpha=alpha)
    yield close(grid.log_evidence, log_evidence, "ln Z on the grid, against ln N(y; 0, σ²I + XXᵀ/α)", atol=1e-8)
    lowest = energy(bayes.map_estimate(squared_energy, np.zeros(2), x, y, sigma, alpha).theta)
    least = energy(exact.mean)
    yield close(lowest, least, "least energy by the optimiser, against that of the mean", rtol=1e-10)
    draws = exact.mean + rng.normal(size=(2000, 2)) @ np.linalg.cholesky(exact.covariance).T
    what = "energy of posterior draws above the least, against χ²₂/2"
    yield distributed_as(energy(draws) - lowest, lambda e: -np.expm1(-e), what)
    before, after = (path[i].covariance[1, 1] ** 0.5 for i in (0, -1))
    title = f"From prior to posterior: the sd of the slope falls from {before:.3g} to {after:.3g} with {n} data"
    lines = {f"after {i}" if i else "prior": _ellipse(path[i].mean, path[i].covariance) for i in (0, 1, 2, n)}
    reach = 2.6 / np.sqrt(alpha)
    options = {"points": {f"after {n}": grid.mean[None]}, "domain": ((-reach, reach), (-reach, reach))}
    yield figure.plane(title, "intercept", "slope", lines=lines, **options)


def _ellipse(centre, covariance):
    """Where the density is e^{−½·2²} of its maximum."""
    angle = np.linspace(0, 2 * np.pi, 120)
    points = centre[:, None] + 2 * np.linalg.cholesky(covariance) @ np.stack([np.cos(angle), np.sin(angle)])
    return points[0], points[1]


@method(sources=("penn", "eth"))
def map_estimation(
    key, dim: Int(1, 5) = 3, sigma: Real(0.2, 2.0, log=True) = 0.5, alpha: Real(0.1, 10.0, log=True) = 2.0
):
    r"""Maximum a posteriori estimation.

    The most probable parameters minimise −ln likelihood − ln prior; Z plays no role. With Gaussian noise and prior
    they depend on σ²α only, and they approach the maximum-likelihood parameters at the rate 1/n.

    $$\theta_{\mathrm{MAP}} = \operatorname{argmin}_\theta \; \frac{\|y - f_\theta\|^2}{2 \sigma^2} + \frac{\alpha}{2}
    \|\theta\|^2$$

    Assumes: the energy has one minimum; n is far above σ²α, for the rate.

    Check: Linear regression on Gaussian inputs is run on 16 data sets for each n, with true weights of norm 1.
    """
    rng = data.generator(key)
    truth = rng.normal(size=dim)
    truth /= np.linalg.norm(truth)
    x = rng.normal(size=(30, dim))
    y = x @ truth + sigma * rng.normal(size=30)
    exact = learning.gaussian_posterior(x, y, sigma=sigma, prior_variance=1 / alpha).mean
    found = bayes.map_estimate(squared_energy, np.zeros(dim), x, y, sigma, alpha).theta
    yield close(found, exact, "θ by the optimiser, against (XᵀX + σ²αI)⁻¹Xᵀy", atol=1e-8)
    same = bayes.map_estimate(squared_energy, np.zeros(dim), x, y, 3 * sigma, alpha / 9).theta
    yield close(same, exact, "θ by the optimiser with 3σ and α/9: σ²α is all that matters", atol=1e-8)
    strength = sigma**2 * alpha
    sizes = (np.ceil(40 * (dim + strength)) * 2.0 ** np.arange(6)).astype(int)
    gaps, modes, likely = [], [], []
    for n in sizes:
        x = rng.normal(size=(16, n, dim))
        y = x @ truth + sigma * rng.normal(size=(16, n))
        gram, moment = np.swapaxes(x, 1, 2) @ x, np.einsum("rnd,rn->rd", x, y)
        mle = np.linalg.solve(gram, moment[..., None])[..., 0]
        mode = np.linalg.solve(gram + strength * np.eye(dim), moment[..., None])[..., 0]
        gaps.append(np.linalg.norm(mode - mle, axis=1).mean())
        modes.append(mode[0] @ truth)
        likely.append(mle[0] @ truth)
    # ‖MAP − MLE‖ = σ²α/(n + σ²α) ‖MLE‖ about: its slope misses −1 by at most the first σ²α/n
    yield slope(sizes, gaps, -1.0, "‖MAP − MLE‖ against n", within=1 / 40)
    lines, points = {"σ²α/n": (sizes, strength / sizes)}, {"measured": (sizes, gaps)}
    distance = figure.curves("their distance", "n", "‖MAP − MLE‖", lines=lines, points=points, log="xy")
    lines, points = {"truth": (sizes, np.ones(len(sizes)))}, {"MLE": (sizes, likely), "MAP": (sizes, modes)}
    name = "one data set: part along the true weights"
    along = figure.curves(name, "n", "θ·θ_true", lines=lines, points=points, log="x")
    title = f"MAP and MLE meet as 1/n: {gaps[0]:.2g} apart at n = {sizes[0]}, {gaps[-1]:.2g} at {sizes[-1]}"
    yield figure.beside(title, distance, along)


@claim(sources=("eth", "penn"))
def gaussian_prior_is_weight_decay(
    key,
    n: Int(3, 60) = 20,
    dim: Int(2, 6) = 3,
    sigma: Real(0.1, 3.0, log=True) = 0.3,
    alpha: Real(0.1, 30.0, log=True) = 3.0,
):
    r"""Weight decay is a Gaussian prior.

    Under a Gaussian prior N(0, I/α) and noise variance σ² the most probable weights are those of ridge regression on
    the summed squares with strength σ²α, not α: weight decay is a prior whose width depends on the noise.

    $$\operatorname{argmin}_\theta \; \frac{\|y - X\theta\|^2}{2\sigma^2} + \frac{\alpha}{2}\|\theta\|^2 = (X^T X +
    \sigma^2 \alpha I)^{-1} X^T y$$

    Assumes: Gaussian noise and prior, independent of one another.

    Check: The energy is minimised by Newton's method for a grid of σ and α and compared with ridge regression in
    closed form.
    """
    rng = data.generator(key)
    x = rng.normal(size=(n, dim))
    y = x @ rng.normal(size=dim) + sigma * rng.normal(size=n)

    def ridge(strength):
        return learning.ridge(x, y, strength / n, intercept=False).weights

    cases = [(sigma * a, alpha * b) for a in (0.5, 1.0, 2.0) for b in (0.3, 1.0, 3.0)]
    found = np.array([bayes.map_estimate(squared_energy, np.zeros(dim), x, y, s, a).theta for s, a in cases])
    at = np.array([s**2 * a for s, a in cases])
    closed = np.array([ridge(strength) for strength in at])
    scale = max(np.abs(closed).max(), 1e-3)
    yield close(found / scale, closed / scale, "MAP for 9 pairs (σ, α), against ridge with strength σ²α", atol=1e-8)
    strengths = np.geomspace(1e-3, 1e4, 60)
    path = np.array([ridge(v) for v in strengths])
    title = f"MAP lies on the ridge path at σ²α = {sigma**2 * alpha:.3g}; drawn at α = {alpha:.3g} it is off it"
    lines = {f"ridge, θ{i + 1}": (strengths, path[:, i]) for i in range(2)}
    points = {"MAP at σ²α": (np.tile(at, 2), found[:, :2].T.ravel()), "MAP at α": ([alpha] * 2, found[4][:2])}
    yield figure.curves(title, "ridge strength", "first two weights", lines=lines, points=points, log="x")
