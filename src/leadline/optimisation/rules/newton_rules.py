"""Newton's method as Optax rules: with the whole Hessian, and by conjugate gradients on Hessian-vector products."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PyTree

from leadline._checks import require_numbers

from ..objectives.objective import Matrix, Objective, Vector

_LEAST_CURVATURE = 1e-8
_ARMIJO = 1e-4
_HALVINGS = 50


def modified_newton_step(
    hessian: Matrix, gradient: Vector, *, damping: float | Array = 0.0, curvature: str = "signed"
) -> Vector:
    """d with (H + τI) d = −g; `curvature="absolute"` takes |H| (eigenvalues without their sign) in the place of H.

    With H as it is, d leads to the stationary point of the quadratic model, be it a maximum or a saddle; with |H| it
    is a descent direction.

    >>> modified_newton_step(jnp.diag(jnp.array([2.0, -4.0])), jnp.array([2.0, 2.0]), curvature="absolute").tolist()
    [-1.0, -0.5]
    """
    require_numbers("modified_newton_step", hessian=hessian, gradient=gradient)
    if curvature == "signed":
        return -jnp.linalg.solve(hessian + damping * jnp.eye(len(gradient), dtype=gradient.dtype), gradient)
    values, vectors = jnp.linalg.eigh(hessian)
    size = jnp.abs(values)
    size = jnp.maximum(size, _LEAST_CURVATURE * jnp.maximum(jnp.max(size), _LEAST_CURVATURE)) + damping
    return -vectors @ ((vectors.T @ gradient) / size)


def armijo_step(value_fn: Callable, w: Vector, value: Array, slope: Array, direction: Vector) -> Float[Array, ""]:
    """The first s of 1, ½, ¼, … with l(w + s d) ≤ l(w) + 10⁻⁴ s g·d (`slope` = g·d < 0); at most 50 halvings.

    >>> w = jnp.array([1.0])
    >>> float(armijo_step(lambda w: w @ w, w, jnp.array(1.0), jnp.array(-8.0), jnp.array([-4.0])))
    0.25
    """

    def too_long(state):
        tries, s = state
        enough = value_fn(w + s * direction) <= value + _ARMIJO * s * slope
        return (tries < _HALVINGS) & ~enough

    begin = (jnp.array(0), jnp.ones((), w.dtype))
    return jax.lax.while_loop(too_long, lambda state: (state[0] + 1, state[1] / 2), begin)[1]


class _Newton(eqx.Module):
    damping: Array
    curvature: str = eqx.field(static=True)
    search: bool = eqx.field(static=True)

    def init(self, parameters: PyTree) -> optax.EmptyState:
        return optax.EmptyState()

    def update(self, gradient, opt_state, parameters=None, *, value_fn=None, **extra):
        value_of, w, g, unravel = _flattened(gradient, parameters, value_fn, "newton")
        if isinstance(value_fn, Objective) and isinstance(parameters, jax.Array):
            hessian = value_fn.hessian(w)
        else:
            hessian = jax.hessian(value_of)(w)
        direction = modified_newton_step(hessian, g, damping=self.damping.astype(g.dtype), curvature=self.curvature)
        return unravel(_searched(value_of, w, g, direction) if self.search else direction), opt_state


def newton(
    damping: float | Array = 0.0, *, curvature: str = "signed", search: bool = False
) -> optax.GradientTransformationExtraArgs:
    """w ← w − (H + τI)⁻¹ g: the minimiser of the quadratic model, no step size. The update needs `value_fn`.

    `curvature="absolute"`: |H| for H, so that saddles and maxima repel. `search=True`: the step is halved until the
    decrease is sufficient (Armijo), and −g is taken where the direction does not descend. Dense: p² opt_state.

    >>> from leadline.optimisation import Quadratic, descend
    >>> bowl = Quadratic(jnp.diag(jnp.array([1.0, 8.0])), jnp.array([1.0, 8.0]))
    >>> descend(bowl, newton(), jnp.array([9.0, -5.0]), 1).points[1].tolist()
    [1.0, 1.0]
    """
    if curvature not in ("signed", "absolute"):
        raise ValueError(f"curvature is {curvature!r}; give 'signed' (pure Newton) or 'absolute' (|H|).")
    rule = _Newton(jnp.asarray(damping, float), curvature, search)
    return optax.GradientTransformationExtraArgs(rule.init, rule.update)


class TruncatedSolution(NamedTuple):
    """The direction that conjugate gradients stopped at, the Hessian products used, and whether curvature was ≤ 0."""

    direction: Vector
    products: Int[Array, ""]
    negative: Array


def truncated_conjugate_gradient(
    product: Callable[[Vector], Vector], gradient: Vector, tolerance: float | Array, max_steps: int
) -> TruncatedSolution:
    """Conjugate gradients on H d = −g from d = 0 until ‖Hd + g‖ ≤ `tolerance` ‖g‖, at most `max_steps` products.

    A direction p with pᵀHp ≤ 0 ends it: the d so far is returned, or −g if there is none (Steihaug 1983), so that
    the result always descends.

    >>> found = truncated_conjugate_gradient(lambda v: jnp.array([1.0, 2.0]) * v, jnp.array([1.0, 2.0]), 1e-6, 10)
    >>> found.direction.round(6).tolist(), int(found.products)
    ([-1.0, -1.0], 2)
    """
    goal = tolerance * jnp.linalg.norm(gradient)

    def unsolved(state):
        _, r, _, count, negative = state
        return (jnp.linalg.norm(r) > goal) & (count < max_steps) & ~negative

    def improve(state):
        d, r, p, count, _ = state
        hp = product(p)
        bend, square = p @ hp, r @ r
        negative = bend <= 0
        a = square / jnp.where(negative, 1.0, bend)
        after = r + a * hp
        following = -after + (after @ after) / square * p
        fallback = jnp.where(count == 0, -gradient, d)
        return jnp.where(negative, fallback, d + a * p), after, following, count + 1, negative

    begin = (jnp.zeros_like(gradient), gradient, -gradient, jnp.array(0), jnp.array(False))
    d, _, _, count, negative = jax.lax.while_loop(unsolved, improve, begin)
    return TruncatedSolution(d, count, negative)


class NewtonCGState(NamedTuple):
    """How many Hessian-vector products the rule has used so far."""

    products: Int[Array, ""]


class _NewtonCG(eqx.Module):
    forcing: Array
    most: int = eqx.field(static=True)
    search: bool = eqx.field(static=True)

    def init(self, parameters: PyTree) -> NewtonCGState:
        return NewtonCGState(jnp.array(0))

    def update(self, gradient, opt_state, parameters=None, *, value_fn=None, **extra):
        value_of, w, g, unravel = _flattened(gradient, parameters, value_fn, "newton_cg")
        slope = jax.linearize(jax.grad(value_of), w)[1]
        tolerance = jnp.minimum(self.forcing.astype(g.dtype), jnp.sqrt(jnp.linalg.norm(g)))
        found = truncated_conjugate_gradient(slope, g, tolerance, self.most)
        step = _searched(value_of, w, g, found.direction) if self.search else found.direction
        return unravel(step), NewtonCGState(opt_state.products + found.products)


def newton_cg(
    forcing: float | Array = 0.5, *, max_steps: int = 200, search: bool = True
) -> optax.GradientTransformationExtraArgs:
    """Inexact Newton: H d = −g by conjugate gradients on Hessian products, to min(`forcing`, √‖g‖) ‖g‖, then Armijo.

    The tolerance that falls with ‖g‖ keeps the convergence superlinear (Dembo, Eisenstat, Steihaug 1982). No Hessian
    is stored: a product is a derivative of the gradient, about two gradients. The update needs `value_fn`.

    >>> from leadline.optimisation import Quadratic, descend
    >>> bowl = Quadratic(jnp.diag(jnp.array([1.0, 8.0])), jnp.zeros(2))
    >>> bool(descend(bowl, newton_cg(), jnp.array([1.0, 1.0]), 12).values[-1] < 1e-12)
    True
    """
    if max_steps < 1:
        raise ValueError(f"newton_cg may use {max_steps} products a step; give most >= 1.")
    rule = _NewtonCG(jnp.asarray(forcing, float), max_steps, search)
    return optax.GradientTransformationExtraArgs(rule.init, rule.update)


def _searched(value_fn: Callable, w: Vector, g: Vector, direction: Vector) -> Vector:
    direction = jnp.where(direction @ g < 0, direction, -g)
    return armijo_step(value_fn, w, value_fn(w), direction @ g, direction) * direction


def _flattened(gradient: PyTree, parameters: PyTree, value_fn: Callable | None, rule: str) -> tuple:
    if value_fn is None or parameters is None:
        raise ValueError(
            f"{rule} needs the parameters and the loss at each update; call update(..., params, value_fn=loss)."
        )
    w, unravel = ravel_pytree(parameters)
    return (lambda flat: value_fn(unravel(flat))), w, ravel_pytree(gradient)[0], unravel
