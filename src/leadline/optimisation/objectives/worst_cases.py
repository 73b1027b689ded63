"""Objectives with known constants on which optimisers are tried: convex, merely PL, and non-convex."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .objective import Constants, Matrix, Objective, Vector


def _number(value: float | Array) -> Float[Array, ""]:
    return jnp.asarray(value, float)


class UserFunction(Objective):
    """Any differentiable function of a vector as an objective: derivatives by JAX, no certified constants.

    >>> UserFunction(lambda w: jnp.sum(w**3)).gradient(jnp.array([2.0])).tolist()
    [12.0]
    """

    function: Callable[[Array], Array]

    def __call__(self, w: Vector) -> Float[Array, ""]:
        return self.function(w)


class Huber(Objective):
    """l(w) = Σᵢ h(wᵢ), h(u) = u²/2 for |u| ≤ d (the knee) and d|u| − d²/2 beyond: convex, L = 1, m = 0, w* = 0.

    >>> Huber(0.5)(jnp.array([2.0])).item(), Huber(0.5).gradient(jnp.array([-2.0])).tolist()
    (0.875, [-0.5])
    """

    knee: Float[Array, ""] = eqx.field(converter=_number)
    dimension: int = eqx.field(static=True, default=1)

    def __call__(self, w: Vector) -> Float[Array, ""]:
        inside = jnp.clip(w, -self.knee, self.knee)
        return jnp.sum(inside * (w - inside / 2))

    def gradient(self, w: Vector) -> Vector:
        return jnp.clip(w, -self.knee, self.knee)

    def hessian(self, w: Vector) -> Matrix:
        return jnp.diag((jnp.abs(w) <= self.knee).astype(w.dtype))

    def constants(self) -> Constants:
        return Constants(1.0, 0.0, None, np.zeros(self.dimension), 0.0)


class PowerFunction(Objective):
    """l(w) = Σᵢ |wᵢ|^q / q: convex for q ≥ 1, strictly for q > 1, smooth and strongly convex only for q = 2; w* = 0.

    >>> PowerFunction(4)(jnp.array([2.0])).item(), PowerFunction(4).gradient(jnp.array([-2.0])).tolist()
    (4.0, [-8.0])
    """

    q: Float[Array, ""] = eqx.field(converter=_number)
    dimension: int = eqx.field(static=True, default=1)

    def __call__(self, w: Vector) -> Float[Array, ""]:
        return jnp.sum(jnp.abs(w) ** self.q) / self.q

    def gradient(self, w: Vector) -> Vector:
        return jnp.sign(w) * jnp.abs(w) ** (self.q - 1)

    def hessian(self, w: Vector) -> Matrix:
        return jnp.diag((self.q - 1) * jnp.abs(w) ** (self.q - 2))

    def constants(self) -> Constants:
        square, q = float(self.q) == 2, float(self.q)
        m = 1.0 if square else 0.0 if q >= 1 else None
        return Constants(1.0 if square else None, m, 1.0 if square else None, np.zeros(self.dimension), 0.0)


class LogSumExp(Objective):
    """l(w) = log Σᵢ exp(wᵢ), Hessian diag(s) − ssᵀ with s = softmax(w): convex, L = 1/2, no minimiser.

    >>> LogSumExp().hessian(jnp.zeros(2)).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """

    def __call__(self, w: Vector) -> Float[Array, ""]:
        return jax.nn.logsumexp(w)

    def gradient(self, w: Vector) -> Vector:
        return jax.nn.softmax(w)

    def hessian(self, w: Vector) -> Matrix:
        s = jax.nn.softmax(w)
        return jnp.diag(s) - jnp.outer(s, s)

    def constants(self) -> Constants:
        return Constants(0.5, 0.0)


class SineParabola(Objective):
    """l(w) = Σᵢ wᵢ² + 3 sin² wᵢ, curvature 2 + 6 cos 2w in [−4, 8]: not convex, yet PL with μ = 0.17553, w* = 0.

    μ is the least value of l′²/(2l), at |w| = 2.20171, rounded down (Karimi, Nutini and Schmidt 2016 state 1/32).

    >>> SineParabola().hessian(jnp.zeros(1)).tolist()
    [[8.0]]
    """

    dimension: int = eqx.field(static=True, default=1)

    def __call__(self, w: Vector) -> Float[Array, ""]:
        return jnp.sum(w**2 + 3 * jnp.sin(w) ** 2)

    def gradient(self, w: Vector) -> Vector:
        return 2 * w + 3 * jnp.sin(2 * w)

    def hessian(self, w: Vector) -> Matrix:
        return jnp.diag(2 + 6 * jnp.cos(2 * w))

    def constants(self) -> Constants:
        return Constants(8.0, None, 0.17553, np.zeros(self.dimension), 0.0)


class WorstChain(Objective):
    """Nesterov's l(w) = (L/4)[½(w₁² + Σ(wᵢ − wᵢ₊₁)² + w_k²) − w₁] over k links: from 0, step t shows only w₁ … w_t.

    The Hessian is (L/4) tridiag(−1, 2, −1); L bounds it for every k, m = (L/2)(1 − cos(π/(k+1))), w*ᵢ = 1 − i/(k+1).

    >>> chain = WorstChain(3, 8.0)
    >>> chain.constants().minimiser.tolist(), chain.constants().minimum, chain(jnp.array([0.75, 0.5, 0.25])).item()
    ([0.75, 0.5, 0.25], -0.75, -0.75)
    """

    links: int = eqx.field(static=True)
    smoothness: Float[Array, ""] = eqx.field(converter=_number, default=1.0)

    def __check_init__(self) -> None:
        if self.links < 1:
            raise ValueError(f"WorstChain has {self.links} links; give at least 1.")

    def __call__(self, w: Vector) -> Float[Array, ""]:
        return self.smoothness / 4 * (w @ self._stiffness(w) / 2 - w[0])

    def gradient(self, w: Vector) -> Vector:
        return self.smoothness / 4 * self._stiffness(w).at[0].add(-1.0)

    def hessian(self, w: Vector) -> Matrix:
        return self.smoothness / 4 * jax.vmap(self._stiffness)(jnp.eye(self.links, dtype=w.dtype))

    def _stiffness(self, w: Vector) -> Vector:
        if len(w) != self.links:
            raise ValueError(f"WorstChain of {self.links} links was given {len(w)} numbers; give one for each link.")
        wide = jnp.pad(w, 1)
        return 2 * w - wide[:-2] - wide[2:]

    def constants(self) -> Constants:
        k, smoothness = self.links, float(self.smoothness)
        m = smoothness / 2 * (1 - np.cos(np.pi / (k + 1)))
        return Constants(smoothness, m, m, 1 - np.arange(1, k + 1) / (k + 1), -smoothness / 8 * k / (k + 1))


class Lessard(Objective):
    """In one dimension: slope 25w below 1, w + 24 from 1 to 2, 25w − 24 above: m = 1, L = 25, w* = 0.

    Heavy ball with the best tuning for quadratics cycles on it (Lessard, Recht and Packard 2016).

    >>> [Lessard().gradient(jnp.array([u])).item() for u in (0.5, 1.5, 3.0)]
    [12.5, 25.5, 51.0]
    """

    def __call__(self, w: Vector) -> Float[Array, ""]:
        pieces = [12.5 * w**2, w**2 / 2 + 24 * w - 12, 12.5 * w**2 - 24 * w + 36]
        return jnp.sum(jnp.where(w < 1, pieces[0], jnp.where(w < 2, pieces[1], pieces[2])))

    def gradient(self, w: Vector) -> Vector:
        return jnp.where(w < 1, 25 * w, jnp.where(w < 2, w + 24, 25 * w - 24))

    def hessian(self, w: Vector) -> Matrix:
        return jnp.diag(jnp.where((w >= 1) & (w < 2), 1.0, 25.0).astype(w.dtype))

    def constants(self) -> Constants:
        return Constants(25.0, 1.0, 1.0, np.zeros(1), 0.0)
