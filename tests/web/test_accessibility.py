"""Every kind of page, in light and dark, on a phone and on a desk: axe-core finds nothing, nothing scrolls sideways."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from axe import violations
from browser import browser, reading
from playwright.sync_api import Page
from studies.sample_instruments import SAMPLES
from studies.small_subjects import linear_subject

from leadline import claims
from leadline.evidence import entry
from leadline.evidence.execution import run_entry
from leadline.presentation.gallery import write_gallery
from leadline.studies import Report, comparison_html, report as reports, run_study
from leadline.studies.report import describe_subject
from leadline.web.assets import explorer_style
from leadline.web.known_findings import KnownFindings
from leadline.web.pages.site import Site

RUN = "hoeffding-and-test-set-size"  # has errata and a figure
METHOD = "rademacher-complexity"  # shows objects of the library


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    """A folder with a page of every kind."""
    claims.load()
    folder = tmp_path_factory.mktemp("pages")
    finding = run_entry(entry(RUN))
    known, nothing = KnownFindings(), KnownFindings()
    known.keep(finding)
    explorer, fresh, book = Site(known), Site(nothing), Site(known, draw=lambda figure: figure.svg())
    studies = [SimpleNamespace(name="digits", title="Study of digits", when="2026-11-16", about="MLP, 650 parameters")]
    written = {
        "home": explorer.home(),
        "chapter": explorer.chapter("generalisation"),
        "entry-not-run": fresh.entry(RUN),
        "entry-run": explorer.entry(RUN),
        "entry-mistake": fresh.entry(RUN, mistake="delta must be from 0.001 to 0.5; 7 is not."),
        "entry-in-book": book.entry(RUN),
        "method": explorer.entry(METHOD),
        "search": explorer.search("test set"),
        "search-in-vain": explorer.search("no such words"),
        "studies": explorer.studies(studies),
        "studies-empty": explorer.studies([]),
        "sources": explorer.sources(),
        "errata": explorer.errata(),
        "errata-empty": fresh.errata(),
        "library": explorer.library(),
        "package": explorer.of_library("linear_classifiers.perceptrons"),
        "packages": explorer.of_library("linear_classifiers"),
        "object": explorer.of_library("linear_classifiers.perceptrons.learn"),
        "message": explorer.message("Not found", "There is no page here; the chapters are at the side."),
    }
    for name, page in written.items():
        page = re.sub(r'(href|src)="(?:/|\.\./)assets/', r'\1="assets/', page)
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    (folder / "assets").mkdir()
    (folder / "assets" / "explorer.css").write_text(explorer_style(), encoding="utf-8")
    write_gallery(folder / "gallery", [finding], {RUN: entry(RUN)})
    report = _small_report()
    report.save(folder / "report")
    (folder / "against.html").write_text(comparison_html(report, replace(report, name="another")), encoding="utf-8")
    return folder


def _small_report() -> Report:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports, "instruments", lambda: SAMPLES)
        subject = linear_subject()
        report = Report("small", describe_subject(subject), command="leadline study small")
        report.cards.update({card.name: card for card in run_study(subject, command="leadline study small")})
    return report


KINDS = (
    "home",
    "chapter",
    "entry-run",
    "method",
    "search",
    "studies",
    "sources",
    "errata",
    "library",
    "package",
    "object",
    "message",
    "gallery/index",
    "report/report",
)
VARIANTS = (
    "entry-not-run",
    "entry-mistake",
    "entry-in-book",
    "search-in-vain",
    "studies-empty",
    "errata-empty",
    "packages",
    "against",
)


@pytest.mark.parametrize("kind", [*KINDS, *(pytest.param(kind, marks=pytest.mark.slow) for kind in VARIANTS)])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(chromium, pages, kind):
    with reading(chromium, (pages / f"{kind}.html").as_uri(), width=360) as seen:
        wrong = [f"phone: {each}" for each in violations(seen.page)] + _too_wide(seen.page)
        seen.page.set_viewport_size({"width": 1280, "height": 800})
        # The style shows the list of chapters here, but axe takes what is in closed details for hidden.
        seen.page.eval_on_selector_all("details.chapters", "lists => lists.forEach(list => { list.open = true; })")
        wrong += [f"desk: {each}" for each in violations(seen.page)] + _too_wide(seen.page)
        seen.page.emulate_media(color_scheme="dark")
        assert _brightness(seen.page) < 64, "the page stays light where the reader's system is dark"
        wrong += [f"dark: {each}" for each in violations(seen.page, "color-contrast", "link-in-text-block")]
        assert not wrong, "\n".join(wrong)


def test_the_audit_sees_what_is_wrong(chromium):
    page = chromium.new_page()
    page.set_content("""<main><h1 style="color: #999">Pale</h1><input>
        <button style="font-size: 8px; padding: 0">a</button><button style="font-size: 8px; padding: 0">b</button>""")
    found = {line.split(":")[0] for line in violations(page)}
    page.close()
    assert {"color-contrast", "label", "target-size", "html-has-lang", "document-title"} <= found


def _too_wide(page: Page) -> list[str]:
    over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return [f"the page is {over} pixels wider than the window"] if over > 0 else []


def _brightness(page: Page) -> int:
    """Of the paper, from 0 to 255."""
    return max(map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]))


def test_the_list_of_chapters_is_closed_on_a_phone_and_within_reach_of_the_keyboard_on_a_desk(chromium, pages):
    with reading(chromium, (pages / "chapter.html").as_uri(), width=360) as seen:
        links = seen.page.locator("#chapters a")
        assert not links.first.is_visible()
        seen.page.locator("#chapters summary").click()
        assert links.first.is_visible()
    with reading(chromium, (pages / "chapter.html").as_uri(), width=1280) as seen:
        assert seen.page.locator("#chapters a").first.is_visible()
        seen.page.locator(".places a").last.focus()
        seen.page.keyboard.press("Tab")
        assert seen.page.evaluate("document.activeElement.closest('#chapters') !== null")


def test_a_figure_takes_the_colours_of_a_dark_page_and_those_of_paper_in_print(chromium, pages):
    with reading(chromium, (pages / "entry-in-book.html").as_uri()) as seen:
        title = seen.page.locator("figure svg .role-title-text text").first
        ink = "element => getComputedStyle(element).fill"
        light = title.evaluate(ink)
        seen.page.emulate_media(color_scheme="dark")
        assert title.evaluate(ink) == seen.page.evaluate("getComputedStyle(document.body).color") != light
        seen.page.emulate_media(color_scheme="dark", media="print")
        assert title.evaluate(ink) == light


def test_print_has_statement_table_figure_and_sources_and_no_controls(chromium, pages):
    with reading(chromium, (pages / "entry-run.html").as_uri()) as seen:
        seen.page.emulate_media(media="print")
        for shown in (".says", ".formula", "table.comparisons", ".errata-pairs .wrong", ".again pre", ".cited pre"):
            assert seen.page.locator(shown).first.is_visible(), f"{shown} is missing in print"
        for hidden in ("#controls", ".break", "#chapters", "#search", ".places", ".neighbours"):
            assert not seen.page.locator(hidden).is_visible(), f"{hidden} is of no use on paper"


def test_controls_follow_the_reader_and_never_lie_over_what_is_below(chromium, pages):
    with reading(chromium, (pages / "entry-run.html").as_uri(), width=1280, height=760) as seen:
        controls, below = seen.page.locator("#controls"), seen.page.locator(".break")
        seen.page.evaluate("scrollTo(0, document.querySelector('#result').getBoundingClientRect().top + 100)")
        assert 0 <= controls.bounding_box()["y"] < 40
        seen.page.evaluate("scrollTo(0, document.body.scrollHeight)")
        box = controls.bounding_box()
        assert box["y"] + box["height"] <= below.bounding_box()["y"]
