"""Random changes of sounds, waves (..., time) or spectrograms (frequency, time): shifts, gain, stretches, masks."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num, PRNGKeyArray

from .pipelines import require_scale

Sound = Num[Array, "..."]  #: (..., time) of floating-point numbers


class TimeShift(eqx.Module):
    """A shift by whole samples, uniform in ±reach; silence comes in, or the other end (`wrap`).

    >>> TimeShift(0)(jax.random.key(0), jnp.arange(3.0)).tolist()
    [0.0, 1.0, 2.0]
    """

    reach: int
    wrap: bool

    def __init__(self, reach: int, *, wrap: bool = False):
        require_scale("TimeShift", reach=reach)
        self.reach, self.wrap = reach, wrap

    def __call__(self, key: PRNGKeyArray, sound: Sound) -> Sound:
        require_sound("TimeShift", sound)
        by = jax.random.randint(key, (), -self.reach, self.reach + 1)
        if self.wrap:
            return jnp.roll(sound, by, axis=-1)
        padded = jnp.pad(sound, [(0, 0)] * (sound.ndim - 1) + [(self.reach, self.reach)])
        return jax.lax.dynamic_slice_in_dim(padded, self.reach - by, sound.shape[-1], axis=-1)


class Gain(eqx.Module):
    """Louder or softer by g decibels, uniform in ±decibels: the factor is 10^(g/20).

    >>> Gain(0.0)(jax.random.key(0), jnp.ones(2)).tolist()
    [1.0, 1.0]
    """

    decibels: float

    def __init__(self, decibels: float):
        require_scale("Gain", decibels=decibels)
        self.decibels = decibels

    def __call__(self, key: PRNGKeyArray, sound: Sound) -> Sound:
        require_sound("Gain", sound)
        drawn = jax.random.uniform(key, (), sound.dtype, -1.0, 1.0) * self.decibels
        return sound * 10 ** (drawn / 20)


class TimeStretch(eqx.Module):
    """Played at r times the speed, log r uniform in ±log(1 + by), by linear interpolation from the beginning.

    The length stays: what is too long is cut, and silence follows what is too short. Of a wave this moves the pitch
    (Ko et al. 2015, speed perturbation); of a spectrogram (frequency, time) it does not.

    >>> TimeStretch(0.0)(jax.random.key(0), jnp.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0]
    """

    by: float

    def __init__(self, by: float):
        require_scale("TimeStretch", by=by)
        self.by = by

    def __call__(self, key: PRNGKeyArray, sound: Sound) -> Sound:
        require_sound("TimeStretch", sound)
        most = jnp.log1p(jnp.asarray(self.by, sound.dtype))
        return stretched(sound, jnp.exp(most * jax.random.uniform(key, (), sound.dtype, -1.0, 1.0)))


def stretched(sound: Sound, speed: float | Float[Array, ""]) -> Sound:
    """out[t] = sound at time `speed` t between the two nearest samples, 0 after the end.

    >>> stretched(jnp.array([0.0, 1.0, 2.0, 3.0]), 0.5).tolist()
    [0.0, 0.5, 1.0, 1.5]
    """
    length = sound.shape[-1]
    at = jnp.arange(length, dtype=sound.dtype) * jnp.asarray(speed, sound.dtype)
    low = jnp.clip(jnp.floor(at).astype(int), 0, length - 1)
    share = at - low
    between = (1 - share) * sound[..., low] + share * sound[..., jnp.minimum(low + 1, length - 1)]
    return jnp.where(at <= length - 1, between, 0)


class AxisMask(eqx.Module):
    """A stretch of times, or of frequencies, of a spectrogram (frequency, time) set to 0 (Park et al. 2019).

    Its width is uniform from 0 to `width`, its place uniform; `count` of them, which may overlap.

    >>> masked = AxisMask("time", 2)(jax.random.key(0), jnp.ones((3, 6)))
    >>> int((masked == 0).any(axis=0).sum()) <= 2, bool((masked == masked[0]).all())
    (True, True)
    """

    axis: str
    width: int
    count: int

    def __init__(self, axis: str, width: int, *, count: int = 1):
        if axis not in ("time", "frequency"):
            raise ValueError(f'AxisMask got {axis!r}; choose "time" or "frequency".')
        require_scale("AxisMask", width=width, count=count)
        self.axis, self.width, self.count = axis, width, count

    def __call__(self, key: PRNGKeyArray, sound: Sound) -> Sound:
        require_sound("AxisMask", sound)
        axis = -1 if self.axis == "time" else -2
        if sound.ndim < -axis:
            raise ValueError(f"AxisMask got an array of shape {sound.shape}; give a spectrogram (frequency, time).")
        side = sound.shape[axis]
        if self.width > side:
            raise ValueError(
                f"AxisMask got width = {self.width} for {side} places of {self.axis}; give at most {side}."
            )
        sizes, places = jax.random.split(key)
        wide = jax.random.randint(sizes, (self.count, 1), 0, self.width + 1)
        start = jnp.floor(jax.random.uniform(places, (self.count, 1)) * (side - wide + 1)).astype(int)
        at = jnp.arange(side)
        hidden = ((at >= start) & (at < start + wide)).any(axis=0)
        return jnp.where(hidden if axis == -1 else hidden[:, None], jnp.zeros((), sound.dtype), sound)


def require_sound(where: str, sound: Array) -> None:
    """ValueError for what is no array of floating-point numbers with a time axis."""
    if sound.ndim < 1 or not jnp.issubdtype(sound.dtype, jnp.floating):
        raise ValueError(
            f"{where} got a sound of type {sound.dtype} and shape {sound.shape}; "
            "give floating-point numbers (..., time), such as wave / 32768."
        )
