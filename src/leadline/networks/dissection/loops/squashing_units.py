"""The squashing units of any function: every logistic function and hyperbolic tangent that it evaluates."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax.extend import core
from jaxtyping import Array, Float

from leadline.differentiation.programs.traced_program import equation_runner, nested_program

SQUASHING = {"logistic": "logistic", "tanh": "tanh"}


class Squashed(NamedTuple):
    """The values of one such unit or layer of units: "logistic" values lie in [0, 1], "tanh" values in [-1, 1]."""

    kind: str
    values: Float[Array, "..."]


def with_squashed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, list[Squashed]]:
    """function(*arguments), and the values of the logistic functions and tangents in it, in the order of evaluation.

    They are read off the traced function, whatever framework it was written with; gates of recurrent cells are such
    values. Pure: it may be mapped and scanned. Inside loops and custom derivatives nothing is seen.

    >>> import jax.numpy as jnp
    >>> out, found = with_squashed(lambda h, x: jax.nn.sigmoid(x) * jnp.tanh(h), jnp.zeros(2), jnp.zeros(2))
    >>> [(one.kind, one.values.tolist()) for one in found]
    [('logistic', [0.5, 0.5]), ('tanh', [0.0, 0.0])]
    """
    closed, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
    found: list[Squashed] = []
    outputs = _evaluated(closed.jaxpr, closed.consts, jax.tree.leaves(arguments), found)
    return jax.tree.unflatten(jax.tree.structure(shape), outputs), found


def evaluated_with_squashed(closed: Any, arguments: list[Any]) -> tuple[list[Any], list[Squashed]]:
    """The outputs of a closed program (a jaxpr) for flat arguments, and its squashed values."""
    found: list[Squashed] = []
    return _evaluated(closed.jaxpr, closed.consts, arguments, found), found


def _evaluated(jaxpr: Any, consts: Any, arguments: list[Any], found: list[Squashed]) -> list[Any]:
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, core.Literal) else values[atom]

    for eqn in jaxpr.eqns:
        inputs, inner = [read(atom) for atom in eqn.invars], nested_program(eqn)
        if inner is not None:
            whole = isinstance(inner, core.ClosedJaxpr)
            results = _evaluated(inner.jaxpr if whole else inner, inner.consts if whole else (), inputs, found)
        else:
            results = equation_runner(jaxpr, eqn)(*inputs)
        if eqn.primitive.name in SQUASHING:
            found.append(Squashed(SQUASHING[eqn.primitive.name], results[0]))
        values.update(zip(eqn.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]
