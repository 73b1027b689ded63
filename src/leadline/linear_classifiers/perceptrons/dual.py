"""The dual form of the perceptron: the weights as a list of its mistakes."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from leadline.kernels.features.monomials import monomial_features as monomial_features

from .training import Run

Kernel = Callable[[Float[Array, "m d"], Float[Array, "n d"]], Float[Array, "m n"]]


def inner_product(x: Float[Array, "m d"], z: Float[Array, "n d"]) -> Float[Array, "m n"]:
    """k(x, z) = x.z for every pair of rows."""
    return x @ z.T


class DualClassifier(eqx.Module):
    """score(x) = w_0.x + Σᵢ c_i k(xᵢ, x) + b over the support (alpha_i > 0), with c_i = step alpha_i yᵢ.

    Costs n_sv (d + 1) stored numbers and O(n_sv d) per prediction, against d and O(d) for the weights
    themselves. `weights` is w_0 where that is not 0 (inner product only).

    >>> from leadline.linear_classifiers.perceptrons.training import learn
    >>> x, y = jnp.eye(3), jnp.array([1.0, -1.0, 1.0])
    >>> dual_form(learn(x, y), x, y).score(jnp.array([[1.0, 2.0, 4.0]])).tolist()
    [3.0]
    """

    support: Float[Array, "n_sv d"]
    coefficients: Float[Array, " n_sv"]
    bias: Float[Array, ""]
    start: Float[Array, " d"] | None = None
    kernel: Kernel = eqx.field(static=True, default=inner_product)

    def score(self, x: Float[Array | np.ndarray, "n d"]) -> Float[Array, " n"]:
        """The score of each row, computed from inner products with the support only."""
        x = jnp.asarray(x)
        score = self.kernel(x, self.support) @ self.coefficients + self.bias
        return score if self.start is None else score + x @ self.start


def mistake_weights(
    alpha: Num[Array | np.ndarray, " n"],
    x: Num[Array | np.ndarray, "n d"],
    y: Num[Array | np.ndarray, " n"],
    *,
    step_size: float = 1.0,
    start: Num[Array | np.ndarray, " d"] | None = None,
) -> Float[Array, " d"]:
    """w = w_0 + step Σᵢ alpha_i yᵢ xᵢ: the weights rebuilt from the number of mistakes on each example.

    >>> mistake_weights(np.array([2, 1]), np.eye(2), np.array([1.0, -1.0])).tolist()
    [2.0, -1.0]
    """
    change = step_size * (jnp.asarray(alpha) * jnp.asarray(y)) @ jnp.asarray(x)
    return change if start is None else jnp.asarray(start) + change


def dual_form(
    run: Run, x: Num[Array | np.ndarray, "n d"], y: Num[Array | np.ndarray, " n"], kernel: Kernel = inner_product
) -> DualClassifier:
    """The dual classifier of a run: its support and coefficients, with w_0 kept apart where it is not 0.

    With another `kernel`, `x` are the inputs whose images phi(x), k(x, z) = phi(x).phi(z), the run was trained on.
    """
    x, start = jnp.asarray(x), np.asarray(run.start)
    dtype = run.weights.dtype
    if np.any(start != 0) and kernel is not inner_product:
        raise ValueError(
            "dual_form got a run with start weights other than 0 and a kernel; only the inner product can keep w_0."
        )
    support = np.flatnonzero(run.mistakes)
    coefficients = run.step * run.mistakes[support] * np.asarray(y)[support]
    return DualClassifier(
        x[support].astype(dtype),
        jnp.asarray(coefficients, dtype),
        run.bias,
        run.start if np.any(start != 0) else None,
        kernel,
    )


class Cost(NamedTuple):
    """Numbers stored, and multiplications for one prediction."""

    stored: int
    multiplications: int


def primal_cost(features: int) -> Cost:
    """d stored weights and d multiplications per prediction.

    >>> primal_cost(64)
    Cost(stored=64, multiplications=64)
    """
    return Cost(features, features)


def dual_cost(support: int, dim: int) -> Cost:
    """n_sv points with their coefficients: n_sv (d + 1) stored numbers and as many multiplications (inner products).

    >>> dual_cost(10, 64)
    Cost(stored=650, multiplications=650)
    """
    return Cost(support * (dim + 1), support * (dim + 1))


def polynomial_kernel(degree: int) -> Kernel:
    """k(x, z) = (x.z)^degree.

    >>> polynomial_kernel(2)(jnp.array([[1.0, 2.0]]), jnp.array([[3.0, 1.0]])).tolist()
    [[25.0]]
    """

    def kernel(x, z):
        return (x @ z.T) ** degree

    return kernel
