"""Mathematics as MathML, which browsers draw without any script: formulas, and sentences that contain them."""

import functools
import re

PIECES = re.compile(r"\$([^$]+)\$|`([^`]+)`")  # of a sentence: mathematics, or a name
_RAISED = r"\^(?:\{([^{}]+)\}|\(((?:[^()]|\([^()]*\))+)\)|([−-]?\w+))"  # x^2, x^{1/2}, e^(−f(t))
_LOWERED = r"(?<=(?<![A-Za-z0-9_])[A-Za-zα-ωΑ-Ω])_(?:\{([^{}]+)\}|(\w+))"  # L_max; in num_steps it is part of a name
_SCRIPTS = re.compile(f"{_RAISED}|{_LOWERED}")
_FENCES = {"{": "{", "}": "}", "|": "‖"}
_LEFT_OVER = re.compile(r">\\([{}|])<")  # latex2mathml takes the mark after \Big as it is written
_WORDS = re.compile(r"\\(?:text\w*|operatorname\*?|[mh]box)\s*\{[^{}]*\}")  # latex2mathml copies them unescaped
_RELATIONS = re.compile(r"\\(?:[lg]eq?|approx|to|propto|sim|in)\b|(?<![{_^])[=<>]")


@functools.lru_cache(maxsize=4096)
def mathml(formula: str, *, inline: bool = False) -> str:
    """LaTeX as MathML."""
    from latex2mathml.converter import convert

    safe = _WORDS.sub(lambda words: words[0].replace("<", "&lt;").replace(">", "&gt;"), formula)
    made = convert(safe, display="inline" if inline else "block")
    return _LEFT_OVER.sub(lambda mark: f">{_FENCES[mark[1]]}<", made)


def sentence(text: str):
    r"""Text as HTML: LaTeX between dollars becomes MathML, names between backticks become code, the rest is escaped;
    exponents and indices in it are raised and lowered.

    >>> print(sentence("`dim` < 3 e^(−t/2) L_max"))
    <code>dim</code> &lt; 3 e<sup>−t/2</sup> L<sub>max</sub>
    """
    from markupsafe import Markup

    shown, end = Markup(""), 0
    for piece in PIECES.finditer(text):
        shown += _scripted(text[end : piece.start()])
        formula, name = piece.groups()
        end = piece.end()
        if name:
            shown += Markup("<code>{}</code>").format(name)
            continue
        *first, last = (Markup(mathml(part, inline=True)) for part in _lines(formula))
        after = re.split(r"[\s\w$`]", text[end:], maxsplit=1)[0]  # a comma stays with its formula
        shown += Markup("").join(first) + Markup('<span class="whole">{}{}</span>').format(last, after)
        end += len(after)
    return shown + _scripted(text[end:])


def _scripted(text: str):
    """Text without mathematics between dollars, escaped, with its exponents and indices as HTML."""
    from markupsafe import Markup, escape

    shown, end = Markup(""), 0
    for script in _SCRIPTS.finditer(text):
        *raised, braced, word = script.groups()
        form = Markup("<sup>{}</sup>") if any(raised) else Markup("<sub>{}</sub>")
        shown += escape(text[end : script.start()]) + form.format(next(filter(None, (*raised, braced, word))))
        end = script.end()
    return shown + escape(text[end:])


def _lines(formula: str) -> list[str]:
    r"""A formula in parts, each of which begins with a relation: browsers break a line between formulas only.

    >>> _lines(r"f(x) \le \sum_{i \le n} x_i = 1")
    ['f(x) ', '\\le \\sum_{i \\le n} x_i ', '= 1']
    """
    depth, cuts = 0, [0]
    for mark in re.finditer(r"[{}()\[\]]|\\[{}]|" + _RELATIONS.pattern, formula):
        depth += {"{": 1, "(": 1, "[": 1, r"\{": 1, "}": -1, ")": -1, "]": -1, r"\}": -1}.get(mark[0], 0)
        if depth == 0 and mark.start() and _RELATIONS.fullmatch(mark[0]):
            cuts.append(mark.start())
    return [formula[a:b] for a, b in zip(cuts, [*cuts[1:], None], strict=True)]
