"""Spectra of kernels: Mercer's expansion, features from a Gram matrix, and what smoothness does to eigenvalues."""

from typing import Annotated

import numpy as np

from leadline import data, kernel_machines, kernels
from leadline.claims.kernels.rkhs import KERNELS
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, printed, slope


@claim(
    "mercer-expansion",
    says=(
        "A symmetric kernel with nonnegative integral form is Σ λᵢ φᵢ(x) φᵢ(x'), λᵢ ≥ 0: in L₂ always, uniformly for a "
        "continuous kernel on a compact set. For min on [0, 1]: λᵢ = 1/((i − ½)²π²), φᵢ = √2 sin((i − ½)πx)."
    ),
    formula=r"k(x, x') = \sum_i \lambda_i\, \phi_i(x)\, \phi_i(x'), \quad \sup |k - k_N| = 2 \sum_{i > N} \lambda_i",
    sources=("penn",),
    assumes=("uniform convergence: k is continuous on a compact set",),
    shows=("kernels.mercer_expansion", "kernels.brownian_eigenvalues", "kernels.brownian_eigenfunctions"),
)
def mercer_expansion(
    key,
    terms: Annotated[int, Range(1, 300)] = 10,
    size: Annotated[int, Range(250, 1500)] = 1000,
):
    """K/n on a midpoint grid of `size` points; the series of the minimum kernel cut after `terms`, on 101 points."""
    nodes = (np.arange(size)[:, None] + 0.5) / size
    found = kernels.mercer_expansion(kernels.Minimum(), nodes, terms=10)
    yield close(found.eigenvalues, kernels.brownian_eigenvalues(10), "first 10 eigenvalues of K/n", rtol=0.01)
    many = kernels.brownian_eigenvalues(200_000)
    yield close(many.sum() + 1 / (np.pi**2 * 200_000), 0.5, "Σ λᵢ, the trace ∫ x dx", atol=1e-9)
    exact = kernels.brownian_eigenfunctions(nodes[:, 0], 4)
    overlap = np.abs(found.at_nodes[:, :4].T @ exact / size)
    yield close(np.diag(overlap), 1.0, "|∫ φᵢ √2 sin((i − ½)πx)| for the first 4", atol=0.01)

    x = np.linspace(0, 1, 101)
    k = np.minimum(x[:, None], x[None, :])

    def tail(n: int) -> float:
        return 1 - 2 * float(kernels.brownian_eigenvalues(n).sum())

    def truncated(n: int) -> np.ndarray:
        functions = kernels.brownian_eigenfunctions(x, n)
        return (functions * kernels.brownian_eigenvalues(n)) @ functions.T

    worst = float(np.abs(k - truncated(terms)).max())
    yield close(worst, tail(terms), f"largest error after {terms} terms, against 2 Σ of the rest at (1, 1)", atol=1e-12)
    yield close(tail(10), 0.020247, "error after 10 terms", atol=5e-7)
    yield close(tail(100), 0.0020264, "error after 100 terms", atol=5e-8)
    yield close(tail(terms), 2 / (np.pi**2 * terms), "about 2/(π²N)", rtol=0.3 if terms < 3 else 0.02)
    # k + 1{x = x'} is positive semidefinite too, and equal to k in L₂: it has the same eigenpairs.
    spiked = float(np.abs(k + np.eye(101) - truncated(terms)).max())
    pointwise = at_most(spiked, tail(terms), "largest error of the series of k + 1{x = x'}", rtol=1e-9)
    yield printed(pointwise, "penn", "k = Σ λᵢ φᵢ φᵢ at every point, for every symmetric kernel in L₂")

    cuts = sorted({1, 3, terms})
    section = {f"{n} term{'s' * (n > 1)}": (x, truncated(n)[50]) for n in cuts}
    i = np.arange(1, 11)
    yield figure.beside(
        f"After {terms} terms the largest error is {worst:.3g}, all of it at (1, 1)",
        figure.curves(
            "Sections k(x, ½) of the truncated kernel", x="x", y="k(x, ½)", lines={"min(x, ½)": (x, k[50]), **section}
        ),
        figure.curves(
            f"Eigenvalues of K/n, n = {size}",
            x="i",
            y="λᵢ",
            lines={"1/((i − ½)²π²)": (i, kernels.brownian_eigenvalues(10))},
            points={"grid": (i, found.eigenvalues)},
            log="xy",
        ),
    )


@claim(
    "kernel-feature-equivalence",
    says=(
        "A function is positive semidefinite exactly if it is an inner product of features: on n points "
        "K = U diag(l) Uᵀ gives φᵢ = √l Uᵢ. A function that fails has a negative l and no real features."
    ),
    formula=(
        r"K = U\, \operatorname{diag}(l)\, U^T, \quad "
        r"\phi_i = \sqrt{l} \odot U_i \;\Rightarrow\; \phi_i \cdot \phi_j = K_{ij}"
    ),
    sources=("cam",),
    shows=("kernels.gram_features",),
)
def kernel_feature_equivalence(
    key,
    kernel: Annotated[str, Choice(*KERNELS)] = "gaussian",
    samples: Annotated[int, Range(3, 300)] = 60,
    dim: Annotated[int, Range(1, 10)] = 3,
):
    """Features of a Gram matrix on random points; then two functions that are no kernels."""
    x = data.generator(key).normal(size=(samples, dim))
    K = KERNELS[kernel](1.0)(x, x)
    features = kernels.gram_features(K)
    yield close(features @ features.T / np.abs(K).max(), K / np.abs(K).max(), "φᵢ·φⱼ, against Kᵢⱼ", atol=1e-10)
    yield at_most(features.shape[1], samples, "number of features, against n")
    c = data.generator(key).normal(size=(5, samples))
    yield at_least(np.sum((c @ K) * c, axis=1), 0.0, "cᵀKc for random c", atol=1e-9 * float(np.abs(K).max()) * samples)
    others = {"‖x − x'‖²": kernels.squared_distances(x, x), "tanh(x·x' − 1)": np.tanh(x @ x.T - 1)}
    others["tanh(x·x' − 1)"] = np.tanh(np.pad(x, ((1, 0), (0, 0))) @ np.pad(x, ((1, 0), (0, 0))).T - 1)
    for name, matrix in others.items():
        values = np.linalg.eigvalsh(matrix)
        yield at_most(values[0], 0.0, f"least eigenvalue of {name}", atol=-1e-6)
        try:
            kernels.gram_features(matrix)
            refused = False
        except ValueError:
            refused = True
        yield exactly(refused, True, f"{name} has no real features")
        # Real features make a positive semidefinite matrix, and the nearest of these is as far as the negative part.
        missing = float(np.linalg.norm(kernels.nearest_kernel(matrix) - matrix))
        negative = float(np.linalg.norm(np.minimum(values, 0)))
        yield close(
            missing, negative, f"distance of {name} to the nearest Gram matrix, against its negative part", rtol=1e-8
        )


@claim(
    "kernel-smoothness-spectrum",
    says=(
        "Smoother kernels have faster falling eigenvalues and smaller spaces. On [0, 1]: Laplace i⁻², Matérn 3/2 i⁻⁴, "
        "Matérn 5/2 i⁻⁶, Gaussian faster than any power; the norm needed to fit a jump grows in that order."
    ),
    formula=r"\lambda_i \sim i^{-2},\; i^{-4},\; i^{-6},\; \text{faster than any power}",
    sources=("cam",),
    shows=("kernel_machines.penalty_for_residual",),
)
def kernel_smoothness_spectrum(
    key,
    scale: Annotated[float, Range(0.25, 0.35)] = 0.3,
    size: Annotated[int, Range(400, 1200)] = 1000,
    residual: Annotated[float, Range(0.045, 0.07)] = 0.05,
):
    """Spectra of K/n on a midpoint grid; ridge fits of a ±1 step on 60 points, all with one mean squared residual."""
    family = {
        "Laplace": kernels.Laplace(scale),
        "Matérn 3/2": kernels.Matern32(scale),
        "Matérn 5/2": kernels.Matern52(scale),
        "Gaussian": kernels.Gaussian(scale),
    }
    nodes = (np.arange(size)[:, None] + 0.5) / size
    spectra = {name: np.linalg.eigvalsh(k(nodes, nodes))[::-1] / size for name, k in family.items()}
    i = np.arange(10, 41)
    for name, power in (("Laplace", -2), ("Matérn 3/2", -4), ("Matérn 5/2", -6)):
        what = f"slope of the {name} eigenvalues over i = 10..40"
        yield slope(i, spectra[name][9:40], power, what, within=0.4)
    counts = {name: int(np.sum(values > 1e-5)) for name, values in spectra.items()}
    order = np.array(list(counts.values()))
    yield at_most(np.diff(order), -1, "change of the number of eigenvalues above 1e-5, kernel by kernel")
    default = scale == 0.3 and size == 1000
    if default:
        yield exactly(int(np.sum(spectra["Gaussian"] > 1e-10)), 12, "Gaussian eigenvalues above 1e-10 at length 0.3")
    yield at_most(
        spectra["Gaussian"][19], spectra["Matérn 5/2"][19] * 1e-3, "20th eigenvalue: Gaussian, Matérn 5/2/1000"
    )

    x = (np.arange(60)[:, None] + 0.5) / 60
    y = np.where(x[:, 0] < 0.5, -1.0, 1.0)
    fits = {}
    for name, k in family.items():
        gamma = kernel_machines.penalty_for_residual(k(x, x), y, residual)
        fits[name] = kernel_machines.kernel_ridge(k, x, y, gamma)
    norms = np.array([float(fit.norm) ** 2 for fit in fits.values()])
    misfit = [np.mean((fit.fitted - y) ** 2) for fit in fits.values()]
    yield close(misfit, residual, "mean squared residual of the four fits", rtol=1e-3)
    yield at_least(np.diff(norms), 0.0, "growth of ‖f‖² kernel by kernel", strict=True)
    if default and residual == 0.05:
        yield close(norms[:3], [5.1, 8.2, 17.8], "‖f‖² of Laplace, Matérn 3/2 and 5/2 (reference)", rtol=0.05)
        yield close(np.log10(norms[3]), np.log10(3.0e6), "log₁₀ ‖f‖² of the Gaussian (reference 3.0e6)", atol=0.1)

    shown = np.arange(1, 41)
    fine = np.linspace(0, 1, 241)[:, None]
    yield figure.beside(
        "Smoother kernels: faster spectra, and dearer jumps: ‖f‖² = " + ", ".join(f"{v:.3g}" for v in norms),
        figure.curves(
            f"Eigenvalues on {size} points; lines: i⁻², i⁻⁴, i⁻⁶",
            x="i",
            y="λᵢ",
            lines={
                name: (i, spectra[name][9] * (i / 10.0) ** power)
                for name, power in (("Laplace", -2), ("Matérn 3/2", -4), ("Matérn 5/2", -6))
            },
            points={name: (shown, np.where(v[:40] > 1e-15, v[:40], np.nan)) for name, v in spectra.items()},
            log="xy",
        ),
        figure.curves(
            f"Fits of a step with mean squared residual {residual:g}",
            x="x",
            y="f(x)",
            lines={name: (fine[:, 0], fit.predict(fine)) for name, fit in fits.items()},
        ),
    )
