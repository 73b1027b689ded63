"""Polynomials of degree four as objectives: saddles of every kind with known answers, and coupled double wells."""

from collections.abc import Mapping
from itertools import permutations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline.optimisation.objectives.objective import Objective


def _array(value: object) -> Array:
    return jnp.asarray(value, float)


class QuarticLandscape(Objective):
    """l(w) = c + ½A[w, w] + ⅙T[w, w, w] + (1/24)Q[w, w, w, w] with symmetric tensors: the origin is a critical point.

    A, T and Q are the derivatives of order two, three and four at 0. All of one dimension share one compiled program.

    >>> saddle = quartic_landscape({(2, 0): 1.0, (0, 2): -1.0})
    >>> float(saddle(jnp.array([2.0, 1.0]))), saddle.gradient(jnp.array([2.0, 1.0])).tolist()
    (3.0, [4.0, -2.0])
    """

    constant: Float[Array, ""] = eqx.field(converter=_array)
    second: Float[Array, "p p"] = eqx.field(converter=_array)
    third: Float[Array, "p p p"] = eqx.field(converter=_array)
    fourth: Float[Array, "p p p p"] = eqx.field(converter=_array)

    def __call__(self, w: Float[Array, " p"]) -> Float[Array, ""]:
        cubic = self.third @ w
        quartic = self.fourth @ w @ w
        return self.constant + w @ (self.second / 2 + cubic / 6 + quartic / 24) @ w

    def gradient(self, w: Float[Array, " p"]) -> Float[Array, " p"]:
        return (self.second + self.third @ w / 2 + self.fourth @ w @ w / 6) @ w

    def value_and_gradient(self, w: Float[Array, " p"]) -> tuple[Float[Array, ""], Float[Array, " p"]]:
        return self(w), self.gradient(w)

    def hessian(self, w: Float[Array, " p"]) -> Float[Array, "p p"]:
        return self.second + self.third @ w + self.fourth @ w @ w / 2


def quartic_landscape(terms: Mapping[tuple[int, ...], float]) -> QuarticLandscape:
    """The polynomial Σ c w₁^{e₁} w₂^{e₂} … from {(e₁, e₂, …): c}; degrees 0, 2, 3 and 4, so that 0 is critical.

    >>> monkey = quartic_landscape({(3, 0): 1.0, (1, 2): -3.0})
    >>> float(monkey(jnp.array([1.0, 2.0])))
    -11.0
    """
    dimensions = {len(e) for e in terms}
    if len(dimensions) != 1:
        raise ValueError(
            "quartic_landscape got terms of different length; give every monomial one exponent a variable."
        )
    p = dimensions.pop()
    tensors = [np.zeros((p,) * degree) for degree in range(5)]
    for exponents, coefficient in terms.items():
        degree = sum(exponents)
        if min(exponents) < 0 or degree not in (0, 2, 3, 4):
            raise ValueError(f"quartic_landscape got the monomial {exponents} of degree {degree}; give 0, 2, 3 or 4.")
        indices = [i for i, e in enumerate(exponents) for _ in range(e)]
        for order in permutations(indices):  # each of the degree! orders adds once: the derivative of that order
            tensors[degree][order] += coefficient
    return QuarticLandscape(tensors[0], *tensors[2:])


def coupled_wells(coupling: Float[np.ndarray, "p p"]) -> QuarticLandscape:
    """Σᵢ ¼(wᵢ² − 1)² + ½wᵀCw: for C = 0 the 3^p critical points {−1, 0, 1}^p, of index the number of zeros.

    >>> wells = coupled_wells(np.zeros((2, 2)))
    >>> float(wells(jnp.zeros(2))), float(wells(jnp.array([1.0, 0.0])))
    (0.5, 0.25)
    """
    coupling = np.asarray(coupling, float)
    p = len(coupling)
    if coupling.shape != (p, p) or not np.allclose(coupling, coupling.T):
        raise ValueError(f"coupled_wells got a coupling of shape {coupling.shape}; give a symmetric square matrix.")
    fourth = np.zeros((p,) * 4)
    fourth[(np.arange(p),) * 4] = 6.0
    return QuarticLandscape(p / 4, coupling - np.eye(p), np.zeros((p,) * 3), fourth)
