"""Momentum in continuous time: a particle with mass, friction and Hessian-driven damping, integrated by Diffrax."""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline._checks import require, require_numbers

from ..objectives.objective import Objective, Vector
from .gradient_flows import integrate

Times = Float[np.ndarray, " times"]
_FIRST_TIME = 1e-6


class Particle(NamedTuple):
    """M W″ = −(c + r/τ) W′ − h H(W) W′ − (1 + s/τ) ∇l(W)."""

    mass: float | Array = 1.0
    friction: float | Array = 0.0
    vanishing: float | Array = 0.0
    hessian_damping: float | Array = 0.0
    boost: float | Array = 0.0


class InertialFlow(NamedTuple):
    """W(τ), W′(τ) and l(W(τ)) at the times asked for."""

    times: Float[Array, " times"]
    points: Float[Array, "times p"]
    velocities: Float[Array, "times p"]
    values: Float[Array, " times"]


def inertial_flow(
    objective: Objective,
    start: Vector,
    times: Float[Array, " times"],
    particle: Particle,
    *,
    velocity: Vector | None = None,
) -> InertialFlow:
    """A particle from W(times[0]) = `start`, W′ = `velocity` (0 if not given), in the landscape l.

    With friction r/τ and times[0] = 0 it starts at τ₀ = 10⁻⁶ on the series W = w⁰ − gτ²/(2(1 + r)), W′ = −gτ/(1 + r).
    M must be positive: without mass the particle is `gradient_flow`.

    >>> from leadline.optimisation import Quadratic
    >>> spring = Quadratic(jnp.eye(1), jnp.zeros(1))
    >>> free = inertial_flow(spring, jnp.ones(1), jnp.array([0.0, jnp.pi]), Particle())
    >>> round(float(free.points[1, 0]), 3)  # half a period
    -1.0
    """
    require_numbers("inertial_flow", start=start)
    require("inertial_flow", axes=1, times=times)
    particle = Particle(*(jnp.asarray(part, float) for part in particle))
    if not particle.mass > 0:
        raise ValueError(
            f"mass is {float(particle.mass):g}; give M > 0, or use gradient_flow for a particle without mass."
        )
    times = jnp.asarray(times, float)
    moving = jnp.zeros_like(start) if velocity is None else velocity
    if float(times[0]) == 0 and (float(particle.vanishing) != 0 or float(particle.boost) != 0):
        gradient, r = objective.gradient(start), particle.vanishing
        times = times.at[0].set(_FIRST_TIME)
        moving = moving - gradient * _FIRST_TIME / (1 + r)
        start = start - gradient * _FIRST_TIME**2 / (2 * (1 + r))
    points, velocities, values = integrate(_motion, (start, moving, objective(start)), times, (objective, particle))
    return InertialFlow(times, points, velocities, values)


def _motion(time: Array, state: tuple[Vector, Vector, Array], arguments: tuple[Objective, Particle]):
    (w, v, _), (objective, p) = state, arguments
    gradient, bent = jax.jvp(objective.gradient, (w,), (v,))
    inverse = 1 / jnp.maximum(time, _FIRST_TIME)
    force = -(p.friction + p.vanishing * inverse) * v - p.hessian_damping * bent - (1 + p.boost * inverse) * gradient
    return v, force / p.mass, gradient @ v


def equivalent_friction(step_size: float, momentum: float) -> float:
    """c = (1 − ρ)/√η: heavy ball is a particle of unit mass with this friction, seen every √η.

    >>> round(equivalent_friction(0.01, 0.9), 9)
    1.0
    """
    if not step_size > 0:
        raise ValueError(f"step is {step_size:g}; give η > 0.")
    return (1 - momentum) / step_size**0.5


def damping_regime(curvature: float, friction: float, mass: float = 1.0) -> Literal["under", "critical", "over"]:
    """Whether a mode of curvature λ oscillates: c² < 4Mλ is "under", equality (to rounding) "critical", above "over".

    >>> damping_regime(1.0, 0.5), damping_regime(1.0, 2.0), damping_regime(1.0, 3.0)
    ('under', 'critical', 'over')
    """
    square, limit = friction**2, 4 * mass * curvature
    if abs(square - limit) <= 1e-12 * max(square, limit):
        return "critical"
    return "under" if square < limit else "over"


def damped_mode(times: Times, curvature: float, friction: float, mass: float = 1.0) -> Times:
    """W(τ) of M W″ + cW′ + λW = 0, W(0) = 1, W′(0) = 0, in closed form, in all three regimes.

    >>> damped_mode(np.array([0.0, np.pi]), 1.0, 0.0).round(9).tolist()
    [1.0, -1.0]
    """
    decay = friction / (2 * mass)
    root = np.sqrt(complex(decay**2 - curvature / mass))
    times = np.asarray(times, float)
    if abs(root) < 1e-9 * max(1.0, decay):
        return np.exp(-decay * times) * (1 + decay * times)
    # cosh and sinh of (root τ), each with e^(−decay τ) inside: nothing overflows.
    fast, slow = np.exp((root - decay) * times), np.exp((-root - decay) * times)
    return np.real((fast + slow) / 2 + decay / root * (fast - slow) / 2)


def vanishing_friction_mode(times: Times, curvature: float, friction: float = 3.0) -> Times:
    """W(τ) of W″ + (r/τ)W′ + λW = 0, W(0) = 1, W′(0) = 0: Γ(ν + 1)(2/x)^ν J_ν(x), ν = (r − 1)/2, x = τ√λ.

    With r = 3, Nesterov's, it is 2 J₁(x)/x (Su, Boyd, Candès 2016).

    >>> vanishing_friction_mode(np.array([0.0, np.pi]), 1.0, 2.0).round(9).tolist()  # sin(x)/x
    [1.0, 0.0]
    """
    from scipy.special import gamma, jv

    order = (friction - 1) / 2
    x = np.asarray(times, float) * np.sqrt(curvature)
    away = np.where(x > 1e-8, x, 1.0)
    return np.where(x > 1e-8, gamma(order + 1) * (2 / away) ** order * jv(order, away), 1.0)


def vanishing_friction_energy(times: Times, curvature: float, friction: float = 3.0) -> Times:
    """½W′² + ½λW² of `vanishing_friction_mode`: (λ/2)(Γ(ν + 1)(2/x)^ν)²(J_ν² + J_{ν+1}²), which falls like τ^(−r).

    >>> vanishing_friction_energy(np.array([0.0]), 4.0).tolist()
    [2.0]
    """
    from scipy.special import gamma, jv

    order = (friction - 1) / 2
    x = np.asarray(times, float) * np.sqrt(curvature)
    away = np.where(x > 1e-8, x, 1.0)
    waves = (gamma(order + 1) * (2 / away) ** order) ** 2 * (jv(order, away) ** 2 + jv(order + 1, away) ** 2)
    return curvature / 2 * np.where(x > 1e-8, waves, 1.0)


def nesterov_lyapunov(flow: InertialFlow, minimiser: Float[np.ndarray, " p"], minimum: float) -> Times:
    """E(τ) = τ²(l(W) − l*) + 2‖W + (τ/2)W′ − w*‖²: never rises along W″ + (3/τ)W′ + ∇l = 0 for convex l, E(0) = 2R².

    >>> still = InertialFlow(np.zeros(1), np.ones((1, 2)), np.zeros((1, 2)), np.ones(1))
    >>> nesterov_lyapunov(still, np.zeros(2), 0.0).tolist()
    [4.0]
    """
    times, points, velocities, values = (np.asarray(part) for part in flow)
    ahead = points + times[:, None] / 2 * velocities - minimiser
    return times**2 * (values - minimum) + 2 * np.sum(ahead**2, axis=1)
