"""Gradient flow and other ordinary differential equations of optimisation, integrated by Diffrax."""

from collections.abc import Callable
from typing import NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from leadline._checks import require, require_numbers

from ..objectives.objective import Objective, Vector

Velocity = Callable[[Float[Array, ""], PyTree, PyTree], PyTree]


class Flow(NamedTuple):
    """W(τ) at the times asked for, l(W), and ∫₀^τ ‖∇l(W)‖² (what the energy identity says l has lost)."""

    times: Float[Array, " times"]
    points: Float[Array, "times p"]
    values: Float[Array, " times"]
    dissipated: Float[Array, " times"]


def integrate(
    velocity: Velocity,
    start: PyTree,
    times: Float[Array, " times"],
    arguments: PyTree = None,
    *,
    stiff: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 100_000,
) -> PyTree:
    """y at `times` (the first is where `start` holds) of dy/dτ = velocity(τ, y, arguments), with adaptive steps.

    Tsit5, or with `stiff` the implicit Kvaerno5. `start` is any pytree; data go into `arguments`,
    so that one velocity is compiled once. Tolerances are 10⁻¹⁰ and 10⁻¹² in 64 bits, 10⁻⁵ and 10⁻⁷ in 32.

    >>> decay = integrate(lambda t, y, rate: -rate * y, jnp.ones(1), jnp.array([0.0, 1.0]), 2.0)
    >>> round(float(decay[1, 0]), 3)  # e⁻²
    0.135
    """
    require_numbers("integrate", start=start)
    require("integrate", axes=1, times=times)
    if len(times) < 2:
        raise ValueError(f"integrate got {len(times)} time; give the start time and at least one later time.")
    double = jnp.result_type(*jax.tree.leaves(start)) == jnp.float64
    rtol = (1e-10 if double else 1e-5) if rtol is None else rtol
    atol = (1e-12 if double else 1e-7) if atol is None else atol
    path, steps, good = _solve(velocity, start, jnp.asarray(times, float), arguments, stiff, rtol, atol, max_steps)
    if not good:
        raise ValueError(
            f"the solver gave up after {int(steps)} steps before time {float(times[-1]):g}; shorten the time, pass "
            "stiff=True, or look whether the solution stays finite."
        )
    return path


def gradient_flow(
    objective: Objective | Callable,
    start: Vector,
    times: Float[Array, " times"],
    *,
    stiff: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 100_000,
) -> Flow:
    """dW/dτ = −∇l(W), W(times[0]) = `start`; with it the energy identity l(W(τ)) = l(W(0)) − ∫₀^τ ‖∇l‖².

    Take `stiff` where κ > 1000: explicit steps are then held at about 2/L though the path moves at rate m.

    >>> from leadline.optimisation import Quadratic
    >>> bowl = Quadratic(jnp.diag(jnp.array([1.0, 2.0])), jnp.zeros(2))
    >>> end = gradient_flow(bowl, jnp.ones(2), jnp.array([0.0, 1.0])).points[1]
    >>> [round(float(c), 3) for c in end]  # e⁻¹, e⁻²
    [0.368, 0.135]
    """
    times = jnp.asarray(times, float)
    points, dissipated = integrate(
        _downhill,
        (start, jnp.zeros((), start.dtype)),
        times,
        objective,
        stiff=stiff,
        rtol=rtol,
        atol=atol,
        max_steps=max_steps,
    )
    return Flow(times, points, _values(objective, points), dissipated)


def _downhill(time: Array, state: tuple[Vector, Array], objective: Callable) -> tuple[Vector, Array]:
    gradient = jax.grad(objective)(state[0])
    return -gradient, gradient @ gradient


@eqx.filter_jit
def _values(objective: Callable, points: Array) -> Array:
    return jax.vmap(objective)(points)


@eqx.filter_jit
def _solve(velocity, start, times, arguments, stiff, rtol, atol, max_steps):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(velocity),
        diffrax.Kvaerno5() if stiff else diffrax.Tsit5(),
        times[0],
        times[-1],
        None,
        start,
        arguments,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
        max_steps=max_steps,
        throw=False,
    )
    return solution.ys, solution.stats["num_steps"], solution.result == diffrax.RESULTS.successful
