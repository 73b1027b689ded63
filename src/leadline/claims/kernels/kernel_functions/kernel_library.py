"""The kernels of the library, where the polynomial one is one, and the two ends of the Gaussian one."""

import numpy as np

from leadline import data, kernels
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, method
from leadline.kernels import features, machines
from leadline.kernels.pairs import distances, inner_products
from leadline.kernels.validity.positivity import check_positive
from leadline.presentation import figure

_SHOWN = "Kernel Linear Affine Polynomial Gaussian Laplace Matern32 Matern52 Minimum ArcCosine ArcSine"


@method(sources=("penn", "cam"), shows=tuple(f"kernels.{name}" for name in _SHOWN.split()))
def kernel_library(
    key, points: Int(2, 200) = 60, dim: Int(1, 50) = 5, scale: Real(0.1, 10.0, log=True) = 1.0, degree: Int(1, 4) = 3
):
    r"""Positive semidefinite kernels and their algebra.

    A kernel is a symmetric function all of whose Gram matrices are positive semidefinite. Linear, affine, polynomial,
    Gaussian, Laplace, Matérn, minimum, neural and string kernels are kernels; so are their sums, products, positive
    multiples, normalised and centred forms.

    $$k(x, x') = k(x', x), \qquad \sum_{i,j} c_i c_j\, k(x_i, x_j) \ge 0$$

    Check: Gram matrices are computed for random points, some of them repeated and one of them 0, for random strings,
    and for digits, which are shown in the picture.
    """
    rng = data.generator(key)
    x = rng.standard_normal((points, dim))
    x[0] = 0.0
    x[-1] = x[points // 2]
    library = _library(scale, degree)
    grams = {name: k(x, x) for name, k in library.items()}
    words = ["".join(rng.choice(list("abc"), size)) for size in rng.integers(0, 9, points)]
    grams["subsequences"] = kernels.Subsequence(2, 0.5)(words, words)
    skew = [np.abs(G - G.T).max() / (np.abs(G).max() or 1.0) for G in grams.values()]
    yield close(skew, 0.0, "asymmetry of a Gram matrix over max|G|", atol=1e-12)

    def least(name, matrices):
        values = [_relative_least(G) for G in matrices]
        return at_least(values, 0.0, f"least eigenvalue over n max|G|: {name}", atol=1e-10)

    yield least("all kernels", grams.values())
    sizes = {name: np.abs(G).max() for name, G in grams.items()}
    diagonals = [np.abs(k.diagonal(x) - np.diag(grams[name])) / sizes[name] for name, k in library.items()]
    yield close(diagonals, 0.0, "diagonal alone, against that of the matrix, over max|G|", atol=1e-13)
    names = list(library)
    pairs = [(names[i], names[j]) for i, j in rng.integers(len(names), size=(12, 2))]
    made = [library[a] + library[b] for a, b in pairs] + [library[a] * library[b] for a, b in pairs]
    made += [float(rng.uniform(0, 5)) * library[a] for a, _ in pairs]
    made += [kernels.Centred(k, x) for k in library.values()]
    yield least("sums, products, multiples, centred kernels", (k(x, x) for k in made))
    unit = [kernels.Normalised(k)(x, x) for k in library.values()]
    expected = [np.where(k.diagonal(x) > 0, 1.0, 0.0) for k in library.values()]
    what = "diagonal of the normalised kernel: 1, and 0 for a zero feature vector"
    yield close([np.diag(G) for G in unit], expected, what, atol=1e-9)
    yield least("normalised kernels", unit)
    means = [kernels.centre_gram(G).mean(axis=0) / sizes[name] for name, G in grams.items() if sizes[name] > 0]
    yield close(means, 0.0, "row means of the centred Gram matrices, over max|G|", atol=1e-13)
    shown = _digit_grams(rng)
    worst = min(_relative_least(G) for G in shown.values())
    title = f"Gram matrices of 40 digits, four of each class in a row: least eigenvalue {worst:.0e} n max|G|"
    yield figure.images(title, images=[(name, G / np.abs(G).max()) for name, G in shown.items()], columns=4)


@claim(sources=("penn",))
def polynomial_kernel_needs_c(key, dim: Int(1, 5) = 1, size: Real(0.01, 10.0, log=True) = 1.0, points: Int(2, 60) = 12):
    r"""Quadratic kernel requires c ≥ 0.

    (x·x' + c)² is positive semidefinite if and only if c ≥ 0: for c < 0 it fails at 0 and a point with ‖x‖² = −c.

    $$\det \begin{pmatrix} c^2 & c^2 \\ c^2 & 0 \end{pmatrix} = -c^4 < 0$$

    Check: The certificate is evaluated at a negative c, and explicit features at the opposite value and at c = 0.
    """
    rng = data.generator(key)
    direction = rng.standard_normal(dim)
    direction *= np.sqrt(size) / np.linalg.norm(direction)
    certificate = np.stack([np.zeros(dim), direction])
    gram = (inner_products(certificate, certificate) - size) ** 2
    yield close(gram / size**2, [[1.0, 1.0], [1.0, 0.0]], "Gram matrix at 0 and √|c| e, over c²", atol=1e-12)
    least = kernels.spectrum(gram).least
    yield close(least / size**2, (1 - 5**0.5) / 2, "least eigenvalue at c < 0, over c²", atol=1e-12)
    x = rng.standard_normal((points, dim))
    for offset, words in ((size, "c > 0"), (0.0, "c = 0")):
        gram = kernels.Polynomial(2, offset)(x, x)
        phi = features.monomial_features(x, 2, offset=offset)
        yield close(phi @ phi.T, gram, f"φ(x)·φ(x') against (x·x' + c)², {words}", atol=1e-11 * np.abs(gram).max())
        yield at_least(_relative_least(gram), 0.0, f"least eigenvalue over n max|G|, {words}", atol=1e-14)


@claim(sources=("penn",))
def gaussian_kernel_limits(
    key, points: Int(30, 120) = 60, noise: Real(0.0, 0.2) = 0.1, penalty: Real(1e-7, 1e-4, log=True) = 1e-6
):
    r"""Gaussian kernel at small and large widths.

    As its width s falls, the Gaussian Gram matrix of distinct points tends to I: ridge interpolates, predicting 0
    elsewhere. As s grows, it tends to the matrix of all ones, of rank one. It is positive definite for every s, though
    numerically singular for near-duplicates; widths between the extremes predict best.

    $$e^{-\|x-x'\|^2/2s^2} \to \mathbb{1}\{x = x'\} \;(s \to 0), \quad \to 1 \;(s \to \infty)$$

    Assumes: the points are distinct.

    Check: Noisy values of sin 6x at jittered grid points of [0, 1] are fitted by kernel ridge with a fixed nγ along s.
    """
    rng = data.generator(key)
    x = ((np.arange(points) + rng.uniform(0, 0.5, points)) / points)[:, None]
    y = np.sin(6 * x[:, 0]) + noise * rng.standard_normal(points)
    fresh = rng.uniform(0, 1, (400, 1))
    gap, width = np.diff(x[:, 0]).min(), x[-1, 0] - x[0, 0]
    scales = np.array([1e-3, 1e-2, 0.1, 1.0, 10.0, 1e3])
    grams = [kernels.Gaussian(s)(x, x) for s in scales]
    far = [np.abs(G - np.eye(points)).max() for G in grams]
    limit = np.exp(-(gap**2) / (2 * scales**2))
    yield close(far, limit, "max|G − I|, against exp(−δ²/2s²), δ the least distance", atol=1e-11)
    away = [np.linalg.norm(G - 1) for G in grams]
    yield at_most(away, points * -np.expm1(-(width**2) / (2 * scales**2)), "‖G − 11ᵀ‖, against n (1 − exp(−D²/2s²))")
    spectra = np.array([check_positive(G).eigenvalues for G in grams])
    yield at_most(spectra[:, -2], away, "second eigenvalue, against ‖G − 11ᵀ‖", rtol=1e-9, atol=1e-12)
    yield at_least(spectra[:2, 0], 0.0, "least eigenvalue at s ≤ 0.01", strict=True)
    near = 1e-9
    pair = kernels.Gaussian(1.0)(np.array([[0.0], [near]]), np.array([[0.0], [near]]))  # in units of s
    yield at_least(-np.expm1(-(near**2) / 2), 0.0, "exact least eigenvalue of a pair 1e-9 s apart", strict=True)
    yield exactly(np.linalg.matrix_rank(pair), 1, "rank of a pair 1e-9 s apart, in double precision")
    fits = [machines.kernel_ridge(kernels.Gaussian(s), x, y, penalty / points) for s in scales]
    train = np.array([np.mean((f.fitted - y) ** 2) for f in fits])
    test = np.array([np.mean((f.predict(fresh) - np.sin(6 * fresh[:, 0])) ** 2) for f in fits])
    limit = (penalty / (spectra[:2, 0] + penalty)) ** 2 * np.mean(y**2)
    yield at_most(train[:2], limit, "training error at s ≤ 0.01, against (nγ/(λ_min + nγ))² mean y²", rtol=1e-6)
    nearest, found = np.abs(fresh - x[:, 0]).min(axis=1), np.abs(fits[0].predict(fresh))
    reach = points * np.exp(-(nearest**2) / (2 * scales[0] ** 2)) * np.abs(fits[0].alpha).max()
    yield at_most(found, reach, "|f| at s = 0.001, against n max|α| exp(−r²/2s²)", rtol=1e-9, atol=1e-12)
    yield at_most(test[2:4].min(), min(test[0], test[-1]), "test error at s = 0.1 or 1, against both ends")
    index = np.arange(1, points + 1)
    lines = {f"s = {s:g}": (index, v[::-1]) for s, v in zip(scales, spectra, strict=True)}
    errors = {"test, against sin 6x": (scales, test), "training": (scales, train)}
    yield figure.beside(
        f"Narrow: a memoriser (test error {test[0]:.2g}); wide: rank one ({test[-1]:.2g}); between: {test.min():.2g}",
        figure.curves("Spectrum of the Gram matrix", "index", "eigenvalue", lines=lines, log="y"),
        figure.curves("Error of kernel ridge", "width s", "mean squared error", points=errors, log="xy"),
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
    s = float(np.median(distances(x, x)) / 2)
    return {name: k(x, x) for name, k in _library(s, 3).items()}


def _relative_least(gram: np.ndarray) -> float:
    largest = np.abs(gram).max()
    return float(np.linalg.eigvalsh((gram + gram.T) / 2)[0] / (len(gram) * largest)) if largest > 0 else 0.0
