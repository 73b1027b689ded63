"""Gaussian processes: what makes a random function one, and what data make of it."""

import jax
import numpy as np
from scipy.stats import norm

from leadline import data, kernels
from leadline.claims.kernels.mercer_and_rkhs.rkhs import KERNELS
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, distributed_as, frequency, model
from leadline.kernels import machines
from leadline.kernels.algebra import diagonal_of
from leadline.kernels.machines.gaussian_process import prior_paths
from leadline.presentation import figure

COVARIANCES = {"gaussian": kernels.Gaussian, "matern52": kernels.Matern52, "laplace": kernels.Laplace}


@model(sources=("sheet",), shows=("kernels.machines.log_evidence",))
def gp_regression(
    key,
    kernel: OneOf(*COVARIANCES) = "gaussian",
    scale: Real(0.08, 1.0, log=True) = 0.2,
    noise: Real(0.02, 1.0, log=True) = 0.1,
    samples: Int(3, 60) = 12,
    trials: Int(500, 10_000, log=True) = 3000,
):
    r"""Gaussian process regression.

    A random function is a Gaussian process if every finite combination Σ aᵢ F(xᵢ) is normal; normal values alone are
    not enough. Given y = F(x) + noise of variance s², F is a Gaussian process again, with mean kₓᵀ(K + s²I)⁻¹y and its
    own variance.

    $$F(x) \mid y \sim N\left(k_x^T (K + s^2 I)^{-1} y,\; k(x, x) - k_x^T (K + s^2 I)^{-1} k_x\right)$$

    Check: Paths are drawn on a grid; many functions are drawn with their noisy data and each is regressed; one of them
    is shown in the picture.
    """
    keys = jax.random.split(key, 4)
    rng, k = data.generator(keys[0]), COVARIANCES[kernel](scale)
    fine = np.linspace(0, 1, 60)[:, None]
    paths = prior_paths(k, fine, trials, key=keys[1])
    combination = rng.normal(size=60)
    deviation = float(np.sqrt(combination @ k(fine, fine) @ combination))
    yield at_most(paths.jitter, 1e-9, "jitter that the Cholesky factor of the prior needed")
    combined = paths.values @ combination / deviation
    yield distributed_as(combined, norm.cdf, "a random combination of path values, standardised")
    z = rng.normal(size=trials)
    signed = z * rng.choice([-1.0, 1.0], trials)
    yield distributed_as(signed, norm.cdf, "S Z for a random sign S: its value is normal")
    yield frequency(np.sum(z + signed == 0), trials, 0.5, "Z + S Z is 0 half of the time: (Z, S Z) is not normal")
    x = np.sort(rng.uniform(0, 1, samples))[:, None]
    test = np.array([[0.37]])
    drawn = prior_paths(k, np.concatenate([x, test]), trials, key=keys[2]).values
    y = (drawn[:, :-1] + np.sqrt(noise) * rng.normal(size=(trials, samples))).T
    posterior = machines.gp_regression(k, x, y, noise)
    deviation = float(np.sqrt(posterior.variance(test)[0]))
    standard = (drawn[:, -1] - posterior.mean(test)[0]) / deviation
    inside = np.sum(np.abs(standard) <= 1.959964)
    yield frequency(inside, trials, 0.95, "F(0.37) within 1.96 posterior standard deviations of the mean")
    yield distributed_as(standard, norm.cdf, "F(0.37), standardised by its posterior")
    one = machines.gp_regression(k, x, y[:, 0], noise)
    left = one.leave_one_out()
    last = machines.gp_regression(k, x[:-1], y[:-1, 0], noise)
    yield close(left.mean[-1], last.mean(x[-1:])[0], "leave-one-out mean of the last point, against a refit", atol=1e-8)
    refit = last.variance(x[-1:])[0] + noise
    yield close(left.variance[-1], refit, "leave-one-out variance of the last point, against a refit", rtol=1e-8)
    # The chain rule: p(y) = p(y without the last) p(last | the others).
    chain = last.log_evidence() + float(left.log_density[-1])
    yield close(one.log_evidence(), chain, "log evidence, against the chain rule", atol=1e-8 * (1 + abs(chain)))
    best = machines.maximise_evidence(k, x, y[:, 0], noise)
    yield at_least(best.log_evidence, one.log_evidence(), "log evidence at its maximum, against the true parameters")
    band, mean = 1.96 * np.sqrt(one.variance(fine)), one.mean(fine)
    after = one.paths(fine, 3, key=keys[3])
    shown = fine[:, 0]
    before = {f"path {i + 1}": (shown, paths.values[i]) for i in range(3)}
    after = {"mean": (shown, mean)} | {f"path {i + 1}": (shown, after.values[i]) for i in range(3)}
    wide = {"95% band": (shown, np.full(60, -1.96), np.full(60, 1.96))}
    narrow, points = {"95% band": (shown, mean - band, mean + band)}, {"data": (x[:, 0], y[:, 0])}
    yield figure.beside(
        f"{samples} noisy values turn the prior into a posterior; its 95% band held F(0.37) in {inside / trials:.1%} "
        f"of {trials} draws",
        figure.curves("Prior paths", "x", "F(x)", bands=wide, lines=before),
        figure.curves("Posterior mean, band and paths", "x", "F(x)", bands=narrow, lines=after, points=points),
    )


@claim(sources=("cam", "sheet"))
def kernel_ridge_is_gp_mean(
    key,
    kernel: OneOf(*KERNELS) = "gaussian",
    samples: Int(2, 200) = 20,
    gamma: Real(1e-4, 1.0, log=True) = 0.005,
    scale: Real(0.1, 1.0, log=True) = 0.3,
):
    r"""Kernel ridge is a Gaussian process mean.

    Kernel ridge with penalty γ is the posterior mean of a Gaussian process with covariance k and noise variance nγ: n
    times the penalty, since the loss is a mean over n examples.

    $$k_x^T (K + n\gamma I)^{-1} y = \mathbb{E}[F(x) \mid y], \qquad y = F + N(0, n\gamma I)$$

    Check: Both are computed on a noisy sine; the mean of the Gaussian is also computed from the joint covariance of
    (F(x), y).
    """
    rng, k = data.generator(key), KERNELS[kernel](scale)
    x = np.sort(rng.uniform(-1, 1, samples))[:, None]
    y = np.sin(4 * x[:, 0]) + np.sqrt(samples * gamma) * rng.normal(size=samples)
    fine = np.linspace(-1.2, 1.2, 121)[:, None]
    fit = machines.kernel_ridge(k, x, y, gamma).predict(fine)
    posterior = machines.gp_regression(k, x, y, samples * gamma)
    mean = posterior.mean(fine)
    size = 1 + float(np.abs(mean).max())
    yield close(fit / size, mean / size, "kernel ridge, against the posterior mean with noise nγ, relative", atol=1e-8)
    both = np.concatenate([x, fine])
    joint = k(both, both)
    noisy = joint[:samples, :samples] + samples * gamma * np.eye(samples)
    conditional = joint[samples:, :samples] @ np.linalg.solve(noisy, y)
    what = "kernel ridge, against the mean of a normal vector given a part, relative"
    yield close(fit / size, conditional / size, what, atol=1e-8)
    wrong = machines.gp_regression(k, x, y, gamma).mean(fine)
    error = float(np.abs(fit - mean).max())
    yield at_least(np.abs(fit - wrong).max(), 100 * error + 1e-7, "distance to the mean with noise γ", strict=True)
    spread = 2 * np.sqrt(posterior.variance(fine))
    yield at_most(spread**2 / 4, diagonal_of(k, fine), "posterior variance, against k(x, x)", rtol=1e-9)
    line, far = fine[:, 0], max(error, 1e-15)
    title = f"Kernel ridge with γ = {gamma:g} and the mean with noise nγ = {samples * gamma:.3g} differ by {far:.0e}"
    lines = {"posterior mean": (line, mean), "with noise γ instead": (line, wrong)}
    bands = {"posterior ± 2 standard deviations": (line, mean - spread, mean + spread)}
    points = {"kernel ridge": (line[::4], fit[::4]), "data": (x[:, 0], y)}
    yield figure.curves(title, "x", "f(x)", lines=lines, bands=bands, points=points)
