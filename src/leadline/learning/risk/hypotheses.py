"""Classes of functions linear in their parameters, f(x) = Σₖ θₖ φₖ(x), behind one solver."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Array, Float, Num

from leadline._arrays import namespace

from ..regression.linear import design, least_squares

Points = Num[Array | np.ndarray, "*batch n d"]


@dataclass(frozen=True)
class LinearClass:
    """All Σₖ θₖ φₖ(x), θ ∈ ℝ^size, with `features` x ↦ (φ₁(x), ..., φ_size(x)).

    >>> parabola = LinearClass(lambda x: np.concatenate([x, x**2], axis=-1), 2)
    >>> parabola.fit(np.array([[1.0], [2.0]]), np.array([3.0, 10.0])).round(9).tolist()
    [1.0, 2.0]
    """

    features: Callable[[Any], Any]
    size: int

    def predict(
        self, parameters: Num[Array | np.ndarray, "... p"], x: Num[Array | np.ndarray, "... d"]
    ) -> Float[Array | np.ndarray, "..."]:
        """Σₖ θₖ φₖ(x) for every row; leading axes of the parameters are separate functions."""
        return (self.features(x) @ parameters[..., None])[..., 0]

    def fit(self, x: Points, y: Num[Array | np.ndarray, "*batch n"]) -> Float[Array | np.ndarray, "..."]:
        """The least-squares parameters of least norm."""
        return least_squares(self.features(x), y, intercept=False).weights


def affine(dim: int = 1) -> LinearClass:
    """All w·x + b, parameters (w, b): a hyperplane over data space, a point in parameter space.

    >>> affine(2).predict(np.array([1.0, 2.0, 3.0]), np.array([[1.0, 1.0]])).tolist()
    [6.0]
    """
    return LinearClass(design, dim + 1)


def cosine_series(order: int, *, sines: bool = False) -> LinearClass:
    """All Σ_{n=0}^order aₙ cos(2πnx) on the line; with `sines` also Σ_{n=1}^order bₙ sin(2πnx), the Fourier series.

    >>> cosine_series(2).features(np.array([[0.5]])).round(12).tolist()
    [[1.0, -1.0, 1.0]]
    """
    if order < 0:
        raise ValueError(f"cosine_series got order {order}; it must be at least 0.")

    def features(x):
        xp = namespace(x)
        angles = 2 * np.pi * x * xp.arange(order + 1)  # (n, 1) times (order + 1,)
        waves = xp.cos(angles)
        return xp.concatenate([waves, xp.sin(angles[..., 1:])], axis=-1) if sines else waves

    return LinearClass(features, 2 * order + 1 if sines else order + 1)


def polynomials(
    degree: int, low: float = 0.0, high: float = 1.0, *, basis: Literal["legendre", "monomial"] = "legendre"
) -> LinearClass:
    """Polynomials of a degree on [low, high], in Legendre's basis for that interval or, for comparison, in powers of x.

    >>> polynomials(2, -1.0, 1.0).features(np.array([[1.0]])).tolist()
    [[1.0, 1.0, 1.0]]
    """
    if degree < 0 or not high > low:
        raise ValueError(f"polynomials got degree {degree} on [{low}, {high}]; give degree >= 0 and low < high.")
    if basis not in ("legendre", "monomial"):
        raise ValueError(f"polynomials got basis '{basis}'; choose 'legendre' or 'monomial'.")

    def features(x):
        xp = namespace(x)
        if basis == "monomial":
            return x ** xp.arange(degree + 1)
        t = (2 * x[..., 0] - low - high) / (high - low)
        columns = [xp.ones_like(t), t]
        for k in range(1, degree):  # (k+1) P_{k+1} = (2k+1) t P_k - k P_{k-1}
            columns.append(((2 * k + 1) * t * columns[k] - k * columns[k - 1]) / (k + 1))
        return xp.stack(columns[: degree + 1], axis=-1)

    return LinearClass(features, degree + 1)


def monomial_coefficients(
    parameters: Num[Array | np.ndarray, " p"], low: float = 0.0, high: float = 1.0
) -> Float[np.ndarray, " p"]:
    """The coefficients of 1, x, x², ... of a polynomial given in Legendre's basis on [low, high].

    >>> monomial_coefficients(np.array([0.0, 0.0, 1.0]), -1.0, 1.0).tolist()
    [-0.5, 0.0, 1.5]
    """
    from numpy.polynomial import Legendre, Polynomial

    parameters = np.asarray(parameters, float)
    powers = Legendre(parameters, domain=[low, high]).convert(kind=Polynomial).coef
    return np.pad(powers, (0, len(parameters) - len(powers)))


def sign_labels(
    scores: Num[Array | np.ndarray, "..."], *, at_zero: Literal[-1, 1] = 1
) -> Float[Array | np.ndarray, "..."]:
    """sgn(f) as labels: any regressor becomes a classifier once sgn(0) is set to one of the two labels.

    >>> sign_labels(np.array([-2.0, 0.0, 3.0])).tolist()
    [-1.0, 1.0, 1.0]
    """
    if at_zero not in (-1, 1):
        raise ValueError(f"sign_labels got at_zero={at_zero}; a label is -1 or +1.")
    return namespace(scores).where(scores == 0, 1.0 * at_zero, namespace(scores).sign(scores))
