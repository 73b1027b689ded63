"""Sloppiness in closed form: polynomial regression through as many points as coefficients."""

import numpy as np

from leadline import data
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, reference
from leadline.landscape.sloppiness.models.vandermonde_matrices import (
    design_matrix,
    vandermonde_log10_determinant,
    vandermonde_spectrum,
)
from leadline.presentation import figure


@claim(sources=("penn",), shows=("landscape.sloppiness.inverse_vandermonde",))
def vandermonde_sloppiness(
    key,
    count: Int(6, 12) = 12,
    diameter: Real(0.2, 2.0, log=True) = 0.5,
    placement: OneOf("equispaced", "Chebyshev", "random") = "equispaced",
):
    r"""Vandermonde matrices are sloppy.

    Regression on the powers 0 … n − 1 at n points has $\det(A^T A) = \prod_{i<j} (a_j - a_i)^2$, at most
    $\varepsilon^{n(n-1)}$ for points of diameter ε and far less in fact: the eigenvalues fall over many decades. It is
    the basis that is sloppy: in Chebyshev or Legendre polynomials the same model on the same points is far better
    conditioned.

    $$\det(A^T A) = \prod_{i<j} (a_j - a_i)^2 \le \varepsilon^{n(n-1)}$$

    Assumes: n distinct points; powers 0 … n − 1.

    Check: Random points are drawn one in each of `count` equal parts of [0, `diameter`].
    """
    rng = data.generator(key)
    unit = {
        "equispaced": np.linspace(0, 1, count),
        "Chebyshev": (1 - np.cos(np.pi * np.arange(count) / (count - 1))) / 2,
        "random": (np.arange(count) + rng.uniform(0.1, 0.9, size=count)) / count,
    }[placement]
    points = diameter * (unit - unit[0]) / (unit[-1] - unit[0])
    widths = np.array([0.5, 1.0, 2.0])
    fixed = [np.linspace(0, width, 12) for width in widths]
    known = [vandermonde_log10_determinant(p) for p in fixed]
    for width, found, value in zip(widths, known, (-106.35, -66.61, -26.88), strict=True):
        what = f"log₁₀ det(AᵀA), 12 equispaced points, ε = {width:g}"
        yield reference(found, value, what, digits=5 if width == 0.5 else 4)
    smallest = np.array([vandermonde_spectrum(p)[-1] for p in fixed])
    naive = np.array([np.linalg.eigvalsh(a.T @ a)[0] for a in (design_matrix(p, 11) for p in fixed)])
    yield reference(smallest[0], 2.590e-22, "smallest eigenvalue, 12 equispaced points, ε = 0.5", digits=4)
    worst = np.max(np.abs(naive / smallest - 1))
    yield at_least(worst, 0.1, "worst relative error of the smallest eigenvalue from eig of AᵀA, ε = 0.5, 1, 2")
    logdet = vandermonde_log10_determinant(points)
    limit = count * (count - 1) * np.log10(diameter)
    spectrum = vandermonde_spectrum(points)
    yield close(np.log10(spectrum).sum(), logdet, "Σ log₁₀ λ_k, against the product over pairs", atol=1e-6)
    bound = at_most(logdet, limit, "log₁₀ det(AᵀA), against n(n − 1) log₁₀ ε", trivial=0.0)
    yield bound
    wrong = close(logdet, limit, "log₁₀ det(AᵀA), against n(n − 1) log₁₀ ε to a decade", atol=1.0)
    yield erratum(wrong, of=bound, by="penn", prints="det(AᵀA) is of the order ε^{n(n−1)}, ε the largest distance")
    wrong = at_most(132 * np.log10(widths), 0.0, "log₁₀ ε^{n(n−1)}, n = 12, for ε = 0.5, 1, 2: negative", strict=True)
    yield erratum(wrong, of=bound, by="penn", prints="ε^{n(n−1)} tends to 0, without the condition ε < 1")
    powers = design_matrix(points, count - 1)
    squared = np.linalg.svd(powers, compute_uv=False)[-1] ** 2
    yield close(squared, spectrum[-1], "smallest eigenvalue: SVD of A, against the exact inverse of A", rtol=0.05)
    spectra = {"powers": spectrum}
    for name in ("Chebyshev", "Legendre"):
        matrix = design_matrix(points, count - 1, name.lower())
        spectra[name] = np.linalg.svd(matrix, compute_uv=False) ** 2
    # T_k of a mapped from [0, ε] has the leading coefficient 2^{k−1} (2/ε)^k for k ≥ 1.
    k = np.arange(1, count)
    leading = np.sum((k - 1) * np.log10(2) + k * np.log10(2 / diameter))
    what = "log₁₀ det in Chebyshev polynomials, against that in powers and the leading coefficients"
    yield close(np.log10(spectra["Chebyshev"]).sum(), logdet + 2 * leading, what, atol=1e-6)
    decades = {name: np.log10(s[0] / s[-1]) for name, s in spectra.items()}
    for name in ("Chebyshev", "Legendre"):
        what = f"decades of the spectrum in {name} polynomials, against half of those in powers"
        yield at_most(decades[name], decades["powers"] / 2, what)
    index = np.arange(1, count + 1)
    points = {name: (index, values) for name, values in spectra.items()}
    points["powers, by eig of AᵀA"] = (index, np.linalg.eigvalsh(powers.T @ powers)[::-1])
    title = f"{decades['powers']:.1f} decades in powers, {decades['Chebyshev']:.1f} in Chebyshev polynomials"
    yield figure.curves(title, "k", "eigenvalue of AᵀA", points=points, log="y")
