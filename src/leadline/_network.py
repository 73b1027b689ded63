"""The one form of a network, apply(params, inputs) -> outputs on a batch, made of whatever a user has."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

Apply = Callable[[PyTree, Array], Array]  # (params, inputs of a batch) -> outputs, one row for each input
ExampleFunction = Callable[[PyTree, Array], Array]  # (params, one input) -> its outputs

_INFERENCE = {
    "train": False,
    "training": False,
    "is_training": False,
    "deterministic": True,
    "use_running_average": True,
}


class Network(NamedTuple):
    """A network as `apply(params, inputs)` and its `params`; it unpacks into the two: `pgd(*as_apply(net), x, y)`."""

    apply: Apply
    params: PyTree


class BatchFunction(eqx.Module):
    """apply(params, inputs) of a batch, from function(params, x) of one example (`mapped`) or of a batch.

    Equal for equal networks, so that what is compiled for one serves the next.
    """

    function: Callable
    mapped: bool = eqx.field(static=True)
    select: Callable | None = eqx.field(static=True, default=None)

    def __call__(self, params: PyTree, inputs: Array | np.ndarray) -> Array:
        inputs = jnp.asarray(inputs)
        if inputs.ndim == 0:
            raise ValueError("The inputs are a single number; give a batch, with one example per row.")
        outputs = jax.vmap(lambda x: self.of_example(params, x))(inputs) if self.mapped else self._run(params, inputs)
        if outputs.ndim == 0 or len(outputs) != len(inputs):
            raise ValueError(
                f"{len(inputs)} inputs give outputs of shape {outputs.shape}, not one row for each; say batched=False "
                "if the network takes one example."
            )
        return outputs

    def of_example(self, params: PyTree, x: Array) -> Array:
        """The outputs of one example."""
        return self._run(params, x) if self.mapped else self._run(params, x[None])[0]

    def _run(self, params: PyTree, x: Array) -> Array:
        outputs = self.function(params, x)
        outputs = outputs if self.select is None else self.select(outputs)
        return _one_array(outputs)


class OneOfBatch(eqx.Module):
    """f(params, x) for one input x, from a function of batches that treats its rows alike."""

    apply: Callable

    def __call__(self, params: PyTree, x: Array) -> Array:
        return _one_array(self.apply(params, x[None]))[0]


def of_example(apply: Apply) -> ExampleFunction:
    """f(params, x) of one example: the network's own where it was written so, else the only row of a batch."""
    return apply.of_example if isinstance(apply, BatchFunction) and apply.mapped else OneOfBatch(apply)


def as_apply(model: Any, *, batched: bool | None = None, select: Callable[[Any], Array] | None = None) -> Network:
    """A network in the form that the whole library takes: apply(params, inputs) -> outputs on a batch.

    `model` is one of

    - an Equinox module, or (module, eqx.nn.State) where layers keep a state;
    - a Flax NNX module; a Flax Linen module that is bound, or (module, variables);
    - a Haiku transform with its parameters, (transform, params), or (transform, (params, state)) if it has a state;
    - a function f(params, inputs) with its parameters, (f, params).

    Dropout and batch normalisation are in inference mode; the model itself is left as it is. `params` is a pytree of
    its trainable floating-point arrays, in their precision, and all else stays in `apply`. An Equinox module is of one
    example and every other network of a batch, unless `batched` says otherwise; `select` picks one array where a
    network returns several.

    >>> net = eqx.nn.Linear(3, 2, key=jax.random.key(0))
    >>> apply, params = as_apply(net)
    >>> x = jnp.ones((5, 3))
    >>> bool((apply(params, x) == jax.vmap(net)(x)).all())
    True
    >>> apply, params = as_apply((lambda w, x: x @ w, jnp.ones((3, 2))))
    >>> apply(params, x).shape
    (5, 2)
    """
    if isinstance(model, Network):
        return model
    paired = isinstance(model, tuple) and len(model) == 2 and not hasattr(model, "_fields")
    network, given = model if paired else (model, None)
    function, params, of_batch = _opened(network, given)
    if not jax.tree.leaves(params):
        raise ValueError(f"The network, {_kind(network)}, has no floating-point parameters; give one that has some.")
    mapped = not (of_batch if batched is None else batched)
    return Network(BatchFunction(function, mapped, select), params)


def _opened(network: Any, given: Any) -> tuple[Callable, PyTree, bool]:
    """function(params, x), its parameters, and whether such networks take a batch."""
    if _is_of(network, "torch"):
        raise ValueError(
            f"The network, {_kind(network)}, is a PyTorch module, which is not taken yet; give its forward pass as a "
            "function of JAX arrays with its parameters, (f, params)."
        )
    if isinstance(network, eqx.Module) and (given is None or isinstance(given, eqx.nn.State)):
        return *_equinox(network, given), False
    if _is_of(network, "flax.nnx"):
        if given is not None:
            raise ValueError("A Flax NNX module holds its own state; give the module alone.")
        return *_nnx(network), True
    if _is_of(network, "flax.linen"):
        return *_linen(network, given), True
    if all(callable(getattr(network, part, None)) for part in ("init", "apply")):
        return *_haiku(network, given), True
    if not callable(network):
        raise ValueError(
            f"The model is {_kind(network)}, not a network; give an Equinox, Flax or Haiku network, or a function "
            "f(params, inputs) with its parameters as (f, params)."
        )
    if given is None:
        raise ValueError(
            f"The model is {_kind(network)} without parameters, not a network; give a function f(params, inputs) with "
            "its parameters as (f, params)."
        )
    return network, _arrays(given), True


def _is_of(network: Any, library: str) -> bool:
    """Whether a class of this library, which need not be installed, is among those of the network."""
    return any(f"{base.__module__}.".startswith(f"{library}.") for base in type(network).__mro__)


class _Equinox(eqx.Module):
    rest: PyTree
    state: eqx.nn.State | None = None

    def __call__(self, params: PyTree, x: Array) -> Array:
        network = eqx.combine(params, self.rest)
        if self.state is None:
            return network(x)
        state = jax.tree.map(lambda leaf: leaf, self.state)  # a copy: a layer that sets its state spoils the given one
        return network(x, state)[0]


def _equinox(network: eqx.Module, state: eqx.nn.State | None) -> tuple[Callable, PyTree]:
    if not callable(network):
        raise ValueError(f"The model is {_kind(network)}, which cannot be called; give a module with __call__.")
    wanted = _required(network.__call__)[1:]
    if state is None and (_has_state(network) or "state" in wanted):
        raise ValueError(
            f"The network, {_kind(network)}, has layers with a state, as batch normalisation has; give the pair "
            "(network, state) that eqx.nn.make_with_state returned."
        )
    _refuse_more(network, [name for name in wanted if state is None or name != "state"])
    params, rest = eqx.partition(eqx.nn.inference_mode(network), _is_floating)
    return _Equinox(rest, state), params


def _has_state(network: PyTree) -> bool:
    leaves = jax.tree.leaves(network, is_leaf=lambda leaf: isinstance(leaf, eqx.nn.StateIndex))
    return any(isinstance(leaf, eqx.nn.StateIndex) for leaf in leaves)


class _Nnx(eqx.Module):
    graph: Any = eqx.field(static=True)
    rest: PyTree

    def __call__(self, params: PyTree, x: Array) -> Array:
        from flax import nnx

        return nnx.merge(self.graph, params, self.rest)(x)


def _nnx(network: Any) -> tuple[Callable, PyTree]:
    from flax import nnx

    if not callable(network):
        raise ValueError(f"The model is {_kind(network)}, which cannot be called; give a module with __call__.")
    _refuse_more(network, _required(network.__call__)[1:])
    copy = nnx.clone(network)
    copy.eval()
    graph, params, rest = nnx.split(copy, nnx.Param, ...)
    return _Nnx(graph, rest), nnx.to_pure_dict(params)


class _Linen(eqx.Module):
    module: Any = eqx.field(static=True)
    rest: PyTree
    options: tuple[tuple[str, bool], ...] = eqx.field(static=True)

    def __call__(self, params: PyTree, x: Array) -> Array:
        return self.module.apply({**self.rest, "params": params}, x, **dict(self.options))


def _linen(network: Any, variables: Any) -> tuple[Callable, PyTree]:
    if variables is None and network.scope is not None:
        network, variables = network.unbind()
    if not isinstance(variables, dict) or "params" not in variables:
        raise ValueError(
            f"The network, {_kind(network)}, is a Flax Linen module without its variables; give the pair "
            "(module, variables), where variables is what init returned, with its 'params'."
        )
    names = list(inspect.signature(network.__call__).parameters)[1:]
    options = tuple((name, _INFERENCE[name]) for name in names if name in _INFERENCE)
    _refuse_more(network, [name for name in _required(network.__call__)[1:] if name not in _INFERENCE])
    rest = {name: part for name, part in variables.items() if name != "params"}
    return _Linen(network, rest, options), _arrays(variables["params"])


class _Haiku(eqx.Module):
    transformed: Callable = eqx.field(static=True)
    state: PyTree = None
    stateful: bool = eqx.field(static=True, default=False)

    def __call__(self, params: PyTree, x: Array) -> Array:
        return self.transformed(params, self.state, None, x)[0] if self.stateful else self.transformed(params, None, x)


def _haiku(network: Any, given: Any) -> tuple[Callable, PyTree]:
    stateful = list(inspect.signature(network.apply).parameters)[1:2] == ["state"]
    if given is None or (stateful and not (isinstance(given, tuple) and len(given) == 2)):
        form = "(transform, (params, state))" if stateful else "(transform, params)"
        raise ValueError(f"The network, {_kind(network)}, is a Haiku transform without all of its values; give {form}.")
    params, state = given if stateful else (given, None)
    return _Haiku(network.apply, state, stateful), _arrays(params)


def _is_floating(leaf: Any) -> bool:
    return eqx.is_inexact_array(leaf) and jnp.issubdtype(leaf.dtype, jnp.floating)


def _arrays(params: PyTree) -> PyTree:
    """The parameters as JAX arrays, all of them real and floating-point."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        if not (hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)):
            kind = leaf.dtype if hasattr(leaf, "dtype") else type(leaf).__name__
            raise ValueError(
                f"Parameter {jax.tree_util.keystr(path) or 'params'} is {kind}; the parameters must be a pytree of "
                "floating-point arrays, so keep what is not trained inside the function."
            )
    return jax.tree.map(jnp.asarray, params)


def _required(call: Callable) -> list[str]:
    """The names of a call's arguments that have no default."""
    return [
        p.name
        for p in inspect.signature(call).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]


def _refuse_more(network: Any, names: list[str]) -> None:
    if names:
        raise ValueError(
            f"The network, {_kind(network)}, needs {' and '.join(names)} beside its inputs at every call; give a "
            "function f(params, inputs) that passes them on, as (f, params)."
        )


def _kind(model: Any) -> str:
    name = type(model).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def _one_array(outputs: Any) -> Array:
    if not hasattr(outputs, "shape"):
        raise ValueError(
            f"The network returns {_contents(outputs)}, not one array; choose one by select=, as in "
            f"as_apply(model, select=lambda out: {_choice(outputs)})."
        )
    return jnp.asarray(outputs)


def _contents(outputs: Any) -> str:
    if isinstance(outputs, dict):
        return f"a dict with {', '.join(map(repr, outputs))}"
    return f"{_kind(outputs)} of {len(outputs)}" if isinstance(outputs, tuple | list) else _kind(outputs)


def _choice(outputs: Any) -> str:
    if isinstance(outputs, dict) and outputs:
        return f"out[{next(iter(outputs))!r}]"
    fields = getattr(outputs, "_fields", None)
    return f"out.{fields[0]}" if fields else "out[0]"
