"""Gradient flow dθ/dt = -∇objective(θ): adaptive, by classical Runge-Kutta, or by descent with a small step."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

Model = TypeVar("Model", bound=PyTree)


class ClassicalRungeKutta(diffrax.AbstractERK):
    """Kutta's method of order 4 (1901), as a tableau for Diffrax; its error estimate is against the midpoint rule."""

    tableau: ClassVar[diffrax.ButcherTableau] = diffrax.ButcherTableau(
        c=np.array([0.5, 0.5, 1.0]),
        a_lower=(np.array([0.5]), np.array([0.0, 0.5]), np.array([0.0, 0.0, 1.0])),
        b_sol=np.array([1, 2, 2, 1]) / 6,
        b_error=np.array([1, -4, 2, 1]) / 6,
    )
    interpolation_cls: ClassVar[Callable] = diffrax.ThirdOrderHermitePolynomialInterpolation.from_k

    def order(self, terms: PyTree) -> int:
        return 4


def parameter_flow(
    objective: Callable[..., Float[Array, ""]],
    start: Model,
    times: Float[Array | np.ndarray, " k"],
    *arrays: PyTree,
    integrator: str = "adaptive",
    step_size: float | Float[Array, ""] | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
) -> Model:
    """θ(t) at the given times for θ' = -∇objective(θ, *arrays), θ(0) = `start`; every array gets a leading time axis.

    "adaptive" is Dormand and Prince's eighth order within rtol and atol. "rk4" and "descent" take equal steps of at
    most `step_size` between one time and the next; "descent" is Euler's rule, that is gradient descent with step size
    `step_size` when the times are its multiples. A new step or new times of the same number need no compilation.

    >>> bowl = lambda w: jnp.sum(w**2) / 2
    >>> [round(w, 4) for w in parameter_flow(bowl, jnp.array(1.0), np.array([0.0, 1.0])).tolist()]  # e^-t
    [1.0, 0.3679]
    >>> parameter_flow(bowl, jnp.array(1.0), np.array([0.5]), integrator="descent", step_size=0.25).tolist()
    [0.5625]
    """
    times = np.asarray(times)
    if times.ndim != 1 or times.size == 0 or not np.isfinite(times).all() or times[0] < 0 or np.any(np.diff(times) < 0):
        raise ValueError(f"parameter_flow got times {times}; give increasing times from 0 on, at least one.")
    if integrator not in ("adaptive", "rk4", "descent"):
        raise ValueError(f"parameter_flow got integrator {integrator!r}; choose 'adaptive', 'rk4' or 'descent'.")
    parameters, rest = eqx.partition(start, eqx.is_inexact_array)
    if not jax.tree.leaves(parameters):
        raise ValueError("parameter_flow got a start without floating-point arrays; there is nothing to move.")
    dtype = jnp.result_type(*jax.tree.leaves(parameters))
    if integrator == "adaptive":
        rtol = max(rtol, 10 * float(jnp.finfo(dtype).eps))
        path = _adaptive(objective, parameters, rest, jnp.asarray(times, dtype), arrays, rtol, atol)
    else:
        if step_size is None or not step_size > 0:
            raise ValueError(f"parameter_flow got step {step_size} for {integrator!r}; give a positive step.")
        gaps = np.diff(times, prepend=0.0)
        counts = np.ceil(gaps / float(step_size) - 1e-9).astype(int)
        widths = gaps / np.maximum(counts, 1)
        solver = ClassicalRungeKutta() if integrator == "rk4" else diffrax.Euler()
        path = _fixed(objective, parameters, rest, jnp.asarray(widths, dtype), jnp.asarray(counts), arrays, solver)
    return eqx.combine(path, rest)


def _term(objective: Callable, rest: PyTree) -> diffrax.ODETerm:
    def velocity(t: Any, parameters: PyTree, arrays: tuple) -> PyTree:
        slope = jax.grad(lambda p: objective(eqx.combine(p, rest), *arrays))(parameters)
        return jax.tree.map(jnp.negative, slope)

    return diffrax.ODETerm(velocity)


@eqx.filter_jit
def _adaptive(objective, parameters, rest, times, arrays, rtol, atol):
    solution = diffrax.diffeqsolve(
        _term(objective, rest),
        diffrax.Dopri8(),
        jnp.zeros((), times.dtype),
        jnp.maximum(times[-1], jnp.finfo(times.dtype).tiny),
        None,
        parameters,
        arrays,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
        max_steps=None,
        adjoint=diffrax.ForwardMode(),
    )
    return solution.ys


@eqx.filter_jit
def _fixed(objective, parameters, rest, widths, counts, arrays, solver):
    term = _term(objective, rest)

    def advance(_: Array, carry: tuple) -> tuple:
        parameters, memory, width = carry
        zero = jnp.zeros_like(width)  # the flow does not know the time
        parameters, _, _, memory, _ = solver.step(term, zero, width, parameters, arrays, memory, made_jump=False)
        return parameters, memory, width

    def interval(carry: tuple, grid: tuple) -> tuple:
        parameters, memory, _ = jax.lax.fori_loop(0, grid[1], advance, (*carry, grid[0]))
        return (parameters, memory), parameters

    memory = solver.init(term, jnp.zeros_like(widths[0]), widths[0], parameters, arrays)
    return jax.lax.scan(interval, (parameters, memory), (widths, counts))[1]
