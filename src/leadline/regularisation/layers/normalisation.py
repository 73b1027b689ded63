"""Normalisations by name: over the batch with running statistics, over the features, over groups of channels."""

import math
from collections.abc import Hashable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .running_statistics import kept

Normalisation = Literal["batch", "layer", "rms", "group", "instance"]
NORMALISATIONS: tuple[Normalisation, ...] = ("batch", "layer", "rms", "group", "instance")


class BatchNorm(eqx.nn.BatchNorm):
    r"""Batch normalisation per channel over batch and space (Ioffe and Szegedy 2015), with running statistics in use.

    $$\hat x = (x - \mu_B)/\sqrt{\sigma_B^2 + \varepsilon}, \qquad y = \gamma \hat x + \beta$$

    It is `eqx.nn.BatchNorm` in its mode "batch" (the batch's own mean and biased variance in training), inside
    `jax.vmap(..., axis_name=...)`, of inputs (channels,) or (channels, height, width), or with the channels on another
    axis: where they lie last, moving them first would take several times as long as the normalisation. The running
    averages r ← ρ r + (1 - ρ) s of both statistics begin at 0 and are divided by 1 - ρᵗ, so that after one batch they
    are those of that batch; Equinox's own average of the variance begins at 1 and is divided alike, which at t = 10 and
    ρ = 0.99 adds 9.5 to it. Training on one value per channel, whose variance is 0, is an error.

    >>> layer, state = eqx.nn.make_with_state(BatchNorm)(1)
    >>> run = jax.vmap(layer, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
    >>> y, state = run(jnp.array([[1.0], [3.0]]), state)
    >>> y.ravel().round(3).tolist(), [r.round(4).tolist() for r in layer.statistics(state)]
    ([-1.0, 1.0], [[2.0], [1.0]])
    """

    def __init__(
        self,
        input_size: int,
        axis_name: Hashable = "batch",
        eps: float = 1e-5,
        channelwise_affine: bool = True,
        momentum: float = 0.99,
        inference: bool = False,
        dtype: jax.typing.DTypeLike | None = None,
    ):
        if not 0 <= momentum < 1:
            raise ValueError(f"BatchNorm got momentum {momentum}; give the share that stays at a step, 0 <= ρ < 1.")
        super().__init__(input_size, axis_name, eps, channelwise_affine, momentum, inference, dtype, mode="batch")
        nothing = jnp.zeros(input_size, dtype if dtype is not None else jnp.zeros(()).dtype)
        self.batch_state_index = eqx.nn.StateIndex((nothing, nothing))

    def statistics(self, state: eqx.nn.State) -> tuple[Float[Array, " channels"], Float[Array, " channels"]]:
        """The running mean and variance; 0 and 1 before the first batch."""
        mean, variance = kept(state, self.batch_state_index)
        count = self.batches_seen(state)
        share = jnp.where(count == 0, 1, 1 - jnp.asarray(self.momentum, mean.dtype) ** count)
        return mean / share, jnp.where(count == 0, 1, variance / share)

    def batches_seen(self, state: eqx.nn.State) -> Array:
        """How many batches the running statistics are made of."""
        return kept(state, self.batch_counter)

    def __call__(
        self,
        x: Float[Array, "..."],
        state: eqx.nn.State,
        *,
        key: PRNGKeyArray | None = None,
        inference: bool | None = None,
        channels: int = 0,
    ) -> tuple[Float[Array, "..."], eqx.nn.State]:
        inference = self.inference if inference is None else inference
        others = tuple(axis for axis in range(x.ndim) if axis != channels % x.ndim)
        mean, variance = self.statistics(state) if inference else self._measured(x, others)
        state = state if inference else self._with(state, mean, variance)
        scale = 1 / jnp.sqrt(variance + self.eps)
        y = (x - jnp.expand_dims(mean, others)) * jnp.expand_dims(scale, others)
        if self.weight is not None and self.bias is not None:
            y = y * jnp.expand_dims(self.weight, others) + jnp.expand_dims(self.bias, others)
        return y, state

    def _measured(
        self, x: Float[Array, "..."], others: tuple[int, ...]
    ) -> tuple[Float[Array, " channels"], Float[Array, " channels"]]:
        """The mean and the biased variance over the batch and the other axes."""
        if jax.lax.axis_size(self.axis_name) * math.prod(x.shape[axis] for axis in others) < 2:
            raise ValueError(
                "Batch normalisation in training got a batch of one, whose variance is 0; give two examples or "
                "more, or switch the network to use by eqx.nn.inference_mode."
            )
        mean = jax.lax.pmean(jnp.mean(x, others), self.axis_name)
        squares = jnp.mean((x - jnp.expand_dims(mean, others)) ** 2, others)
        return mean, jax.lax.pmean(squares, self.axis_name)

    def _with(self, state: eqx.nn.State, mean: Array, variance: Array) -> eqx.nn.State:
        """The state with one batch more in the running averages."""
        rho, averages = self.momentum, kept(state, self.batch_state_index)
        new = tuple(rho * old + (1 - rho) * now for old, now in zip(averages, (mean, variance), strict=True))
        state = state.set(self.batch_counter, self.batches_seen(state) + 1)  # type: ignore[arg-type]
        return state.set(self.batch_state_index, new)  # type: ignore[arg-type]


def normalisation(
    name: Normalisation,
    channels: int,
    *,
    groups: int = 8,
    spatial: bool = True,
    dtype: jax.typing.DTypeLike | None = None,
) -> Any:
    """The normalisation of that name for one example of shape (channels,), or (channels, height, width) if `spatial`.

    "batch" is `BatchNorm`. The others see one example and have no mode: "layer" and "rms" are over all channels
    (`eqx.nn.LayerNorm`, `eqx.nn.RMSNorm` without a shift; of vectors), "group" over space and the channels of each of
    `groups` (`eqx.nn.GroupNorm`), "instance" over space alone, one group for each channel.

    >>> y = normalisation("group", 4, groups=2)(jnp.array([1.0, 3.0, 10.0, 30.0]))
    >>> y.round(3).tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """
    if name not in NORMALISATIONS:
        raise ValueError(f"There is no normalisation called {name!r}; choose one of {', '.join(NORMALISATIONS)}.")
    if name == "instance" and not spatial:
        raise ValueError(
            "Instance normalisation is over space, of which a vector of features has one point, so that every output "
            "would be its shift; choose batch, layer, rms or group."
        )
    if name == "batch":
        return BatchNorm(channels, dtype=dtype)
    if name == "layer":
        return eqx.nn.GroupNorm(1, channels, dtype=dtype) if spatial else eqx.nn.LayerNorm(channels, dtype=dtype)
    if name == "rms":
        return eqx.nn.RMSNorm(channels, use_bias=False, dtype=dtype)
    groups = channels if name == "instance" else groups
    if groups < 1 or channels % groups:
        raise ValueError(
            f"Group normalisation got {channels} channels for {groups} groups; choose a number of groups that divides "
            "the channels, or a number of channels that the groups divide."
        )
    return eqx.nn.GroupNorm(groups, channels, dtype=dtype)
