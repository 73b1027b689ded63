"""Points at which a function is not differentiable: exact ties in max, min, |·| and comparisons."""

import warnings
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend import core
from jaxtyping import Array, PyTree

from leadline.differentiation.programs.traced_program import NESTED_CALLS, any_equation, equation_runner

from .operators.row_losses import batch_shapes
from .operators.streaming import batch_mean

_CALLS = {**NESTED_CALLS, "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}
_PAIRS = ("max", "min", "gt", "ge", "lt", "le")
_SINGLE = ("abs", "sign")


class KinkWarning(UserWarning):
    """The function has a kink exactly at the point: derivatives there are those of one side."""


def count_kinks(function: Callable[..., Any], params: PyTree, *rows: PyTree) -> Array:
    """At how many places the value of function(params, *rows) sits exactly on a kink that depends on the parameters.

    Looked at are max, min, clip, ReLU, |·|, sign and comparisons whose result is used (`where`). Ties of a maximum over
    an axis (pooling) and what happens inside loops are not.

    >>> int(count_kinks(lambda w: jnp.sum(jax.nn.relu(w)), jnp.array([0.0, 1.0, -2.0])))
    1
    """
    moved, fixed = eqx.partition((params, rows), eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(moved)
    of_params = len(jax.tree.leaves(moved[0]))

    def flat(*leaves: Array) -> list[Array]:
        p, r = eqx.combine(jax.tree.unflatten(structure, leaves), fixed)
        return jax.tree.leaves(function(p, *r))

    closed = jax.make_jaxpr(flat)(*leaves)
    active = [i < of_params for i in range(len(leaves))]
    if not _may_have_kinks(closed.jaxpr):
        return jnp.asarray(0)
    return _evaluate(closed.jaxpr, closed.consts, leaves, active)[2]


def warn_of_kinks(function: Callable[..., Any], params: PyTree, data: tuple, rows: int, batch: int | None) -> None:
    """Warn, in one sentence, if the function of any row of the data has a kink exactly at the parameters."""
    shapes = batch_shapes(data, rows if batch is None else min(batch, rows))
    if not _may_have_kinks(eqx.filter_make_jaxpr(function)(params, *shapes)[0].jaxpr):
        return  # smooth whatever the numbers are: nothing to compile
    if float(_kinks_per_batch(function, params, data, rows, batch)) > 0:
        warnings.warn(
            "The loss has a kink exactly at these parameters (an input of a ReLU, an absolute value or a maximum is at "
            "its corner), so it has no second derivative there; products are those of one side. Move the parameters "
            "a little to see how much it matters.",
            KinkWarning,
            stacklevel=3,
        )


@eqx.filter_jit
def _kinks_per_batch(function, params, data, rows, batch) -> Array:
    return batch_mean(lambda *some: count_kinks(function, params, *some).astype(float), data, rows, batch)


def _may_have_kinks(jaxpr: Any) -> bool:
    def bends(eqn: Any) -> bool:
        name = eqn.primitive.name
        return name in (*_PAIRS, *_SINGLE) and jnp.issubdtype(eqn.invars[0].aval.dtype, jnp.inexact)

    return any_equation(jaxpr, bends, _CALLS)


def _evaluate(jaxpr: Any, consts: Any, values: list, active: list[bool]) -> tuple[list, list[bool], Array]:
    """Run a program: its outputs, which of them depend on the parameters, and its ties among values that do."""
    found: dict[Any, tuple[Any, bool]] = {v: (c, False) for v, c in zip(jaxpr.constvars, consts, strict=True)}
    found.update((v, pair) for v, pair in zip(jaxpr.invars, zip(values, active, strict=True), strict=True))
    used = _used(jaxpr)
    ties = jnp.asarray(0)

    def look(atom: Any) -> tuple[Any, bool]:
        return (atom.val, False) if isinstance(atom, core.Literal) else found[atom]

    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        inputs, depends = zip(*map(look, eqn.invars), strict=True) if eqn.invars else ((), ())
        inner = eqn.params.get(_CALLS.get(name))
        if inner is not None:
            program, constants = (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, ())
            outputs, moved, more = _evaluate(program, constants, list(inputs), list(depends))
            ties = ties + (more if any(v in used for v in eqn.outvars) else 0)
        else:
            outputs = equation_runner(jaxpr, eqn)(*inputs)
            moved = [any(depends) and name != "stop_gradient"] * len(outputs)
            if any(depends) and any(v in used for v in eqn.outvars):
                ties = ties + _ties(name, inputs)
        found.update((v, pair) for v, pair in zip(eqn.outvars, zip(outputs, moved, strict=True), strict=True))
    results = [look(atom) for atom in jaxpr.outvars]
    return [value for value, _ in results], [depends for _, depends in results], ties


def _used(jaxpr: Any) -> set:
    """The variables that reach an output other than through stop_gradient."""
    used = {v for v in jaxpr.outvars if not isinstance(v, core.Literal)}
    for eqn in reversed(jaxpr.eqns):
        if eqn.primitive.name != "stop_gradient" and any(v in used for v in eqn.outvars):
            used.update(v for v in eqn.invars if not isinstance(v, core.Literal))
    return used


def _ties(name: str, inputs: tuple) -> Array | int:
    if not inputs or not jnp.issubdtype(jnp.result_type(inputs[0]), jnp.inexact):
        return 0
    if name in _SINGLE:
        return jnp.sum(inputs[0] == 0)
    return jnp.sum(inputs[0] == inputs[1]) if name in _PAIRS else 0
