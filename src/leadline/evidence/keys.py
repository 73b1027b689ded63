"""Keys for entries: JAX's own Threefry numbers, by programs that take half as long to compile.

Most of an entry's time from nothing is compilation, and much of that is Threefry, which XLA compiles again in every
program that draws. JAX's rule for CPUs has a loop, each of whose parts becomes a kernel, and counts along every axis.
Here the twenty rounds are written out and the count is flat, so that all of it becomes one kernel. The numbers are the
same, bit for bit, as those of `jax.random.key(seed)` with `jax_threefry_partitionable`, JAX's default.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.extend.random import define_prng_impl, threefry_prng_impl
from jaxtyping import Array, PRNGKeyArray, UInt32

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA  # of the key schedule of Threefish
_WIDTHS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}  # bits
_FEW = 16  # keys: as many or fewer are split off by one program


def key(seed: int) -> PRNGKeyArray:
    """The key of a seed, with the same draws as `jax.random.key(seed)`.

    >>> bool(jax.random.normal(key(3)) == jax.random.normal(jax.random.key(3)))
    True
    """
    return jax.random.key(seed, impl=_IMPLEMENTATION)


def _threefry(key: UInt32[Array, "2"], count: UInt32[Array, " n"]) -> tuple[UInt32[Array, " n"], UInt32[Array, " n"]]:
    """Threefry-2x32 with 20 rounds (Salmon et al. 2011) of the counts (0, c)."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(_PARITY))
    a, b = jnp.zeros_like(count) + schedule[0], count + schedule[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            a = a + b
            b = a ^ (lax.shift_left(b, np.uint32(rotation)) | lax.shift_right_logical(b, np.uint32(32 - rotation)))
        a, b = a + schedule[(group + 1) % 3], b + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return a, b


def _interleaved(key: UInt32[Array, "2"], count: UInt32[Array, " n"]) -> UInt32[Array, " n"]:
    """The first word of Threefry at even places, the second at odd ones: one kernel, where stacking would be two."""
    a, b = _threefry(key, count)
    return jnp.where(lax.iota(jnp.uint32, len(count)) & np.uint32(1) == 1, b, a)


def _random_bits(key: UInt32[Array, "2"], bit_width: int, shape: tuple[int, ...]) -> Array:
    size = math.prod(shape)
    if size >= 2**32:
        return threefry_prng_impl.random_bits(key, bit_width, shape)
    a, b = _threefry(key, lax.iota(jnp.uint32, size))
    if bit_width == 64:
        bits = a.astype(jnp.uint64) << np.uint64(32) | b.astype(jnp.uint64)
    else:
        bits = (a ^ b).astype(_WIDTHS[bit_width])
    return bits.reshape(shape)


@partial(jax.jit, static_argnums=1)
def _split_off(key: UInt32[Array, "2"], num: int) -> UInt32[Array, "num 2"]:
    return _interleaved(key, lax.iota(jnp.uint32, 2 * num) >> np.uint32(1)).reshape(num, 2)


def _split(key: UInt32[Array, "2"], shape: tuple[int, ...]) -> UInt32[Array, "... 2"]:
    num = math.prod(shape)
    if isinstance(key, Tracer) or num > _FEW:
        return _split_off(key, num).reshape(*shape, 2)
    return jax.device_put(np.asarray(_split_off(key, _FEW))[:num].reshape(*shape, 2))


@jax.jit
def _fold_in(key: UInt32[Array, "2"], data: Array) -> UInt32[Array, "2"]:
    return _interleaved(key, jnp.broadcast_to(jnp.asarray(data, jnp.uint32), (2,)))


_IMPLEMENTATION = define_prng_impl(
    key_shape=threefry_prng_impl.key_shape,
    seed=threefry_prng_impl.seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="threefry2x32_flat",
    tag="fry",
)
