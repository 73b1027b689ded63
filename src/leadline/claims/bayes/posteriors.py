"""The posterior over the weights of a linear model, its mode, and the penalty that a Gaussian prior comes to."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import bayes, data, learning
from leadline.evidence import Range, claim, close, distributed_as, figure, method, printed, slope


def straight_line_data(rng, n, sigma, alpha):
    """Inputs (1, x), x evenly over [−1, 1] and jittered, weights drawn from the prior, Gaussian noise."""
    x = np.column_stack([np.ones(n), np.linspace(-1, 1, n) + 0.1 * rng.normal(size=n)])
    return x, x @ rng.normal(size=2) / np.sqrt(alpha) + sigma * rng.normal(size=n)


def squared_energy(theta, x, y, sigma, alpha):
    """−ln likelihood − ln prior of the linear model with Gaussian noise and prior, up to a constant."""
    return jnp.sum((y - x @ theta) ** 2) / (2 * sigma**2) + alpha / 2 * jnp.sum(theta**2)


@method(
    "bayes-posterior",
    says=(
        "Bayes' rule makes of a prior and a likelihood the posterior e^{−E}/Z, E = −Σ ln p(yᵢ|xᵢ, θ) − ln p(θ). For "
        "the Gaussian linear model it is Gaussian; a grid, the closed form and updating datum by datum agree."
    ),
    formula=r"p(\theta | D) = \frac{e^{-E(\theta)}}{Z}, \quad S = (X^T X / \sigma^2 + \alpha I)^{-1}, "
    r"\quad m = S X^T y / \sigma^2",
    sources=("eth", "penn", "sheet"),
    assumes=("Gaussian noise of known variance", "Gaussian prior, for the closed form"),
    shows=("bayes.grid_posterior", "bayes.sequential_posteriors", "bayes.linear_energy", "learning.gaussian_posterior"),
)
def bayes_posterior(
    key,
    n: Annotated[int, Range(3, 30)] = 8,
    sigma: Annotated[float, Range(0.2, 2.0, log=True)] = 0.5,
    alpha: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
):
    """A straight line through n points: intercept and slope on a grid of 401 × 401, in closed form, one by one."""
    rng = data.generator(key)
    x, y = straight_line_data(rng, n, sigma, alpha)
    exact = learning.gaussian_posterior(x, y, sigma=sigma, prior_variance=1 / alpha)
    path = bayes.sequential_posteriors(x, y, sigma=sigma, alpha=alpha)

    def energy(theta):
        return bayes.linear_energy(theta, x, y, sigma=sigma, alpha=alpha)

    spread = np.sqrt(np.diag(exact.covariance))
    axes = [np.linspace(m - 9 * s, m + 9 * s, 401) for m, s in zip(exact.mean, spread, strict=True)]
    grid = bayes.grid_posterior(energy, *axes)
    unit = np.outer(spread, spread)
    for name, mean, covariance in (
        ("grid", grid.mean, grid.covariance), ("one datum at a time", path[-1].mean, path[-1].covariance)
    ):  # fmt: skip
        yield close(
            (mean - exact.mean) / spread, 0.0, f"{name}: posterior mean, from the closed form, in sd", atol=1e-8
        )
        yield close(
            covariance / unit, exact.covariance / unit, f"{name}: posterior covariance in units of sd", atol=1e-8
        )
    order = rng.permutation(n)
    other = bayes.sequential_posteriors(x[order], y[order], sigma=sigma, alpha=alpha)[-1]
    yield close((other.mean - exact.mean) / spread, 0.0, "the data in another order: posterior mean", atol=1e-8)
    yield close(grid.weights.sum(), 1.0, "∫ e^{−E}/Z", atol=1e-12)
    yield close(
        grid.log_evidence,
        bayes.linear_log_evidence(x, y, sigma=sigma, alpha=alpha),
        "ln Z on the grid, against ln N(y; 0, σ²I + XXᵀ/α)",
        atol=1e-8,
    )
    half = np.exp(grid.log_evidence) / 2
    yield printed(close(half, 1.0, "∫ e^{−E}/2", rtol=1e-8), "sheet", "p(θ|D) = ½ e^{−E}, for e^{−E}/Z")

    mode = bayes.map_estimate(squared_energy, np.zeros(2), x, y, sigma, alpha)
    lowest = float(energy(mode.theta))
    yield close(
        lowest, float(energy(exact.mean)), "least energy by the optimiser, against that of the mean", rtol=1e-10
    )
    draws = exact.mean + rng.normal(size=(2000, 2)) @ np.linalg.cholesky(exact.covariance).T
    yield distributed_as(
        energy(draws) - lowest, lambda e: -np.expm1(-e), "energy of posterior draws above the least, against χ²₂/2"
    )
    shown = [i for i in (0, 1, 2, n) if i <= n]
    yield figure.plane(
        f"From prior to posterior: the sd of the slope falls from {path[0].covariance[1, 1] ** 0.5:.3g} to "
        f"{path[-1].covariance[1, 1] ** 0.5:.3g} with {n} data",
        x="intercept",
        y="slope",
        lines={_after(i): _ellipse(path[i].mean, path[i].covariance) for i in shown},
        points={_after(n): grid.mean[None]},
        domain=tuple((-2.6 / np.sqrt(alpha), 2.6 / np.sqrt(alpha)) for _ in range(2)),
    )


def _after(count):
    return "prior" if count == 0 else f"after {count}"


def _ellipse(centre, covariance):
    """Where the density is e^{−½·2²} of its maximum."""
    angle = np.linspace(0, 2 * np.pi, 120)
    points = centre[:, None] + 2 * np.linalg.cholesky(covariance) @ np.stack([np.cos(angle), np.sin(angle)])
    return points[0], points[1]


@method(
    "map-estimation",
    says=(
        "The most probable parameters minimise −ln likelihood − ln prior; Z plays no role. With Gaussian noise and "
        "prior they depend on σ²α only, and they approach the maximum of the likelihood as 1/n."
    ),
    formula=r"\theta_{MAP} = \operatorname{argmin}_\theta \; \frac{\|y - f_\theta\|^2}{2 \sigma^2} "
    r"+ \frac{\alpha}{2} \|\theta\|^2",
    sources=("penn", "eth"),
    assumes=("the energy has one minimum", "n is far above σ²α, for the rate"),
    shows=("bayes.map_estimate",),
)
def map_estimation(
    key,
    dim: Annotated[int, Range(1, 5)] = 3,
    sigma: Annotated[float, Range(0.2, 2.0, log=True)] = 0.5,
    alpha: Annotated[float, Range(0.1, 10.0, log=True)] = 2.0,
):
    """Linear regression on Gaussian inputs; 16 data sets for each n, true weights of norm 1."""
    rng = data.generator(key)
    truth = rng.normal(size=dim)
    truth /= np.linalg.norm(truth)
    x = rng.normal(size=(30, dim))
    y = x @ truth + sigma * rng.normal(size=30)
    exact = learning.gaussian_posterior(x, y, sigma=sigma, prior_variance=1 / alpha).mean
    found = bayes.map_estimate(squared_energy, np.zeros(dim), x, y, sigma, alpha).theta
    yield close(found, exact, "optimiser, against (XᵀX + σ²αI)⁻¹Xᵀy", atol=1e-8)
    same = bayes.map_estimate(squared_energy, np.zeros(dim), x, y, 3 * sigma, alpha / 9).theta
    yield close(same, exact, "the same with 3σ and α/9: σ²α is all that matters", atol=1e-8)
    gram, moment, strength = x.T @ x, x.T @ y, sigma**2 * alpha
    yield printed(
        close(
            np.linalg.solve(gram - strength * np.eye(dim), moment), exact, "θ with Ω added as a log prior", atol=1e-8
        ),
        "penn",
        "Ω both as a penalty and as a log prior: one of the signs is wrong",
    )
    yield printed(
        close(
            np.linalg.solve(gram + 30 * strength * np.eye(dim), moment), exact, "θ with (1/n)Σ and −ln p(θ)", atol=1e-8
        ),
        "penn",
        "1/n before the log likelihood, none before the log prior",
    )

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
    yield figure.beside(
        f"MAP and MLE meet as 1/n: {gaps[0]:.2g} apart at n = {sizes[0]}, {gaps[-1]:.2g} at {sizes[-1]}",
        figure.curves(
            "their distance", x="n", y="‖MAP − MLE‖", log="xy",
            lines={"σ²α/n": (sizes, strength / sizes)}, points={"measured": (sizes, gaps)},
        ),
        figure.curves(
            "one data set: part along the true weights", x="n", y="θ·θ_true", log="x",
            lines={"truth": (sizes, np.ones(len(sizes)))}, points={"MLE": (sizes, likely), "MAP": (sizes, modes)},
        ),
    )  # fmt: skip


@claim(
    "gaussian-prior-is-weight-decay",
    says=(
        "Under a Gaussian prior N(0, I/α) and noise variance σ² the most probable weights are those of ridge "
        "regression on the summed squares with strength σ²α, not α: weight decay is a prior whose width depends on "
        "the noise."
    ),
    formula=r"\operatorname{argmin}_\theta \; \frac{\|y - X\theta\|^2}{2\sigma^2} + \frac{\alpha}{2}\|\theta\|^2 "
    r"= (X^T X + \sigma^2 \alpha I)^{-1} X^T y",
    sources=("eth", "penn"),
    assumes=("Gaussian noise and prior, independent of one another",),
)
def gaussian_prior_is_weight_decay(
    key,
    n: Annotated[int, Range(3, 60)] = 20,
    dim: Annotated[int, Range(2, 6)] = 3,
    sigma: Annotated[float, Range(0.1, 3.0, log=True)] = 0.3,
    alpha: Annotated[float, Range(0.1, 30.0, log=True)] = 3.0,
):
    """The energy minimised by Newton's method for a grid of σ and α, beside ridge regression in closed form."""
    rng = data.generator(key)
    x = rng.normal(size=(n, dim))
    y = x @ rng.normal(size=dim) + sigma * rng.normal(size=n)

    def ridge(strength):
        return learning.ridge(x, y, strength / n, intercept=False).weights

    cases = [(sigma * a, alpha * b) for a in (0.5, 1.0, 2.0) for b in (0.3, 1.0, 3.0)]
    found = np.array([bayes.map_estimate(squared_energy, np.zeros(dim), x, y, s, a).theta for s, a in cases])
    closed = np.array([ridge(s**2 * a) for s, a in cases])
    scale = max(np.abs(closed).max(), 1e-3)
    yield close(found / scale, closed / scale, "MAP for 9 pairs (σ, α), against ridge with strength σ²α", atol=1e-8)
    visible = abs(np.log(sigma**2)) > 0.02
    yield printed(
        close(ridge(alpha) / scale, found[4] / scale, "ridge with strength α, against MAP", atol=1e-8).given(
            visible, "the noise has another variance than 1"
        ),
        "penn",
        "ridge strength = α, without the factor σ²",
    )
    strengths = np.geomspace(1e-3, 1e4, 60)
    path = np.array([ridge(v) for v in strengths])
    order = np.argsort([s**2 * a for s, a in cases])
    at = np.array([s**2 * a for s, a in cases])[order]
    yield figure.curves(
        f"MAP lies on the ridge path at σ²α = {sigma**2 * alpha:.3g}; the printed strength α = {alpha:.3g} is off it",
        x="ridge strength",
        y="first two weights",
        log="x",
        lines={f"ridge, θ{i + 1}": (strengths, path[:, i]) for i in range(2)},
        points={
            "MAP at σ²α": (np.tile(at, 2), found[order][:, :2].T.ravel()),
            "MAP at the printed α": (np.repeat(alpha, 2), found[4][:2]),
        },
    )
