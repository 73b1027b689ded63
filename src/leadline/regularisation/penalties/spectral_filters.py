"""Regularisers as filters on one axis: the share of each eigenmode of a least-squares problem that they let through.

A mode with the eigenvalue λ of the Hessian H (XᵀX/n for the mean loss (1/2n)‖y − Xθ‖²) goes from its start to
f(λ) times its least-squares value. Penalties are those of the mean loss: μ = α/n for (1/2)‖y − Xθ‖² + (α/2)‖θ‖².
"""

from typing import Any

import equinox as eqx
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Real

from leadline._arrays import follow

Eigenvalues = Real[Array | np.ndarray, "*modes"] | float
Shares = Float[Array | np.ndarray | np.floating, "*modes"] | float
Scalar = Real[Array | np.ndarray, ""] | float | int


class SpectralFilter(eqx.Module):
    """f(λ): the share of a mode with eigenvalue λ that is fitted; 0 is not at all, 1 is least squares.

    A subclass gives `left(λ)` = 1 − f(λ), without cancellation where it is small. Filters are pytrees: what they are
    made of can be traced and mapped. NumPy eigenvalues give NumPy shares, JAX arrays JAX ones.
    """

    def left(self, eigenvalues: Eigenvalues) -> Shares:
        raise NotImplementedError

    def __call__(self, eigenvalues: Eigenvalues) -> Shares:
        """1 − left(λ): a subclass has it without cancellation where f is small."""
        return 1 - self.left(eigenvalues)


def _not_negative(name: str) -> Any:
    def convert(value: Scalar) -> Any:
        if not isinstance(value, Tracer) and not np.all(np.asarray(value) >= 0):
            raise ValueError(f"A spectral filter got {name} = {np.min(np.asarray(value)):g}; give 0 or more.")
        return value

    return convert


class RidgeFilter(SpectralFilter):
    """λ/(λ + μ): the minimiser of l + (μ/2)‖θ‖², the limit of weight decay; μ = 0 is the minimum-norm solution.

    >>> RidgeFilter(1.0)(np.array([0.0, 1.0, 3.0])).tolist()
    [0.0, 0.5, 0.75]
    """

    penalty: Scalar = eqx.field(converter=_not_negative("penalty"))

    def left(self, eigenvalues: Eigenvalues) -> Shares:
        xp, penalty = follow(eigenvalues, self.penalty)
        eigenvalues = xp.asarray(eigenvalues)
        seen = eigenvalues + penalty > 0  # a mode without curvature and penalty is not moved
        return xp.where(seen, penalty / xp.where(seen, eigenvalues + penalty, 1.0), 1.0)

    def __call__(self, eigenvalues: Eigenvalues) -> Shares:
        xp, penalty = follow(eigenvalues, self.penalty)
        eigenvalues = xp.asarray(eigenvalues)
        seen = eigenvalues > 0
        return xp.where(seen, eigenvalues / xp.where(seen, eigenvalues + penalty, 1.0), 0.0)


class NoiseFilter(SpectralFilter):
    """λ/(λ + s²): least squares on inputs with fresh noise of deviation s in every coordinate, on average.

    E ‖y − (X + E)θ‖²/n = ‖y − Xθ‖²/n + s²‖θ‖², so that the penalty is s² (Bishop 1995).

    >>> NoiseFilter(2.0)(np.array([4.0])).tolist()
    [0.5]
    """

    deviation: Scalar = eqx.field(converter=_not_negative("deviation"))

    @property
    def ridge(self) -> RidgeFilter:
        """The ridge filter that it is."""
        return RidgeFilter(self.deviation**2)

    def left(self, eigenvalues: Eigenvalues) -> Shares:
        return self.ridge.left(eigenvalues)

    def __call__(self, eigenvalues: Eigenvalues) -> Shares:
        return self.ridge(eigenvalues)


class FlowFilter(SpectralFilter):
    """1 − exp(−λt): gradient flow from the start, stopped at time t. At t = 1/μ it is close to ridge with μ.

    >>> FlowFilter(2.0)(np.array([0.0, 0.5])).round(6).tolist()
    [0.0, 0.632121]
    """

    time: Scalar = eqx.field(converter=_not_negative("time"))

    def left(self, eigenvalues: Eigenvalues) -> Shares:
        xp, time = follow(eigenvalues, self.time)
        return xp.exp(-xp.asarray(eigenvalues) * time)

    def __call__(self, eigenvalues: Eigenvalues) -> Shares:
        xp, time = follow(eigenvalues, self.time)
        return -xp.expm1(-xp.asarray(eigenvalues) * time)


class DescentFilter(SpectralFilter):
    """T steps of gradient descent of size η with weight decay μ: (λ/(λ + μ)) (1 − (1 − η(λ + μ))^T).

    Without decay 1 − (1 − ηλ)^T: early stopping. As T → ∞ with decay: ridge, where η < 2/(λ + μ); beyond that it
    oscillates and diverges, as descent does (`is_stable`).

    >>> DescentFilter(0.5, 2)(np.array([0.0, 1.0])).tolist()
    [0.0, 0.75]
    >>> DescentFilter(0.5, 200, decay=1.0)(np.array([1.0])).round(9).tolist()
    [0.5]
    """

    step_size: Scalar = eqx.field(converter=_not_negative("step_size"))
    num_steps: Scalar = eqx.field(converter=_not_negative("num_steps"))
    decay: Scalar = eqx.field(converter=_not_negative("decay"), default=0.0)

    def __call__(self, eigenvalues: Eigenvalues) -> Shares:
        xp, step, count, _ = follow(eigenvalues, self.step_size, self.num_steps, self.decay)
        speed = step * (xp.asarray(eigenvalues) + self.decay)
        slow = speed < 0.5  # where log(1 − speed) is real and 1 − (1 − speed)^T would cancel
        steady = -xp.expm1(count * xp.log1p(-xp.where(slow, speed, 0.0)))
        return RidgeFilter(self.decay)(eigenvalues) * xp.where(slow, steady, 1 - (1 - speed) ** count)

    def left(self, eigenvalues: Eigenvalues) -> Shares:
        xp, step, count, _ = follow(eigenvalues, self.step_size, self.num_steps, self.decay)
        ridge = RidgeFilter(self.decay)
        speed = step * (xp.asarray(eigenvalues) + self.decay)
        return ridge.left(eigenvalues) + ridge(eigenvalues) * (1 - speed) ** count

    def is_stable(self, eigenvalues: Eigenvalues) -> bool:
        """η < 2/(λ_max + μ): every mode with λ + μ > 0 converges.

        >>> DescentFilter(0.5, 10).is_stable(np.array([3.9])), DescentFilter(0.5, 10).is_stable(np.array([4.0]))
        (True, False)
        """
        return bool(self.step_size * (np.max(np.asarray(eigenvalues)) + self.decay) < 2)


def filtered_minimiser(
    hessian: Float[Array | np.ndarray, "p p"],
    minimiser: Float[Array | np.ndarray, " p"],
    spectral_filter: SpectralFilter,
    start: Float[Array | np.ndarray, " p"] | None = None,
) -> Float[Array | np.ndarray, " p"]:
    """θ₀ + Q f(Λ) Qᵀ(θ* − θ₀): where a regulariser leaves ½(θ − θ*)ᵀH(θ − θ*) with H = QΛQᵀ, from 0 by default.

    For `RidgeFilter` the minimiser with the penalty (μ/2)‖θ − θ₀‖²; for `DescentFilter` the iterate after T steps. Of
    a network's loss near its minimum θ* it is the first-order prediction. An indefinite H is refused: there is no
    minimum then, and a Gauss-Newton matrix is what to give instead.

    >>> filtered_minimiser(np.diag([1.0, 3.0]), np.array([4.0, 4.0]), RidgeFilter(1.0)).tolist()
    [2.0, 3.0]
    """
    xp, hessian, minimiser = follow(minimiser, hessian, minimiser)
    beginning = xp.zeros_like(minimiser) if start is None else start
    values, vectors = xp.linalg.eigh((hessian + hessian.T) / 2)
    if not isinstance(values, Tracer):
        rounding = len(values) * float(xp.finfo(values.dtype).eps) * float(abs(values).max())
        if float(values[0]) < -10 * rounding:
            raise ValueError(
                f"filtered_minimiser got a Hessian with the eigenvalue {float(values[0]):.3g}; at a minimum there is "
                "none below 0: train on, or give the Gauss-Newton matrix."
            )
    kept = spectral_filter(xp.maximum(values, 0.0))
    return beginning + vectors @ (kept * (vectors.T @ (minimiser - beginning)))
