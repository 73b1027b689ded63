"""Adaptive rules that Optax does not have: AdaGrad with δ outside the root, Adam uncorrected, AMSGrad's other order."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from leadline._checks import require_axes

Number = float | Float[Array, ""]


class SumOfSquares(NamedTuple):
    """s = Σ g², one number a parameter."""

    sum_of_squares: PyTree


class MaximumMoments(NamedTuple):
    """Steps made t, moments m and v, and the largest v so far."""

    count: Int[Array, ""]
    mu: PyTree
    nu: PyTree
    nu_max: PyTree


def adagrad(learning_rate: Number, delta: Number = 1e-8) -> optax.GradientTransformation:
    """s ← s + g², w ← w − η g/(√s + δ), from s = 0 (Duchi, Hazan, Singer 2011).

    Optax's `adagrad` starts from s = 0.1 and has its ε inside the root.

    >>> rule = adagrad(0.5, 0.0)
    >>> rule.update(jnp.array([-3.0, 8.0]), rule.init(jnp.zeros(2)))[0].tolist()
    [0.5, -0.5]
    """

    def init(parameters: PyTree) -> SumOfSquares:
        return SumOfSquares(jax.tree.map(jnp.zeros_like, parameters))

    def update(gradient: PyTree, opt_state: SumOfSquares, parameters: PyTree = None) -> tuple[PyTree, SumOfSquares]:
        total = jax.tree.map(lambda s, g: s + g**2, opt_state.sum_of_squares, gradient)
        change = jax.tree.map(lambda g, s: -learning_rate * _over(g, jnp.sqrt(s) + delta), gradient, total)
        return change, SumOfSquares(total)

    return optax.GradientTransformation(init, update)


def uncorrected_adam(
    learning_rate: Number, b1: Number = 0.9, b2: Number = 0.999, eps: Number = 1e-8
) -> optax.GradientTransformation:
    """Adam without the corrections by 1 − βᵗ: m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², w ← w − η m/(√v + ε).

    Its first step is η(1 − β₁)/√(1 − β₂), 3.16 η at the defaults.

    >>> rule = uncorrected_adam(1.0, 0.9, 0.99, 0.0)
    >>> round(float(rule.update(jnp.array([4.0]), rule.init(jnp.zeros(1)))[0][0]), 6)
    -1.0
    """

    def init(parameters: PyTree) -> optax.ScaleByAdamState:
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return optax.ScaleByAdamState(jnp.zeros((), jnp.int32), zeros, zeros)

    def update(gradient: PyTree, opt_state: optax.ScaleByAdamState, parameters: PyTree = None) -> tuple[PyTree, PyTree]:
        mu = optax.tree.update_moment(gradient, opt_state.mu, b1, 1)
        nu = optax.tree.update_moment(gradient, opt_state.nu, b2, 2)
        change = jax.tree.map(lambda m, v: -learning_rate * _over(m, jnp.sqrt(v) + eps), mu, nu)
        return change, optax.ScaleByAdamState(opt_state.count + 1, mu, nu)

    return optax.GradientTransformation(init, update)


def amsgrad_of_raw_maximum(
    learning_rate: Number, b1: Number = 0.9, b2: Number = 0.999, eps: Number = 1e-8
) -> optax.GradientTransformation:
    """AMSGrad with v_max ← max(v_max, v) of the raw v, corrected afterwards: √(v_max/(1 − β₂ᵗ)) + ε, as PyTorch has it.

    Optax takes the maximum of the corrected v̂ (or, in `scale_by_amsgrad` with both corrections off, corrects nothing,
    as Reddi, Kale and Kumar 2018). Here the denominator itself can fall, because 1 − β₂ᵗ rises.

    >>> rule = amsgrad_of_raw_maximum(1.0, 0.9, 0.99, 0.0)
    >>> round(float(rule.update(jnp.array([4.0]), rule.init(jnp.zeros(1)))[0][0]), 4)
    -1.0
    """

    def init(parameters: PyTree) -> MaximumMoments:
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return MaximumMoments(jnp.zeros((), jnp.int32), zeros, zeros, zeros)

    def update(gradient: PyTree, opt_state: MaximumMoments, parameters: PyTree = None) -> tuple[PyTree, MaximumMoments]:
        count = opt_state.count + 1
        mu = optax.tree.update_moment(gradient, opt_state.mu, b1, 1)
        nu = optax.tree.update_moment(gradient, opt_state.nu, b2, 2)
        largest = jax.tree.map(jnp.maximum, opt_state.nu_max, nu)
        mean, square = optax.tree.bias_correction(mu, b1, count), optax.tree.bias_correction(largest, b2, count)
        change = jax.tree.map(lambda m, v: -learning_rate * _over(m, jnp.sqrt(v) + eps), mean, square)
        return change, MaximumMoments(count, mu, nu, largest)

    return optax.GradientTransformation(init, update)


class LargestStep(NamedTuple):
    """The state of the rule within, and the largest |change of one parameter| so far."""

    inner: PyTree
    largest: Float[Array, ""]


class _Watched(eqx.Module):
    rule: optax.GradientTransformation

    def init(self, parameters: PyTree) -> LargestStep:
        return LargestStep(self.rule.init(parameters), jnp.zeros((), jnp.result_type(*jax.tree.leaves(parameters))))

    def update(
        self, gradient: PyTree, opt_state: LargestStep, parameters: PyTree = None, **extra
    ) -> tuple[PyTree, LargestStep]:
        rule = optax.with_extra_args_support(self.rule)
        change, inner = rule.update(gradient, opt_state.inner, parameters, **extra)
        largest = jnp.max(jnp.stack([jnp.max(jnp.abs(c)) for c in jax.tree.leaves(change)]))
        return change, LargestStep(inner, jnp.maximum(opt_state.largest, largest))


def with_largest_step(rule: optax.GradientTransformation) -> optax.GradientTransformation:
    """The same rule, which remembers the largest change of a single parameter in the field `largest` of its state.

    >>> rule = with_largest_step(optax.sgd(0.5))
    >>> float(rule.update(jnp.array([2.0, -6.0]), rule.init(jnp.zeros(2)))[1].largest)
    3.0
    """
    watched = _Watched(rule)
    return optax.GradientTransformationExtraArgs(watched.init, watched.update)


def respond(rule: optax.GradientTransformation, gradients: Float[Array, "t p"]) -> Float[Array, "t p"]:
    """The changes that a rule makes when it is given this sequence of gradients, whatever the parameters.

    >>> respond(optax.sgd(0.5), jnp.array([[2.0], [4.0]])).tolist()
    [[-1.0], [-2.0]]
    """
    require_axes("respond", 2, gradients=gradients)
    return _respond(rule, gradients)


@eqx.filter_jit
def _respond(rule, gradients):
    def move(state: PyTree, gradient: Array) -> tuple[PyTree, Array]:
        parameters, opt_state = state
        change, opt_state = optax.with_extra_args_support(rule).update(gradient, opt_state, parameters)
        return (parameters + change, opt_state), change

    start = jnp.zeros_like(gradients[0])
    return jax.lax.scan(move, (start, rule.init(start)), gradients)[1]


def _over(numerator: Array, denominator: Array) -> Array:
    """numerator / denominator, and 0 where both are: a parameter without any gradient stays."""
    return jnp.where(denominator > 0, numerator / jnp.where(denominator > 0, denominator, 1), 0)
