"""Averages of the iterates of a run that leave the run itself as it is: mean, tail, polynomial decay, exponential."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PyTree

Number = float | Float[Array, ""] | Int[Array, ""] | Float[np.ndarray, "..."] | int | Float[Array, "..."]


class AverageWeight(eqx.Module):
    """γₖ, the weight of the k-th iterate (k = 1, 2, …) when it enters: u ← u + γₖ(w − u), with γ₁ = 1.

    This one is γₖ = 1/k: the plain mean. It needs no more state than u.

    >>> average_path(np.array([[1.0], [2.0], [6.0]]), AverageWeight()).tolist()
    [3.0]
    """

    def __call__(self, k: Number) -> Number:
        return 1 / k


class PolynomialWeight(AverageWeight):
    """γₖ = (q + 1)/(k + q): iterate i of k has about the weight i^q (Shamir and Zhang 2013); q = 0 is the mean.

    >>> average_path(np.array([[0.0], [3.0]]), PolynomialWeight(1.0)).tolist()
    [2.0]
    """

    power: Number

    def __call__(self, k: Number) -> Number:
        return (self.power + 1) / (k + self.power)


class DecayWeight(AverageWeight):
    """The exponential average u ← ρu + (1 − ρ)w.

    With `debias`, γₖ = (1 − ρ)/(1 − ρᵏ): the weights ρ^{k−i} made to sum to 1, which is u from 0 divided by 1 − ρᵏ.
    Without it, γₖ = 1 − ρ after u = w¹, so that the first iterate keeps the weight ρ^{k−1}.

    >>> average_path(np.array([[1.0], [4.0]]), DecayWeight(0.5, debias=True)).tolist()
    [3.0]
    """

    decay: Number
    debias: bool = eqx.field(static=True, default=False)

    def __call__(self, k: Number) -> Number:
        weight = 1 - self.decay
        if self.debias:
            return weight / (1 - self.decay**k)
        return jnp.where(k == 1, 1.0, weight) if isinstance(k, jax.Array) else np.where(np.asarray(k) == 1, 1.0, weight)


def explicit_weights(weight: AverageWeight, count: int) -> Float[np.ndarray, " count"]:
    """The weight of each of `count` iterates in the last average: aᵢ = γᵢ Π_{k>i}(1 − γₖ); they sum to 1.

    >>> explicit_weights(DecayWeight(0.5), 3).tolist()
    [0.25, 0.25, 0.5]
    """
    if count < 1:
        raise ValueError(f"An average of {count} iterates does not exist; give at least 1.")
    entering = np.array(weight(np.arange(1.0, count + 1)), float) * np.ones(count)
    kept = np.append(np.cumprod(1 - entering[:0:-1])[::-1], 1.0)
    return entering * kept


def average_path(
    path: Float[np.ndarray, "T p"] | Float[Array, "T p"], weight: AverageWeight | None = None, *, burn_in: int = 0
) -> Float[np.ndarray, " p"]:
    """The average of recorded iterates without the first `burn_in` of them; the plain mean unless another is given.

    The tail (suffix) average of the last half is burn_in = T//2.

    >>> average_path(np.array([[9.0], [1.0], [2.0]]), burn_in=1).tolist()
    [1.5]
    """
    rows = np.asarray(path)
    if not 0 <= burn_in < len(rows):
        raise ValueError(f"burn_in = {burn_in} leaves none of {len(rows)} iterates; give 0 to {len(rows) - 1}.")
    return explicit_weights(AverageWeight() if weight is None else weight, len(rows) - burn_in) @ rows[burn_in:]


class AverageState(NamedTuple):
    """The rule's own state, the number of updates, and the average so far."""

    inner: PyTree
    updates: Int[Array, ""]
    average: PyTree


class _Averaged(eqx.Module):
    rule: optax.GradientTransformation
    weight: AverageWeight
    burn_in: Number

    def init(self, parameters: PyTree) -> AverageState:
        return AverageState(self.rule.init(parameters), jnp.array(0), parameters)

    def update(self, gradient: PyTree, state: AverageState, parameters: PyTree = None, **extra):
        if parameters is None:
            raise ValueError("An averaged rule needs the parameters: call update(gradient, state, parameters).")
        rule = optax.with_extra_args_support(self.rule)
        change, inner = rule.update(gradient, state.inner, parameters, **extra)
        updates = state.updates + 1
        count = jnp.maximum(updates - self.burn_in + 1, 1.0)
        share = self.weight(count)
        after = optax.apply_updates(parameters, change)
        average = jax.tree.map(lambda u, w: u + (share * (w - u)).astype(u.dtype), state.average, after)
        return change, AverageState(inner, updates, average)


def with_average(
    rule: optax.GradientTransformation, weight: AverageWeight | None = None, *, burn_in: Number = 0
) -> optax.GradientTransformation:
    """An Optax rule that makes the same steps and keeps the average of its iterates: read it by `averaged_parameters`.

    The start w⁰ is the first iterate; after `burn_in` updates the average begins anew with that iterate.

    >>> rule = with_average(optax.sgd(0.5))
    >>> w = jnp.array(1.0)
    >>> change, state = rule.update(w, rule.init(w), w)  # the gradient of w²/2: from 1 to 0.5
    >>> float(averaged_parameters(state))
    0.75
    """
    wrapped = _Averaged(rule, AverageWeight() if weight is None else weight, burn_in)
    return optax.GradientTransformationExtraArgs(wrapped.init, wrapped.update)


def averaged_parameters(state: PyTree) -> PyTree:
    """The average kept in the state of a rule made by `with_average`, wherever in a chain it stands."""
    average = optax.tree.get(state, "average")
    if average is None:
        raise ValueError("This state holds no average; make the rule by with_average(rule).")
    return average


def decay_variance_factor(decay: Number, correlation: Number) -> Number:
    """Var u/Var w of the exponential average of a stationary path with autocorrelation aᵏ at lag k.

    ((1 − ρ)/(1 + ρ)) (1 + ρa)/(1 − ρa); for SGD on a quadratic a = 1 − ηh, for independent iterates a = 0.

    >>> round(decay_variance_factor(0.9, 0.95), 4)
    0.6733
    """
    return (1 - decay) / (1 + decay) * (1 + decay * correlation) / (1 - decay * correlation)
