"""Gradient flow in the space of a kernel: the functional gradient, and the flow of the mean squared risk."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from leadline.infinite_width import WideTraining
from leadline.kernels.machines import Expansion

Gram = Callable[..., Float[Array | np.ndarray, "m n"]]
Points = Num[Array | np.ndarray, "n *shape"]
Values = Num[Array | np.ndarray, " _"]
Times = float | Float[Array | np.ndarray, "*times"]


def functional_gradient(
    kernel: Gram, x: Points, values: Values, y: Values, loss: Callable[..., Float[Array, "..."]]
) -> Expansion:
    """∇R(f) = (1/n) Σᵢ ∂₁ℓ(f(xᵢ), yᵢ) k(xᵢ, ·) of R(f) = (1/n) Σᵢ ℓ(f(xᵢ), yᵢ) in the space of the kernel.

    `values` are f(xᵢ), whatever f is; `loss` maps (f, y) to a loss, element by element. Evaluation at xᵢ has the
    gradient k(xᵢ, ·), hence the form.

    >>> from leadline.kernels import Linear
    >>> g = functional_gradient(Linear(), jnp.eye(2), jnp.zeros(2), jnp.array([1.0, -1.0]), lambda f, y: (f - y) ** 2)
    >>> g.coefficients.tolist(), float(g.squared_norm())
    ([-1.0, 1.0], 2.0)
    """
    values, y = jnp.asarray(values), jnp.asarray(y)
    if values.shape != y.shape or len(values) != len(x):
        raise ValueError(
            f"functional_gradient got {len(x)} points, values of shape {values.shape} and targets of shape {y.shape}; "
            "give one of each for every point."
        )
    values = values.astype(jnp.result_type(values, float))
    return Expansion(kernel, x, jax.grad(lambda f: jnp.mean(loss(f, y)))(values))


class KernelFlow(eqx.Module):
    """df/dt = -∇R(f) for R = (1/n) Σ (f(xᵢ) - yᵢ)², in closed form from one eigendecomposition of K.

    r(t) = e^{-2Kt/n} r(0), and off the data f(z, t) = f₀(z) - k_zᵀ K⁺ (I - e^{-2Kt/n}) r(0); t may be an array and ∞.
    With `step` = η, t counts steps of Euler's rule, which is stable iff η < `largest_step` = n/λ_max(K).

    >>> from leadline.kernels import Linear
    >>> flow = KernelFlow(Linear(), jnp.eye(2), jnp.array([1.0, -1.0]))
    >>> [round(v, 4) for v in flow.values(math.log(2)).tolist()], flow.at(jnp.ones((1, 2))).tolist()
    ([0.5, -0.5], [0.0])
    """

    kernel: Gram
    x: Num[Array | np.ndarray, "n ..."]
    start: Float[Array, " n"]
    training: WideTraining
    euler: bool = eqx.field(static=True)

    def __init__(
        self, kernel: Gram, x: Points, y: Values, *, start: Values | None = None, step_size: float | None = None
    ):
        self.kernel, self.x = kernel, x
        n = len(self.x)
        begins = None if start is None else np.shape(start)
        if np.shape(y) != (n,) or begins not in (None, (n,)):
            raise ValueError(
                f"KernelFlow got {n} points, targets of shape {np.shape(y)} and start of shape {begins}; give "
                "one target, and one start value if any, for every point."
            )
        K = jnp.asarray(kernel(self.x, self.x))
        self.training = WideTraining(K, y, step_size=None if step_size is None else 2 * step_size / n)
        self.start = jnp.zeros(n, K.dtype) if start is None else jnp.asarray(start, K.dtype)
        self.euler = step_size is not None

    def values(self, t: Times = math.inf) -> Float[Array, "*times n"]:
        """f(xᵢ, t)."""
        return self.training.from_start(self.start, self._clock(t))

    def at(self, z: Points, t: Times = math.inf, *, start: Values | None = None) -> Float[Array, "*times m"]:
        """f(z, t) at other points, from f₀(z) = `start` there (0 by default)."""
        here = jnp.zeros(len(z), self.start.dtype) if start is None else start
        return self.training.at(self.kernel(z, self.x)).from_start(self.start, here, self._clock(t))

    def coefficients(self, t: Times = math.inf) -> Float[Array, "*times n"]:
        """α(t) with f(·, t) = f₀ + Σᵢ αᵢ(t) k(xᵢ, ·)."""
        n = len(self.x)
        still = jnp.zeros(n, self.start.dtype)
        return self.training.at(jnp.eye(n, dtype=self.start.dtype)).from_start(self.start, still, self._clock(t))

    def risk(self, t: Times = math.inf) -> Float[Array, "*times"]:
        """R(f(·, t))."""
        return jnp.mean((self.values(t) - self.training.targets) ** 2, axis=-1)

    @property
    def largest_step(self) -> float:
        """n/λ_max(K): Euler's rule with a smaller step converges, with a larger one it explodes."""
        return len(self.x) / float(jnp.max(self.training.eigenvalues))

    def _clock(self, t: Times) -> Any:
        return t if self.euler else np.asarray(t) * (2 / len(self.x))
