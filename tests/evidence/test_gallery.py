"""Findings as HTML: complete, escaped, and without a request to anywhere."""

import re
from html.parser import HTMLParser

import sample_claims  # noqa: F401 - declares the entries

from leadline.evidence import Finding, at_most, entry, printed, run_entry
from leadline.evidence.gallery import finding_fragment, write_gallery

VOID = {"meta", "br", "img"}


class Balance(HTMLParser):
    """Tags that are opened and not closed, or closed and not opened."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_a_notebook_shows_a_finding_with_its_figure_inside():
    html = run_entry(entry("sample-holds"))._repr_mimebundle_()["text/html"]
    assert "<svg" in html
    assert "printed by eth" in html
    assert "leadline check sample-holds" in html


def test_text_from_an_entry_is_escaped():
    comparison = printed(at_most(1, 2, "<script>alert(1)</script>"), "eth", "a < b & c")
    html = finding_fragment(Finding("sample-holds", {}, 0, comparisons=(comparison,)))
    assert "<script>" not in html
    assert "a &lt; b &amp; c" in html


def test_the_index_is_well_formed_and_asks_for_nothing_outside(tmp_path):
    ids = ("sample-holds", "sample-unmet", "sample-printed-holds")
    findings = [run_entry(entry(id)) for id in ids] + [Finding("sample-crash", {}, 0, error="died")]
    write_gallery(tmp_path, findings, {f.id: entry(f.id) for f in findings})
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    balance = Balance()
    balance.feed(page)
    assert (balance.open, balance.wrong) == ([], [])
    assert set(re.findall(r'(?:src|href)="([^"]+)"', page)) == {"figures/sample-holds-1.svg"} | {
        f"#{f.id}" for f in findings
    }
    for word in ("holds", "inapplicable", "a printed error does not fail", "error"):
        assert word in page
