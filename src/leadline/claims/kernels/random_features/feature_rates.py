"""How fast random features come to the Gram matrix and to kernel ridge."""

import jax
import numpy as np

from leadline import data, kernels
from leadline.claims.kernels.machines.ridge import digit_kernel
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, slope
from leadline.kernels import machines
from leadline.presentation import figure


@claim(sources=("penn", "cam"))
def random_feature_gram_rate(key, points: Int(20, 200) = 60, seeds: Int(6, 20) = 10):
    r"""Random features approximate the Gram matrix.

    The mean of p products of random features is an unbiased sum of rank-one matrices; its distance to the Gram matrix
    falls as $p^{-1/2}$ where the products are square-integrable, and more slowly where they are not.

    $$\frac1p \sum_{k=1}^p \varphi(x, \theta_k)\, \varphi(x', \theta_k) = K + O(p^{-1/2})$$

    Assumes: the products of features are square-integrable.

    Check: Phase features of a Gaussian kernel are drawn on digits, for p = 2⁵ to 2¹³; the counterexample is the
    feature $e^{0.2\,\theta^2}$, whose square has no variance.
    """
    rng = data.generator(key)
    images, labels = data.digits()
    chosen = rng.choice(1797, points, replace=False)
    x = images[chosen[np.argsort(labels[chosen], kind="stable")]]
    k = digit_kernel(x)
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
    frobenius, largest = np.sqrt(np.mean(norms**2, axis=1)), maxima.mean(axis=1)
    yield slope(sizes, frobenius, -0.5, "Frobenius error of the Gram matrix along p", within=0.02)
    yield slope(sizes, largest, -0.5, "largest error of an entry along p", within=0.05)
    yield slope(sizes[4:], sums.mean(axis=1)[4:], 1.0, "distance of the sum without 1/p, along p ≥ 512", within=0.05)
    theta = rng.standard_normal((300, int(sizes[-1])))
    heavy = np.exp(0.4 * theta**2)  # the square of exp(0.2 θ²): mean 1/√0.2, tail index 1.25
    running = np.cumsum(heavy, axis=1)[:, sizes - 1] / sizes
    medians = np.median(np.abs(running - 0.2**-0.5), axis=0)
    rate = np.polyfit(np.log(sizes), np.log(medians), 1)[0]
    yield at_least(rate, -0.4, "slope of the median error of a product without variance (limit −0.2)")
    found = {"Frobenius, over n": frobenius / points, "largest entry": largest}
    lines = {name: (sizes, errors[0] * (sizes / 32.0) ** -0.5) for name, errors in found.items()}
    measured = {name: (sizes, errors) for name, errors in (found | {"no variance (median)": medians}).items()}
    sizes_said = f"{largest[0]:.2f} at p = 32, {largest[-1]:.3f} at p = 8192"
    title = f"Largest error {sizes_said}: slope −1/2; without variance {rate:.2f}"
    yield figure.curves(title, "features p", "error", lines=lines, points=measured, log="xy")
    title = f"Rank-one matrices fill in the Gram matrix of {points} digits, sorted by class"
    yield figure.images(title, images=[*shown.items(), ("exact", gram)], columns=4)


@claim(sources=("cam", "penn"), empirical=True)
def random_features_approach_kernel_ridge(
    key,
    train: Int(300, 1200) = 1200,
    penalty: Real(0.03, 1.0, log=True) = 0.1,
    form: OneOf("phase", "paired") = "phase",
):
    r"""Random Fourier ridge tends to kernel ridge.

    Ridge regression on p random Fourier features tends to kernel ridge with the same penalty; its predictions differ
    from the exact ones by about $p^{-1/2}$, and its accuracy on digits approaches the same value.

    $$\sqrt{\mathrm{mean}\,(f_p - f)^2} \sim p^{-1/2}$$

    Check: The data are digits with ten targets ±1, nγ is the chosen penalty, and the Gaussian kernel is $e^{-2\|x -
    x'\|^2/\mathrm{median}}$.
    """
    x, y, tests, labels = data.digits_split(1200)
    x, y = x[:train], y[:train]
    targets = 2.0 * np.eye(10)[y] - 1
    k = digit_kernel(x)
    exact = machines.kernel_ridge(k, x, targets, penalty / train).predict(tests)
    sizes = np.array([64, 128, 256, 512, 1024, 2048, 4096])
    gaps, shares = [], []
    for p, q in zip(sizes, jax.random.split(key, len(sizes)), strict=True):
        z = kernels.draw_fourier_features(k, 64, int(p), form=form, key=q)
        predicted = _feature_ridge(z(x), targets, penalty, z(tests))
        gaps.append(np.sqrt(np.mean((predicted - exact) ** 2)))
        shares.append(np.mean(predicted.argmax(axis=1) == labels))
    best = np.mean(exact.argmax(axis=1) == labels)
    yield slope(sizes, gaps, -0.5, "distance of predictions to kernel ridge, along p", within=0.1)
    yield at_most(gaps[-1], gaps[0] / 4, "distance to kernel ridge at p = 4096, against a quarter of that at 64")
    yield at_least(shares[-1], shares[0], "test accuracy at p = 4096, against that at 64")
    yield at_most(abs(shares[-1] - best), 0.02, "difference in accuracy of p = 4096 and kernel ridge")
    slow, points = {"p^(−1/2)": (sizes, gaps[-1] * (sizes / 4096) ** -0.5)}, {"measured": (sizes, gaps)}
    limit, found = {"kernel ridge": (sizes[[0, -1]], [best, best])}, {"random features": (sizes, shares)}
    title = "Root mean square difference of the predictions"
    yield figure.beside(
        f"Ridge on p features comes to kernel ridge: accuracy {shares[0]:.3f} at p = 64, {shares[-1]:.3f} at 4096, "
        f"exact {best:.3f}",
        figure.curves(title, "features p", "difference", lines=slow, points=points, log="xy"),
        figure.curves("Test accuracy", "features p", "accuracy", lines=limit, points=found, log="x"),
    )


def _feature_ridge(z: np.ndarray, targets: np.ndarray, penalty: float, tests: np.ndarray) -> np.ndarray:
    """Predictions of argmin ‖Zw − y‖² + penalty ‖w‖², by the smaller of the two systems of equations."""
    from scipy.linalg import solve

    n, p = z.shape
    if p <= n:
        return tests @ solve(z.T @ z + penalty * np.eye(p), z.T @ targets, assume_a="pos")
    return tests @ (z.T @ solve(z @ z.T + penalty * np.eye(n), targets, assume_a="pos"))
