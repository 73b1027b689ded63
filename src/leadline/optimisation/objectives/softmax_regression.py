"""Softmax regression with a ridge penalty: the real problem on which rates are audited."""

import hashlib
from functools import cache, lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from leadline.data import digits

from ..runs.newton_minimum import newton_minimum
from .objective import Constants, Matrix, Objective, Vector


def softmax_ridge_loss(
    w: Vector, x: Float[Array, " d"], label: Int[Array, ""], penalty: Float[Array, ""], classes: int
) -> Float[Array, ""]:
    """The loss of one example: log Σ_c exp(x·W_c) − x·W_label + (a/2)‖W‖², W = w as a (d, classes) matrix."""
    scores = x @ w.reshape(-1, classes)
    return jax.nn.logsumexp(scores) - scores[label] + penalty * (w @ w) / 2


class SoftmaxRidge(Objective):
    """l(W) = (1/n) Σᵢ [log Σ_c exp(xᵢ·W_c) − xᵢ·W_yᵢ] + (a/2)‖W‖², W flattened.

    Certified: L = λ_max(XᵀX/n)/2 + a and m = a, because the Hessian of log-sum-exp is between 0 and ½ I.
    """

    x: Float[Array, "n d"]
    labels: Int[Array, " n"]
    penalty: Float[Array, ""]
    classes: int = eqx.field(static=True)

    def __call__(self, w: Vector) -> Float[Array, ""]:
        scores = self.x @ w.reshape(-1, self.classes)
        right = jnp.take_along_axis(scores, self.labels[:, None], axis=1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(scores, axis=1) - right) + self.penalty * (w @ w) / 2

    def sample_loss(self, w: Vector, x: Float[Array, " d"], label: Int[Array, ""]) -> Float[Array, ""]:
        """The loss of one example, penalty included; l is their mean."""
        return softmax_ridge_loss(w, x, label, self.penalty, self.classes)

    def sample_gradients(self, w: Vector) -> Float[Array, "n p"]:
        """∇ℓᵢ(w) in rows: xᵢ ⊗ (softmax − e_yᵢ) + a w."""
        error = jax.nn.softmax(self.x @ w.reshape(-1, self.classes)) - jax.nn.one_hot(self.labels, self.classes)
        return (self.x[:, :, None] * error[:, None, :]).reshape(len(self.x), -1) + self.penalty * w

    def hessian(self, w: Vector) -> Matrix:
        """(1/n) Σ xᵢxᵢᵀ ⊗ (diag sᵢ − sᵢsᵢᵀ) + a I, the second part as one product of the rows xᵢ ⊗ sᵢ."""
        s = jax.nn.softmax(self.x @ w.reshape(-1, self.classes))
        n = len(self.x)
        rows = (self.x[:, :, None] * s[:, None, :]).reshape(n, -1)
        blocks = jax.vmap(lambda weight: (self.x.T * weight) @ self.x, in_axes=1, out_axes=1)(s)  # (d, c, d)
        diagonal = (blocks[..., None] * jnp.eye(self.classes)[:, None, :]).reshape(w.size, w.size)
        return (diagonal - rows.T @ rows) / n + self.penalty * jnp.eye(w.size)

    @property
    def largest_sample_smoothness(self) -> float:
        """L_max = maxᵢ ‖xᵢ‖²/2 + a, the smoothness of the roughest single example."""
        return float(np.max(np.sum(np.asarray(self.x) ** 2, axis=1)) / 2 + self.penalty)

    def constants(self) -> Constants:
        return _solved(_Content(self))


class _Content:
    """A softmax regression that is equal to every other with the same numbers, so that it is solved once."""

    def __init__(self, problem: SoftmaxRidge):
        self.problem = problem
        digest = hashlib.sha256(f"{problem.penalty} {problem.classes} {problem.x.dtype}".encode())
        for array in (problem.x, problem.labels):
            digest.update(np.ascontiguousarray(array).tobytes())
        self.digest = digest.digest()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self.digest == other.digest


@lru_cache(maxsize=16)
def _solved(content: _Content) -> Constants:
    problem = content.problem
    x, m = np.asarray(problem.x), float(problem.penalty)
    top = float(np.linalg.eigvalsh(x.T @ x / len(x))[-1])
    if m <= 0:
        return Constants(top / 2 + m, m)
    start, value = np.zeros(x.shape[1] * problem.classes), eqx.filter_jit(problem)
    end = newton_minimum(lambda w: value(jnp.asarray(w)), start, lambda w: _derivatives(problem, jnp.asarray(w)))
    return Constants(top / 2 + m, m, m, end.point, end.value)


@eqx.filter_jit
def _derivatives(problem: Objective, w: Vector) -> tuple[Vector, Matrix]:
    return problem.gradient(w), problem.hessian(w)


@cache
def digits_softmax(penalty: float) -> SoftmaxRidge:
    """The 1797 bundled digits, pixels / 16 and a constant feature (65 × 10 weights), in 64-bit numbers if JAX has them.

    >>> digits_softmax(0.01).x.shape
    (1797, 65)
    """
    images, labels = digits()
    x = np.concatenate([images, np.ones((len(images), 1))], axis=1)
    return SoftmaxRidge(jnp.asarray(x), jnp.asarray(labels), jnp.asarray(penalty, float), 10)
