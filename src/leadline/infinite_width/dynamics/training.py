"""Training of infinitely wide networks on the squared error: every time in closed form from one eigendecomposition.

At infinite width the tangent kernel Θ stays what it is at the start, where the outputs are Gaussian with the NNGP
kernel K. Under the loss ½ Σ (f(x_i) - y_i)² the residual obeys r' = -Θ r (gradient flow) or r ← (I - η Θ) r (gradient
descent), so the outputs stay Gaussian at all times. Jacot, Gabriel, Hongler 2018; Lee et al. 2019. For the mean loss
(1/n) Σ (f - y)² put 2t/n for t, or 2η/n for η.
"""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .matrices import checked_kernel, checked_shape, decompose

Matrix = Float[Array | np.ndarray, "_ _"]
Outputs = Float[Array | np.ndarray, "_ *_"]
Times = float | Float[Array | np.ndarray, "*times"]


class WideTraining(eqx.Module):
    """An infinitely wide network under training, at its training points: Θ = U diag(λ) Uᵀ, made once for all times.

    With D = exp(-Θt) for gradient flow (`step` None), D = (I - ηΘ)ᵗ after t steps of gradient descent (`step` = η), the
    outputs over all initialisations have mean (I - D) y and covariance D K D; given outputs f₀ at the start they are
    y + D (f₀ - y). Targets are (n,) or (n, outputs); outputs are independent given K and have one kernel. `t` may be an
    array of times (leading axes of the answer) and `math.inf`. Eigenvalues within rounding of 0 (at most n ε λ_max, or
    `tolerance` λ_max) count as 0: those modes never move. Everything follows the precision of Θ.

    >>> wide = WideTraining(jnp.array([[2.0, 0.0], [0.0, 1.0]]), jnp.array([1.0, 1.0]), nngp=jnp.eye(2))
    >>> wide.mean(math.log(2)).round(4).tolist(), wide.covariance(math.log(2)).round(4).tolist()
    ([0.75, 0.5], [[0.0625, 0.0], [0.0, 0.25]])
    """

    eigenvalues: Float[Array, " n"]
    eigenvectors: Float[Array, "n n"]
    targets: Float[Array, "n ..."]
    nngp: Float[Array, "n n"] | None
    step: float | None

    def __init__(
        self,
        ntk: Matrix,
        targets: Outputs,
        *,
        nngp: Matrix | None = None,
        step_size: float | None = None,
        tolerance: float | None = None,
    ):
        ntk = checked_kernel(ntk, "ntk")
        n, dtype = len(ntk), ntk.dtype
        if step_size is not None and not (math.isfinite(step_size) and step_size > 0):
            raise ValueError(
                f"step_size = {step_size} is not a step size; give a positive number, or None for gradient flow."
            )
        self.targets = jnp.asarray(checked_shape(targets, "targets", n), dtype)
        self.nngp = None if nngp is None else jnp.asarray(checked_shape(nngp, "nngp", n, n), dtype)
        self.eigenvalues, self.eigenvectors = decompose(ntk, "ntk", tolerance)
        self.step = step_size

    def mean(self, t: Times = math.inf) -> Float[Array, "..."]:
        """E f(X, t) over initialisations: (I - D) y."""
        decay, _ = self._filters(t)
        return _combine(self.eigenvectors, 1 - decay, self._rotated(self.targets))

    def covariance(self, t: Times = math.inf) -> Float[Array, "*times n n"]:
        """Cov f(X, t) over initialisations, of each output: D K D."""
        decay, _ = self._filters(t)
        D = _filtered(self.eigenvectors, decay, self.eigenvectors)
        return D @ self._initial() @ D

    def from_start(self, start: Outputs, t: Times = math.inf) -> Float[Array, "..."]:
        """f(X, t) of the one network whose outputs at time 0 are `start`: y + D (f₀ - y)."""
        decay, _ = self._filters(t)
        start = _like(start, self.targets, "start")
        return self.targets + _combine(self.eigenvectors, decay, self._rotated(start - self.targets))

    def loss(self, t: Times = math.inf) -> Float[Array, "*times"]:
        """½ E ‖f(X, t) - y‖², the training loss averaged over initialisations (of f₀ = 0 where no `nngp` was given)."""
        decay, _ = self._filters(t)
        rotated = self._rotated(self.targets).reshape(len(self.targets), -1)
        power = jnp.sum(rotated**2, axis=1)
        if self.nngp is not None:
            spread = jnp.einsum("ij,ik,kj->j", self.eigenvectors, self.nngp, self.eigenvectors)
            power = power + rotated.shape[1] * spread
        return 0.5 * jnp.sum(decay**2 * power, axis=-1)

    def at(self, ntk: Matrix, *, nngp: Matrix | None = None, nngp_points: Matrix | None = None) -> "WidePrediction":
        """The same network at m other points x: pass Θ(x, X) and, for covariances, K(x, X) and K(x, x)."""
        n, dtype = len(self.targets), self.eigenvalues.dtype
        ntk = jnp.asarray(checked_shape(ntk, "ntk at the points", None, n), dtype)
        m = len(ntk)
        if nngp is not None:
            nngp = jnp.asarray(checked_shape(nngp, "nngp at the points", m, n), dtype)
        if nngp_points is not None:
            nngp_points = jnp.asarray(checked_shape(nngp_points, "nngp_points", m, m), dtype)
        return WidePrediction(self, ntk @ self.eigenvectors, nngp, nngp_points)

    def _filters(self, t: Times) -> tuple[Array, Array]:
        times = np.asarray(t)
        if np.isnan(times).any() or (times < 0).any():
            raise ValueError("t has a time that is negative or not a number; give times from 0 to math.inf.")
        if self.step is not None:
            finite = times[np.isfinite(times)]
            if np.any(finite != np.round(finite)):
                raise ValueError(
                    "t counts steps of gradient descent; give whole numbers, or step=None for gradient flow."
                )
            largest = float(jnp.max(self.eigenvalues)) * self.step
            if largest >= 2 and np.isinf(times).any():
                raise ValueError(
                    f"Gradient descent with step {self.step:g} has no limit: step times the largest eigenvalue is "
                    f"{largest:.4g}, not below 2; choose a step below {2 * self.step / largest:.4g}."
                )
        return _filters(self.eigenvalues, jnp.asarray(t, self.eigenvalues.dtype), self.step)

    def _rotated(self, values: Array) -> Array:
        return jnp.tensordot(self.eigenvectors.T, values, 1)

    def _initial(self) -> Array:
        if self.nngp is None:
            raise ValueError(
                "Covariances need the NNGP kernel of the training points; make WideTraining with nngp=K(X, X)."
            )
        return self.nngp


class WidePrediction(eqx.Module):
    """What a `WideTraining` predicts at other points x, at any time: made by `WideTraining.at` or `train_wide`.

    With A = Θ(x, X) Θ⁻¹ (I - D): mean A y, covariance K(x, x) - A K(X, x) - K(x, X) Aᵀ + A K(X, X) Aᵀ. A vanishes on
    the null space of Θ, because Θ(x, X) does.

    >>> wide = WideTraining(jnp.eye(2), jnp.array([1.0, -1.0]))
    >>> wide.at(jnp.array([[0.5, 0.0]])).mean().tolist()
    [0.5]
    """

    training: WideTraining
    modes: Float[Array, "m n"]
    nngp: Float[Array, "m n"] | None
    nngp_points: Float[Array, "m m"] | None

    def weights(self, t: Times = math.inf) -> Float[Array, "*times m n"]:
        """A = Θ(x, X) Θ⁻¹ (I - D): the prediction's mean is A y."""
        _, gain = self.training._filters(t)
        return _filtered(self.modes, gain, self.training.eigenvectors)

    def mean(self, t: Times = math.inf) -> Float[Array, "..."]:
        """E f(x, t) over initialisations: A y."""
        _, gain = self.training._filters(t)
        return _combine(self.modes, gain, self.training._rotated(self.training.targets))

    def covariance(self, t: Times = math.inf) -> Float[Array, "*times m m"]:
        """Cov f(x, t) over initialisations, of each output."""
        K = self.training._initial()
        if self.nngp is None or self.nngp_points is None:
            raise ValueError("Covariances at points x need K(x, X) and K(x, x); pass nngp= and nngp_points= to `at`.")
        return _covariance(self.weights(t), K, self.nngp, self.nngp_points)

    def from_start(self, start: Outputs, here: Outputs, t: Times = math.inf) -> Float[Array, "..."]:
        """f(x, t) of the one network with f₀(X) = `start` and f₀(x) = `here` at time 0: f₀(x) + A (y - f₀(X))."""
        training = self.training
        _, gain = training._filters(t)
        start = _like(start, training.targets, "start")
        here = jnp.asarray(checked_shape(here, "here", len(self.modes), *training.targets.shape[1:]), start.dtype)
        return here + _combine(self.modes, gain, training._rotated(training.targets - start))


def train_wide(
    network: Any,
    x_train: Float[Array | np.ndarray, "n ..."],
    y_train: Outputs,
    x_test: Float[Array | np.ndarray, "m ..."],
    *,
    step_size: float | None = None,
    tolerance: float | None = None,
) -> WidePrediction:
    """An infinitely wide network trained on (x_train, y_train), seen at x_test; `.training` is the same at x_train.

    `network` is a layer of this room, or its `kernel_fn(x1, x2, get=...)`. `step_size` None is gradient flow. The
    kernels of all pairs of points are made at once; for very many test points make a `WideTraining` and use its `at` in
    parts.

    >>> from leadline.infinite_width import dense_stack
    >>> x = jnp.array([[1.0, 0.0], [0.0, 1.0]])
    >>> wide = train_wide(dense_stack(1, "relu"), x, jnp.array([1.0, -1.0]), jnp.array([[2.0, 0.0]]))
    >>> wide.mean().round(6).tolist(), wide.training.mean().round(6).tolist()
    ([2.0], [1.0, -1.0])
    """
    kernel_fn = _kernel_function(network)
    x_train, x_test = jnp.asarray(x_train), jnp.asarray(x_test)
    if x_train.shape[1:] != x_test.shape[1:]:
        raise ValueError(
            f"x_train has inputs of shape {x_train.shape[1:]} and x_test of {x_test.shape[1:]}; give both the same "
            "features."
        )
    nngp, ntk = kernel_fn(jnp.concatenate([x_train, x_test]), None, get=("nngp", "ntk"))
    n = len(x_train)
    training = WideTraining(ntk[:n, :n], y_train, nngp=nngp[:n, :n], step_size=step_size, tolerance=tolerance)
    return training.at(ntk[n:, :n], nngp=nngp[n:, :n], nngp_points=nngp[n:, n:])


def _kernel_function(network: Any) -> Callable:
    kernel_fn = getattr(network, "kernel_fn", network)
    if not callable(kernel_fn):
        raise ValueError(
            f"{type(network).__name__} is no layer with a kernel_fn; pass serial(...) or kernel_fn(x1, x2, get)."
        )
    return kernel_fn


def _like(values: Outputs, model: Array, name: str) -> Array:
    return jnp.asarray(checked_shape(values, name, *model.shape), model.dtype)


@jax.jit
def _filters(lam: Array, t: Array, step_size: float | Array | None) -> tuple[Array, Array]:
    """d(λ) and (1 - d(λ))/λ for every time, λ = 0 standing still; (*times, n) each."""
    t = t[..., None]
    moves = lam > 0
    safe = jnp.where(moves, lam, 1.0)
    if step_size is None:
        exponent = -safe * t
        decay, lost = jnp.exp(exponent), -jnp.expm1(exponent)
    else:
        small = step_size * safe < 0.5  # there the logarithm keeps the digits that the power loses
        exponent = t * jnp.log1p(jnp.where(small, -step_size * safe, -0.25))
        power = jnp.power(1 - step_size * safe, t)
        decay = jnp.where(small, jnp.exp(exponent), power)
        lost = jnp.where(small, -jnp.expm1(exponent), 1 - power)
    return jnp.where(moves, decay, 1.0), jnp.where(moves, lost / safe, 0.0)


@jax.jit
def _combine(rows: Array, filters: Array, rotated: Array) -> Array:
    """rows diag(filter) rotated, for every time."""
    shape = rotated.shape[1:]
    result = jnp.einsum("mn,...n,nc->...mc", rows, filters, rotated.reshape(len(rotated), math.prod(shape)))
    return result.reshape(*result.shape[:-1], *shape)


@jax.jit
def _filtered(left: Array, filters: Array, right: Array) -> Array:
    return (left * filters[..., None, :]) @ right.T


@jax.jit
def _covariance(A: Array, K: Array, cross: Array, here: Array) -> Array:
    mixed = A @ cross.T
    return here - mixed - jnp.swapaxes(mixed, -1, -2) + A @ K @ jnp.swapaxes(A, -1, -2)
