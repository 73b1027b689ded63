"""Networks whose units are switched off or scaled, by what multiplies the weights that leave each unit."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from leadline._checks import require, require_counts, require_rows

Model = TypeVar("Model", bound=PyTree)


def sub_network(network: Model, masks: Sequence[Float[Array | np.ndarray, " _"] | None]) -> Model:
    """The network whose linear layer l sees m_l ∘ h in place of its inputs h: column j of W_l is multiplied by m_lj.

    `network` is a pytree with `eqx.nn.Linear` layers, in the order in which they are applied: an Equinox network or
    the parameters that `as_apply` made of one. `masks` has one vector for each layer, None where nothing changes; the
    first masks the network's inputs. Zeros and ones give one of dropout's sub-networks; the probabilities of being
    kept give the scaled network that classic dropout uses at test time (Srivastava et al. 2014).

    >>> net = eqx.nn.MLP(2, 1, 3, 1, use_bias=False, use_final_bias=False, key=jax.random.key(0))
    >>> float(sub_network(net, [None, jnp.zeros(3)])(jnp.ones(2))[0])
    0.0
    """
    layers = linear_layers(network)
    if len(masks) != len(layers):
        raise ValueError(
            f"sub_network got {len(masks)} masks for {len(layers)} linear layers; give one for each, or None."
        )
    chosen = [(i, mask) for i, mask in enumerate(masks) if mask is not None]
    for i, mask in chosen:
        if np.shape(mask) != layers[i].weight.shape[1:]:
            raise ValueError(
                f"The mask of layer {i} has shape {np.shape(mask)}; give one number for each of its "
                f"{layers[i].weight.shape[1]} inputs."
            )
    weights = [layers[i].weight * jnp.asarray(mask, layers[i].weight.dtype) for i, mask in chosen]
    return eqx.tree_at(lambda n: [linear_layers(n)[i].weight for i, _ in chosen], network, weights)


def linear_layers(network: PyTree) -> list[eqx.nn.Linear]:
    """The linear layers of an Equinox network, in their order in the tree."""
    nodes = jax.tree.leaves(network, is_leaf=_is_linear)
    return [node for node in nodes if _is_linear(node)]


def _is_linear(node: Any) -> bool:
    return isinstance(node, eqx.nn.Linear)


class DeletionCurve(NamedTuple):
    """Accuracy with a share of the hidden units deleted: one row for each share, one column for each draw."""

    shares: Float[np.ndarray, " shares"]
    accuracy: Float[np.ndarray, "shares draws"]

    @property
    def area(self) -> float:
        """The area below the mean accuracy, per unit of share: 1 for a network that is always right."""
        return float(np.trapezoid(self.accuracy.mean(axis=1), self.shares) / np.ptp(self.shares))


def deletion_curve(
    apply: Callable[[PyTree, Array], Array],
    params: PyTree,
    inputs: Float[Array | np.ndarray, "n ..."],
    labels: Int[Array | np.ndarray, " n"],
    shares: Sequence[float] | Float[np.ndarray, " shares"],
    *,
    draws: int = 20,
    key: PRNGKeyArray,
) -> DeletionCurve:
    """The accuracy after deleting a random share of the units of every hidden layer, the others scaled up for it.

    Of n units the nearest number to (1 − q)n are kept, at least one, and multiplied by n over that number. Units that
    rely on each other (co-adaptation, Hinton et al. 2012) make the accuracy fall early. `params` has `eqx.nn.Linear`
    layers, as `as_apply` leaves them of an Equinox network; the inputs of all but the first are hidden units.

    >>> from leadline import as_apply, networks
    >>> net = networks.MLP((2, 8, 2), key=jax.random.key(0))
    >>> x = jax.random.normal(jax.random.key(1), (30, 2))
    >>> labels = jax.vmap(net)(x).argmax(1)
    >>> curve = deletion_curve(*as_apply(net), x, labels, (0.0, 0.5), draws=4, key=jax.random.key(2))
    >>> curve.accuracy[0].tolist(), curve.accuracy.shape
    ([1.0, 1.0, 1.0, 1.0], (2, 4))
    """
    require_rows("deletion_curve", inputs=inputs, labels=labels)
    require("deletion_curve", inputs=inputs, shares=shares)
    require_counts("deletion_curve", draws=draws)
    shares = np.asarray(shares, float)
    if shares.min() < 0 or shares.max() >= 1 or np.ptp(shares) == 0:
        raise ValueError(
            f"deletion_curve got shares from {shares.min():g} to {shares.max():g}; give several from 0 to below 1."
        )
    widths = [layer.weight.shape[1] for layer in linear_layers(params)[1:]]
    if not widths:
        raise ValueError(
            "deletion_curve found no hidden units: params has fewer than two eqx.nn.Linear layers; give the parameters "
            "of an Equinox network that has."
        )
    kept = np.array([[max(round((1 - q) * width), 1) for width in widths] for q in shares])
    keys = jax.random.split(key, draws)
    found = _accuracies(apply, params, jnp.asarray(inputs), jnp.asarray(labels), jnp.asarray(kept), keys)
    return DeletionCurve(shares, np.asarray(found, float))


@eqx.filter_jit
def _accuracies(apply, params, inputs, labels, kept, keys):
    widths = [layer.weight.shape[1] for layer in linear_layers(params)[1:]]

    def right(kept, key):
        masks: list[Array | None] = [None]
        for number, width, own in zip(kept, widths, jax.random.split(key, len(widths)), strict=True):
            chosen = jax.random.permutation(own, width) < number
            masks.append(chosen * (width / number))
        return jnp.mean(jnp.argmax(apply(sub_network(params, masks), inputs), axis=1) == labels)

    return jax.lax.map(lambda k: jax.vmap(lambda key: right(k, key))(keys), kept)


def mean_unit_correlation(activations: Float[Array | np.ndarray, "n units"]) -> float:
    """The mean of |corr(h_i, h_j)| over all pairs of different units that vary over the rows.

    >>> round(mean_unit_correlation(np.array([[1.0, 2.0, 7.0], [2.0, 0.0, 7.0], [3.0, -2.0, 7.0]])), 6)
    1.0
    """
    require("mean_unit_correlation", axes=2, activations=activations)
    h = np.asarray(activations, float)
    h = h[:, h.std(axis=0) > 1e-12 * np.abs(h).max()]
    if h.shape[1] < 2:
        raise ValueError(f"mean_unit_correlation got {h.shape[1]} units that vary; give two or more.")
    upper = np.triu_indices(h.shape[1], 1)
    return float(np.abs(np.corrcoef(h.T)[upper]).mean())
