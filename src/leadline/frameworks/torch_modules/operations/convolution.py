"""Convolutions and their transposes, as one conv_general_dilated each."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from .linear import same_precision

Sizes = Sequence[int] | int


def sizes(value: Sizes, axes: int) -> tuple[int, ...]:
    """One number for each axis of space."""
    given = (value,) if isinstance(value, int) else tuple(value)
    return given * axes if len(given) == 1 else given


def _convolution(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Array:
    """x (n, channels, *space) with a weight (out, channels/groups, *kernel)."""
    if x.ndim == weight.ndim - 1:  # one example
        return _convolution(x[None], weight, bias, stride, padding, dilation, groups)[0]
    x, weight = same_precision(x, weight)
    axes = x.ndim - 2
    spread = sizes(dilation, axes)
    out = lax.conv_general_dilated(
        x,
        weight,
        sizes(stride, axes),
        _paddings(padding, weight.shape[2:], spread),
        rhs_dilation=spread,
        feature_group_count=groups,
    )
    return _with_bias(out, bias)


def _paddings(padding: Sizes | str, kernel: tuple[int, ...], dilation: tuple[int, ...]) -> list[tuple[int, int]]:
    if isinstance(padding, str):
        totals = [d * (k - 1) if padding == "same" else 0 for k, d in zip(kernel, dilation, strict=True)]
        return [(total // 2, total - total // 2) for total in totals]
    return [(p, p) for p in sizes(padding, len(kernel))]


def _with_bias(out: Array, bias: Array | None) -> Array:
    return out if bias is None else out + bias.reshape(-1, *[1] * (out.ndim - 2))


def _transposed(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Array:
    """The transpose of a convolution with this weight, of shape (channels, out/groups, *kernel): a convolution of x
    with holes between its entries, by the kernel turned round."""
    if x.ndim == weight.ndim - 1:
        return _transposed(x[None], weight, bias, stride, padding, output_padding, groups, dilation)[0]
    x, weight = same_precision(x, weight)
    axes = x.ndim - 2
    steps, edges, more, spread = (sizes(value, axes) for value in (stride, padding, output_padding, dilation))
    kernel = weight.shape[2:]
    reach = [d * (k - 1) - p for k, p, d in zip(kernel, edges, spread, strict=True)]
    turned = jnp.flip(weight, tuple(range(2, weight.ndim)))
    if groups > 1:  # (channels, out/groups) to (out, channels/groups)
        parts = turned.reshape(groups, -1, *turned.shape[1:]).swapaxes(1, 2)
        turned = parts.reshape(-1, *parts.shape[2:])
    space = "DHW"[-axes:]
    out = lax.conv_general_dilated(
        x,
        turned,
        (1,) * axes,
        [(r, r + m) for r, m in zip(reach, more, strict=True)],
        lhs_dilation=steps,
        rhs_dilation=spread,
        dimension_numbers=(f"NC{space}", f"{'OI' if groups > 1 else 'IO'}{space}", f"NC{space}"),
        feature_group_count=groups,
    )
    return _with_bias(out, bias)


def _general(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
    *_: Any,
) -> Array:
    if transposed:
        return _transposed(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return _convolution(x, weight, bias, stride, padding, dilation, groups)


OPERATIONS: dict[str, Callable] = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _convolution),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _transposed),
    "convolution": _general,
    "_convolution": _general,
}
