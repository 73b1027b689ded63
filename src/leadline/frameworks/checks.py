"""What a network of any framework must be: floating-point parameters, a call that needs nothing but inputs."""

import inspect
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

INFERENCE = {
    "train": False,
    "training": False,
    "is_training": False,
    "enable_dropout": False,
    "inference": True,
    "deterministic": True,
    "use_running_average": True,
}


class Refused(ValueError):
    """What a network is, whatever its inputs: its message is one sentence for the user."""


def is_floating(leaf: Any) -> bool:
    return eqx.is_inexact_array(leaf) and jnp.issubdtype(leaf.dtype, jnp.floating)


def checked_arrays(params: PyTree) -> PyTree:
    """The parameters as JAX arrays, all of them real and floating-point."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        if not (hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)):
            kind = leaf.dtype if hasattr(leaf, "dtype") else type(leaf).__name__
            remedy = (
                "give real and imaginary parts as two arrays"
                if "complex" in str(kind)
                else "so keep what is not trained inside the function"
            )
            raise Refused(
                f"Parameter {jax.tree_util.keystr(path) or 'params'} is {kind}; the parameters must be a pytree of "
                f"floating-point arrays, {remedy}."
            )
    return jax.tree.map(jnp.asarray, params)


def required_arguments(call: Callable) -> list[str]:
    """The names of a call's arguments that have no default."""
    return [p.name for p in _arguments(call) if p.default is p.empty]


def inference_options(call: Callable, after: int = 1) -> dict[str, bool]:
    """What a call takes beside its first `after` arguments to be in inference mode: {"train": False}, ..."""
    return {p.name: INFERENCE[p.name] for p in _arguments(call)[after:] if p.name in INFERENCE}


def takes(call: Callable, name: str) -> bool:
    return any(p.name == name for p in _arguments(call))


def _arguments(call: Callable) -> list[inspect.Parameter]:
    every = inspect.signature(call).parameters.values()
    return [p for p in every if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def refuse_more(network: Any, names: list[str]) -> None:
    if names:
        raise Refused(
            f"The network, {kind_of(network)}, needs {' and '.join(names)} beside its inputs at every call; give a "
            "function f(params, inputs) that passes them on, as (f, params)."
        )


def refuse_no_call(network: Any) -> None:
    if not callable(network):
        raise Refused(f"The model is {kind_of(network)}, which cannot be called; give a module with __call__.")


def kind_of(model: Any) -> str:
    name = type(model).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def is_of(network: Any, library: str) -> bool:
    """Whether a class of this library, which need not be installed, is among those of the network."""
    return any(f"{base.__module__}.".startswith(f"{library}.") for base in type(network).__mro__)
