"""Heavy ball and Nesterov's accelerated gradient as Optax rules whose numbers are data.

Both keep the displacement of the last step, so a changed step size leaves the motion as it is (see `momentum_forms`).
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

Number = float | Float[Array, ""] | Callable[[Int[Array, ""]], Float[Array, ""]]


class HeavyBallState(NamedTuple):
    """wᵗ − wᵗ⁻¹ and t."""

    displacement: PyTree
    count: Int[Array, ""]


class NesterovState(NamedTuple):
    """wᵗ (the parameters are the look-ahead point yᵗ), l(wᵗ) where a restart asks for it, and t since the restart."""

    iterate: PyTree
    value: Float[Array, ""]
    count: Int[Array, ""]


class _HeavyBall(eqx.Module):
    step: Number
    momentum: Number

    def init(self, parameters: PyTree) -> HeavyBallState:
        return HeavyBallState(jax.tree.map(jnp.zeros_like, parameters), jnp.array(0))

    def update(
        self, gradient: PyTree, state: HeavyBallState, parameters: PyTree = None, **extra
    ) -> tuple[PyTree, HeavyBallState]:
        step, momentum = _at(self.step, state.count), _at(self.momentum, state.count)
        change = jax.tree.map(lambda d, g: (momentum * d - step * g).astype(d.dtype), state.displacement, gradient)
        return change, HeavyBallState(change, state.count + 1)


class _Nesterov(eqx.Module):
    step: Number
    momentum: Number
    restart: str = eqx.field(static=True)

    def init(self, parameters: PyTree) -> NesterovState:
        return NesterovState(parameters, jnp.array(jnp.inf), jnp.array(0))

    def update(
        self, gradient: PyTree, state: NesterovState, parameters: PyTree = None, *, value_fn=None, **extra
    ) -> tuple[PyTree, NesterovState]:
        if parameters is None:
            raise ValueError("Nesterov's rule moves its parameters to look-ahead points: give them to update as well.")
        step = _at(self.step, state.count)
        after = jax.tree.map(lambda y, g: (y - step * g).astype(y.dtype), parameters, gradient)
        moved = optax.tree.sub(after, state.iterate)
        value, again = state.value, jnp.array(False)
        if self.restart == "gradient":
            again = optax.tree.vdot(gradient, moved) > 0
        elif self.restart == "function":
            if value_fn is None:
                raise ValueError(
                    "restart='function' compares losses: give value_fn to update, or restart on the gradient."
                )
            value = jnp.asarray(value_fn(after), state.value.dtype)
            again = value > state.value
        count = jnp.where(again, 0, state.count + 1)
        momentum = jnp.where(again, 0.0, _at(self.momentum, state.count + 1))
        change = jax.tree.map(lambda w, d, y: (w + momentum * d - y).astype(y.dtype), after, moved, parameters)
        return change, NesterovState(after, value, count)


def heavy_ball(step_size: Number, momentum: Number) -> optax.GradientTransformation:
    """wᵗ⁺¹ = wᵗ − η g(wᵗ) + ρ (wᵗ − wᵗ⁻¹), w⁻¹ = w⁰ (Polyak 1964); η and ρ are numbers or functions of t = 0, 1, ….

    >>> rule = heavy_ball(0.5, 0.5)
    >>> change, state = rule.update(jnp.array([2.0]), rule.init(jnp.zeros(1)))
    >>> change.tolist(), rule.update(jnp.array([2.0]), state)[0].tolist()
    ([-1.0], [-1.5])
    """
    rule = _HeavyBall(_number(step_size), _number(momentum))
    return optax.GradientTransformationExtraArgs(rule.init, rule.update)


def nesterov(step_size: Number, momentum: Number, *, restart: str = "") -> optax.GradientTransformation:
    """yᵗ = wᵗ + ρ_t (wᵗ − wᵗ⁻¹), wᵗ⁺¹ = yᵗ − η g(yᵗ), w⁻¹ = w⁰ (Nesterov 1983): the parameters are yᵗ.

    wᵗ is in the field `iterate` of the state. `restart` forgets the displacement, and counts t from 0 again, when
    the step went uphill: "gradient", g(yᵗ)·(wᵗ⁺¹ − wᵗ) > 0, or "function", l(wᵗ⁺¹) > l(wᵗ) (O'Donoghue, Candès 2015).

    >>> rule, y = nesterov(0.5, 0.5), jnp.array([1.0])
    >>> change, state = rule.update(y, rule.init(y), y)
    >>> (y + change).tolist(), state.iterate.tolist()
    ([0.25], [0.5])
    """
    if restart not in ("", "gradient", "function"):
        raise ValueError(f"restart is {restart!r}; give '' for none, 'gradient' or 'function'.")
    rule = _Nesterov(_number(step_size), _number(momentum), restart)
    return optax.GradientTransformationExtraArgs(rule.init, rule.update)


class GrowingMomentum(eqx.Module):
    """ρ_t = (t − 1)/(t + 2) for t ≥ 1, and 0 at t = 0, where no displacement exists yet; `first` is w¹'s t.

    With `first` = 1 the first displacement gets ρ_1 = 0 (Su, Boyd, Candès 2016; Beck, Teboulle 2009), with 2 it gets
    ρ_2 = 1/4: then the start counts as t = 1.

    >>> GrowingMomentum()(jnp.array([0, 1, 4])).tolist(), GrowingMomentum(2)(jnp.array([0, 1, 3])).tolist()
    ([0.0, 0.0, 0.5], [0.0, 0.25, 0.5])
    """

    first: int | Float[Array, ""] = 1

    def __call__(self, t: Int[Array, "*shape"]) -> Float[Array, "*shape"]:
        counted = t + self.first - 1.0
        return jnp.maximum(counted - 1.0, 0.0) / (counted + 2.0)


class MomentumTable(eqx.Module):
    """ρ_t from a table, the last entry for ever after: rules with tables of one length share one compiled program.

    >>> MomentumTable(jnp.array([0.0, 0.5]))(jnp.array(7)).item()
    0.5
    """

    values: Float[Array, " length"]

    def __call__(self, t: Int[Array, ""]) -> Float[Array, ""]:
        return self.values[jnp.minimum(t, len(self.values) - 1)]


def nesterov_growing(step_size: Number, *, restart: str = "", first: int = 1) -> optax.GradientTransformation:
    """Nesterov's method with ρ_t = (t − 1)/(t + 2), which needs no strong convexity.

    For η ≤ 1/L: gap_t ≤ 2R²/(η(t + 1)²) with `first` = 1, and ≤ 2.5R²/(η(t + 2)²) with 2 (see `GrowingMomentum`).

    >>> rule, y = nesterov_growing(0.5), jnp.array([1.0])
    >>> rule.update(y, rule.init(y), y)[0].tolist()
    [-0.5]
    """
    if first not in (1, 2):
        raise ValueError(f"first is {first}; the first displacement is counted as t = 1 or t = 2.")
    return nesterov(step_size, GrowingMomentum(jnp.asarray(float(first))), restart=restart)


class Tuning(NamedTuple):
    """A step size and a momentum."""

    step: float
    momentum: float


def heavy_ball_tuning(smoothness: float, strong_convexity: float) -> Tuning:
    """The best on quadratics: η = 4/(√L + √m)², ρ = ((√κ − 1)/(√κ + 1))², κ = L/m; the factor a step is √ρ.

    It is not safe elsewhere: on `Lessard()` it cycles.

    >>> heavy_ball_tuning(9.0, 1.0)
    Tuning(step=0.25, momentum=0.25)
    """
    high, low = _roots(smoothness, strong_convexity)
    return Tuning(4 / (high + low) ** 2, ((high - low) / (high + low)) ** 2)


def nesterov_tuning(smoothness: float, strong_convexity: float) -> Tuning:
    """η = 1/L, ρ = (√κ − 1)/(√κ + 1): gap_t ≤ (L + m)/2 (1 − 1/√κ)ᵗ R² on every m-strongly convex L-smooth function.

    >>> nesterov_tuning(4.0, 1.0).step
    0.25
    """
    high, low = _roots(smoothness, strong_convexity)
    return Tuning(1 / smoothness, (high - low) / (high + low))


def nesterov_quadratic_tuning(smoothness: float, strong_convexity: float) -> Tuning:
    """The best on quadratics: η = 4/(3L + m), ρ = (√(3κ + 1) − 2)/(√(3κ + 1) + 2), factor 1 − 2/√(3κ + 1).

    Lessard, Recht, Packard (2016), table 1.

    >>> nesterov_quadratic_tuning(5.0, 1.0)
    Tuning(step=0.25, momentum=0.3333333333333333)
    """
    _roots(smoothness, strong_convexity)
    root = (3 * smoothness / strong_convexity + 1) ** 0.5
    return Tuning(4 / (3 * smoothness + strong_convexity), (root - 2) / (root + 2))


def _roots(smoothness: float, strong_convexity: float) -> tuple[float, float]:
    if not 0 < strong_convexity <= smoothness:
        raise ValueError(f"L = {smoothness:g}, m = {strong_convexity:g}; a tuning needs 0 < m ≤ L.")
    return smoothness**0.5, strong_convexity**0.5


def _number(number: Number) -> Number:
    return number if callable(number) else jnp.asarray(number, float)


def _at(number: Number, t: Int[Array, ""]) -> Float[Array, ""]:
    return number(t) if callable(number) else jnp.asarray(number)
