"""Findings as HTML: complete, escaped, and without a request to anywhere."""

import dataclasses
import re

import sample_claims  # noqa: F401 - declares the entries
from html_pages import Page

from leadline.evidence import Finding, at_most, entry, erratum, run_entry
from leadline.presentation.gallery import finding_fragment, finding_tone, write_gallery


def test_a_notebook_shows_a_finding_with_its_figure_inside():
    html = run_entry(entry("sample-holds"))._repr_mimebundle_()["text/html"]
    assert "<svg" in html
    assert "erratum of eth" in html
    assert "leadline check sample-holds" in html


def test_text_from_an_entry_is_escaped():
    comparison = at_most(1, 2, "<script>alert(1)</script>")
    comparison = erratum(comparison, of=comparison, by="eth", prints="a < b & c")
    html = finding_fragment(Finding("sample-holds", {}, 0, comparisons=(comparison,)))
    assert "<script>" not in html
    assert "a &lt; b &amp; c" in html


def test_the_index_is_well_formed_and_asks_for_nothing_outside(tmp_path):
    ids = ("sample-holds", "sample-unmet", "sample-erratum-holds")
    findings = [run_entry(entry(id)) for id in ids] + [Finding("sample-crash", {}, 0, error="died")]
    write_gallery(tmp_path, findings, {f.id: entry(f.id) for f in findings})
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    read = Page(page)
    assert (read.open, read.wrong) == ([], [])
    assert set(re.findall(r'(?:src|href)="([^"]+)"', page)) == {"figures/sample-holds-1.svg"} | {
        f"#{f.id}" for f in findings
    }
    for word in ("holds", "inapplicable", "an erratum does not fail", "error"):
        assert word in page


def test_what_is_no_theorem_and_is_not_confirmed_is_no_alarm():
    theorem = entry("sample-holds")
    empirical = dataclasses.replace(theorem, empirical=True)
    failing = Finding("sample-holds", {}, 0, comparisons=(at_most(2, 1, "two"),))
    assert (finding_tone(failing, theorem), finding_tone(failing, empirical)) == ("bad", "warn")


def test_an_empirical_comparison_among_theorems_is_no_alarm_and_a_theorem_among_findings_is_one():
    theorem = entry("sample-holds")
    empirical = dataclasses.replace(theorem, empirical=True)
    finding = Finding("sample-holds", {}, 0, comparisons=(at_most(1, 2, "one"), at_most(2, 1, "two").as_empirical()))
    assert (finding_tone(finding, theorem), finding_tone(finding, empirical)) == ("warn", "warn")
    failing = dataclasses.replace(finding, comparisons=(at_most(2, 1, "law"), at_most(2, 1, "two").as_empirical()))
    assert (finding_tone(failing, theorem), finding_tone(failing, empirical)) == ("bad", "bad")
