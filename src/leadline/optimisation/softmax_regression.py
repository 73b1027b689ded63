"""Softmax regression with a ridge penalty: the real problem on which rates are audited."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from leadline.data import digits

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
        s = jax.nn.softmax(self.x @ w.reshape(-1, self.classes))
        inner = s[:, :, None] * jnp.eye(self.classes) - s[:, :, None] * s[:, None, :]
        n, d = self.x.shape
        weighted = (inner[:, None] * self.x[:, :, None, None]).reshape(n, -1)  # (n, d · c · c)
        blocks = (self.x.T @ weighted / n).reshape(d, d, self.classes, self.classes)
        return blocks.transpose(0, 2, 1, 3).reshape(w.size, w.size) + self.penalty * jnp.eye(w.size)

    @property
    def largest_sample_smoothness(self) -> float:
        """L_max = maxᵢ ‖xᵢ‖²/2 + a, the smoothness of the roughest single example."""
        return float(np.max(np.sum(np.asarray(self.x) ** 2, axis=1)) / 2 + self.penalty)

    def constants(self) -> Constants:
        x = np.asarray(self.x)
        top = float(np.linalg.eigvalsh(x.T @ x / len(x))[-1])
        m = float(self.penalty)
        best = minimise_by_newton(self, jnp.zeros(x.shape[1] * self.classes)) if m > 0 else None
        minimum = None if best is None else float(self(jnp.asarray(best)))
        return Constants(top / 2 + m, m, m if m > 0 else None, best, minimum)


@eqx.filter_jit
def _newton_step(objective: Objective, w: Vector) -> tuple[Vector, Float[Array, ""]]:
    gradient = objective.gradient(w)
    return w - jnp.linalg.solve(objective.hessian(w), gradient), jnp.linalg.norm(gradient)


def minimise_by_newton(objective: Objective, start: Vector, *, most: int = 60) -> Float[np.ndarray, " p"]:
    """The minimiser of a strongly convex objective to rounding, by full Newton steps until the gradient stops falling.

    >>> from leadline.optimisation import Quadratic
    >>> minimise_by_newton(Quadratic(jnp.eye(2), jnp.ones(2)), jnp.zeros(2)).tolist()
    [1.0, 1.0]
    """
    best, least, w = np.asarray(start), np.inf, start
    for _ in range(most):
        after, norm = _newton_step(objective, w)
        if not np.isfinite(norm):
            raise ValueError(f"Newton's method left the finite numbers (gradient norm {norm}); give a closer start.")
        if norm >= least and least < 1e-9:
            return best
        if norm < least:
            best, least = np.asarray(w), float(norm)
        w = after
    raise ValueError(f"Newton's method has gradient norm {least:.3g} after {most} steps; give a closer start.")


@cache
def digits_softmax(penalty: float) -> SoftmaxRidge:
    """The 1797 bundled digits, pixels / 16 and a constant feature (65 × 10 weights), in 64-bit numbers if JAX has them.

    >>> digits_softmax(0.01).x.shape
    (1797, 65)
    """
    images, labels = digits()
    x = np.concatenate([images, np.ones((len(images), 1))], axis=1)
    return SoftmaxRidge(jnp.asarray(x), jnp.asarray(labels), jnp.asarray(penalty, float), 10)
