"""Transfer by frozen features: keep the layers of one task up to a cut and refit only what lies above it."""

from collections.abc import Callable

import equinox as eqx
import jax
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline._checks import require_numbers
from leadline.training import minimise

from .architectures.fully_connected import MLP


def partition_at(net: MLP, cut: int) -> tuple[MLP, MLP]:
    """(head, frozen): the network's layers from `cut` on and those below it, each with None in the other's places.

    `eqx.combine(head, frozen)` is the network again.

    >>> head, frozen = partition_at(MLP((4, 3, 2), key=jax.random.key(0)), 1)
    >>> head.layers[0].weight is None, frozen.layers[1].weight is None, head.layers[1].weight.shape
    (True, True, (2, 3))
    """
    _check_cut(net, cut)
    spec = jax.tree.map(lambda _: True, net)

    def below(n):
        return [layer for layer in n.layers[:cut]]

    if cut:
        spec = eqx.tree_at(below, spec, jax.tree.map(lambda _: False, below(net)))
    return eqx.partition(net, spec)


def with_features(net: MLP, features: MLP, cut: int) -> MLP:
    """`net` with its first `cut` layers taken from `features`, a network of the same widths up to there.

    >>> a, b = (MLP((4, 3, 2), key=jax.random.key(seed)) for seed in (0, 1))
    >>> both = with_features(a, b, 1)
    >>> [bool((both.layers[i].weight == n.layers[i].weight).all()) for i, n in ((0, b), (1, a))]
    [True, True]
    """
    _check_cut(net, cut)
    if net.widths[: cut + 1] != features.widths[: cut + 1] or net.activation != features.activation:
        raise ValueError(
            f"with_features got widths {net.widths} and {features.widths} and cut {cut}; the first {cut + 1} widths "
            "and the activation must agree."
        )
    return eqx.tree_at(lambda n: n.layers, net, (*features.layers[:cut], *net.layers[cut:]))


def refit_head(
    objective: Callable[..., Float[Array, ""]],
    net: MLP,
    cut: int,
    optimiser: optax.GradientTransformation,
    num_steps: int,
    *arrays: PyTree,
    batch: int | None = None,
    key: PRNGKeyArray | None = None,
) -> tuple[MLP, Float[Array, " steps"]]:
    """Minimise objective(net, *arrays) over the layers from `cut` on; those below stay as they are, bit by bit.

    Returns the network and the loss before each step, as `training.minimise` does; it may be mapped over networks.

    >>> import jax.numpy as jnp
    >>> net = MLP((2, 3, 1), key=jax.random.key(0))
    >>> fit, _ = refit_head(lambda n, x: jnp.sum(n(x) ** 2), net, 1, optax.sgd(0.1), 5, jnp.ones(2))
    >>> bool((fit.layers[0].weight == net.layers[0].weight).all())
    True
    """
    require_numbers("refit_head", arrays=arrays)
    head, frozen = partition_at(net, cut)

    def on_head(objective: Callable, frozen: MLP, head: MLP, *arrays: PyTree) -> Float[Array, ""]:
        return objective(eqx.combine(head, frozen), *arrays)

    head, losses = minimise(
        eqx.Partial(on_head, objective, frozen), head, optimiser, num_steps, *arrays, batch=batch, key=key
    )
    return eqx.combine(head, frozen), losses


def _check_cut(net: MLP, cut: int) -> None:
    if not 0 <= cut < len(net.layers):
        raise ValueError(
            f"The cut is {cut} in a network of {len(net.layers)} layers; choose 0 to {len(net.layers) - 1}."
        )
