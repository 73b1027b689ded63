"""Images through the whole chain: compress, protect, send, repair, decompress."""

from collections import Counter
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray, UInt32

from .channel import binary_symmetric_channel, channel_capacity
from .hamming import Hamming
from .huffman import entropy, huffman_code, huffman_decode, huffman_encode, mean_length
from .repetition import Repetition
from .transform import dct_quantise, dct_reconstruct


class Transmission(NamedTuple):
    """What arrived, and the account of it. Lengths and entropy are in bits per pixel."""

    images: Float[np.ndarray, "n h w"]
    entropy: float  # of the symbols, one for each pixel: no lossless code symbol by symbol can be shorter
    mean_length: float  # of their Huffman codewords
    source_bits: int  # after compression
    channel_bits: int  # after the channel code
    rate: float  # of the channel code, against
    capacity: float  # of the channel
    channel_errors: int  # flips on the way
    bit_errors: int  # wrong source bits after decoding
    distortion: float  # mean squared error of the pixels


def send(
    bits: Integer[Array | np.ndarray, " m"],
    code: Hamming | Repetition,
    eps: float,
    *,
    key: PRNGKeyArray | UInt32[Array, "2"],
) -> tuple[Integer[Array, " m"], int]:
    """Encode the bits in blocks (padded with zeros), send them over a binary symmetric channel and decode them.

    Returns the received bits and how many the channel flipped.

    >>> import jax
    >>> received, flips = send(jnp.array([1, 0, 1, 1, 0]), Hamming(), 0.0, key=jax.random.key(0))
    >>> received.tolist(), flips
    ([1, 0, 1, 1, 0], 0)
    """
    bits = jnp.asarray(bits)
    blocks = jnp.pad(bits, (0, -len(bits) % code.message)).reshape(-1, code.message)
    words = code.encode(blocks)
    arrived = binary_symmetric_channel(words, eps, key=key)
    return code.decode(arrived).reshape(-1)[: len(bits)], int((words != arrived).sum())


def transmit(
    images: Float[np.ndarray, "n h w"],
    code: Hamming | Repetition,
    eps: float,
    *,
    key: PRNGKeyArray | UInt32[Array, "2"],
    levels: int = 16,
    step_size: float | None = None,
) -> Transmission:
    """Send images with pixels in [0, 1] through compression, channel code, channel, decoding and decompression.

    Pixels are counted in grey levels 0..levels. Without a `step_size` they are rounded to whole levels and
    Huffman-coded: lossless if they were whole levels before. With a step their DCT coefficients are rounded to
    multiples of it (in levels) and these are Huffman-coded: lossy. Every image is a packet of its own, so an error
    cannot spread beyond it; the code table and the packet lengths are taken to arrive intact and are not counted.

    >>> import jax
    >>> sent = np.eye(8)[None]
    >>> result = transmit(sent, Repetition(3), 0.0, key=jax.random.key(0))
    >>> result.distortion, result.source_bits, result.channel_bits
    (0.0, 64, 192)
    """
    grey = images * levels
    symbols = np.rint(grey).astype(int) if step_size is None else dct_quantise(grey, step_size)
    packets = symbols.reshape(len(images), -1)
    counts = Counter(packets.ravel().tolist())
    table = huffman_code(counts)
    encoded = [huffman_encode(packet, table) for packet in packets]
    source = np.concatenate(encoded)

    arrived, flips = send(source, code, eps, key=key)

    pieces = np.split(np.asarray(arrived), np.cumsum([len(packet) for packet in encoded])[:-1])
    decoded = np.stack([huffman_decode(piece, table, packets.shape[1]) for piece in pieces]).reshape(symbols.shape)
    received = (decoded.astype(float) if step_size is None else dct_reconstruct(decoded, step_size)) / levels
    received = np.clip(received, 0.0, 1.0)
    return Transmission(
        images=received,
        entropy=entropy(counts),
        mean_length=mean_length(table, counts),
        source_bits=len(source),
        channel_bits=-(-len(source) // code.message) * code.length,
        rate=code.message / code.length,
        capacity=float(channel_capacity(eps)),
        channel_errors=flips,
        bit_errors=int((np.asarray(arrived) != source).sum()),
        distortion=float(((received - images) ** 2).mean()),
    )
