"""The kernels of the library, where the polynomial one is one, and the two ends of the Gaussian one."""

from typing import Annotated

import numpy as np

from leadline import data, features, kernel_machines, kernels
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, method, printed


@method(
    "kernel-library",
    says=(
        "A kernel is symmetric with every Gram matrix positive semidefinite. Linear, affine, polynomial, Gaussian, "
        "Laplace, Matérn, minimum, neural and string kernels are; so are their sums, products, positive multiples, "
        "normalised and centred forms."
    ),
    formula=r"k(x, x') = k(x', x), \qquad \sum_{i,j} c_i c_j\, k(x_i, x_j) \ge 0",
    sources=("penn", "cam"),
    shows=(
        "kernels.Kernel", "kernels.Linear", "kernels.Affine", "kernels.Polynomial", "kernels.Gaussian",
        "kernels.Laplace", "kernels.Matern32", "kernels.Matern52", "kernels.Minimum", "kernels.ArcCosine",
        "kernels.ArcSine", "kernels.Subsequence", "kernels.Normalised", "kernels.Centred", "kernels.Sum",
        "kernels.Product", "kernels.check_positive",
    ),
)  # fmt: skip
def kernel_library(
    key,
    points: Annotated[int, Range(2, 200)] = 60,
    dim: Annotated[int, Range(1, 50)] = 5,
    scale: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
    degree: Annotated[int, Range(1, 4)] = 3,
):
    """Gram matrices of random points, some repeated and one of them 0; of random strings; and of digits, drawn."""
    rng = data.generator(key)
    x = rng.standard_normal((points, dim))
    x[0] = 0.0
    x[-1] = x[points // 2]
    library = _library(scale, degree)
    grams = {name: k(x, x) for name, k in library.items()}
    words = ["".join(rng.choice(list("abc"), size)) for size in rng.integers(0, 9, points)]
    strings = {"subsequences": kernels.Subsequence(2, 0.5)}
    grams |= {name: k(words, words) for name, k in strings.items()}
    yield close(
        [np.abs(G - G.T).max() / (np.abs(G).max() or 1.0) for G in grams.values()],
        0.0,
        "asymmetry over max|G|",
        atol=1e-12,
    )
    yield at_least(
        [_relative_least(G) for G in grams.values()], 0.0, "least eigenvalue of a Gram matrix over n max|G|", atol=1e-10
    )
    diagonals = [np.abs(k.diagonal(x) / np.abs(grams[name]).max() - np.diag(grams[name]) / np.abs(grams[name]).max())
                 for name, k in library.items()]  # fmt: skip
    yield close(diagonals, 0.0, "diagonal alone, against that of the matrix, over max|G|", atol=1e-13)

    names = list(library)
    pairs = [(names[i], names[j]) for i, j in rng.integers(len(names), size=(12, 2))]
    made = [library[a] + library[b] for a, b in pairs] + [library[a] * library[b] for a, b in pairs]
    made += [float(rng.uniform(0, 5)) * library[a] for a, _ in pairs]
    made += [kernels.Centred(k, x) for k in library.values()]
    yield at_least(
        [_relative_least(k(x, x)) for k in made],
        0.0,
        "least eigenvalue over n max|G|: sums, products, multiples, centred kernels",
        atol=1e-10,
    )
    unit = [np.diag(kernels.Normalised(k)(x, x)) for k in library.values()]
    expected = [np.where(k.diagonal(x) > 0, 1.0, 0.0) for k in library.values()]
    yield close(unit, expected, "diagonal of the normalised kernel: 1, and 0 for a zero feature vector", atol=1e-9)
    yield at_least(
        [_relative_least(kernels.Normalised(k)(x, x)) for k in library.values()],
        0.0,
        "least eigenvalue over n max|G|: normalised kernels",
        atol=1e-10,
    )
    yield close(
        [kernels.centre_gram(G).mean(axis=0) / np.abs(G).max() for G in grams.values() if np.abs(G).max() > 0],
        0.0,
        "row means of the centred Gram matrices, over max|G|",
        atol=1e-13,
    )

    shown = _digit_grams(rng)
    worst = min(_relative_least(G) for G in shown.values())
    yield figure.images(
        f"Gram matrices of 40 digits, four of each class in a row: least eigenvalue {worst:.0e} n max|G|",
        images=[(name, G / np.abs(G).max()) for name, G in shown.items()],
        columns=4,
    )


@claim(
    "polynomial-kernel-needs-c",
    says="(x·x' + c)² is positive semidefinite if and only if c ≥ 0: at 0 and a point with ‖x‖² = −c it is not.",
    formula=r"\det \begin{pmatrix} c^2 & c^2 \\ c^2 & 0 \end{pmatrix} = -c^4 < 0",
    sources=("penn",),
)
def polynomial_kernel_needs_c(
    key,
    dim: Annotated[int, Range(1, 5)] = 1,
    size: Annotated[float, Range(0.01, 10.0, log=True)] = 1.0,
    points: Annotated[int, Range(2, 60)] = 12,
):
    """The certificate at c = −size, and explicit features at c = +size and c = 0."""
    rng = data.generator(key)
    direction = rng.standard_normal(dim)
    direction *= np.sqrt(size) / np.linalg.norm(direction)
    certificate = np.stack([np.zeros(dim), direction])
    gram = (kernels.inner_products(certificate, certificate) - size) ** 2
    yield close(gram / size**2, [[1.0, 1.0], [1.0, 0.0]], "Gram matrix at 0 and √|c| e, over c²", atol=1e-12)
    least = kernels.spectrum(gram).least
    yield close(least / size**2, (1 - 5**0.5) / 2, "least eigenvalue at c < 0, over c²", atol=1e-12)
    x = rng.standard_normal((points, dim))
    for offset, words in ((size, "c > 0"), (0.0, "c = 0")):
        gram = kernels.Polynomial(2, offset)(x, x)
        phi = features.monomial_features(x, 2, offset=offset)
        yield close(phi @ phi.T, gram, f"φ(x)·φ(x') against (x·x' + c)², {words}", atol=1e-11 * np.abs(gram).max())
        yield at_least(_relative_least(gram), 0.0, f"least eigenvalue over n max|G|, {words}", atol=1e-14)
    yield printed(at_least(least, 0.0, "least eigenvalue at c < 0"), "penn", "(x·x' + c)^k with c left free")


@claim(
    "gaussian-kernel-limits",
    says=(
        "As its width s falls the Gaussian Gram matrix of distinct points tends to I: ridge interpolates, predicting 0 "
        "elsewhere. As s grows it tends to all ones, of rank one. It is positive definite for every s, though "
        "numerically singular for near-duplicates; widths between the ends predict best."
    ),
    formula=r"e^{-\|x-x'\|^2/2s^2} \to \mathbb{1}\{x = x'\} \;(s \to 0), \quad \to 1 \;(s \to \infty)",
    sources=("penn",),
    assumes=("the points are distinct",),
)
def gaussian_kernel_limits(
    key,
    points: Annotated[int, Range(30, 120)] = 60,
    noise: Annotated[float, Range(0.0, 0.2)] = 0.1,
    penalty: Annotated[float, Range(1e-7, 1e-4, log=True)] = 1e-6,
):
    """Noisy values of sin 6x at jittered grid points of [0, 1]; kernel ridge with n γ = penalty along s."""
    rng = data.generator(key)
    x = ((np.arange(points) + rng.uniform(0, 0.5, points)) / points)[:, None]
    y = np.sin(6 * x[:, 0]) + noise * rng.standard_normal(points)
    fresh = rng.uniform(0, 1, (400, 1))
    gap, width = np.diff(x[:, 0]).min(), x[-1, 0] - x[0, 0]
    scales = np.array([1e-3, 1e-2, 0.1, 1.0, 10.0, 1e3])
    grams = [kernels.Gaussian(s)(x, x) for s in scales]
    yield close(
        [np.abs(G - np.eye(points)).max() for G in grams],
        np.exp(-(gap**2) / (2 * scales**2)),
        "max|G − I| against exp(−δ²/2s²), δ the least distance",
        atol=1e-11,
    )
    away = [np.linalg.norm(G - 1) for G in grams]
    yield at_most(away, points * -np.expm1(-(width**2) / (2 * scales**2)), "‖G − 11ᵀ‖, against n (1 − exp(−D²/2s²))")
    spectra = np.array([kernels.check_positive(G).eigenvalues for G in grams])
    yield at_most(spectra[:, -2], away, "second eigenvalue, against ‖G − 11ᵀ‖", rtol=1e-9, atol=1e-12)
    yield at_least(spectra[:2, 0], 0.0, "least eigenvalue at s ≤ 0.01", strict=True)
    near = 1e-9
    pair = kernels.Gaussian(1.0)(np.array([[0.0], [near]]), np.array([[0.0], [near]]))
    yield at_least(-np.expm1(-(near**2) / 2), 0.0, "exact least eigenvalue of a pair 1e-9 s apart", strict=True)
    yield exactly(int(np.linalg.matrix_rank(pair)), 1, "its rank in double precision")

    fits = [
        kernel_machines.kernel_ridge(kernels.Gaussian(s), x, y, penalty / points, gram=G)
        for s, G in zip(scales, grams, strict=True)
    ]
    train = np.array([np.mean((f.fitted - y) ** 2) for f in fits])
    test = np.array([np.mean((f.predict(fresh) - np.sin(6 * fresh[:, 0])) ** 2) for f in fits])
    yield at_most(
        train[:2],
        (penalty / (spectra[:2, 0] + penalty)) ** 2 * np.mean(y**2),
        "training error at s ≤ 0.01, against (nγ/(λ_min + nγ))² mean y²",
        rtol=1e-6,
    )
    nearest = np.abs(fresh - x[:, 0]).min(axis=1)
    reach = points * np.exp(-(nearest**2) / (2 * scales[0] ** 2)) * np.abs(fits[0].alpha).max()
    yield at_most(
        np.abs(fits[0].predict(fresh)), reach, "|f| at s = 0.001, against n max|α| exp(−r²/2s²)", rtol=1e-9, atol=1e-12
    )
    yield at_most(test[2:4].min(), min(test[0], test[-1]), "test error at s = 0.1 or 1, against both ends")
    index = np.arange(1, points + 1)
    yield figure.beside(
        f"Narrow: a memoriser (test error {test[0]:.2g}); wide: rank one ({test[-1]:.2g}); between: {test.min():.2g}",
        figure.curves(
            "Spectrum of the Gram matrix",
            x="index",
            y="eigenvalue",
            lines={f"s = {s:g}": (index, np.maximum(v[::-1], 1e-17)) for s, v in zip(scales, spectra, strict=True)},
            log="y",
        ),
        figure.curves(
            "Error of kernel ridge",
            x="width s",
            y="mean squared error",
            points={"test, against sin 6x": (scales, test), "training": (scales, np.maximum(train, 1e-14))},
            log="xy",
        ),
    )


def _library(scale: float, degree: int) -> dict:
    return {
        "linear": kernels.Linear(),
        "affine": kernels.Affine(1.0),
        "polynomial": kernels.Polynomial(degree, 1.0),
        "Gaussian": kernels.Gaussian(scale),
        "Laplace": kernels.Laplace(scale),
        "Matérn 3/2": kernels.Matern32(scale),
        "Matérn 5/2": kernels.Matern52(scale),
        "minimum": kernels.Minimum(),
        "steps (arc-cosine 0)": kernels.ArcCosine(0),
        "ReLU (arc-cosine 1)": kernels.ArcCosine(1),
        "ReLU² (arc-cosine 2)": kernels.ArcCosine(2),
        "erf (arcsine)": kernels.ArcSine(),
    }


def _digit_grams(rng: np.random.Generator) -> dict[str, np.ndarray]:
    images, labels = data.digits()
    rows = np.concatenate([rng.choice(np.flatnonzero(labels == c), 4, replace=False) for c in range(10)])
    x = images[rows]
    s = float(np.median(kernels.distances(x, x)) / 2)
    return {name: k(x, x) for name, k in _library(s, 3).items()}


def _relative_least(gram: np.ndarray) -> float:
    largest = np.abs(gram).max()
    return float(np.linalg.eigvalsh((gram + gram.T) / 2)[0] / (len(gram) * largest)) if largest > 0 else 0.0
