"""What the units of a network respond to: the patches that excite them most, and images made to excite them."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from leadline._checks import require_counts
from leadline.training import minimise

from .conv_network import ConvNetwork
from .receptive_fields import receptive_field


class TopPatches(NamedTuple):
    """For each channel the largest responses, where they are, and the part of the image that each of them sees."""

    responses: Float[np.ndarray, "channels count"]
    images: Int[np.ndarray, "channels count"]
    places: Int[np.ndarray, "channels count 2"]
    patches: Float[np.ndarray, "channels count size size"]


def top_patches(
    net: ConvNetwork, images: Float[Array | np.ndarray, "n height width"], layer: int, count: int = 4
) -> TopPatches:
    """The `count` images with the largest response of each channel of a layer, and the receptive fields of these.

    An image counts once, at its largest response. `layer` counts the network's layers from 0; beyond the border of an
    image a patch is 0.

    >>> from leadline.convolution import ConvLayer
    >>> net = ConvNetwork([ConvLayer(1, 1, bias=False)], (1, 4, 4), key=jax.random.key(0))
    >>> image = np.zeros((1, 4, 4)); image[0, 1, 2] = float(jnp.sign(net.built[0].weight.ravel()[0]))
    >>> top_patches(net, image, 0, 1).places.tolist()
    [[[1, 2]]]
    """
    require_counts("top_patches", count=count)
    images = np.asarray(images)
    if count > len(images) or not 0 <= layer < len(net.layers):
        raise ValueError(
            f"top_patches got count {count} of {len(images)} images and layer {layer}; give a count up to the number "
            f"of images and a layer from 0 to {len(net.layers) - 1}."
        )
    maps = np.asarray(_maps(net, jnp.asarray(images), layer))  # (n, channels, h, w)
    flat = maps.reshape(*maps.shape[:2], -1)
    order = np.argsort(-flat.max(2), axis=0, kind="stable")[:count].T  # (channels, count)
    channel = np.arange(maps.shape[1])[:, None]
    at = flat[order, channel].argmax(2)
    places = np.stack(np.unravel_index(at, maps.shape[2:]), axis=-1)
    field = receptive_field(net.layers[: layer + 1])
    side = int(field.size)
    padded = np.pad(images, ((0, 0), (side, side), (side, side)))
    patches = np.empty((*order.shape, side, side), images.dtype)
    for index in np.ndindex(order.shape):
        top, left = (field.size + field.box(int(p))[0] for p in places[index])
        patches[index] = padded[order[index], top : top + field.size, left : left + field.size]
    return TopPatches(flat[order, channel, at], order, places, patches)


def maximise_responses(
    net: ConvNetwork,
    starts: Float[Array | np.ndarray, "units height width"],
    layer: int,
    units: Int[np.ndarray, "units 3"],
    *,
    norm: float = 1.0,
    num_steps: int = 200,
    rate: float = 0.05,
) -> Float[np.ndarray, "units height width"]:
    """For each unit (channel, row, column) of a layer an image of the given norm with a large response.

    Adam climbs h(norm · x/‖x‖) from each of the `starts` (Erhan et al. 2009), a maximum near it. A unit that is silent
    at its start has no slope behind ReLU and stays; start where it responds, at `top_patches(...).images` say.

    >>> from leadline.convolution import ConvLayer
    >>> net = ConvNetwork([ConvLayer(1, 3, bias=False)], (1, 3, 3), key=jax.random.key(0))
    >>> w = np.asarray(net.built[0].weight)[0, 0]
    >>> best = maximise_responses(net, np.eye(3)[None], 0, np.array([[0, 0, 0]]))
    >>> bool(np.abs(best[0] - w / np.linalg.norm(w)).max() < 1e-2)  # a linear unit's own weights
    True
    """
    require_counts("maximise_responses", num_steps=num_steps)
    starts = jnp.asarray(starts)
    if not norm > 0 or not bool((jnp.abs(starts).max((1, 2)) > 0).all()):
        raise ValueError(f"maximise_responses got norm {norm} or a start of zeros; give a norm and starts above 0.")
    climbed = _climbed(net, starts, layer, jnp.asarray(units), float(norm), num_steps, rate)
    return np.asarray(climbed)


@eqx.filter_jit
def _maps(net: Callable, images: Array, layer: int) -> Array:
    return jax.vmap(lambda x: net.stages(x[None])[layer])(images)


@eqx.filter_jit
def _climbed(
    net: ConvNetwork, starts: Array, layer: int, units: Array, norm: float, num_steps: int, rate: float
) -> Array:
    def scaled(x: Array) -> Array:
        return norm * x / jnp.linalg.norm(x)

    def one(start: Array, unit: Array) -> Array:
        def less(x: Array) -> Array:
            return -net.stages(scaled(x)[None])[layer][unit[0], unit[1], unit[2]]

        begin = start / jnp.linalg.norm(start)
        return scaled(minimise(less, begin, optax.adam(rate), num_steps)[0])

    return jax.vmap(one)(starts, units)
