"""Sloppiness in closed form: polynomial regression through as many points as coefficients."""

from typing import Annotated

import numpy as np

from leadline import data, sloppiness
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, printed


@claim(
    "vandermonde-sloppiness",
    says=(
        "Regression on the powers 0 … n−1 at n points has det(AᵀA) = Π(a_j − a_i)², at most ε^{n(n−1)} for points of "
        "diameter ε and far less in fact: eigenvalues fall over many decades. It is the basis that is sloppy: in "
        "Chebyshev or Legendre polynomials the same model on the same points is far better conditioned."
    ),
    formula=r"\det(A^T A) = \prod_{i<j} (a_j - a_i)^2 \le \varepsilon^{n(n-1)}",
    sources=("penn",),
    assumes=("n distinct points", "powers 0 … n − 1"),
    shows=(
        "sloppiness.vandermonde_log10_determinant",
        "sloppiness.vandermonde_spectrum",
        "sloppiness.inverse_vandermonde",
        "sloppiness.design_matrix",
    ),
)
def vandermonde_sloppiness(
    key,
    count: Annotated[int, Range(6, 12)] = 12,
    diameter: Annotated[float, Range(0.2, 2.0, log=True)] = 0.5,
    placement: Annotated[str, Choice("equispaced", "Chebyshev", "random")] = "equispaced",
):
    """`count` points on [0, `diameter`]; random ones are drawn one in each of `count` equal parts of the interval."""
    rng = data.generator(key)
    unit = {
        "equispaced": np.linspace(0, 1, count),
        "Chebyshev": (1 - np.cos(np.pi * np.arange(count) / (count - 1))) / 2,
        "random": (np.arange(count) + rng.uniform(0.1, 0.9, size=count)) / count,
    }[placement]
    points = diameter * (unit - unit[0]) / (unit[-1] - unit[0])
    fixed = [np.linspace(0, width, 12) for width in (0.5, 1.0, 2.0)]
    reference = [sloppiness.vandermonde_log10_determinant(p) for p in fixed]
    yield close(reference, [-106.35, -66.61, -26.88], "log₁₀ det, 12 equispaced points, ε = 0.5, 1, 2", atol=0.01)
    smallest = np.array([sloppiness.vandermonde_spectrum(p)[-1] for p in fixed])
    naive = np.array([np.linalg.eigvalsh(a.T @ a)[0] for a in (sloppiness.design_matrix(p, 11) for p in fixed)])
    yield close(smallest[0], 2.59e-22, "smallest eigenvalue, 12 equispaced points, ε = 0.5", rtol=1e-3)
    yield at_least(
        np.max(np.abs(naive / smallest - 1)), 0.1, "ε = 0.5, 1, 2: worst relative error of it from eig of AᵀA"
    )

    logdet = sloppiness.vandermonde_log10_determinant(points)
    bound = count * (count - 1) * np.log10(diameter)
    spectrum = sloppiness.vandermonde_spectrum(points)
    yield close(np.log10(spectrum).sum(), logdet, "Σ log₁₀ λ_k against the product over pairs", atol=1e-6)
    yield at_most(logdet, bound, "log₁₀ det against n(n − 1) log₁₀ ε", trivial=0.0)
    yield printed(
        close(logdet, bound, "log₁₀ det(AᵀA), to a decade", atol=1.0),
        "penn",
        "det is about ε^{n(n−1)}: only an upper bound, which says nothing for ε ≥ 1",
    )

    powers = sloppiness.design_matrix(points, count - 1)
    squared = np.linalg.svd(powers, compute_uv=False)[-1] ** 2
    yield close(squared, spectrum[-1], "smallest eigenvalue: SVD of A against the exact inverse of A", rtol=0.05)

    others = {
        name: np.linalg.svd(sloppiness.design_matrix(points, count - 1, name.lower()), compute_uv=False) ** 2
        for name in ("Chebyshev", "Legendre")
    }
    # T_k of a mapped from [0, ε] has the leading coefficient 2^{k−1} (2/ε)^k for k ≥ 1.
    k = np.arange(1, count)
    leading = np.sum((k - 1) * np.log10(2) + k * np.log10(2 / diameter))
    yield close(
        np.log10(others["Chebyshev"]).sum(),
        logdet + 2 * leading,
        "log₁₀ det in Chebyshev polynomials, from that in powers and the leading coefficients",
        atol=1e-6,
    )
    decades = {name: float(np.log10(s[0] / s[-1])) for name, s in {"powers": spectrum, **others}.items()}
    for name in others:
        yield at_most(decades[name], decades["powers"] / 2, f"decades of the spectrum in {name} polynomials")
    index = np.arange(1, count + 1)
    yield figure.curves(
        f"Same points, same polynomials: {decades['powers']:.1f} decades of eigenvalues in powers, "
        f"{decades['Chebyshev']:.1f} in Chebyshev polynomials",
        x="k",
        y="eigenvalue of AᵀA",
        points={
            "powers": (index, spectrum),
            "Chebyshev": (index, others["Chebyshev"]),
            "Legendre": (index, others["Legendre"]),
            "powers, by eig of AᵀA": (index, np.linalg.eigvalsh(powers.T @ powers)[::-1]),
        },
        log="y",
    )
