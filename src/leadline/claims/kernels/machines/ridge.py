"""Kernel ridge regression, and what it does on the digits."""

import numpy as np

from leadline import data, kernels
from leadline.evidence import Int, Real, close, exactly, method, reference
from leadline.kernels import machines
from leadline.kernels.features import monomial_features
from leadline.learning import ridge
from leadline.presentation import figure


def digit_kernel(images: np.ndarray) -> kernels.Gaussian:
    """The Gaussian kernel of the chapter's flagship: 1/(2s²) is twice the inverse of the median squared distance."""
    squares = kernels.squared_distances(images, images)
    return kernels.Gaussian(float(np.median(squares[np.triu_indices(len(images), 1)])) ** 0.5 / 2)


def accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(np.argmax(scores, axis=-1) == labels))


@method(sources=("cam",))
def kernel_ridge(
    key,
    samples: Int(10, 80) = 40,
    dim: Int(1, 4) = 2,
    degree: Int(1, 4) = 3,
    gamma: Real(1e-3, 1.0, log=True) = 0.02,
    penalty: Real(0.01, 0.3, log=True) = 0.1,
):
    r"""Kernel ridge regression.

    Least squares plus γ‖f‖² in a kernel's space gives f = Σ αᵢ k(xᵢ, ·) with α = (K + nγI)⁻¹y, one coefficient per
    example; all γ come from one eigendecomposition, and leave-one-out residuals need no refits.

    $$\alpha = (K + n\gamma I)^{-1} y, \qquad y_i - f_{-i}(x_i) = \frac{y_i - f(x_i)}{1 - S_{ii}}, \; S = K (K +
    n\gamma I)^{-1}$$

    Check: It is checked on random inputs with explicit features, on the digits (1200 for training, 597 for testing) at
    a chosen nγ, and on a line for the picture.
    """
    rng = data.generator(key)
    x, fresh = rng.uniform(-1, 1, (samples, dim)), rng.uniform(-1, 1, (30, dim))
    y = np.sin(3 * x.sum(axis=1)) + 0.2 * rng.normal(size=samples)
    kernel = kernels.Polynomial(degree, 1.0)
    fit = machines.kernel_ridge(kernel, x, y, gamma)
    theta = ridge(monomial_features(x, degree, offset=1.0), y, gamma, intercept=False).weights
    explicit = monomial_features(fresh, degree, offset=1.0) @ theta
    yield close(fit.predict(fresh), explicit, "predictions, against ridge on explicit monomials", atol=1e-8)
    yield close(fit.norm, np.linalg.norm(theta), "‖f‖ = √(αᵀKα), against the length of the weights", rtol=1e-8)
    K, shift = kernel(x, x), samples * gamma
    refits = []
    for i in range(samples):
        rest = np.delete(np.arange(samples), i)
        alpha = np.linalg.solve(K[np.ix_(rest, rest)] + shift * np.eye(samples - 1), y[rest])
        refits.append(y[i] - K[i, rest] @ alpha)
    yield close(fit.leave_one_out(), refits, f"leave-one-out residuals, against {samples} refits", atol=1e-8)
    path = machines.kernel_ridge_path(kernel, x, y, np.array([gamma / 10, gamma, 10 * gamma]))
    yield close(path.fitted[1], fit.fitted, "the path at γ, against the Cholesky fit", atol=1e-8)
    yield close(path.degrees_of_freedom[1], fit.degrees_of_freedom(), "Σ l/(l + nγ), against tr S", rtol=1e-8)
    yield exactly(len(fit.alpha), samples, "number of coefficients, against n")
    digits = data.digits_split(train=1200)
    targets = np.eye(10)[digits.train_labels]
    gauss = digit_kernel(digits.train_images)
    machine = machines.kernel_ridge(gauss, digits.train_images, targets, penalty / 1200)
    plain = machines.kernel_ridge(kernels.Affine(), digits.train_images, targets, penalty / 1200)
    scores = {"kernel": machine.predict(digits.test_images), "affine": plain.predict(digits.test_images)}
    found = {name: accuracy(s, digits.test_labels) for name, s in scores.items()}
    yield reference(found["kernel"], 0.994, "digits: test accuracy of kernel ridge", digits=2)
    yield reference(found["affine"], 0.938, "digits: test accuracy of affine ridge", digits=2)
    left_out = accuracy(targets - machine.leave_one_out(), digits.train_labels)
    near = close(left_out, found["kernel"], "digits: leave-one-out accuracy, against the test accuracy", atol=0.02)
    yield near.as_empirical()
    yield _path_figure(rng)
    rows = {"affine": found["affine"], "left out": left_out, "kernel": found["kernel"]}
    errors = {name: 1 - value for name, value in rows.items()}
    yield figure.bars(
        f"Digits, 597 tested after 1200 learnt: kernel ridge {found['kernel']:.3f}, affine ridge {found['affine']:.3f}",
        "affine ridge; kernel ridge, left out; kernel ridge",
        "share of errors",
        values={"measured": errors, "reference": {"affine": 1 - 0.938, "kernel": 1 - 0.994}},
    )


def _path_figure(rng: np.random.Generator):
    """A noisy sine on a line: three fits, and what γ does to degrees of freedom and to the leave-one-out error."""
    x = np.sort(rng.uniform(0, 1, 40))[:, None]
    y = np.sin(6 * x[:, 0]) + 0.25 * rng.normal(size=40)
    kernel, gammas = kernels.Gaussian(0.12), np.logspace(-8, 1, 37)
    path = machines.kernel_ridge_path(kernel, x, y, gammas)
    best, fine = path.best(), np.linspace(0, 1, 200)[:, None]
    K = kernel(fine, x)
    shown = {"γ = 1e-8": 0, f"γ = {gammas[best]:.1e}, least left out": best, "γ = 1": 32}
    fits = {name: (fine[:, 0], np.clip(K @ path.alpha[j], -2.2, 2.2)) for name, j in shown.items()}
    lines = {
        "degrees of freedom": (gammas, path.degrees_of_freedom),
        "leave-one-out mean square": (gammas, np.mean(path.leave_one_out**2, axis=1)),
        "training mean square": (gammas, np.mean((path.fitted - y) ** 2, axis=1)),
    }
    return figure.beside(
        f"Leaving one out chooses γ = {gammas[best]:.1e}, {path.degrees_of_freedom[best]:.1f} degrees of freedom",
        figure.curves("Fits", "x", "f(x)", lines=fits, points={"data": (x[:, 0], y)}),
        figure.curves("Degrees of freedom and errors along γ", "γ", "value", lines=lines, log="xy"),
    )
