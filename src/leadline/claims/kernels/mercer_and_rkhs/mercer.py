"""Spectra of kernels: Mercer's expansion, features from a Gram matrix, and what smoothness does to eigenvalues."""

import numpy as np

from leadline import data, kernels
from leadline.claims.kernels.mercer_and_rkhs.rkhs import KERNELS
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, exactly, reference, slope
from leadline.kernels import machines
from leadline.kernels.machines.ridge_regression import penalty_for_residual
from leadline.kernels.mercer import brownian_eigenfunctions, brownian_eigenvalues, gram_features
from leadline.presentation import figure


@claim(sources=("penn",))
def mercer_expansion(key, terms: Int(1, 300) = 10, size: Int(250, 1500) = 1000):
    r"""Mercer's theorem.

    A symmetric kernel with nonnegative integral form is Σ λᵢ φᵢ(x) φᵢ(x') with λᵢ ≥ 0: in L₂ always, uniformly for a
    continuous kernel on a compact set. For min on [0, 1]: λᵢ = 1/((i − ½)²π²), φᵢ(x) = √2 sin((i − ½)πx).

    $$k(x, x') = \sum_i \lambda_i\, \phi_i(x)\, \phi_i(x'), \quad \sup |k - k_N| = 2 \sum_{i > N} \lambda_i$$

    Assumes: for uniform convergence, k is continuous on a compact set.

    Check: The spectrum of K/n is taken on a midpoint grid; the series of the minimum kernel is cut after a chosen
    number of terms and compared on 101 points.
    """
    nodes = (np.arange(size)[:, None] + 0.5) / size
    found = kernels.mercer_expansion(kernels.Minimum(), nodes, terms=10)
    ten = brownian_eigenvalues(10)
    yield close(found.eigenvalues, ten, "first 10 eigenvalues of K/n, against 1/((i − ½)²π²)", rtol=0.01)
    many = brownian_eigenvalues(200_000)
    yield close(many.sum() + 1 / (np.pi**2 * 200_000), 0.5, "Σ λᵢ, the trace ∫ x dx", atol=1e-9)
    exact = brownian_eigenfunctions(nodes[:, 0], 4)
    overlap = np.abs(found.at_nodes[:, :4].T @ exact / size)
    yield close(np.diag(overlap), 1.0, "|∫ φᵢ √2 sin((i − ½)πx)| for the first 4", atol=0.01)
    x = np.linspace(0, 1, 101)
    k = np.minimum(x[:, None], x[None, :])

    def tail(n: int) -> float:
        return 1 - 2 * float(brownian_eigenvalues(n).sum())

    def truncated(n: int) -> np.ndarray:
        functions = brownian_eigenfunctions(x, n)
        return (functions * brownian_eigenvalues(n)) @ functions.T

    worst, what = np.abs(k - truncated(terms)).max(), f"largest error after {terms} terms"
    uniform = close(worst, tail(terms), f"{what}, against 2 Σ of the rest at (1, 1)", atol=1e-12)
    yield uniform
    yield reference([tail(10), tail(100)], [0.020247, 0.0020264], "2 Σ of the rest after 10 and 100 terms", digits=5)
    yield close(tail(terms), 2 / (np.pi**2 * terms), f"{what}, against 2/(π²N)", rtol=0.3 if terms < 3 else 0.02)
    # k + 1{x = x'} is positive semidefinite too, and equal to k in L₂: it has the same eigenpairs.
    spiked = np.abs(k + np.eye(101) - truncated(terms)).max()
    pointwise = at_most(spiked, tail(terms), "largest error of the series of k + 1{x = x'}", rtol=1e-9)
    prints = "k(x, x') = Σ λᵢ φᵢ(x) φᵢ(x') for all x, x', for a kernel that is merely square-integrable"
    yield erratum(pointwise, of=uniform, by="penn", prints=prints)
    sections = {"min(x, ½)": (x, k[50])}
    sections |= {f"{n} term{'s' * (n > 1)}": (x, truncated(n)[50]) for n in sorted({1, 3, terms})}
    i = np.arange(1, 11)
    lines, points = {"1/((i − ½)²π²)": (i, ten)}, {"grid": (i, found.eigenvalues)}
    yield figure.beside(
        f"After {terms} terms the largest error is {worst:.3g}, all of it at (1, 1)",
        figure.curves("Sections k(x, ½) of the truncated kernel", "x", "k(x, ½)", lines=sections),
        figure.curves(f"Eigenvalues of K/n, n = {size}", "i", "λᵢ", lines=lines, points=points, log="xy"),
    )


@claim(sources=("cam",))
def kernel_feature_equivalence(
    key, kernel: OneOf(*KERNELS) = "gaussian", samples: Int(3, 300) = 60, dim: Int(1, 10) = 3
):
    r"""Kernels are inner products of features.

    A function is positive semidefinite if and only if it is an inner product of features: on n points K = U diag(l) Uᵀ
    gives φᵢ = √l ⊙ Uᵢ, with Uᵢ the i-th row of U. A function that fails has a negative l and no real features.

    $$K = U\, \operatorname{diag}(l)\, U^T, \quad \phi_i = \sqrt{l} \odot U_i \;\Rightarrow\; \phi_i \cdot \phi_j =
    K_{ij}$$

    Check: Features are computed from a Gram matrix on random points; then two functions that are not kernels are
    refused.
    """
    x = data.generator(key).normal(size=(samples, dim))
    K = KERNELS[kernel](1.0)(x, x)
    features = gram_features(K)
    yield close(features @ features.T / np.abs(K).max(), K / np.abs(K).max(), "φᵢ·φⱼ, against Kᵢⱼ", atol=1e-10)
    yield at_most(features.shape[1], samples, "number of features, against n")
    c = data.generator(key).normal(size=(5, samples))
    yield at_least(np.sum((c @ K) * c, axis=1), 0.0, "cᵀKc for random c", atol=1e-9 * float(np.abs(K).max()) * samples)
    with_zero = np.pad(x, ((1, 0), (0, 0)))
    others = {"‖x − x'‖²": kernels.squared_distances(x, x), "tanh(x·x' − 1)": np.tanh(with_zero @ with_zero.T - 1)}
    for name, matrix in others.items():
        values = np.linalg.eigvalsh(matrix)
        yield at_most(values[0], 0.0, f"least eigenvalue of {name}", atol=-1e-6)
        try:
            gram_features(matrix)
            refused = False
        except ValueError:
            refused = True
        yield exactly(refused, True, f"{name} has no real features")
        # Real features make a positive semidefinite matrix, and the nearest of these is as far as the negative part.
        missing = np.linalg.norm(kernels.nearest_kernel(matrix) - matrix)
        what = f"distance of {name} to the nearest Gram matrix, against its negative part"
        yield close(missing, np.linalg.norm(np.minimum(values, 0)), what, rtol=1e-8)


@claim(sources=("cam",))
def kernel_smoothness_spectrum(
    key, scale: Real(0.25, 0.35) = 0.3, size: Int(400, 1200) = 1000, residual: Real(0.045, 0.07) = 0.05
):
    r"""Smoother kernels have faster spectral decay.

    Smoother kernels have faster decaying eigenvalues and smaller spaces. On [0, 1] the eigenvalues fall as i⁻² for
    Laplace, i⁻⁴ for Matérn 3/2, i⁻⁶ for Matérn 5/2, and faster than any power for the Gaussian kernel; the norm needed
    to fit a jump grows in that order.

    $$\lambda_i \sim i^{-2},\; i^{-4},\; i^{-6},\; \text{faster than any power}$$

    Check: The spectra are those of K/n on a midpoint grid; the jump is a ±1 step on 60 points, fitted by ridge
    regression to the same mean squared residual for all kernels.
    """
    family = {
        "Laplace": kernels.Laplace(scale),
        "Matérn 3/2": kernels.Matern32(scale),
        "Matérn 5/2": kernels.Matern52(scale),
        "Gaussian": kernels.Gaussian(scale),
    }
    nodes = (np.arange(size)[:, None] + 0.5) / size
    spectra = {name: np.linalg.eigvalsh(k(nodes, nodes))[::-1] / size for name, k in family.items()}
    i = np.arange(10, 41)
    powers = {"Laplace": -2, "Matérn 3/2": -4, "Matérn 5/2": -6}
    for name, power in powers.items():
        what = f"slope of the {name} eigenvalues over i = 10..40"
        yield slope(i, spectra[name][9:40], power, what, within=0.4)
    counts = [np.sum(values > 1e-5) for values in spectra.values()]
    yield at_most(np.diff(counts), -1, "change of the number of eigenvalues above 1e-5, kernel by kernel")
    default = scale == 0.3 and size == 1000
    if default:
        yield reference(np.sum(spectra["Gaussian"] > 1e-10), 12, "Gaussian eigenvalues above 1e-10", digits=2)
    smooth, rough = spectra["Gaussian"][19], spectra["Matérn 5/2"][19]
    yield at_most(smooth, rough * 1e-3, "20th eigenvalue of the Gaussian, against a thousandth of Matérn 5/2's")
    x = (np.arange(60)[:, None] + 0.5) / 60
    y = np.where(x[:, 0] < 0.5, -1.0, 1.0)
    fits = {}
    for name, k in family.items():
        gamma = penalty_for_residual(k(x, x), y, residual)
        fits[name] = machines.kernel_ridge(k, x, y, gamma)
    norms = np.array([fit.norm**2 for fit in fits.values()])
    misfit = [np.mean((fit.fitted - y) ** 2) for fit in fits.values()]
    yield close(misfit, residual, "mean squared residual of the four fits", rtol=1e-3)
    yield at_least(np.diff(norms), 0.0, "growth of ‖f‖² of the fitted step, kernel by kernel", strict=True)
    if default and residual == 0.05:
        yield reference(norms[:3], [5.1, 8.2, 17.8], "‖f‖² of Laplace, Matérn 3/2 and 5/2", digits=2)
        yield reference(norms[3], 3.0e6, "‖f‖² of the Gaussian", digits=2)
    shown, fine = np.arange(1, 41), np.linspace(0, 1, 241)[:, None]
    lines = {name: (i, spectra[name][9] * (i / 10.0) ** power) for name, power in powers.items()}
    points = {name: (shown, np.where(v[:40] > 1e-15, v[:40], np.nan)) for name, v in spectra.items()}
    curves = {name: (fine[:, 0], fit.predict(fine)) for name, fit in fits.items()}
    title = f"Eigenvalues on {size} points; lines: i⁻², i⁻⁴, i⁻⁶"
    yield figure.beside(
        "Smoother kernels: faster spectra, and dearer jumps: ‖f‖² = " + ", ".join(f"{v:.3g}" for v in norms),
        figure.curves(title, "i", "λᵢ", lines=lines, points=points, log="xy"),
        figure.curves(f"Fits of a step with mean squared residual {residual:g}", "x", "f(x)", lines=curves),
    )
