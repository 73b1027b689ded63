"""Mathematics in sentences: as MathML on pages, in characters in the terminal."""

import json
import re

import pytest
from html_pages import Page

from leadline.claims import INDEX
from leadline.presentation.mathematics import mathml, sentence
from leadline.presentation.plain_mathematics import plain, plain_formula


def indexed() -> list[dict]:
    return json.loads(INDEX.read_text(encoding="utf-8"))


def test_a_sentence_has_mathml_code_and_escaped_text():
    html = str(sentence(r"If a < b, at most $\sqrt{n}$, for `dim` > 3."))
    assert html.startswith("If a &lt; b, at most <span")
    assert "<msqrt>" in html
    assert "<code>dim</code> &gt; 3." in html
    assert "$" not in html


def test_no_line_begins_with_the_comma_after_a_formula_and_long_ones_break_before_relations():
    html = str(sentence(r"Here $f(x) \le \sum_{i \le n} x_i = 1$, and so on."))
    assert html.count("<math") == 3
    assert "</math>,</span> and so on." in html
    assert html.count("<span") == 1


def test_text_in_dollars_and_backticks_cannot_be_markup():
    for hostile in ("`<b>`", r"$\text{<b>}$", r"$\operatorname{<b>}$", r"$\mathrm{<b>}$", "$a <b> c$", "<b>`x`$y$"):
        assert "<b>" not in str(sentence(hostile))


def test_fences_after_big_have_no_backslash():
    assert "\\" not in mathml(r"1\Big\{\Big\| x \Big\|\Big\}")


@pytest.mark.parametrize(
    ("latex", "characters"),
    [
        (r"\frac{R^2 + B^2}{2 \sum_t \eta_t}", "(R² + B²)/(2Σₜ ηₜ)"),
        (r"\frac1n \sum_{i<d} \binom{n-1}{i}", "(1/n) Σ_(i<d) (n − 1 choose i)"),
        (r"\|w_y - w_k\|_q \ge e^{-2\rho}", "‖w_y − wₖ‖_q ≥ e^(−2ρ)"),
        (r"\hat m = m/(1-\beta_1^t), \quad \dot W^\top", "m̂ = m/(1 − β₁^t), Ẇᵀ"),
        (r"\mathrm{Var} X = n \ln 2, \ \lambda_{\max}", "Var X = n ln 2, λₘₐₓ"),
        (r"\sqrt{2 \ln \Pi(n)/n} \in \{-1, +1\}", "√(2 ln Π(n)/n) ∈ {−1, +1}"),
        (r"\det \begin{pmatrix} a & b \\ c & d \end{pmatrix}", "det(a, b; c, d)"),
    ],
)
def test_formulas_in_characters(latex, characters):
    assert plain_formula(latex) == characters


def test_a_sentence_in_characters_keeps_its_names():
    assert plain(r"At most $2^{d-1}$ units, `dim` of them.") == "At most 2^(d−1) units, `dim` of them."
    assert plain("Costs 3 $ a piece.") == "Costs 3 $ a piece."


def test_every_sentence_and_formula_of_the_curriculum_can_be_shown_on_pages_and_in_the_terminal():
    for record in indexed():
        for text in (record["statement"], record["check"], *record["assumes"]):
            html = str(sentence(text))
            page = Page(html)
            assert (page.open, page.wrong) == ([], []), record["id"]
            shown = re.sub("<[^>]*>", "", html) + plain(text)
            assert not re.search(r"\$|\\[a-zA-Z{]", shown), f"{record['id']} shows source text: {shown}"
        if record["formula"]:
            told = mathml(record["formula"]) + plain_formula(record["formula"])
            assert "\\" not in told, f"{record['id']} shows source text: {told}"
