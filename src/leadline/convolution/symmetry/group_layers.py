"""Lifting and group convolutions p4 and p4m on images (Cohen and Welling 2016): filters in every turn and mirror."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline.geometry.groups.named_groups import point_matrices

from ..layers.layer_kinds import ConvLayer
from ..layers.layer_operations import correlate_windows

Kind = Literal["p1", "p4", "p4m"]
Maps = Float[Array, "channels orientations height width"]


def orientations(group: Kind) -> int:
    """The number of turns and mirrors: 1 for p1, 4 for p4, 8 for p4m."""
    return point_matrices(group)[1].order


def turn_planes(planes: Num[Array, "... h w"], element: int) -> Num[Array, "... h2 w2"]:
    """(sX)(x) = X(s⁻¹x) on the last two axes; element k + 4 m mirrors left and right if m = 1, then turns by 90k°.

    >>> turn_planes(jnp.array([[1, 2], [3, 4]]), 1).tolist()
    [[2, 4], [1, 3]]
    """
    mirrored = planes[..., ::-1] if element >= 4 else planes
    return jnp.rot90(mirrored, element % 4, axes=(-2, -1))


def turn_maps(
    group: Kind, maps: Float[Array, "... orientations h w"], element: int
) -> Float[Array, "... orientations h w"]:
    """(sY)(x, t) = Y(s⁻¹x, s⁻¹t): every map turned, and the axis of orientations permuted."""
    point = point_matrices(group)[1]
    return turn_planes(maps[..., point.table[point.inverses[element]], :, :], element)


class TurnedFilters(eqx.Module):
    """What lifting and group convolutions share: weights, one bias a channel, the group, and the border."""

    weight: Float[Array, "out into ..."]
    bias: Float[Array, "out _ _ _"]
    group: Kind = eqx.field(static=True)
    wrap: bool = eqx.field(static=True)

    def __init__(
        self,
        into: int,
        out: int,
        kernel: int = 3,
        *,
        group: Kind = "p4",
        wrap: bool = False,
        dtype=jnp.float32,
        key: PRNGKeyArray,
    ):
        if kernel < 1 or kernel % 2 == 0:
            raise ValueError(
                f"The kernel has {kernel} taps a side; give an odd number, so that it turns about its centre."
            )
        shape = (out, into, *self.weight_orientations(group), kernel, kernel)
        self.weight = jax.random.normal(key, shape, dtype) * float(np.sqrt(2 / np.prod(shape[1:])))
        self.bias = jnp.zeros((out, 1, 1, 1), dtype)
        self.group, self.wrap = group, wrap

    @staticmethod
    def weight_orientations(group: Kind) -> tuple[int, ...]:
        """The axis of orientations that the weights have, if any."""
        raise NotImplementedError

    def _correlated(self, planes: Array, filters: Array) -> Maps:
        """Every filter (out, s, planes, k, k) over the planes (planes, h, w), same size, with the bias."""
        out, s, *_, k = filters.shape
        height, width = planes.shape[1:]
        if self.group != "p1" and height != width:
            raise ValueError(f"Quarter turns need square images; got {height}x{width}: crop or pad them.")
        if self.wrap and min(height, width) < k // 2:
            raise ValueError(f"A kernel of side {k} does not fit a torus of {height}x{width} pixels.")
        layer = ConvLayer(out * s, k, padding="same", wrap=self.wrap)
        flat = filters.reshape(out * s, *filters.shape[2:])
        found = correlate_windows(jnp.moveaxis(planes.astype(filters.dtype), 0, -1), flat, layer)
        return jnp.moveaxis(found, -1, 0).reshape(out, s, height, width) + self.bias


class LiftingConvolution(TurnedFilters):
    """From an image (channels, h, w) to maps on the group (out, orientations, h, w), with one bias a channel.

    y(x, s) = Σ_v w(s⁻¹(v - x)) X(v) + b: one filter in all its turns (p4) and mirrors (p4m). Zeros outside the image,
    or, with `wrap`, a torus. Turning the image turns the maps and permutes the orientations.

    >>> layer = LiftingConvolution(1, 2, key=jax.random.key(0))
    >>> image = jax.random.normal(jax.random.key(1), (1, 5, 5))
    >>> bool(jnp.allclose(layer(turn_planes(image, 1)), turn_maps("p4", layer(image), 1), atol=1e-5))
    True
    """

    @staticmethod
    def weight_orientations(group: Kind) -> tuple[int, ...]:
        orientations(group)  # refuses a group that there is not
        return ()

    def filters(self) -> Float[Array, "out s into k k"]:
        """The filter of every orientation."""
        return jnp.stack([turn_planes(self.weight, s) for s in range(orientations(self.group))], axis=1)

    def __call__(self, image: Float[Array, "into h w"]) -> Maps:
        if image.ndim != 3 or image.shape[0] != self.weight.shape[1]:
            raise ValueError(
                f"The layer takes an image of shape ({self.weight.shape[1]}, height, width); got {image.shape}."
            )
        return self._correlated(image, self.filters())


class GroupConvolution(TurnedFilters):
    """From maps (into, orientations, h, w) to maps (out, orientations, h, w), with one bias a channel.

    y(x, s) = Σ_t Σ_v w(s⁻¹(v - x), s⁻¹t) Y(v, t) + b, the convolution on Z² ⋊ C_4 (p4) or D_4 (p4m): filters turn and
    their axis of orientations is permuted. With group p1 it is an ordinary convolution.

    >>> layer = GroupConvolution(2, 3, group="p4m", key=jax.random.key(0))
    >>> maps = jax.random.normal(jax.random.key(1), (2, 8, 5, 5))
    >>> bool(jnp.allclose(layer(turn_maps("p4m", maps, 6)), turn_maps("p4m", layer(maps), 6), atol=1e-5))
    True
    """

    @staticmethod
    def weight_orientations(group: Kind) -> tuple[int, ...]:
        return (orientations(group),)

    def filters(self) -> Float[Array, "out s into t k k"]:
        """The filter of every orientation: `turn_maps` of the weights."""
        every = range(orientations(self.group))
        return jnp.stack([turn_maps(self.group, self.weight, s) for s in every], axis=1)

    def __call__(self, maps: Maps) -> Float[Array, "out orientations height width"]:
        if maps.ndim != 4 or maps.shape[:2] != self.weight.shape[1:3]:
            into, s = self.weight.shape[1:3]
            raise ValueError(f"The layer takes maps of shape ({into}, {s}, height, width); got {maps.shape}.")
        filters = self.filters()
        flat = filters.reshape(*filters.shape[:2], -1, *filters.shape[4:])
        return self._correlated(maps.reshape(-1, *maps.shape[2:]), flat)
