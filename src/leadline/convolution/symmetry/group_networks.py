"""Networks of group convolutions, equivariant at every stage, with scores that no turn of the image changes."""

from collections.abc import Sequence
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..pooling.window_reductions import reduce_windows
from .group_layers import GroupConvolution, Kind, LiftingConvolution, Maps


class GroupNetwork(eqx.Module):
    """Scores of `classes` from one image: a lifting and group convolutions, ReLU, pooling over positions and the group.

    Every layer is equivariant under the quarter turns (p4) and mirrors (p4m) of square images and the scores are
    invariant, whatever the weights (Cohen and Welling 2016). `channels` are those of each convolution; `pools` the side
    of the max-pooling after each (1: none), which must divide the side of the image. With group "p1" it is an ordinary
    convolutional network. Train it with `training.fit`.

    >>> net = GroupNetwork((4, 8), 10, key=jax.random.key(0))
    >>> image = jax.random.normal(jax.random.key(1), (8, 8))
    >>> bool(jnp.allclose(net(image), net(jnp.rot90(image)), atol=1e-5)), net.num_parameters
    (True, 1290)
    """

    layers: list[LiftingConvolution | GroupConvolution]
    head: eqx.nn.Linear
    pools: tuple[int, ...] = eqx.field(static=True)
    pooling: Literal["max", "mean"] = eqx.field(static=True)

    def __init__(
        self,
        channels: Sequence[int],
        classes: int,
        *,
        group: Kind = "p4",
        image_channels: int = 1,
        kernel: int = 3,
        pools: Sequence[int] | None = None,
        pooling: Literal["max", "mean"] = "max",
        wrap: bool = False,
        dtype=jnp.float32,
        key: PRNGKeyArray,
    ):
        if not channels:
            raise ValueError("A GroupNetwork needs one convolution or more; give their channels.")
        if pools is not None and len(pools) != len(channels):
            raise ValueError(
                f"GroupNetwork got {len(pools)} pools for {len(channels)} convolutions; give one for each."
            )
        if pooling not in ("max", "mean"):
            raise ValueError(f"The scores come from the max or the mean over the group; got pooling='{pooling}'.")
        first, *keys, last = jax.random.split(key, len(channels) + 1)
        options = {"group": group, "wrap": wrap, "dtype": dtype}
        self.layers = [
            LiftingConvolution(image_channels, channels[0], kernel, key=first, **options),  # pyright: ignore[reportCallIssue] - its base draws them
            *(
                GroupConvolution(before, after, kernel, key=k, **options)  # pyright: ignore[reportCallIssue]
                for before, after, k in zip(channels[:-1], channels[1:], keys, strict=True)
            ),
        ]
        self.head = eqx.nn.Linear(channels[-1], classes, dtype=dtype, key=last)
        self.pools = (1,) * len(channels) if pools is None else tuple(pools)
        self.pooling = pooling

    @property
    def num_parameters(self) -> int:
        """The number of weights and biases, each counted once however often its filter is turned."""
        return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(self, eqx.is_array)))

    def stages(self, image: Float[Array, "*channels h w"]) -> list[Array]:
        """The maps (channels, orientations, height, width) of every convolution, and the scores."""
        maps = jnp.asarray(image, self.head.weight.dtype)
        maps = maps[None] if maps.ndim == 2 else maps
        found = []
        for layer, side in zip(self.layers, self.pools, strict=True):
            maps = max_pooled(jax.nn.relu(layer(maps)), side)
            found.append(maps)
        pooled = maps.max((1, 2, 3)) if self.pooling == "max" else maps.mean((1, 2, 3))
        return [*found, self.head(pooled)]

    def __call__(self, image: Float[Array, "*channels h w"]) -> Float[Array, " classes"]:
        return self.stages(image)[-1]


def max_pooled(maps: Maps, side: int) -> Float[Array, "channels orientations h2 w2"]:
    """The largest value of each square of side x side pixels; squares that tile the image turn with it."""
    if side == 1:
        return maps
    h, w = maps.shape[-2:]
    if h % side or w % side:
        raise ValueError(
            f"Squares of {side} pixels do not tile maps of {h}x{w}, and others would not turn with the image: choose a "
            "side that divides both, or pad the images."
        )
    return reduce_windows(maps, (-2, -1), "max", side, side)
