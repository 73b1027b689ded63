"""`as_apply`: whatever network a user has, opened as the one form that the library takes."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, PyTree

from .checks import Refused, checked_arrays, is_of, kind_of
from .equinox_modules import open_equinox
from .flax_modules import open_linen, open_nnx, open_train_state
from .haiku_transforms import open_haiku
from .network import BatchFunction, Network, chosen_output
from .scikit_learn_networks import open_scikit_learn
from .with_state import WithState


def as_apply(
    model: Any,
    example: Any = None,
    *,
    batched: bool | None = None,
    select: Callable[[Any], Array] | int | str | None = None,
) -> Network:
    """A network in the form that the whole library takes: apply(params, inputs) -> outputs on a batch.

    `model` is one of

    - an Equinox module, or (module, eqx.nn.State) where layers keep a state;
    - a Flax NNX module; a Flax Linen module that is bound, or (module, variables); a TrainState;
    - a Haiku transform with its parameters, (transform, params), or (transform, (params, state)) if it has a state;
    - a fitted MLPClassifier or MLPRegressor of scikit-learn, whose outputs are taken before softmax or logistic;
    - a PyTorch module, or (module, state_dict), with an `example`, a batch of its inputs: the module is traced by
      torch.export and run in JAX, on batches of any size; double precision stays so if JAX has 64-bit numbers;
    - a function f(params, inputs) with its parameters, (f, params).

    Dropout and batch normalisation are in inference mode; the model itself is left as it is. `params` is a pytree of
    its trainable floating-point arrays, in their precision, and all else stays in `apply`. An Equinox module is of one
    example and every other network of a batch, unless `batched` says otherwise; `select` picks one array where a
    network returns several: a function, or a place or a name among them.

    >>> import jax.numpy as jnp
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
    if isinstance(model, WithState):
        model = (model.network, model.state)
    paired = isinstance(model, tuple) and len(model) == 2 and not hasattr(model, "_fields")
    network, given = model if paired else (model, None)
    function, params, of_batch = _opened(network, given, example, batched)
    if not jax.tree.leaves(params):
        raise Refused(f"The network, {kind_of(network)}, has no floating-point parameters; give one that has some.")
    mapped = not (of_batch if batched is None else batched)
    return Network(BatchFunction(function, mapped, chosen_output(select)), params)


def _opened(network: Any, given: Any, example: Any, batched: bool | None) -> tuple[Callable, PyTree, bool]:
    """function(params, x), its parameters, and whether such networks take a batch."""
    if isinstance(network, type):
        raise Refused(f"The model is the class {network.__name__}; call it to make a network.")
    if is_of(network, "torch"):
        from .torch_modules.opening import open_torch

        return *open_torch(network, given, example, batched is not False), True
    if isinstance(network, Mapping) and any(is_of(value, "torch") for value in network.values()):
        raise Refused(
            "The model is a state_dict of PyTorch, weights without the network; give the architecture too, as the pair "
            "(module, state_dict)."
        )
    if isinstance(network, eqx.Module) and (given is None or isinstance(given, eqx.nn.State)):
        return *open_equinox(network, given), False
    if is_of(network, "flax.nnx"):
        return *open_nnx(network, given), True
    if is_of(network, "flax.linen"):
        return *open_linen(network, given), True
    if is_of(network, "flax.training.train_state"):
        return *open_train_state(network), True
    if is_of(network, "sklearn"):
        return *open_scikit_learn(network), True
    if all(callable(getattr(network, part, None)) for part in ("init", "apply")):
        return *open_haiku(network, given), True
    if not callable(network):
        raise Refused(
            f"The model is {kind_of(network)}, not a network; give an Equinox, Flax, Haiku, PyTorch or scikit-learn "
            "network, or a function f(params, inputs) with its parameters as (f, params)."
        )
    if given is None:
        raise Refused(
            f"The model is {kind_of(network)} without parameters, not a network; give a function f(params, inputs) "
            "with its parameters as (f, params)."
        )
    return network, checked_arrays(given), True
