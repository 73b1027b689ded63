"""Descent along signs: one bit a coordinate, majority votes of workers, and error feedback that keeps what was cut."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from ..problems.finite_sum import FiniteSum


def one_bit_sign(values: Float[Array, "*shape"], zero: float = 1.0) -> Float[Array, "*shape"]:
    """±1, and `zero` at 0: +1 for a code of one bit, 0 for the sign function that `optax.sign_sgd` uses.

    >>> one_bit_sign(jnp.array([-2.0, 0.0, 3.0])).tolist()
    [-1.0, 1.0, 1.0]
    """
    return jnp.where(values == 0, jnp.asarray(zero, values.dtype), jnp.sign(values))


def majority_vote(gradients: Float[Array, "workers p"], zero: float = 0.0) -> Float[Array, " p"]:
    """sign(Σ_k sign(g_k)) of the workers' gradients: each sends p bits and receives p (Bernstein et al. 2018).

    A tie, which an even number of workers can have, gives `zero`.

    >>> majority_vote(jnp.array([[9.0, -1.0], [-1.0, -1.0], [-1.0, 2.0]])).tolist()
    [-1.0, -1.0]
    """
    return one_bit_sign(jnp.sum(jnp.sign(gradients), axis=0), zero)


def bits_per_step(dimension: int, scheme: str, *, workers: int = 1, float_bits: int = 32) -> int:
    """Bits that the workers send in one step: all numbers in full, one bit each, or one bit each and their scale.

    >>> bits_per_step(100, "full"), bits_per_step(100, "sign"), bits_per_step(100, "scaled sign")
    (3200, 100, 132)
    """
    bits = {"full": float_bits * dimension, "sign": dimension, "scaled sign": dimension + float_bits}
    if scheme not in bits:
        raise ValueError(f"The scheme {scheme!r} is not known; give one of {', '.join(bits)}.")
    return workers * bits[scheme]


class KeptError(NamedTuple):
    """e, the part of the gradients so far that no step has carried yet."""

    error: PyTree


def error_feedback(scale: float | Float[Array, ""] | None = None) -> optax.GradientTransformation:
    """p = g + e, send C(p), keep e ← p − C(p) (Seide et al. 2014; Karimireddy et al. 2019). Chain it before the step.

    C(p) = (‖p‖₁/d) sign p with one number besides the d bits, or `scale` · sign p with none: then e stays bounded where
    the mean gradients are smaller than the scale. What is sent adds up to the gradients given, up to e.

    >>> rule = error_feedback()
    >>> sent, kept = rule.update(jnp.array([3.0, -1.0]), rule.init(jnp.zeros(2)))
    >>> sent.tolist(), kept.error.tolist()
    ([2.0, -2.0], [1.0, 1.0])
    """

    def init(parameters: PyTree) -> KeptError:
        return KeptError(jax.tree.map(jnp.zeros_like, parameters))

    def send(total: Array) -> Array:
        return (jnp.mean(jnp.abs(total)) if scale is None else scale) * one_bit_sign(total)

    def update(gradient: PyTree, state: KeptError, parameters: PyTree = None) -> tuple[PyTree, KeptError]:
        total = jax.tree.map(jnp.add, gradient, state.error)
        sent = jax.tree.map(send, total)
        return sent, KeptError(jax.tree.map(jnp.subtract, total, sent))

    return optax.GradientTransformation(init, update)


@eqx.filter_jit
def majority_run(
    problem: FiniteSum,
    start: Float[Array, " p"],
    steps: Float[Array, " t"],
    indices: Int[Array, "t workers"],
    *,
    zero: float = 0.0,
) -> Float[Array, "t+1 p"]:
    """w ← w − ηₜ · majority vote of the signs of the workers' gradients, one example each: w⁰ … w^T.

    >>> two = FiniteSum(lambda w, y: (w[0] - y) ** 2 / 2, (jnp.array([1.0, 3.0]),))
    >>> majority_run(two, jnp.zeros(1), jnp.array([0.5, 0.25]), jnp.array([[0], [1]]))[:, 0].tolist()
    [0.0, 0.5, 0.75]
    """

    def move(w: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        eta, rows = now
        w = w - eta * majority_vote(jax.vmap(lambda i: problem.component_gradient(w, i))(rows), zero)
        return w, w

    points = jax.lax.scan(move, start, (steps, indices))[1]
    return jnp.concatenate([start[None], points])
