"""What theory promises of SGD: progress of a step, rates, floors, time to equilibrium, as functions of the constants.

Throughout η is the step, b the batch, L and m smoothness and strong convexity of the mean loss, and (σ₀, σ) the
constants of E‖gᵢ‖² ≤ σ₀ + σ‖g‖².
"""

import numpy as np
from jaxtyping import Array, Float

Number = float | np.floating
Numbers = Float[np.ndarray, " t"] | Float[np.ndarray, ""] | Number
Vector = Float[np.ndarray, " p"] | Float[Array, " p"]
Matrix = Float[np.ndarray, "p p"] | Float[Array, "p p"]


def progress_threshold(
    w: Vector, minimiser: Vector, gradients: Float[np.ndarray, "n p"] | Float[Array, "n p"]
) -> float:
    """The step below which a step of SGD is expected to come nearer to w*: 2⟨w − w*, g⟩/E‖gᵢ‖².

    From E‖w⁺ − w*‖² = ‖w − w*‖² − 2η⟨w − w*, g⟩ + η²E‖gᵢ‖². `gradients` holds the gᵢ(w) in rows.

    >>> progress_threshold(np.array([2.0]), np.array([0.0]), np.array([[1.0], [3.0]]))
    1.6
    """
    rows = np.asarray(gradients)
    along = float((np.asarray(w) - np.asarray(minimiser)) @ rows.mean(axis=0))
    return 2 * along / float(np.mean(np.sum(rows**2, axis=1)))


def expected_decrease_bound(
    squared_gradient: Numbers, step_size: Number, *, smoothness: Number, sigma0: Number, sigma: Number, batch: int = 1
) -> Numbers:
    """A bound on E[l(w⁺) | w] − l(w): −η(1 − ηLσ_b/2)‖g‖² + η²Lσ₀/(2b), σ_b = 1 + (σ − 1)/b.

    Negative, so that progress is guaranteed, where ‖g‖² > ηLσ₀/(b(2 − ηLσ_b)).

    >>> expected_decrease_bound(1.0, 0.5, smoothness=1.0, sigma0=1.0, sigma=1.0)
    -0.25
    """
    relative = 1 + (sigma - 1) / batch
    squares = np.asarray(squared_gradient)
    bound = -step_size * (1 - step_size * smoothness * relative / 2) * squares + step_size**2 * smoothness * sigma0 / (
        2 * batch
    )
    return bound if squares.ndim else float(bound)


def largest_constant_step(*, smoothness: Number, sigma: Number, batch: int = 1) -> float:
    """The largest step for which the rate of `constant_step_bound` is proved: 1/(L(1 + (σ − 1)/b)).

    >>> largest_constant_step(smoothness=2.0, sigma=3.0, batch=2)
    0.25
    """
    return float(1 / (smoothness * (1 + (sigma - 1) / batch)))


def guaranteed_floor(
    step_size: Number, *, smoothness: Number, strong_convexity: Number, sigma0: Number, batch: int = 1
) -> float:
    """F = ηLσ₀/(2mb), the plateau under which a constant step is guaranteed to come.

    >>> guaranteed_floor(0.1, smoothness=4.0, strong_convexity=1.0, sigma0=0.5)
    0.1
    """
    return float(step_size * smoothness * sigma0 / (2 * strong_convexity * batch))


def constant_step_bound(
    updates: Numbers,
    gap: Number,
    step_size: Number,
    *,
    smoothness: Number,
    strong_convexity: Number,
    sigma0: Number,
    batch: int = 1,
) -> Numbers:
    """E gap after t updates: F + (1 − ηm)ᵗ(gap₀ − F), for η at most `largest_constant_step`.

    >>> constant_step_bound(1, 0.0, 0.5, smoothness=1.0, strong_convexity=1.0, sigma0=1.0)
    0.125
    """
    floor = guaranteed_floor(
        step_size, smoothness=smoothness, strong_convexity=strong_convexity, sigma0=sigma0, batch=batch
    )
    return floor + (1 - step_size * strong_convexity) ** updates * (gap - floor)


def distance_bound(
    updates: Numbers,
    distance: Number,
    step_size: Number,
    *,
    largest_smoothness: Number,
    strong_convexity: Number,
    noise: Number,
) -> Numbers:
    """E‖wᵗ − w*‖² ≤ Aᵗ‖w⁰ − w*‖² + B with A = 1 − 2ηm(1 − ηL_max), B = ησ*²/(m(1 − ηL_max)), for η < 1/L_max.

    `distance` is ‖w⁰ − w*‖², `noise` is σ*² = (1/n)Σ‖gᵢ(w*)‖². Each lⁱ is convex and L_max-smooth.

    >>> float(distance_bound(0, 1.0, 0.5, largest_smoothness=1.0, strong_convexity=1.0, noise=1.0))
    2.0
    """
    room = 1 - step_size * largest_smoothness
    if room <= 0:
        raise ValueError(
            f"step_size = {step_size:g} is not below 1/L_max = {1 / largest_smoothness:g}; give a smaller one."
        )
    return (1 - 2 * step_size * strong_convexity * room) ** updates * distance + step_size * noise / (
        strong_convexity * room
    )


def noise_floor(step_size: Numbers, batch: Number, hessian: Matrix, covariance: Matrix) -> Numbers:
    """Where the gap of SGD with a constant step ends: (η/4b) Σⱼ Cⱼⱼ/(1 − ηλⱼ/2), in the eigenbasis of the Hessian.

    C is the covariance of the single gradients at w*. Exact for a quadratic with additive noise; nothing is fitted.
    For a small step it is η tr C/(4b), whatever the Hessian. Infinite where ηλ_max ≥ 2. Also for an array of steps.

    >>> noise_floor(0.5, 1, np.array([[2.0]]), np.array([[1.0]]))
    0.25
    """
    values, vectors = np.linalg.eigh(np.asarray(hessian))
    along = np.sum(vectors * (np.asarray(covariance) @ vectors), axis=0)
    eta = np.asarray(step_size, float)[..., None]
    stable = eta[..., 0] * values[-1] < 2
    room = np.where(stable[..., None], 1 - eta * values / 2, 1.0)
    floor = np.where(stable, eta[..., 0] / (4 * batch) * np.sum(along / room, axis=-1), np.inf)
    return floor if np.ndim(step_size) else float(floor)


def equilibrium_steps(step_size: Number, strong_convexity: Number, *, remaining: float = 1e-3) -> int:
    """Steps until the slowest direction has the given share of its transient left: log(remaining)/(2 log(1 − ηm)).

    >>> equilibrium_steps(0.05, 0.01)
    6907
    """
    if not 0 < step_size * strong_convexity < 1:
        raise ValueError(f"step · m = {step_size * strong_convexity:g} is not in (0, 1); give a smaller step or m > 0.")
    return int(np.ceil(np.log(remaining) / (2 * np.log1p(-step_size * strong_convexity))))


def averaged_gap(iterates: int, batch: Number, hessian: Matrix, covariance: Matrix) -> float:
    """The gap of the mean of T iterates in equilibrium, to leading order: tr(H⁻¹C)/(2bT), whatever the step.

    Polyak and Juditsky (1992): the covariance of the mean is H⁻¹CH⁻¹/(bT).

    >>> averaged_gap(100, 1, np.array([[2.0]]), np.array([[4.0]]))
    0.01
    """
    return float(np.trace(np.linalg.solve(np.asarray(hessian), np.asarray(covariance))) / (2 * batch * iterates))


def settled_average_gap(iterates: int, step_size: Number, batch: Number, hessian: Matrix, covariance: Matrix) -> float:
    """The gap of the mean of T successive iterates of SGD in equilibrium on a quadratic, exactly for every T.

    Along each eigenvector the iterates are autoregressive with factor a = 1 − ηλ and variance ηC/(bλ(2 − ηλ)), so that
    Var(mean) = (variance/T)[(1 + a)/(1 − a) − 2a(1 − aᵀ)/(T(1 − a)²)]. It tends to `averaged_gap` for T ≫ 1/(ηm).

    >>> settled_average_gap(1, 0.5, 1, np.array([[2.0]]), np.array([[1.0]])) == noise_floor(
    ...     0.5, 1, np.array([[2.0]]), np.array([[1.0]]))
    True
    """
    values, vectors = np.linalg.eigh(np.asarray(hessian))
    along = np.sum(vectors * (np.asarray(covariance) @ vectors), axis=0)
    a = 1 - step_size * values
    variance = step_size * along / (batch * values * (2 - step_size * values))
    shrink = (1 + a) / (1 - a) - 2 * a * (1 - a**iterates) / (iterates * (1 - a) ** 2)
    return float(np.sum(values * variance * shrink) / (2 * iterates))


def decaying_step_bound(
    updates: Numbers,
    gap: Number,
    *,
    scale: Number,
    shift: Number,
    smoothness: Number,
    strong_convexity: Number,
    sigma0: Number,
) -> Numbers:
    """E gap(wᵗ) ≤ ν/(t + t₀) for ηₜ = β/(t + t₀), t from 1, β > 1/m, η₁ ≤ 1/(Lσ).

    ν = max{β²Lσ₀/(2(βm − 1)), (t₀ + 1) gap(w¹)}; β is `scale`, t₀ is `shift`.

    >>> decaying_step_bound(1, 0.5, scale=2.0, shift=1.0, smoothness=1.0, strong_convexity=1.0, sigma0=1.0)
    1.0
    """
    if scale * strong_convexity <= 1:
        raise ValueError(f"β m = {scale * strong_convexity:g} is not above 1; give a scale above 1/m.")
    ahead = scale**2 * smoothness * sigma0 / (2 * (scale * strong_convexity - 1))
    return max(float(ahead), float((shift + 1) * gap)) / (updates + shift)


def convex_bound(steps: Float[np.ndarray, " T"], *, radius: Number, gradient_bound: Number) -> float:
    """E gap of the average of w⁰ … w^{T−1} weighted by the steps: (R² + B² Σηₜ²)/(2Σηₜ), for convex l, E‖ĝ‖² ≤ B².

    η = R/(B√T) makes it RB/√T.

    >>> convex_bound(np.full(100, 0.1), radius=1.0, gradient_bound=1.0).__round__(12)
    0.1
    """
    return float((radius**2 + gradient_bound**2 * np.sum(steps**2)) / (2 * np.sum(steps)))
