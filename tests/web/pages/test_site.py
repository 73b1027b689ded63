"""Pages: every one well formed and escaped, in every state, in the explorer and in the book."""

import dataclasses
import json
import re
from typing import NamedTuple

import pytest
import sample_claims  # noqa: F401 - declares the entries
from html_pages import Page

from leadline import claims
from leadline.claims import INDEX
from leadline.evidence import BadInput, Falsification, Finding, Task, at_most, entries, entry, erratum, exactly
from leadline.presentation import figure
from leadline.presentation.library import library_names, library_packages
from leadline.web.book import BookFindings
from leadline.web.pages import site as site_module
from leadline.web.pages.contents import chapters, neighbours
from leadline.web.pages.site import START, Site

claims.load()

HOSTILE = """<script>alert("1")</script> & 'x' </pre>"""


def finding(id="sample-holds", *comparisons, **others) -> Finding:
    return Finding(id, Task.of(entry(id)).parameters, 0, comparisons=comparisons, seconds=0.4, **others)


RIGHT = at_most(0.97, 1.0, "largest number")
HOLDS = finding(
    "sample-holds",
    RIGHT,
    erratum(at_most(0.97, 0.0, "largest number, wrongly"), of=RIGHT, by="eth", prints="U ≤ 0"),
    figures=(figure.histogram("Numbers </script> & more", "u", samples={"drawn": [0.1, 0.5]}),),
)
STATES = {
    "holds": HOLDS,
    "fails": finding("sample-holds", at_most(2.0, 1.0, "largest number")),
    "vacuous": finding("sample-holds", dataclasses.replace(at_most(0.5, 1.5, "risk"), says_nothing=True)),
    "inapplicable": finding("sample-holds", exactly(1, 1, "n").given(False, "n is at least 5")),
    "error": finding("sample-holds", error="its worker process died (exit code 3)"),
    "an erratum does not fail": finding(
        "sample-holds", RIGHT, erratum(exactly(2, 2, "two"), of=RIGHT, by="eth", prints="2 = 2")
    ),
}
KNOWN = BookFindings([HOLDS, finding("sample-unmet", exactly(1, 1, "n").given(False, "n is at least 5"))])
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
        "library": site.library(),
        "package": site.of_library("linear_classifiers"),
        "package with names": site.of_library("linear_classifiers.perceptrons"),
        "object": site.of_library("linear_classifiers.perceptrons.learn"),
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
    html = EXPLORER.result(task, finding("sample-holds", at_most(2.0, 1.0, "largest number").as_empirical()))
    assert "<strong>not confirmed at this scale</strong>" in html
    assert "no theorem" in html


def test_what_entries_and_findings_say_is_escaped(monkeypatch):
    hostile = dataclasses.replace(
        entry("sample-holds"),
        title=HOSTILE,
        statement=HOSTILE,
        check=HOSTILE,
        assumes=(HOSTILE,),
        slow=HOSTILE,
        formula=r"a < b \& c",
    )
    monkeypatch.setattr(site_module, "entry", lambda id: hostile)
    found = finding(
        "sample-holds",
        exactly("<b>", HOSTILE, HOSTILE),
        erratum(at_most(2, 1, HOSTILE), of=exactly("<b>", HOSTILE, HOSTILE), by="eth", prints=HOSTILE),
        error=HOSTILE,
        figures=HOLDS.figures,
    )
    html = Site(BookFindings([found])).entry("sample-holds", mistake=HOSTILE)
    assert_sound(html)
    assert "alert(" in html
    assert "<b>" not in html
    assert_sound(EXPLORER.example(HOSTILE))
    assert_sound(f"<table>{EXPLORER.row(found.comparisons[1])}</table>")
    assert_sound(EXPLORER.falsification(hostile, Falsification("x", worst=found, errors=[found]), running=False))


def test_a_chart_cannot_end_the_script_that_holds_it():
    html = EXPLORER.entry("sample-holds")
    assert html.count("</script>") == 2  # the page's own and the chart's
    assert BOOK.entry("sample-holds").count("</script>") == 1


def test_an_erratum_fails_beside_the_repaired_form_and_not_in_the_table():
    html = EXPLORER.entry("sample-holds")
    before, after = html.split('class="errata-pairs"', 1)
    assert "U ≤ 0" not in before
    assert after.index("U ≤ 0") < after.index("Repaired") < after.index("measured 0.97 ≤ 1: holds")
    assert "help to readers of these notes, and fair to their authors" in after


def test_an_erratum_whose_repair_was_not_reached_stands_alone():
    html = EXPLORER.result(Task.of(entry("sample-holds")), finding("sample-holds", HOLDS.comparisons[1]))
    assert_sound(html)
    assert "U ≤ 0" in html
    assert "Repaired" not in html


def test_the_book_says_nothing_that_needs_a_server():
    for name, html in pages(BOOK).items():
        for word in ("<button", "Check it", "Try to break", "leadline serve", "Studies", "explorer where"):
            assert word not in html, (name, word)


def test_what_is_not_known_runs_when_its_page_opens_unless_it_is_a_mistake():
    asks = {
        "known": EXPLORER.entry("sample-holds", {"samples": 20}),
        "first opening": EXPLORER.entry("sample-64-bit"),
        "first opening of what is slow": EXPLORER.entry("sample-slow"),
        "another value": EXPLORER.entry("sample-holds", {"samples": "30"}),
        "another seed": EXPLORER.entry("sample-holds", {}, 7),
        "another seed of what is slow": EXPLORER.entry("sample-slow", {}, 7),
        "a mistake": EXPLORER.entry("sample-64-bit", mistake="bits = 0 is outside its range."),
        "in the book": BOOK.entry("sample-64-bit"),
    }
    slow = ["first opening of what is slow", "another seed of what is slow"]
    at_once = ["first opening", slow[0], "another value", "another seed", slow[1]]
    assert [name for name, html in asks.items() if 'data-run="yes"' in html] == at_once
    assert [name for name, html in asks.items() if "being run for the first time" in html] == at_once
    assert [name for name, html in asks.items() if "which takes 1 minute" in html] == slow
    assert "leadline check sample-holds --set samples=30" in asks["another value"]
    assert "check(&#34;sample-holds&#34;, seed=7)" in asks["another seed"]


def test_lists_tell_what_is_known_of_each_entry():
    (chapter,) = (c for c in chapters(KNOWN) if c.name == "sample_claims")
    assert chapter.state == f"2/{len(chapter.lines)}"
    assert Site(BookFindings([STATES["fails"]])).home().count("1 ✗") == 1
    html = EXPLORER.chapter("sample_claims")
    assert "1 holds, 1 inapplicable" in html
    assert "Sample holds" in html
    assert "<code>sample-holds</code>" in html
    with pytest.raises(BadInput, match="chapter"):
        EXPLORER.chapter("nowhere")


def test_the_side_list_has_the_sections_of_the_chapter_that_is_read_and_of_no_other():
    for html in (EXPLORER.chapter("neurons"), EXPLORER.entry("novikoff-bound"), BOOK.entry("novikoff-bound")):
        side = html.split("<nav", 2)[2].split("</nav>")[0]
        titles = re.findall(r'<p class="section">([^<]+)</p>', side)
        assert titles[:3] == ["Units", "The perceptron", "Margins and mistake bounds"]
        place = side.index(titles[2])
        assert side.index("Perceptron learning algorithm") < place < side.index("Novikoff&#39;s mistake bound")
        assert len(titles) == len(next(c for c in chapters(KNOWN) if c.name == "neurons").sections)
    assert 'class="section"' not in EXPLORER.home()
    page = EXPLORER.chapter("neurons")
    assert page.index('<h2 id="part-1">Units</h2>') < page.index('<h2 id="part-2">The perceptron</h2>')


def test_mathematics_in_sentences_is_mathml_and_names_are_code(monkeypatch):
    told = dataclasses.replace(
        entry("sample-holds"),
        statement=r"At most $\sqrt{n}$, for `samples` draws.",
        assumes=(r"$n \ge 2$",),
        check=r"Against $\sum_{i<n} i$.",
    )
    monkeypatch.setattr(site_module, "entry", lambda id: told)
    for site in (EXPLORER, BOOK):
        html = site.entry("sample-holds").split('id="entry"')[1].split('class="bench"')[0]
        for tag in ("<msqrt>", "<msub>", "<code>samples</code>"):
            assert tag in html, tag
        assert "<math" in html.split('class="assumes"')[1].split("</ul>")[0]
        assert not set("$\\`") & set(html)


def test_lists_and_search_show_titles_with_their_ids():
    for html in (EXPLORER.chapter("sample_claims"), EXPLORER.search("uniform number")):
        line = html.split('href="/entries/sample-holds"')[-1].split("</li>")[0]
        assert line.index("Sample holds") < line.index("<code>sample-holds</code>")
    assert "<h1>Sample holds</h1>" in EXPLORER.entry("sample-holds")
    assert "<code>sample-holds</code>" in EXPLORER.entry("sample-holds").split("<h1>")[0]


def test_the_library_lists_every_package_and_a_package_every_name_with_its_first_sentence():
    html = EXPLORER.library()
    for name, package in library_packages().items():
        assert f'href="/library/{name}"' in html
        page = EXPLORER.of_library(name)
        assert_sound(page)
        for own in package.names:
            assert f'href="/library/{name}.{own}"' in page
    page = EXPLORER.of_library("linear_classifiers.perceptrons")
    assert page.index("The perceptron rule: add y x on every mistake") < page.index("Rosenblatt&#39;s rule: present")
    assert 'href="/library/linear_classifiers.perceptrons"' in EXPLORER.of_library("linear_classifiers")


def test_a_name_of_the_library_has_signature_example_and_the_entries_that_use_it():
    html = EXPLORER.of_library("linear_classifiers.perceptrons.learn")
    assert "<h1><code>learn</code></h1>" in html
    for part in ("learn(\n    x: ", "Rosenblatt", "&gt;&gt;&gt; run = learn(", 'href="/entries/novikoff-bound"'):
        assert part in html, part
    with pytest.raises(BadInput, match=r"no name of the library .*did you mean .*perceptrons\.learn"):
        EXPLORER.of_library("linear_classifiers.perceptrons.lern")
    with pytest.raises(BadInput, match="name of the library"):
        EXPLORER.of_library("evidence.claim")


@pytest.mark.slow
@pytest.mark.parametrize("package", library_packages())
def test_every_public_name_has_a_page(package):
    for own in library_packages()[package].names:
        assert_sound(BOOK.of_library(f"{package}.{own}"))


def test_names_that_differ_in_capitals_only_have_files_of_their_own_in_the_book():
    files = [BOOK.to(0).object(name).casefold() for name in library_names()]
    assert len(files) == len(set(files))


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


def test_a_falsification_tells_how_it_goes_and_links_its_worst_case():
    e = entry("sample-slow-descent")
    worst = Finding(e.id, {"x": 0.45, "other": 3}, 9, comparisons=(at_most(0.2475, 0.24, "x(1-x)"),))
    near = dataclasses.replace(worst, comparisons=(at_most(0.2375, 0.24, "x(1-x)"),))
    broken = EXPLORER.falsification(e, Falsification(e.id, 12, 2, worst, [worst], 3.5), running=False)
    assert "<strong>violated</strong>" in broken
    assert 'href="/entries/sample-slow-descent?x=0.45&amp;other=3&amp;seed=9"' in broken
    assert "12 runs in 3.5 s" in broken
    assert "2 statistical misses were chance" in broken
    assert "1 run did not end" in broken
    assert "no violation so far" in EXPLORER.falsification(e, Falsification(e.id, 1, 0, near), running=True)
    assert "no violation found" in EXPLORER.falsification(e, Falsification(e.id, 1, 0, near), running=False)
    assert "no run ended in time" in EXPLORER.falsification(e, Falsification(e.id), running=False)
    for html in (broken, EXPLORER.falsification(e, Falsification(e.id), running=True)):
        assert_sound(html)


def test_errata_are_told_by_text_and_once():
    twice = finding(
        "sample-holds",
        *HOLDS.comparisons,
        erratum(at_most(5.0, 0.0, "other"), of=RIGHT, by="eth", prints="U ≤ 0"),
        erratum(at_most(5.0, 0.0, "other"), of=RIGHT, by="cam", prints="U < 0"),
    )
    html = Site(BookFindings([twice])).errata().split('id="others"')[0]
    assert html.count("U ≤ 0") == 1
    assert "<h1>Errata</h1>" in html
    assert "fails, as it must" in html
    assert '<code class="quiet">sample-holds</code>' in html
    assert html.count(": 1 erratum.") == 2
    assert "help to readers of these notes, and fair to their authors" in html
    assert html.index("U ≤ 0") < html.index("Repaired") < html.index("measured 0.97 ≤ 1: holds")
    assert "rinted" not in html
    assert html.index('<h2 id="eth">') < html.index("U ≤ 0") < html.index('<h2 id="cam">') < html.index("U &lt; 0")


def test_the_errata_of_entries_that_were_not_run_are_announced():
    unknown = Site(BookFindings([])).errata()
    assert "Entries with errata that have not been run" in unknown
    assert "<code>adam-printed-variants</code>" in unknown
    assert "<code>lasso</code>" not in unknown


def test_the_entries_to_begin_with_exist():
    index = {record["id"] for record in json.loads(INDEX.read_text(encoding="utf-8"))}
    assert set(START) <= index
