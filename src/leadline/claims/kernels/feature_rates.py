"""How fast random features come to the Gram matrix and to kernel ridge."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, kernel_machines, kernels
from leadline.evidence import Choice, Range, at_least, at_most, claim, figure, printed, slope


@claim(
    "random-feature-gram-rate",
    says=(
        "The mean of p products of random features is an unbiased sum of rank-one matrices; its distance to the Gram "
        "matrix falls as p to the power −1/2 where the products are square-integrable, more slowly where they are not."
    ),
    formula=r"\frac1p \sum_{k=1}^p \varphi(x, \theta_k)\, \varphi(x', \theta_k) = K + O(p^{-1/2})",
    sources=("penn", "cam"),
    assumes=("the products of features are square-integrable",),
)
def random_feature_gram_rate(
    key,
    points: Annotated[int, Range(20, 200)] = 60,
    seeds: Annotated[int, Range(6, 20)] = 10,
):
    """Phase features of a Gaussian kernel on digits, p = 2⁵ to 2¹³; and exp(0.2 θ²), whose square has no variance."""
    rng = data.generator(key)
    images, labels = data.digits()
    chosen = rng.choice(1797, points, replace=False)
    x = images[chosen[np.argsort(labels[chosen], kind="stable")]]
    k = _digit_kernel(x)
    gram, sizes = k(x, x), 2 ** np.arange(5, 14)
    norms, maxima, sums = np.empty((3, len(sizes), seeds))
    shown = {}
    for j, q in enumerate(jax.random.split(key, seeds)):
        z = kernels.draw_fourier_features(k, 64, int(sizes.sum()), form="phase", key=q)(x) * (sizes.sum() / 2) ** 0.5
        start = 0
        for i, p in enumerate(sizes):  # every size has features of its own, so that the errors are independent
            part = z[:, start : start + p]
            start += p
            error = 2 / p * (part @ part.T) - gram
            norms[i, j], maxima[i, j] = np.linalg.norm(error), np.abs(error).max()
            sums[i, j] = np.linalg.norm(p * (error + gram) - gram)
            if j == 0 and p in (32, 512, 8192):
                shown[f"p = {p}"] = error + gram
    yield slope(sizes, np.sqrt(np.mean(norms**2, axis=1)), -0.5, "Frobenius error along p", within=0.02)
    yield slope(sizes, maxima.mean(axis=1), -0.5, "largest entry error along p", within=0.05)
    growth = sums.mean(axis=1)
    yield slope(sizes[4:], growth[4:], 1.0, "distance of the sum without 1/p, along p ≥ 512", within=0.05)
    yield printed(
        at_most(growth[-1], growth[0], "distance of the sum, p = 8192 against p = 32"), "penn", "Σ φφᵀ, no 1/p"
    )
    theta = rng.standard_normal((300, int(sizes[-1])))
    heavy = np.exp(0.4 * theta**2)  # the square of exp(0.2 θ²): mean 1/√0.2, tail index 1.25
    running = np.cumsum(heavy, axis=1)[:, sizes - 1] / sizes
    medians = np.median(np.abs(running - 0.2**-0.5), axis=0)
    rate = np.polyfit(np.log(sizes), np.log(medians), 1)[0]
    yield at_least(rate, -0.4, "slope of the median error of a product without variance (limit −0.2)")
    yield figure.curves(
        f"Largest error {maxima[0].mean():.2f} at p = 32, {maxima[-1].mean():.3f} at p = 8192: slope −1/2; "
        f"without variance {rate:.2f}",
        x="features p",
        y="error",
        lines={
            "Frobenius, over n": (sizes, np.sqrt(np.mean(norms[0] ** 2)) / points * (sizes / 32.0) ** -0.5),
            "largest entry": (sizes, maxima[0].mean() * (sizes / 32.0) ** -0.5),
        },
        points={
            "Frobenius, over n": (sizes, np.sqrt(np.mean(norms**2, axis=1)) / points),
            "largest entry": (sizes, maxima.mean(axis=1)),
            "no variance (median)": (sizes, medians),
        },
        log="xy",
    )
    yield figure.images(
        f"Rank-one matrices fill in the Gram matrix of {points} digits, sorted by class",
        images=[*shown.items(), ("exact", gram)],
        columns=4,
    )


@claim(
    "random-features-approach-kernel-ridge",
    says=(
        "Ridge on p random Fourier features tends to kernel ridge with the same penalty; its predictions differ from "
        "the exact ones by about p to the power −1/2, and accuracy on digits comes to the same."
    ),
    formula=r"\sqrt{\mathrm{mean}\,(f_p - f)^2} \sim p^{-1/2}",
    sources=("cam", "penn"),
    empirical=True,
)
def random_features_approach_kernel_ridge(
    key,
    train: Annotated[int, Range(300, 1200)] = 1200,
    penalty: Annotated[float, Range(0.03, 1.0, log=True)] = 0.1,
    form: Annotated[str, Choice("phase", "paired")] = "phase",
):
    """Digits, ten targets ±1, n γ = penalty, Gaussian kernel exp(−2‖x − x'‖²/median)."""
    x, y, tests, labels = data.digits_split(1200)
    x, y = x[:train], y[:train]
    targets = 2.0 * np.eye(10)[y] - 1
    k = _digit_kernel(x)
    gram = k(x, x)
    exact = kernel_machines.kernel_ridge(k, x, targets, penalty / train, gram=gram).predict(tests)
    sizes = np.array([64, 128, 256, 512, 1024, 2048, 4096])
    gaps, shares = [], []
    for p, q in zip(sizes, jax.random.split(key, len(sizes)), strict=True):
        z = kernels.draw_fourier_features(k, 64, int(p), form=form, key=q)
        predicted = _feature_ridge(z(x), targets, penalty, z(tests))
        gaps.append(np.sqrt(np.mean((predicted - exact) ** 2)))
        shares.append(np.mean(predicted.argmax(axis=1) == labels))
    best = np.mean(exact.argmax(axis=1) == labels)
    yield slope(sizes, gaps, -0.5, "distance of predictions to kernel ridge, along p", within=0.1)
    yield at_most(gaps[-1], gaps[0] / 4, "distance at p = 4096, against a quarter of that at 64")
    yield at_least(shares[-1], shares[0], "test accuracy at p = 4096, against that at 64")
    yield at_most(abs(shares[-1] - best), 0.02, "difference in accuracy of p = 4096 and kernel ridge")
    yield figure.beside(
        f"Ridge on p features comes to kernel ridge: accuracy {shares[0]:.3f} at p = 64, {shares[-1]:.3f} at 4096, "
        f"exact {best:.3f}",
        figure.curves(
            "Root mean square difference of the predictions",
            x="features p",
            y="difference",
            lines={"p^(−1/2)": (sizes, gaps[-1] * (sizes / 4096) ** -0.5)},
            points={"measured": (sizes, gaps)},
            log="xy",
        ),
        figure.curves(
            "Test accuracy",
            x="features p",
            y="accuracy",
            lines={"kernel ridge": (sizes[[0, -1]], [best, best])},
            points={"random features": (sizes, shares)},
            log="x",
        ),
    )


def _digit_kernel(x: np.ndarray):
    squares = kernels.squared_distances(x, x)
    return kernels.Gaussian(float(np.sqrt(np.median(squares[np.triu_indices(len(x), 1)])) / 2))


def _feature_ridge(z: np.ndarray, targets: np.ndarray, penalty: float, tests: np.ndarray) -> np.ndarray:
    """Predictions of argmin ‖Zw − y‖² + penalty ‖w‖², by the smaller of the two systems of equations."""
    from scipy.linalg import solve

    n, p = z.shape
    if p <= n:
        return tests @ solve(z.T @ z + penalty * np.eye(p), z.T @ targets, assume_a="pos")
    return tests @ (z.T @ solve(z @ z.T + penalty * np.eye(n), targets, assume_a="pos"))
