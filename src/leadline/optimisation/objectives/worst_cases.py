"""Objectives with known constants on which optimisers are tried: convex, merely PL, and non-convex."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline._arrays import follow, namespace

from .objective import Constants, Matrix, Objective, Points, Values, Vector


def _number(value: float | np.ndarray | Array) -> Float[Array | np.ndarray, "..."]:
    return value if isinstance(value, jax.Array) else np.asarray(value, float)


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

    Knees of shape (k, 1) are k functions at once, of points (k, 1).

    >>> Huber(0.5)(jnp.array([2.0])).item(), Huber(0.5).gradient(jnp.array([-2.0])).tolist()
    (0.875, [-0.5])
    """

    knee: Float[Array | np.ndarray, "*functions"] = eqx.field(converter=_number)
    dimension: int = eqx.field(static=True, default=1)

    def __call__(self, w: Points) -> Values:
        inside = self.gradient(w)
        return namespace(w).sum(inside * (w - inside / 2), axis=-1)

    def gradient(self, w: Points) -> Points:
        xp, knee = follow(w, self.knee)
        return xp.clip(w, -knee, knee)

    def hessian(self, w: Vector) -> Matrix:
        return jnp.diag((jnp.abs(w) <= self.knee).astype(w.dtype))

    def constants(self) -> Constants:
        return Constants(1.0, 0.0, None, np.zeros(self.dimension), 0.0)


class PowerFunction(Objective):
    """l(w) = Σᵢ |wᵢ|^q / q: convex for q ≥ 1, strictly for q > 1, smooth and strongly convex only for q = 2; w* = 0.

    >>> PowerFunction(4)(jnp.array([2.0])).item(), PowerFunction(4).gradient(jnp.array([-2.0])).tolist()
    (4.0, [-8.0])
    """

    q: Float[Array | np.ndarray, ""] = eqx.field(converter=_number)
    dimension: int = eqx.field(static=True, default=1)

    def __call__(self, w: Points) -> Values:
        xp, q = follow(w, self.q)
        return xp.sum(abs(w) ** q, axis=-1) / q

    def gradient(self, w: Points) -> Points:
        xp, q = follow(w, self.q)
        return xp.sign(w) * abs(w) ** (q - 1)

    def hessian(self, w: Vector) -> Matrix:
        return jnp.diag((self.q - 1) * jnp.abs(w) ** (self.q - 2))

    def constants(self) -> Constants:
        square, q = float(self.q) == 2, float(self.q)
        m = 1.0 if square else 0.0 if q >= 1 else None
        return Constants(1.0 if square else None, m, 1.0 if square else None, np.zeros(self.dimension), 0.0)


class QuarticBowl(Objective):
    """l(w) = ‖w‖⁴/4 on the ball ‖w‖ ≤ radius: convex, L = 3 radius² there, m = 0, w* = 0.

    >>> bowl = QuarticBowl(2.0, 2)
    >>> bowl(jnp.array([2.0, 0.0])).item(), bowl.gradient(jnp.array([2.0, 0.0])).tolist(), bowl.constants().smoothness
    (4.0, [8.0, 0.0], 12.0)
    """

    radius: float = eqx.field(static=True)
    dimension: int = eqx.field(static=True, default=1)

    def __call__(self, w: Points) -> Values:
        return namespace(w).sum(w**2, axis=-1) ** 2 / 4

    def gradient(self, w: Points) -> Points:
        return namespace(w).sum(w**2, axis=-1, keepdims=True) * w

    def hessian(self, w: Vector) -> Matrix:
        return w @ w * jnp.eye(len(w), dtype=w.dtype) + 2 * jnp.outer(w, w)

    def constants(self) -> Constants:
        return Constants(3 * self.radius**2, 0.0, None, np.zeros(self.dimension), 0.0)


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

    def __call__(self, w: Points) -> Values:
        xp = namespace(w)
        return xp.sum(w**2 + 3 * xp.sin(w) ** 2, axis=-1)

    def gradient(self, w: Points) -> Points:
        return 2 * w + 3 * namespace(w).sin(2 * w)

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
    smoothness: Float[Array | np.ndarray, ""] = eqx.field(converter=_number, default=1.0)

    def __check_init__(self) -> None:
        if self.links < 1:
            raise ValueError(f"WorstChain has {self.links} links; give at least 1.")

    def __call__(self, w: Points) -> Values:
        xp, smoothness = follow(w, self.smoothness)
        return smoothness / 4 * (xp.sum(w * self._stiffness(w), axis=-1) / 2 - w[..., 0])

    def gradient(self, w: Points) -> Points:
        xp, smoothness = follow(w, self.smoothness)
        return smoothness / 4 * (self._stiffness(w) - xp.eye(1, self.links, dtype=w.dtype)[0])

    def hessian(self, w: Vector) -> Matrix:
        return jnp.asarray(self.smoothness) / 4 * jax.vmap(self._stiffness)(jnp.eye(self.links, dtype=w.dtype))

    def _stiffness(self, w: Points) -> Points:
        if w.shape[-1] != self.links:
            raise ValueError(
                f"WorstChain of {self.links} links was given {w.shape[-1]} numbers; give one for each link."
            )
        wide = namespace(w).pad(w, [(0, 0)] * (w.ndim - 1) + [(1, 1)])
        return 2 * w - wide[..., :-2] - wide[..., 2:]

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

    def __call__(self, w: Points) -> Values:
        xp = namespace(w)
        pieces = [12.5 * w**2, w**2 / 2 + 24 * w - 12, 12.5 * w**2 - 24 * w + 36]
        return xp.sum(xp.where(w < 1, pieces[0], xp.where(w < 2, pieces[1], pieces[2])), axis=-1)

    def gradient(self, w: Points) -> Points:
        xp = namespace(w)
        return xp.where(w < 1, 25 * w, xp.where(w < 2, w + 24, 25 * w - 24))

    def hessian(self, w: Vector) -> Matrix:
        return jnp.diag(jnp.where((w >= 1) & (w < 2), 1.0, 25.0).astype(w.dtype))

    def constants(self) -> Constants:
        return Constants(25.0, 1.0, 1.0, np.zeros(1), 0.0)
