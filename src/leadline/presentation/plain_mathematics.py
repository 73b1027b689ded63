r"""Mathematics in characters, for a terminal and for lists of results: `\frac{n-1}{d}` becomes (n − 1)/d."""

import functools
import re
import unicodedata
from collections.abc import Sequence
from xml.etree.ElementTree import Element, fromstring

from .mathematics import PIECES, mathml

_RAISED = str.maketrans("0123456789+−niTk", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱᵀᵏ")
_LOWERED = str.maketrans("0123456789+−aeijkmnoprstux", "₀₁₂₃₄₅₆₇₈₉₊₋ₐₑᵢⱼₖₘₙₒₚᵣₛₜᵤₓ")
_ACCENTS = {"^": "\u0302", "~": "\u0303", "¯": "\u0304", "―": "\u0304", "˙": "\u0307", "¨": "\u0308"}
_OTHERS = str.maketrans("∑∏⊤", "ΣΠᵀ")
_SIGNS = "+−±"
_SPACED = _SIGNS + "=≤≥<>≈~→←⇒⇔∈∉≠∝↦×∪⊂⊆≪≫≡≻≺≲↔∣⟺"
_PAUSES = ",;:"
_SCRIPTED = {"msub": "_", "munder": "_", "msup": "^", "mover": "^", "msubsup": "_^", "munderover": "_^"}


def plain(text: str) -> str:
    r"""A sentence whose mathematics, between dollars, is written in characters.

    >>> print(plain(r"within $\frac{n-1}{\sqrt d}$ of `dim`"))
    within (n − 1)/√d of `dim`
    """
    return PIECES.sub(lambda piece: plain_formula(piece[1]) if piece[1] else piece[0], text)


@functools.lru_cache(maxsize=4096)
def plain_formula(formula: str) -> str:
    r"""LaTeX in characters.

    >>> print(plain_formula(r"e^{-\beta\hat E_1} \le \frac1n \sum_{i<d} \binom{n-1}{i}"))
    e^(−βÊ₁) ≤ (1/n) Σ_(i<d) (n − 1 choose i)
    """
    shown = _row(list(fromstring(mathml(formula, inline=True))))
    return re.sub(r"\s+", " ", shown).strip()


def _row(elements: Sequence[Element], *, tight: bool = False) -> str:
    """Elements one after the other, with spaces around relations and sums unless `tight`, and between words."""
    elements = [_unwrapped(element) for element in elements]
    told, before = "", None
    for here, after in zip(elements, [*elements[1:], None], strict=True):
        text = _shown(here, tight=tight)
        begins = not told.strip() or told.rstrip()[-1] in _SPACED + _PAUSES + "([{|‖"
        if _is(here, _SPACED) and not tight and not (_is(here, _SIGNS) and begins):
            text = f" {text} "
        elif _is(here, _PAUSES) and not tight:
            text = f"{text} "
        elif _is_fraction(here) and not (_alone(before) and _alone(after)):
            text = f"({text})"
        told += f" {text}" if before is not None and _parted(before, here, told, text) else text
        before = here
    return told


def _parted(before: Element, here: Element, told: str, text: str) -> bool:
    """Whether two elements would be taken for one without a space between them."""
    if not re.search(r"[\w₀-ₜ⁰-ⁿ*)]$", told) or not re.match(r"[\w√∇∂(]", text):
        return False
    calls = text[0] == "(" and not _is_fraction(before) and not re.match("[ΣΠ]", _shown(before))
    return not calls and (_is_word(here) or _is_word(before) or _is_long(before))


def _shown(element: Element, *, tight: bool = False) -> str:
    kind, parts = _kind(element), list(element)
    if not parts:
        narrow = tight or element.get("width", "").startswith("negative")
        return (element.text or "").translate(_OTHERS) if kind != "mspace" else "" if narrow else " "
    if kind == "mfrac" and element.get("linethickness") == "0":
        return f"{_shown(parts[0])} choose {_shown(parts[1])}"
    if kind == "mfrac":
        return f"{_over(parts[0], tight=tight)}/{_under(parts[1], tight=tight)}"
    if kind == "msqrt":
        return f"√{_under(element, tight=tight)}"
    if kind == "mover" and _shown(parts[1]) in _ACCENTS:
        return unicodedata.normalize("NFC", _shown(parts[0]) + _ACCENTS[_shown(parts[1])])
    if kind in _SCRIPTED:
        return _shown(parts[0]) + "".join(map(_script, parts[1:], _SCRIPTED[kind]))
    if kind == "mtable":
        return "; ".join(", ".join(_shown(cell) for cell in line) for line in parts)
    return _row(parts, tight=tight)


def _script(element: Element, sign: str) -> str:
    """An index or exponent: in small letters where there are some for all of it, else after its sign."""
    text, letters = _shown(element, tight=True), _LOWERED if sign == "_" else _RAISED
    if text in ("*", "′", "ᵀ", "∘"):
        return text
    if all(ord(c) in letters for c in text):
        return text.translate(letters)
    return sign + (text if len(text) == 1 or (sign == "_" and text.isalnum()) else f"({text})")


def _over(element: Element, *, tight: bool) -> str:
    """What stands over a fraction's line, in brackets if it is a sum."""
    text = _shown(element, tight=tight).strip()
    return f"({text})" if re.search(f"[{_SPACED}\\s]", re.sub(r"\([^()]*\)|\^\([^()]*\)", "", text)) else text


def _under(element: Element, *, tight: bool) -> str:
    """What stands under a line, in brackets if it is more than one symbol or number."""
    parts = list(element) if _kind(element) in ("mrow", "msqrt") else [element]
    parts = list(parts[0]) if len(parts) == 1 and _kind(parts[0]) == "mrow" else parts
    text = _row(parts, tight=tight).strip()
    return text if len([p for p in parts if _kind(p) != "mspace"]) == 1 and " " not in text else f"({text})"


def _kind(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _unwrapped(element: Element) -> Element:
    """The one element in a group that has no other."""
    return _unwrapped(element[0]) if _kind(element) in ("mrow", "mstyle") and len(element) == 1 else element


def _is(element: Element, signs: str) -> bool:
    return len(element) == 0 and bool(element.text) and element.text in signs


def _is_fraction(element: Element) -> bool:
    return _kind(element) == "mfrac" and element.get("linethickness") != "0"


def _is_word(element: Element) -> bool:
    """Whether it is a name of several letters, such as ln or max."""
    letters = element if _kind(element) == "mrow" else [element]
    name = "".join(e.text or "" for e in letters if _kind(e) in ("mi", "mo") and (e.text or "").isalpha())
    return len(name) > 1 and len(letters) in (1, len(name))


def _is_long(element: Element) -> bool:
    """Whether what follows could be taken for a part of it: after a fraction, a sum, an index in full size."""
    scripted = _kind(element) in _SCRIPTED and re.search(r"[_^ΣΠ∫]|^(min|max|sup|inf)", _shown(element))
    return bool(scripted) or _is_fraction(element)


def _alone(neighbour: Element | None) -> bool:
    """Whether a fraction beside this needs no brackets."""
    return (
        neighbour is None or _kind(neighbour) in ("mspace", "mtext") or _is(neighbour, _SPACED + _PAUSES + "()[]{}|∣")
    )
