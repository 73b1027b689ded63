"""One layer as the tangent kernel sees it: a weight, the activations it meets, and the back-signals at its result."""

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from .patch_convolutions import few_patches, window_parts
from .traced_program import Fixed, Step


@dataclass(frozen=True)
class Layer:
    """A weight w that enters once, through a matrix product or a convolution with an activation a.

    With δ the derivative of an output by the result, ∂/∂w = Σ_f a_f ⊗ δ_f over the positions f that share the weight
    (pixels, tokens; one for a plain dense layer), in `groups` of blocks that do not mix. A bias that is added to the
    same result has the gradient δ. `signal` is the slot whose derivative is δ.
    """

    leaf: int
    scale: Any
    step: Step
    weight: int
    weight_shape: tuple[int, ...]
    activation: int | Fixed
    signal: int
    groups: int
    positions: int
    inputs: int
    units: int
    bias: int | None = None
    bias_scale: Any = 1.0

    @property
    def plain(self) -> bool:
        """One position and one group: the kernel is a Hadamard product of two Gram matrices."""
        return self.groups == self.positions == 1

    @property
    def kind(self) -> str:
        name = "convolution" if self.step.primitive == "conv_general_dilated" else "dense"
        return name if self.plain or name == "convolution" else f"dense, {self.positions} positions"

    def activations(self, a: Float[Array, "..."]) -> Float[Array, "groups positions inputs"]:
        """The activation in canonical order, multiplied by the weight's scale."""
        if self.step.primitive == "conv_general_dilated":
            a = self._patches(a)
        else:
            contracted, batch = dot_dimensions(self.step, 1 - self.weight)
            free = [d for d in range(a.ndim) if d not in contracted and d not in batch]
            a = a.transpose(*batch, *free, *contracted).reshape(self.groups, self.positions, self.inputs)
        return a if isinstance(self.scale, float) and self.scale == 1.0 else a * jnp.asarray(self.scale, a.dtype)

    def signals(self, delta: Float[Array, "..."]) -> Float[Array, "groups positions units"]:
        """δ in canonical order."""
        g, f, u = self.groups, self.positions, self.units
        if self.plain:
            return delta.reshape(1, 1, u)
        if self.step.primitive == "conv_general_dilated":
            out = self.step.settings["dimension_numbers"].out_spec
            return delta.transpose(out[1], out[0], *out[2:]).reshape(g, u, f).transpose(0, 2, 1)
        return delta.reshape(g, f, u) if self.weight == 1 else delta.reshape(g, u, f).transpose(0, 2, 1)

    def _patches(self, a: Float[Array, "..."]) -> Float[Array, "groups positions inputs"]:
        """Every window of a convolution as a vector, channels first."""
        settings = self.step.settings
        numbers = settings["dimension_numbers"]
        channels_first = a.transpose(numbers.lhs_spec)
        if few_patches(dict(settings) | {"feature_group_count": 1}, self.weight_shape):
            sides = [self.weight_shape[d] for d in numbers.rhs_spec[2:]]
            strides, padding, dilation = (settings[name] for name in ("window_strides", "padding", "rhs_dilation"))
            parts = window_parts(jnp.moveaxis(channels_first, 1, -1), sides, strides, padding, dilation)
            windows = jnp.moveaxis(jnp.stack(parts, -1), (-2, -1), (0, 1))  # (channels, window, batch, *space)
            return windows.reshape(self.groups, self.inputs, self.positions).transpose(0, 2, 1)
        patches = lax.conv_general_dilated_patches(
            channels_first,
            [self.weight_shape[d] for d in numbers.rhs_spec[2:]],
            settings["window_strides"],
            settings["padding"],
            settings["lhs_dilation"],
            settings["rhs_dilation"],
        )  # (batch, channels and window, *space)
        return jnp.moveaxis(patches, 1, 0).reshape(self.groups, self.inputs, self.positions).transpose(0, 2, 1)


def dot_dimensions(step: Step, side: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The contracted and the batch dimensions of one operand of a matrix product."""
    contracted, batch = step.settings["dimension_numbers"]
    return tuple(contracted[side]), tuple(batch[side])


def layer_at(step: Step, weight: int, leaf: int, scale: Any, shapes: dict[int, tuple[int, ...]]) -> Layer | None:
    """The layer made by a step whose operand number `weight` is the leaf; None if the step is of an unusual kind."""
    other = step.inputs[1 - weight]
    w, a = (
        tuple(np.shape(operand.value)) if isinstance(operand, Fixed) else shapes[operand]
        for operand in (step.inputs[weight], other)
    )
    if not jnp.issubdtype(step.dtypes[0], jnp.floating) or 0 in (*w, *a):
        return None
    if step.primitive == "dot_general":
        contracted, batch = dot_dimensions(step, 1 - weight)
        groups = math.prod(a[d] for d in batch)
        inputs = math.prod(a[d] for d in contracted)
        positions, units = math.prod(a) // (groups * inputs), math.prod(w) // (groups * inputs)
    else:
        if weight != 1 or step.settings["batch_group_count"] != 1:
            return None
        groups = step.settings["feature_group_count"]
        channels = w[step.settings["dimension_numbers"].rhs_spec[0]]
        units, inputs = channels // groups, math.prod(w) // channels
        positions = math.prod(step.shapes[0]) // channels
    return Layer(leaf, scale, step, weight, w, other, step.outputs[0], groups, positions, inputs, units)
