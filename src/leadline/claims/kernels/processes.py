"""Gaussian processes: what makes a random function one, and what data make of it."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, kernel_machines, kernels
from leadline.claims.kernels.rkhs import KERNELS
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, distributed_as, figure, frequency, model

COVARIANCES = {"gaussian": kernels.Gaussian, "matern52": kernels.Matern52, "laplace": kernels.Laplace}


@model(
    "gp-regression",
    says=(
        "A random function is a Gaussian process if every finite combination Σ aᵢ F(xᵢ) is normal; normal values alone "
        "are not enough. Given y = F(x) + noise it is one again, with mean kₓᵀ(K + s²I)⁻¹y and its own variance."
    ),
    formula=r"F(x) \mid y \sim N\left(k_x^T (K + s^2 I)^{-1} y,\; k(x, x) - k_x^T (K + s^2 I)^{-1} k_x\right)",
    sources=("sheet",),
    shows=(
        "kernel_machines.gp_regression",
        "kernel_machines.ProcessPosterior",
        "kernel_machines.LeaveOneOut",
        "kernel_machines.prior_paths",
        "kernel_machines.gaussian_paths",
        "kernel_machines.Paths",
        "kernel_machines.log_evidence",
        "kernel_machines.maximise_evidence",
        "kernel_machines.EvidenceMaximum",
    ),
)
def gp_regression(
    key,
    kernel: Annotated[str, Choice(*COVARIANCES)] = "gaussian",
    scale: Annotated[float, Range(0.08, 1.0, log=True)] = 0.2,
    noise: Annotated[float, Range(0.02, 1.0, log=True)] = 0.1,
    samples: Annotated[int, Range(3, 60)] = 12,
    trials: Annotated[int, Range(500, 10_000, log=True)] = 3000,
):
    """Paths on a grid; `trials` functions drawn with their noisy data, each regressed; one of them in the picture."""
    keys = jax.random.split(key, 4)
    rng, k = data.generator(keys[0]), COVARIANCES[kernel](scale)
    fine = np.linspace(0, 1, 60)[:, None]
    paths = kernel_machines.prior_paths(k, fine, trials, key=keys[1])
    combination = rng.normal(size=60)
    deviation = float(np.sqrt(combination @ k(fine, fine) @ combination))
    yield at_most(paths.jitter, 1e-9, "jitter that the Cholesky factor of the prior needed")
    yield distributed_as(paths.values @ combination / deviation, _normal(), "a random combination of path values")
    z = rng.normal(size=trials)
    signed = z * rng.choice([-1.0, 1.0], trials)
    yield distributed_as(signed, _normal(), "S Z for a random sign S: its value is normal")
    yield frequency(int(np.sum(z + signed == 0)), trials, 0.5, "but Z + S Z is 0 half of the time, so (Z, S Z) is not")

    x = np.sort(rng.uniform(0, 1, samples))[:, None]
    test = np.array([[0.37]])
    drawn = kernel_machines.prior_paths(k, np.concatenate([x, test]), trials, key=keys[2]).values
    y = (drawn[:, :-1] + np.sqrt(noise) * rng.normal(size=(trials, samples))).T
    posterior = kernel_machines.gp_regression(k, x, y, noise)
    deviation = float(np.sqrt(posterior.variance(test)[0]))
    standard = (drawn[:, -1] - posterior.mean(test)[0]) / deviation
    inside = int(np.sum(np.abs(standard) <= 1.959964))
    yield frequency(inside, trials, 0.95, "F(0.37) within 1.96 posterior standard deviations of the mean")
    yield distributed_as(standard, _normal(), "F(0.37), standardised by its posterior")

    one = kernel_machines.gp_regression(k, x, y[:, 0], noise)
    left = one.leave_one_out()
    last = kernel_machines.gp_regression(k, x[:-1], y[:-1, 0], noise)
    yield close(left.mean[-1], last.mean(x[-1:])[0], "leave-one-out mean of the last point, against a refit", atol=1e-8)
    yield close(left.variance[-1], last.variance(x[-1:])[0] + noise, "and its variance", rtol=1e-8)
    # The chain rule: p(y) = p(y without the last) p(last | the others).
    chain = last.log_evidence() + float(left.log_density[-1])
    yield close(one.log_evidence(), chain, "log evidence, against the chain rule", atol=1e-8 * (1 + abs(chain)))
    best = kernel_machines.maximise_evidence(k, x, y[:, 0], noise)
    yield at_least(best.log_evidence, one.log_evidence(), "log evidence at its maximum, against the true parameters")

    band, mean = 1.96 * np.sqrt(one.variance(fine)), one.mean(fine)
    after = one.paths(fine, 3, key=keys[3])
    shown = fine[:, 0]
    yield figure.beside(
        f"{samples} noisy values turn the prior into a posterior; its 95% band held F(0.37) in {inside / trials:.1%} "
        f"of {trials} draws",
        figure.curves(
            "Prior paths",
            x="x",
            y="F(x)",
            bands={"95% band": (shown, np.full(60, -1.96), np.full(60, 1.96))},
            lines={f"path {i + 1}": (shown, paths.values[i]) for i in range(3)},
        ),
        figure.curves(
            "Posterior mean, band and paths",
            x="x",
            y="F(x)",
            bands={"95% band": (shown, mean - band, mean + band)},
            lines={"mean": (shown, mean)} | {f"path {i + 1}": (shown, after.values[i]) for i in range(3)},
            points={"data": (x[:, 0], y[:, 0])},
        ),
    )


@claim(
    "kernel-ridge-is-gp-mean",
    says=(
        "Kernel ridge with penalty γ is the posterior mean of a Gaussian process with covariance k and noise variance "
        "nγ: n times the penalty, since the loss is a mean over n examples."
    ),
    formula=r"k_x^T (K + n\gamma I)^{-1} y = \mathbb{E}[F(x) \mid y], \qquad y = F + N(0, n\gamma I)",
    sources=("cam", "sheet"),
)
def kernel_ridge_is_gp_mean(
    key,
    kernel: Annotated[str, Choice(*KERNELS)] = "gaussian",
    samples: Annotated[int, Range(2, 200)] = 20,
    gamma: Annotated[float, Range(1e-4, 1.0, log=True)] = 0.005,
    scale: Annotated[float, Range(0.1, 1.0, log=True)] = 0.3,
):
    """Both on a noisy sine; the Gaussian's mean is also computed from the joint covariance of (F(x), y)."""
    rng, k = data.generator(key), KERNELS[kernel](scale)
    x = np.sort(rng.uniform(-1, 1, samples))[:, None]
    y = np.sin(4 * x[:, 0]) + np.sqrt(samples * gamma) * rng.normal(size=samples)
    fine = np.linspace(-1.2, 1.2, 121)[:, None]
    fit = kernel_machines.kernel_ridge(k, x, y, gamma).predict(fine)
    posterior = kernel_machines.gp_regression(k, x, y, samples * gamma)
    mean = posterior.mean(fine)
    size = 1 + float(np.abs(mean).max())
    yield close(fit / size, mean / size, "kernel ridge, against the posterior mean with noise nγ, relative", atol=1e-8)
    both = np.concatenate([x, fine])
    joint = k(both, both)
    noisy = joint[:samples, :samples] + samples * gamma * np.eye(samples)
    conditional = joint[samples:, :samples] @ np.linalg.solve(noisy, y)
    yield close(fit / size, conditional / size, "against the mean of a normal vector given a part", atol=1e-8)
    wrong = kernel_machines.gp_regression(k, x, y, gamma).mean(fine)
    error = float(np.abs(fit - mean).max())
    yield at_least(np.abs(fit - wrong).max(), 100 * error + 1e-7, "distance to the mean with noise γ", strict=True)
    spread = 2 * np.sqrt(posterior.variance(fine))
    yield at_most(spread**2 / 4, kernels.diagonal_of(k, fine), "posterior variance, against k(x, x)", rtol=1e-9)

    yield figure.curves(
        f"Kernel ridge with γ = {gamma:g} and the posterior mean with noise nγ = {samples * gamma:.3g} differ by at "
        f"most {max(error, 1e-15):.0e}",
        x="x",
        y="f(x)",
        lines={"posterior mean": (fine[:, 0], mean), "with noise γ instead": (fine[:, 0], wrong)},
        bands={"posterior ± 2 standard deviations": (fine[:, 0], mean - spread, mean + spread)},
        points={"kernel ridge": (fine[::4, 0], fit[::4]), "data": (x[:, 0], y)},
    )


def _normal():
    from scipy.stats import norm

    return norm.cdf
