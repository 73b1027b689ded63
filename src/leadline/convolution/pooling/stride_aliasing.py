"""What each stride of a network throws away: its response at stride 1 beside the one that is kept."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PyTree

from leadline.networks.dissection.dissecting import Dissection
from leadline.networks.dissection.feature_maps import FeatureMap, slot_reader

from .shift_spectra import energy_above_nyquist


class Aliasing(NamedTuple):
    """One strided layer. A shift of the input by `pixels` moves what the layer reads by one position, and what it gives
    by a part of one, which no map can show.

    `energy` is the share of the response at stride 1 above the new Nyquist frequency; `predicted` is the relative
    change of the kept response under the shift, from the response at stride 1 alone: position i becomes s i - 1 of it;
    `measured` is the change in the network on moved inputs. Both are None where no window stays clear of the border.
    """

    name: str
    kind: str
    stride: tuple[int, ...]
    pixels: int
    energy: float
    predicted: float | None
    measured: float | None


def stride_aliasing(
    dissection: Dissection,
    params: PyTree,
    inputs: Num[np.ndarray, "n ..."],
    maps: tuple[FeatureMap, ...],
    axes: tuple[int, int],
) -> list[Aliasing]:
    """Every strided layer among the feature maps of a network; `axes` are height and width of one input.

    >>> from leadline.networks.dissection import dissect
    >>> from leadline.networks.dissection.feature_maps import feature_maps
    >>> net = lambda w, x: jax.lax.conv(x[:, None], w, (2, 2), "VALID").reshape(len(x), -1)
    >>> w, x = jnp.ones((1, 1, 1, 1), "float32"), np.tile(np.float32([1, -1]), (1, 8, 4))
    >>> taken = dissect(net, w, x)
    >>> (found,) = stride_aliasing(taken, w, x, feature_maps(taken, (0, 1)), (0, 1))
    >>> found.energy, found.predicted, found.measured  # what was 1 everywhere becomes -1 everywhere
    (1.0, 2.0, 2.0)
    """
    strided = [each for each in maps if each.strided and len(each.stride) == 2]
    if not strided:
        return []
    slots = {s: None for each in strided for s in (each.before, each.slot, each.weight) if s is not None}
    read = slot_reader(dissection, tuple(slots))
    still = read(params, inputs)
    moved = {
        pixels: read(params, np.roll(inputs, pixels, axis=1 + axes[1]))
        for pixels in {each.seen_before.jump[1] for each in strided}
    }
    return [_aliasing(each, still, moved[each.seen_before.jump[1]], inputs.shape[1 + axes[1]]) for each in strided]


def _aliasing(each: FeatureMap, still: dict[int, Array], moved: dict[int, Array], width: int) -> Aliasing:
    pixels, (down, right) = each.seen_before.jump[1], each.stride
    dense = _at_stride_one(each, still[each.before], None if each.weight is None else still[each.weight])
    after = _planes(moved[each.slot], each.seen.axes)
    rows = after.shape[-2]
    boxes = [each.seen.box((0, i))[1] for i in range(after.shape[-1])]
    clear = [i for i, (first, last) in enumerate(boxes) if i and first >= pixels and last < width]
    before, between = (dense[..., : down * rows : down, [right * i - back for i in clear]] for back in (0, 1))
    size = float(np.linalg.norm(before))
    predicted = measured = None
    if size > 0:
        predicted = float(np.linalg.norm(between - before)) / size
        measured = float(np.linalg.norm(after[..., clear] - before)) / size
    energy = energy_above_nyquist(dense, (down, right))
    return Aliasing(each.name, each.kind, each.stride, pixels, energy, predicted, measured)


def _at_stride_one(each: FeatureMap, value: Array, weight: Array | None = None) -> Float[np.ndarray, "..."]:
    """The layer's response at every position, its two axes of positions last."""
    if each.kind == "conv":
        assert weight is not None
        settings = each.settings
        ones = (1,) * len(settings["window_strides"])

        def convolve(x: Array, w: Array) -> Array:
            return jax.lax.conv_general_dilated(
                x,
                w,
                ones,
                settings["padding"],
                lhs_dilation=settings["lhs_dilation"],
                rhs_dilation=settings["rhs_dilation"],
                dimension_numbers=settings["dimension_numbers"],
                feature_group_count=settings["feature_group_count"],
            )

        return _planes(jax.vmap(convolve, (0, None))(value, weight[0]), each.seen.axes)
    axes = [a + 1 for a in each.seen_before.axes]
    windows, pads = [1] * value.ndim, [(0, 0)] * value.ndim
    for axis, taps, pad in zip(axes, each.window, each.padding, strict=True):
        windows[axis], pads[axis] = taps, pad
    combine, start = {"max": (jax.lax.max, -np.inf), "min": (jax.lax.min, np.inf), "sum": (jax.lax.add, 0.0)}[each.kind]
    begin = np.asarray(start, value.dtype)[()]
    dense = jax.lax.reduce_window(jnp.asarray(value), begin, combine, windows, [1] * value.ndim, pads)
    return _planes(dense, each.seen_before.axes)


def _planes(values: Array, axes: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    """A batch of maps with the axes of positions last."""
    return np.moveaxis(np.asarray(values, float), [a + 1 for a in axes], [-2, -1])
