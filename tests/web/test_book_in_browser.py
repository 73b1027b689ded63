"""A reader with the book on a disk: reads, searches, follows links and prints, with script and without."""

import contextlib

import pytest
from browser import browser, reading
from web.small_book import CHAPTER, only_sample_entries, some_findings, write_small_book

PAGES = (
    "index.html",
    f"chapters/{CHAPTER}.html",
    "entries/sample-holds.html",
    "errata.html",
    "library.html",
    "library/linear_classifiers.perceptrons.html",
    "library/linear_classifiers.perceptrons.learn.html",
)


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    out = tmp_path_factory.mktemp("book")
    with only_sample_entries():
        write_small_book(out, some_findings(), tmp_path_factory.mktemp("drawings"))
    return out


@contextlib.contextmanager
def without_script(chromium):
    context = chromium.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_from_the_disk_without_complaint_and_asks_for_files_only(chromium, book, name):
    with reading(chromium, (book / name).as_uri()) as seen:
        assert seen.page.locator("h1").is_visible()
        assert seen.complaints == []
        assert seen.requests
        assert all(address.startswith((book.as_uri(), "data:")) for address in seen.requests)


def test_search_as_you_type_finds_an_entry_and_enter_opens_it(chromium, book):
    with reading(chromium, (book / "entries" / "sample-unmet.html").as_uri()) as seen:
        seen.page.locator("#search").press_sequentially("uniform numb")
        first = seen.page.locator("#search-results [role=option]").first
        first.wait_for()
        assert "sample-holds" in first.inner_text()
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/entries/sample-holds.html")
        assert seen.page.locator("h1").inner_text() == "Sample holds"
        assert seen.complaints == []


def test_a_click_on_a_result_opens_it_from_the_first_page_too(chromium, book):
    with reading(chromium, (book / "index.html").as_uri()) as seen:
        seen.page.locator("#search").press_sequentially("errat")
        seen.page.locator("#search-results [role=option]", has_text="Errata").first.click()
        seen.page.wait_for_url("**/errata.html")


def test_without_script_there_are_table_formula_and_figure_and_no_search_that_would_not_work(chromium, book):
    with without_script(chromium) as page:
        page.goto((book / "index.html").as_uri())
        assert not page.locator("#search").is_visible()
        page.goto((book / "entries" / "sample-holds.html").as_uri())
        for part in ("table.comparisons", ".formula math", "figure svg"):
            assert page.locator(part).first.is_visible(), part
        assert "fails, as it must" in page.locator("main").inner_text()


@pytest.mark.parametrize("name", PAGES)
def test_on_a_phone_nothing_is_wider_than_the_screen(chromium, book, name):
    with reading(chromium, (book / name).as_uri(), width=380) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 380


def test_a_page_prints_what_it_says_and_not_what_one_presses(chromium, book):
    with reading(chromium, (book / "entries" / "sample-holds.html").as_uri()) as seen:
        seen.page.emulate_media(media="print")
        for part in ("table.comparisons", ".formula math", "figure svg"):
            assert seen.page.locator(part).first.is_visible(), part
        assert not seen.page.locator("#search").is_visible()
        assert len(seen.page.pdf()) > 10_000


def test_on_a_phone_the_title_of_a_figure_stands_above_it_in_full_and_on_a_desk_in_it(chromium, book):
    with reading(chromium, (book / "entries" / "sample-holds.html").as_uri(), width=380) as seen:
        caption, drawn = seen.page.locator("figcaption"), seen.page.locator("figure svg .role-title")
        assert caption.inner_text() == "Uniform numbers"
        assert not drawn.is_visible()
        seen.page.set_viewport_size({"width": 1100, "height": 900})
        assert (caption.is_visible(), drawn.is_visible()) == (False, True)
