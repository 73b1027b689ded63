"""Penalties inside an Optax rule: proximal steps, projections onto a ball, and weight decay outside the gradient."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from .norms import NormBall, Penalty, everything, matrices

Number = float | Float[Array, ""]
Group = Callable[[PyTree], PyTree]


def proximal(rule: optax.GradientTransformation, penalty: Penalty, strength: Number) -> optax.GradientTransformation:
    """θ' = prox(θ + u) after each step u of `rule`, prox that of `strength` times the penalty.

    With `optax.sgd(η)` and strength ημ this is the proximal gradient method on l + μΩ (Parikh and Boyd 2014). A
    parameter that prox does not change moves by u, bit for bit.

    >>> from leadline.regularisation import AbsoluteNorm
    >>> rule = proximal(optax.sgd(0.5), AbsoluteNorm(everything), 0.25)
    >>> update, _ = rule.update(jnp.array([2.0]), rule.init(jnp.zeros(1)), jnp.array([1.5]))
    >>> update.tolist()
    [-1.25]
    """
    rule = optax.with_extra_args_support(rule)

    def update(gradient: PyTree, opt_state: PyTree, params: PyTree = None, **extra) -> tuple[PyTree, PyTree]:
        if params is None:
            raise ValueError("proximal needs the parameters; call update(gradient, opt_state, params).")
        moves, opt_state = rule.update(gradient, opt_state, params, **extra)
        reached = optax.apply_updates(params, moves)
        ends = penalty.prox(reached, strength)

        def move(own: Array, before: Array, free: Array, end: Array) -> Array:
            return jnp.where(end == free, own, end - before)

        return jax.tree.map(move, moves, params, reached, ends), opt_state

    return optax.GradientTransformationExtraArgs(rule.init, update)


def constrained(
    rule: optax.GradientTransformation, radius: Number, *, group: Group = everything
) -> optax.GradientTransformation:
    """Projected descent: θ' = Π_r(θ + u), Π_r(v) = v min(1, r/‖v‖) over all parameters that `group` marks.

    >>> rule = constrained(optax.sgd(1.0), 5.0)
    >>> rule.update(jnp.array([-6.0, -8.0]), rule.init(jnp.zeros(2)), jnp.zeros(2))[0].tolist()
    [3.0, 4.0]
    """
    return proximal(rule, NormBall(group, radius=radius), 1.0)


def decoupled_decay(
    rule: optax.GradientTransformation, step_size: float, decay: float, *, group: Group = matrices
) -> optax.GradientTransformation:
    """θ' = θ + u − ημθ: weight decay beside a rule, outside its gradient (Loshchilov and Hutter 2019).

    It is Optax's `add_decayed_weights`, after the rule. With `optax.sgd(η)` the same as SGD on l + (μ/2)‖θ‖²; with
    momentum or Adam not. Beyond ημ = 2 free weights grow, which is refused. Biases and gains are left alone by default.

    >>> rule = decoupled_decay(optax.sgd(0.5), 0.5, 0.25, group=everything)
    >>> rule.update(jnp.array([1.0]), rule.init(jnp.ones(1)), jnp.array([2.0]))[0].tolist()
    [-0.75]
    """
    if not (step_size > 0 and 0 <= step_size * decay <= 2):
        raise ValueError(
            f"decoupled_decay got step_size {step_size:g} and decay {decay:g}; each step multiplies free weights by "
            f"1 − ημ = {1 - step_size * decay:g}: give a step_size above 0 and 0 ≤ ημ ≤ 2."
        )
    return optax.chain(rule, optax.add_decayed_weights(-step_size * decay, mask=group))
