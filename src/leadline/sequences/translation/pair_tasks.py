"""Pairs of texts with one right answer: numbers in words, dates, sequences to copy or to turn round."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, PRNGKeyArray

from leadline.data import generator

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


class TextPairs(NamedTuple):
    """Sources and targets as tokens, filled up with 0, and the symbols that the numbers from 1 stand for."""

    source: Int[np.ndarray, "n S"]
    target: Int[np.ndarray, "n T"]
    source_symbols: tuple[str, ...]
    target_symbols: tuple[str, ...]

    def read_source(self, row: int) -> str:
        """The source of a row as text."""
        return "".join(self.source_symbols[i - 1] for i in self.source[row] if i)

    def read_target(self, row: int) -> str:
        """The target of a row as text."""
        return "".join(self.target_symbols[i - 1] for i in self.target[row] if i)


def number_words(number: int) -> str:
    """A number below a million in English words, without "and".

    >>> number_words(90417)
    'ninety thousand four hundred seventeen'
    """
    if not 0 <= number < 10**6:
        raise ValueError(f"number_words got {number}; give a whole number from 0 to 999999.")
    if number < 20:
        return _ONES[number]
    if number < 100:
        ten, one = divmod(number, 10)
        return _TENS[ten - 2] + (f"-{_ONES[one]}" if one else "")
    unit, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    most, rest = divmod(number, unit)
    return f"{number_words(most)} {name}" + (f" {number_words(rest)}" if rest else "")


def number_pairs(numbers: Int[np.ndarray, " n"]) -> TextPairs:
    """Numbers in words, letter by letter, and their digits.

    >>> pairs = number_pairs(np.array([7, 40, 305]))
    >>> pairs.read_source(2), pairs.read_target(2), pairs.target.tolist()[1]
    ('three hundred five', '305', [5, 1, 0, 0])
    """
    words = [number_words(int(number)) for number in numbers]
    return _pairs(words, [str(int(number)) for number in numbers], "0123456789")


def date_pairs(samples: int, *, key: PRNGKeyArray) -> TextPairs:
    """Days of 1900 to 2099 as people write them, in five forms, and as year-month-day (ISO 8601).

    >>> import jax
    >>> pairs = date_pairs(3, key=jax.random.key(0))
    >>> len(pairs.read_target(0)), pairs.target.shape
    (10, (3, 11))
    """
    rng, sources, targets = generator(key), [], []
    days = np.datetime64("1900-01-01") + rng.integers(0, 73049, samples)
    for day, form in zip(days, rng.integers(5, size=samples), strict=True):
        year, month, of_month = (int(part) for part in str(day).split("-"))
        name, weekday = _MONTHS[month - 1], _WEEKDAYS[(int(day.astype(int)) + 3) % 7]
        sources.append(
            (
                f"{of_month} {name} {year}",
                f"{name} {of_month}, {year}",
                f"{weekday}, {of_month} {name} {year}",
                f"{of_month}.{month}.{year}",
                f"{name[:3]} {of_month} {year}",
            )[form]
        )
        targets.append(str(day))
    return _pairs(sources, targets, "-0123456789", " ,.0123456789" + "".join(sorted(set("".join(_MONTHS + _WEEKDAYS)))))


def copy_pairs(
    samples: int, lengths: tuple[int, int], symbols: int, *, reverse: bool = False, key: PRNGKeyArray
) -> TextPairs:
    """Random sequences over `symbols` letters of lengths drawn between two, to be repeated, or with `reverse` turned
    round.

    >>> import jax
    >>> pairs = copy_pairs(2, (3, 3), 4, reverse=True, key=jax.random.key(0))
    >>> bool((pairs.source[:, ::-1] == pairs.target[:, :3]).all()), pairs.target[:, 3].tolist()
    (True, [0, 0])
    """
    low, high = lengths
    if not 1 <= low <= high or symbols < 1:
        raise ValueError(f"copy_pairs got lengths {lengths} over {symbols} symbols; give 1 <= shortest <= longest.")
    rng = generator(key)
    each = rng.integers(low, high + 1, samples)
    drawn = rng.integers(1, symbols + 1, (samples, high)).astype(np.int32)
    place = np.arange(high)
    source = np.where(place < each[:, None], drawn, 0)
    turned = np.take_along_axis(drawn, np.maximum(each[:, None] - 1 - place, 0), 1)
    target = np.where(place < each[:, None], turned if reverse else drawn, 0)
    letters = tuple(chr(ord("a") + i) for i in range(symbols))
    return TextPairs(source, np.pad(target, ((0, 0), (0, 1))), letters, letters)


def _pairs(sources: list[str], targets: list[str], written: str, read: str | None = None) -> TextPairs:
    read = "".join(sorted(set(" -".join([*_ONES, *_TENS, "hundred", "thousand"])))) if read is None else read
    return TextPairs(_encoded(sources, read, 0), _encoded(targets, written, 1), tuple(read), tuple(written))


def _encoded(texts: list[str], symbols: str, ends: int) -> Int[np.ndarray, "n T"]:
    number = {symbol: i + 1 for i, symbol in enumerate(symbols)}
    rows = np.zeros((len(texts), max(map(len, texts)) + ends), np.int32)
    for row, text in zip(rows, texts, strict=True):
        row[: len(text)] = [number[symbol] for symbol in text]
    return rows
