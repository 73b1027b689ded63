"""The Hamming(7,4) code: four bits sent as seven, any single flip repaired."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer

# Column j holds the binary digits of the position j + 1, so that the syndrome of one flip spells its position.
PARITY_CHECK = np.array([[1, 0, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1]])
GENERATOR = np.array([[1, 1, 1, 0, 0, 0, 0], [1, 0, 0, 1, 1, 0, 0], [0, 1, 0, 1, 0, 1, 0], [1, 1, 0, 1, 0, 0, 1]])
DATA_POSITIONS = np.array([2, 4, 5, 6])


@dataclass(frozen=True)
class Hamming:
    """Hamming's perfect code of length 7 (Hamming 1950): rate 4/7, corrects one flip per block.

    >>> code = Hamming()
    >>> word = code.encode(jnp.array([[1, 0, 1, 1]]))
    >>> word.tolist(), code.decode(word.at[0, 5].set(1 - word[0, 5])).tolist()
    ([[0, 1, 1, 0, 0, 1, 1]], [[1, 0, 1, 1]])
    """

    message: ClassVar[int] = 4
    length: ClassVar[int] = 7

    def encode(self, blocks: Integer[Array | np.ndarray, "b 4"]) -> Integer[Array, "b 7"]:
        """Multiply by the generator matrix modulo 2; the message is at the positions 3, 5, 6, 7."""
        blocks = jnp.asarray(blocks)
        return blocks @ GENERATOR.astype(blocks.dtype) % 2

    def decode(self, words: Integer[Array | np.ndarray, "b 7"]) -> Integer[Array, "b 4"]:
        """Flip the position that the syndrome names (none if it is 0), then read the message."""
        words = jnp.asarray(words)
        syndrome = words.astype(int) @ PARITY_CHECK.T % 2 @ np.array([1, 2, 4])  # (b,) 0 = no error, else position
        flip = syndrome[:, None] == np.arange(1, 8)
        return (words ^ flip.astype(words.dtype))[:, DATA_POSITIONS]

    def block_error(self, eps: float) -> float:
        """1 - (1-ε)⁷ - 7 ε (1-ε)⁶: two or more flips always end at a wrong message, for the code is perfect."""
        return 1 - (1 - eps) ** 7 - 7 * eps * (1 - eps) ** 6

    def bit_error(self, eps: float) -> float:
        """Exact error rate of a decoded bit, by enumeration of the 128 error patterns; 9 ε² + O(ε³).

        The code is linear, so the message 0 stands for all.
        """
        errors = np.arange(128)[:, None] >> np.arange(7) & 1
        wrong = np.asarray(self.decode(errors)).mean(1)
        weight = errors.sum(1)
        return float((wrong * eps**weight * (1 - eps) ** (7 - weight)).sum())
