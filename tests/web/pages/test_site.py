"""Pages: every one well formed and escaped, in every state, in the explorer and in the book."""

import dataclasses
import re
from pathlib import Path
from typing import NamedTuple

import pytest
import sample_claims  # noqa: F401 - declares the entries
from html_pages import Page

import leadline
from leadline.evidence import Attack, BadInput, Finding, Task, at_most, entries, entry, exactly, figure, printed
from leadline.web.book import Found
from leadline.web.pages import site as site_module
from leadline.web.pages.contents import chapters, neighbours
from leadline.web.pages.site import START, Site

HOSTILE = """<script>alert("1")</script> & 'x' </pre>"""


def finding(id="sample-holds", *comparisons, **others) -> Finding:
    return Finding(id, Task.of(entry(id)).parameters, 0, comparisons=comparisons, seconds=0.4, **others)


HOLDS = finding(
    "sample-holds",
    at_most(0.97, 1.0, "largest number"),
    printed(at_most(0.97, 0.0, "largest number"), "eth", "U ≤ 0"),
    figures=(figure.histogram("Numbers </script> & more", x="u", samples={"drawn": [0.1, 0.5]}),),
)
STATES = {
    "holds": HOLDS,
    "fails": finding("sample-holds", at_most(2.0, 1.0, "largest number")),
    "vacuous": finding("sample-holds", dataclasses.replace(at_most(0.5, 1.5, "risk"), says_nothing=True)),
    "inapplicable": finding("sample-holds", exactly(1, 1, "n").given(False, "n is at least 5")),
    "error": finding("sample-holds", error="its worker process died (exit code 3)"),
    "a printed error does not fail": finding(
        "sample-holds", exactly(1, 1, "one"), printed(exactly(2, 2, "two"), "eth", "2 = 2")
    ),
}
KNOWN = Found([HOLDS, finding("sample-unmet", exactly(1, 1, "n").given(False, "n is at least 5"))])
EXPLORER = Site(KNOWN)
BOOK = Site(KNOWN, draw=lambda f: f"<svg><title>{len(f.spec)}</title></svg>")
SITES = {"explorer": EXPLORER, "book": BOOK}


class Study(NamedTuple):
    name: str
    title: str
    about: str
    when: str


def pages(site: Site) -> dict[str, str]:
    told = {
        "home": site.home(),
        "chapter": site.chapter("sample_claims"),
        "entry": site.entry("sample-holds"),
        "not run": site.entry("sample-slow"),
        "unmet": site.entry("sample-unmet"),
        "search": site.search("number"),
        "nothing found": site.search(HOSTILE),
        "empty search": site.search(" "),
        "sources": site.sources(),
        "errata": site.errata(),
        "message": site.message("Not found", "There is no such page."),
    }
    studies = {"studies": site.studies([]), "reports": site.studies([Study("a/b", HOSTILE, HOSTILE, "2026")])}
    return told if site is BOOK else told | studies


def assert_sound(html: str) -> Page:
    page = Page(html)
    assert (page.open, page.wrong) == ([], [])
    ids = Page(re.sub("<template.*?</template>", "", html, flags=re.DOTALL)).values(
        "id"
    )  # templates are not in the page
    assert len(ids) == len(set(ids))
    assert not page.values("style")
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert not [a for a in page.values("href", "src", "action") if a.startswith(("http:", "https:", "//"))]
    assert "<script>" not in html.replace('<script type="', "")
    return page


@pytest.mark.parametrize("where", SITES)
def test_every_page_is_sound_with_one_title_and_headings_in_order(where):
    for name, html in pages(SITES[where]).items():
        page = assert_sound(html)
        assert page.levels.count(1) == 1, name
        assert page.levels[0] == 1, name
        assert all(after <= before + 1 for before, after in zip(page.levels, page.levels[1:], strict=False)), name
        assert set(page.values("for")) <= set(page.values("id")), name
        assert {label for label in page.values("aria-labelledby")} <= set(page.values("id")), name


@pytest.mark.parametrize("where", SITES)
@pytest.mark.parametrize("state", STATES)
def test_the_result_says_every_state_in_words_with_its_meaning(state, where):
    html = SITES[where].result(Task.of(entry("sample-holds")), STATES[state])
    assert_sound(html)
    assert f"<strong>{state}</strong>" in html
    assert ('class="meaning"' in html) == (state != "holds")


def test_an_empirical_finding_that_fails_is_not_confirmed():
    task = Task(dataclasses.replace(entry("sample-holds"), empirical=True), {"samples": 20}, 0)
    html = EXPLORER.result(task, finding("sample-holds", at_most(2.0, 1.0, "largest number").as_finding()))
    assert "<strong>not confirmed at this scale</strong>" in html
    assert "no theorem" in html


def test_what_entries_and_findings_say_is_escaped(monkeypatch):
    hostile = dataclasses.replace(
        entry("sample-holds"), says=HOSTILE, assumes=(HOSTILE,), slow=HOSTILE, formula=r"a < b \& c"
    )
    monkeypatch.setattr(site_module, "entry", lambda id: hostile)
    found = finding(
        "sample-holds", exactly("<b>", HOSTILE, HOSTILE), printed(at_most(2, 1, HOSTILE), "eth", HOSTILE),
        error=HOSTILE, figures=HOLDS.figures,
    )  # fmt: skip
    html = Site(Found([found])).entry("sample-holds", mistake=HOSTILE)
    assert_sound(html)
    assert "alert(" in html
    assert "<b>" not in html
    assert_sound(EXPLORER.example(HOSTILE))
    assert_sound(f"<table>{EXPLORER.row(found.comparisons[1])}</table>")
    assert_sound(EXPLORER.attack(hostile, Attack("x", worst=found, errors=[found]), running=False))


def test_a_chart_cannot_end_the_script_that_holds_it():
    html = EXPLORER.entry("sample-holds")
    assert html.count("</script>") == 2  # the page's own and the chart's
    assert BOOK.entry("sample-holds").count("</script>") == 1


def test_the_printed_form_fails_beside_the_repaired_one_and_not_in_the_table():
    html = EXPLORER.entry("sample-holds")
    before, after = html.split('class="printed"', 1)
    assert "U ≤ 0" not in before
    assert after.index("U ≤ 0") < after.index("Repaired") < after.index("measured 0.97 ≤ 1: holds")


def test_the_book_says_nothing_that_needs_a_server():
    for name, html in pages(BOOK).items():
        for word in ("<button", "Check it", "Try to break", "leadline serve", "Studies", "explorer where"):
            assert word not in html, (name, word)


def test_an_address_runs_at_once_only_what_differs_from_the_defaults_and_is_not_known():
    asks = {
        "known": EXPLORER.entry("sample-holds", {"samples": 20}),
        "not known, at the defaults": EXPLORER.entry("sample-slow"),
        "another value": EXPLORER.entry("sample-holds", {"samples": "30"}),
        "another seed": EXPLORER.entry("sample-holds", {}, 7),
        "a mistake": EXPLORER.entry("sample-holds", mistake="samples = 0 is outside its range."),
    }
    assert [name for name, html in asks.items() if 'data-run="yes"' in html] == ["another value", "another seed"]
    assert "leadline check sample-holds --set samples=30" in asks["another value"]
    assert "check(&#34;sample-holds&#34;, seed=7)" in asks["another seed"]


def test_lists_tell_what_is_known_of_each_entry():
    (chapter,) = (c for c in chapters(KNOWN) if c.name == "sample_claims")
    assert chapter.state == f"2/{len(chapter.lines)}"
    assert Site(Found([STATES["fails"]])).home().count("1 ✗") == 1
    html = EXPLORER.chapter("sample_claims")
    assert "1 holds, 1 inapplicable" in html
    assert "Small entries with known behaviour, for testing the engine" in html
    with pytest.raises(BadInput, match="chapter"):
        EXPLORER.chapter("nowhere")


def test_entries_are_read_in_order_across_chapters():
    listed = chapters(KNOWN)
    order = [line.entry.id for chapter in listed for line in chapter.lines]
    assert sorted(order) == sorted(e.id for e in entries())
    walk, here = [], entry(order[0])
    while here is not None:
        walk.append(here.id)
        before, here = neighbours(listed, here.id)
        assert (before.id if before else None) == (walk[-2] if len(walk) > 1 else None)
    assert walk == order


def test_an_attack_tells_how_it_goes_and_links_its_worst_case():
    e = entry("sample-slow-descent")
    worst = Finding(e.id, {"x": 0.45, "other": 3}, 9, comparisons=(at_most(0.2475, 0.24, "x(1-x)"),))
    near = dataclasses.replace(worst, comparisons=(at_most(0.2375, 0.24, "x(1-x)"),))
    broken = EXPLORER.attack(e, Attack(e.id, 12, 2, worst, [worst], 3.5), running=False)
    assert "<strong>violated</strong>" in broken
    assert 'href="/entries/sample-slow-descent?x=0.45&amp;other=3&amp;seed=9"' in broken
    assert "12 runs in 3.5 s" in broken
    assert "2 statistical misses were chance" in broken
    assert "1 run did not end" in broken
    assert "no violation so far" in EXPLORER.attack(e, Attack(e.id, 1, 0, near), running=True)
    assert "no violation found" in EXPLORER.attack(e, Attack(e.id, 1, 0, near), running=False)
    assert "no run ended in time" in EXPLORER.attack(e, Attack(e.id), running=False)
    for html in (broken, EXPLORER.attack(e, Attack(e.id), running=True)):
        assert_sound(html)


def test_errata_are_told_by_text_and_once():
    twice = finding("sample-holds", *HOLDS.comparisons, printed(at_most(5.0, 0.0, "other"), "eth", "U ≤ 0"),
                    printed(at_most(5.0, 0.0, "other"), "cam", "U < 0"))  # fmt: skip
    html = Site(Found([twice])).errata()
    assert html.count("U ≤ 0") == 1
    assert html.index('<h2 id="eth">') < html.index("U ≤ 0") < html.index('<h2 id="cam">') < html.index("U &lt; 0")


def test_the_entries_to_begin_with_exist():
    claims = "".join(f.read_text(encoding="utf-8") for f in Path(leadline.__file__).parent.glob("claims/*/*.py"))
    assert [id for id in START if f'    "{id}",\n' not in claims] == []
