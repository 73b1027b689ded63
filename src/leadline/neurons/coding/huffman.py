"""Huffman's lossless code: the shortest mean length that a prefix code can have."""

import heapq
import itertools
import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Integer, UInt8


def entropy(counts: Mapping[int, int | float]) -> float:
    """H = -Σ p log₂ p in bits per symbol, of the frequencies p = count / total.

    >>> entropy({0: 2, 1: 1, 2: 1})
    1.5
    """
    total = math.fsum(counts.values())
    return math.fsum(-c / total * math.log2(c / total) for c in counts.values() if c > 0)


def huffman_code(counts: Mapping[int, int | float]) -> dict[int, str]:
    """The codeword of every symbol, from how often it occurs: the two rarest groups are joined until one is left.

    The mean length L satisfies H ≤ L < H + 1 (Huffman 1952). A single symbol gets the empty codeword (L = H = 0).

    >>> huffman_code({10: 4, 20: 2, 30: 1})
    {10: '1', 20: '01', 30: '00'}
    """
    if not counts or min(counts.values()) <= 0:
        raise ValueError("A Huffman code needs symbols that all occur: pass counts that are positive.")
    ticket = itertools.count()  # decides between equal counts, so that the same counts always give the same code
    groups: list[tuple[float, int, tuple[int, ...]]]
    groups = [(count, next(ticket), (symbol,)) for symbol, count in counts.items()]
    code = dict.fromkeys(counts, "")
    heapq.heapify(groups)
    while len(groups) > 1:
        (low, _, zeros), (high, _, ones) = heapq.heappop(groups), heapq.heappop(groups)
        code |= {symbol: "0" + code[symbol] for symbol in zeros} | {symbol: "1" + code[symbol] for symbol in ones}
        heapq.heappush(groups, (low + high, next(ticket), zeros + ones))
    return code


def mean_length(code: Mapping[int, str], counts: Mapping[int, int | float]) -> float:
    """L = Σ p · length of the codeword, in bits per symbol.

    >>> mean_length({0: "0", 1: "10", 2: "11"}, {0: 2, 1: 1, 2: 1})
    1.5
    """
    return math.fsum(counts[symbol] * len(word) for symbol, word in code.items()) / math.fsum(counts.values())


def huffman_encode(symbols: Integer[np.ndarray, " n"], code: Mapping[int, str]) -> UInt8[np.ndarray, " bits"]:
    """The codewords of the symbols, one after the other, as an array of 0 and 1.

    >>> huffman_encode(np.array([1, 0]), {0: "0", 1: "10"}).tolist()
    [1, 0, 0]
    """
    unknown = set(symbols.tolist()) - code.keys()
    if unknown:
        raise ValueError(
            f"The code has no codeword for {sorted(unknown)}: build it from counts that include every symbol."
        )
    text = "".join(map(code.__getitem__, symbols.tolist()))
    return np.frombuffer(text.encode(), np.uint8) - ord("0")


def huffman_decode(
    bits: Integer[np.ndarray, " bits"], code: Mapping[int, str], length: int
) -> Integer[np.ndarray, " length"]:
    """Read `length` symbols from the bits; damaged bits give wrong symbols, never an error.

    Surplus bits are ignored, and symbols that are missing at the end become the one with the shortest codeword.

    >>> huffman_decode(np.array([1, 0, 0]), {0: "0", 1: "10"}, 2).tolist()
    [1, 0]
    """
    symbol_of = {word: symbol for symbol, word in code.items()}
    found, word = [], ""
    for bit in map(str, bits.tolist()):
        word += bit
        if word in symbol_of:
            found.append(symbol_of[word])
            word = ""
    shortest = min(code, key=lambda symbol: len(code[symbol]))
    return np.array((found + [shortest] * length)[:length], dtype=int)
