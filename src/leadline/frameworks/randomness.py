"""Whether what a function returns depends on its first argument, as read from its program."""

from collections.abc import Callable
from typing import Any

import jax
from jax.extend import core

_CALLS = ("jaxpr", "call_jaxpr", "fun_jaxpr")  # where an equation that calls a program has it


def depends_on_first(function: Callable[[Any], Any], argument: Any) -> bool:
    """Whether the outputs of function(argument) can depend on it: a value that is computed and not used does not count.

    Loops are taken whole: what enters one is held to reach all that leaves it.

    >>> import jax.numpy as jnp
    >>> key = jax.random.key(0)
    >>> depends_on_first(lambda k: (jax.random.split(k), jnp.ones(2))[1], key)
    False
    >>> depends_on_first(lambda k: jax.random.normal(k), key)
    True
    """
    closed = jax.make_jaxpr(function)(argument)
    return any(_reached(closed.jaxpr, [True] + [False] * (len(closed.jaxpr.invars) - 1)))


def _reached(jaxpr: Any, reached: list[bool]) -> list[bool]:
    """Which outputs are reached from these inputs."""
    touched = {v for v, is_reached in zip(jaxpr.invars, reached, strict=True) if is_reached}

    def is_touched(atom: Any) -> bool:
        return not isinstance(atom, core.Literal) and atom in touched

    for eqn in jaxpr.eqns:
        into = [is_touched(atom) for atom in eqn.invars]
        inner = next((eqn.params[name] for name in _CALLS if name in eqn.params), None)
        inner = getattr(inner, "jaxpr", inner)
        if inner is not None and eqn.primitive.name != "scan" and len(inner.invars) == len(into):
            out = _reached(inner, into)
        else:
            out = [any(into)] * len(eqn.outvars)
        touched |= {v for v, is_reached in zip(eqn.outvars, out, strict=True) if is_reached}
    return [is_touched(atom) for atom in jaxpr.outvars]
