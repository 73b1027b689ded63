"""The repetition code: every bit sent several times, the majority decides."""

import math
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer


@dataclass(frozen=True)
class Repetition:
    """Each bit r times, r odd; rate 1/r. r = 1 sends the bits as they are.

    >>> code = Repetition(3)
    >>> code.decode(jnp.array([[1, 0, 1]])).tolist(), round(code.bit_error(0.1), 6)
    ([[1]], 0.028)
    """

    length: int = 3
    message: ClassVar[int] = 1

    def __post_init__(self):
        if self.length < 1 or self.length % 2 == 0:
            raise ValueError(f"A majority needs an odd number of repetitions, not {self.length}.")

    def encode(self, blocks: Integer[Array | np.ndarray, "b 1"]) -> Integer[Array, "b length"]:
        return jnp.repeat(jnp.asarray(blocks), self.length, axis=1)

    def decode(self, words: Integer[Array | np.ndarray, "b length"]) -> Integer[Array, "b 1"]:
        words = jnp.asarray(words)
        return (2 * words.astype(int).sum(1, keepdims=True) > self.length).astype(words.dtype)

    def bit_error(self, eps: float) -> float:
        """Σ_{j > r/2} C(r,j) εʲ (1-ε)^{r-j}, exact."""
        r = self.length
        return math.fsum(math.comb(r, j) * eps**j * (1 - eps) ** (r - j) for j in range(r // 2 + 1, r + 1))

    block_error = bit_error
