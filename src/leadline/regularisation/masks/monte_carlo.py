"""Monte Carlo dropout: masks stay on at test time, and many passes give a mean and a spread."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree
from scipy.special import entr

from leadline._checks import require, require_counts
from leadline.frameworks.dropout_switches import dropout_layers, with_dropout
from leadline.frameworks.network import Apply
from leadline.frameworks.opening import as_apply

KeyedApply = Callable[[PyTree, Array, PRNGKeyArray], Array]


class KeyedNetwork(NamedTuple):
    """A network as apply(params, inputs, key) on a batch, where the key draws the masks, and its parameters."""

    apply: KeyedApply
    params: PyTree


class DropoutPredictions(NamedTuple):
    """Outputs of `draws` passes with fresh masks, and what they say together."""

    passes: Float[np.ndarray, "draws n ..."]

    @property
    def mean(self) -> Float[np.ndarray, "n ..."]:
        """The predictive mean; of probabilities, the predictive probabilities."""
        return self.passes.mean(axis=0)

    @property
    def sd(self) -> Float[np.ndarray, "n ..."]:
        """The standard deviation over masks: a proxy for epistemic uncertainty, without the noise of targets."""
        return self.passes.std(axis=0, ddof=1)

    @property
    def mutual_information(self) -> Float[np.ndarray, " n"]:
        """H(mean) − mean H in nats, of probabilities: how far the answer depends on the mask (Houlsby et al. 2011)."""
        return entr(self.mean).sum(axis=-1) - entr(self.passes).sum(axis=-1).mean(axis=0)


def mc_dropout(
    apply: KeyedApply,
    params: PyTree,
    inputs: Num[Array | np.ndarray, "n ..."],
    *,
    draws: int = 100,
    key: PRNGKeyArray,
    link: Callable[[Array], Array] | None = None,
) -> DropoutPredictions:
    """Predictions of `draws` passes of apply(params, inputs, key), each with a key of its own (Gal, Ghahramani 2016).

    `link` is applied to the outputs of each pass: `jax.nn.softmax` makes probabilities of scores. `keyed_apply` makes
    the two first arguments of an Equinox network. At a fixed dropout rate the spread does not vanish with more data.

    >>> noisy = lambda w, x, key: x * w * (1 + 0.1 * jax.random.normal(key, x.shape))
    >>> found = mc_dropout(noisy, jnp.array(2.0), jnp.ones((3, 1)), draws=400, key=jax.random.key(0))
    >>> found.mean.shape, bool(np.all(np.abs(found.sd - 0.2) < 0.05))
    ((3, 1), True)
    """
    require("mc_dropout", inputs=inputs)
    require_counts("mc_dropout", least=2, draws=draws)
    passes = _passes(apply, params, jnp.asarray(inputs), jax.random.split(key, draws), link)
    return DropoutPredictions(np.asarray(passes))


@eqx.filter_jit
def _passes(apply, params, inputs, keys, link):
    def one(key):
        outputs = apply(params, inputs, key)
        return outputs if link is None else link(outputs)

    return jax.lax.map(one, keys)


def keyed_apply(model: Any) -> KeyedNetwork:
    """An Equinox network with its dropout on and all else as in use: apply(params, inputs, key), for `mc_dropout`.

    `model` is a network that takes a key, (network, state), or what `as_apply` made of one. A key draws one
    sub-network for all rows. Layers that have an `inference` switch are put in training mode unless they keep a
    state: batch normalisation goes on using its running statistics.

    >>> net = eqx.nn.Sequential([eqx.nn.Dropout(0.5), eqx.nn.Linear(4, 2, key=jax.random.key(0))])
    >>> apply, params = keyed_apply(net)
    >>> one, other = (apply(params, jnp.ones((3, 4)), jax.random.key(seed)) for seed in (1, 2))
    >>> one.shape, bool((one[0] == one[1]).all()), bool((one == other).all())
    ((3, 2), True, False)
    """
    apply, params = as_apply(model)
    if not dropout_layers(apply):
        raise ValueError(
            "keyed_apply found no dropout in the network: no layer of an Equinox module has an `inference` switch, a "
            "rate above 0 and no state; give a network with one, or mc_dropout a function of (params, inputs, key)."
        )
    return KeyedNetwork(_Keyed(apply), params)


class _Keyed(eqx.Module):
    apply: Apply

    def __call__(self, params: PyTree, inputs: Array, key: PRNGKeyArray) -> Array:
        return with_dropout(self.apply, key)(params, inputs)
