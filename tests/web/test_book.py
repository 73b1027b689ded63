"""The book: every link leads somewhere, nothing foreign is touched, and an interrupted one is gone on with."""

import json
import re
from pathlib import Path

import pytest
from web.small_book import CHAPTER, only_sample_entries, pages_of, some_findings, write_small_book

from leadline.evidence import BadInput, Figure, Finding, entries, entry
from leadline.web.book import MARKER, prepare, write_book
from leadline.web.drawings import Drawings


@pytest.fixture(scope="module", autouse=True)
def small_registry():
    with only_sample_entries():
        yield


@pytest.fixture(scope="module")
def findings():
    return some_findings()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("drawings")


@pytest.fixture(scope="module")
def book(findings, kept, tmp_path_factory):
    out = tmp_path_factory.mktemp("written") / "book"
    write_small_book(out, findings, kept)
    return out


def contents(out: Path) -> dict[str, bytes]:
    return {file.relative_to(out).as_posix(): file.read_bytes() for file in out.rglob("*") if file.is_file()}


def page(book: Path, id: str) -> str:
    return (book / "entries" / f"{id}.html").read_text(encoding="utf-8")


def test_it_has_a_page_for_every_entry_and_lists_its_files(book):
    files = set(contents(book))
    assert {f"entries/{e.id}.html" for e in entries(chapter=CHAPTER)} < files
    assert {"index.html", "sources.html", "errata.html", "404.html", f"chapters/{CHAPTER}.html"} < files
    assert {"library.html", "library/probability.html", "library/probability.gaussian_kl.html"} < files
    assert len({name.casefold() for name in files}) == len(files)  # on some disks P.html is p.html
    assert {f"assets/{name}" for name in ("explorer.css", "explorer.js", "search-index.js")} < files
    assert {*json.loads((book / MARKER).read_text())["files"], MARKER} == files


def test_every_link_leads_to_a_file_of_the_book_and_a_place_in_it(book):
    pages = pages_of(book)
    followed = 0
    for file, read in pages.items():
        for link in read.values("href", "src", "data-index", "xlink:href"):
            if link.startswith("data:"):
                continue
            path, _, fragment = link.partition("#")
            target = (file.parent / path).resolve() if path else file
            assert target.is_relative_to(book.resolve()), f"{file.name} links to {link}"
            assert target.is_file(), f"{file.name} links to {link}"
            assert not fragment or fragment in pages[target].values("id"), f"{file.name} links to {link}"
            followed += 1
    assert followed > 10 * len(pages)


def test_every_page_is_well_formed_with_ids_that_occur_once(book):
    for file, read in pages_of(book).items():
        assert (read.open, read.wrong) == ([], []), file.name
        assert len(read.values("id")) == len(set(read.values("id"))), file.name


def test_pages_say_how_each_entry_came_out_and_why_one_was_not_run(book):
    holds, crashed, slow = (page(book, f"sample-{name}") for name in ("holds", "crash", "slow"))
    assert "<math" in holds
    assert "<svg" in holds
    assert "U ≤ 0" in holds
    assert "its worker process died &lt;3&gt;" in crashed
    assert "1 minute" in slow
    assert "leadline check sample-slow" in slow
    chapter = (book / "chapters" / f"{CHAPTER}.html").read_text(encoding="utf-8")
    for word in ("holds", "inapplicable", "error", "an erratum does not fail"):
        assert word in chapter


def test_the_errata_tell_what_does_not_hold_and_where(book):
    errata = (book / "errata.html").read_text(encoding="utf-8")
    assert "U ≤ 0" in errata
    assert "largest number, wrongly: measured" in errata
    assert "fails, as it must" in errata
    assert 'href="entries/sample-holds.html"' in errata


def test_the_same_findings_give_the_same_bytes_and_leave_unchanged_files_alone(book, findings, kept, tmp_path):
    write_small_book(tmp_path, findings, tmp_path.parent / "other-drawings")
    assert contents(tmp_path) == contents(book)
    before = {file: file.stat().st_mtime_ns for file in book.rglob("*.*")}
    write_small_book(book, findings, kept)
    assert {file: file.stat().st_mtime_ns for file in book.rglob("*.*")} == before


def test_a_directory_with_other_files_is_refused_and_left_as_it_was(tmp_path, findings, kept):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "thesis.tex").write_text("mine")
    with pytest.raises(BadInput, match="has other files in it; give --out a new or empty directory"):
        write_small_book(tmp_path, findings, kept)
    assert contents(tmp_path) == {"sub/thesis.tex": b"mine"}


def test_a_file_and_a_damaged_list_of_files_are_refused_with_a_sentence(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BadInput, match="choose another --out"):
        prepare(tmp_path / "file")
    (tmp_path / "book" / "assets").mkdir(parents=True)
    for damaged in ("{", "[]", '{"files": 3}', "\xff"):
        (tmp_path / "book" / MARKER).write_text(damaged, encoding="latin-1")
        with pytest.raises(BadInput, match="is damaged"):
            prepare(tmp_path / "book")


def test_pages_that_are_no_longer_part_of_it_are_removed_and_nothing_else(tmp_path, findings, kept):
    out = tmp_path / "book"
    write_small_book(out, findings, kept)
    for name in ("entries/gone.html", "entries/mine.html", "../outside.html"):
        (out / name).write_text("text")
    (out / "linked").symlink_to(tmp_path)
    listed = json.loads((out / MARKER).read_text())
    listed["files"] += ["entries/gone.html", "../outside.html", str(tmp_path / "outside.html"), "linked/outside.html"]
    (out / MARKER).write_text(json.dumps(listed))
    write_small_book(out, findings, kept)
    assert not (out / "entries" / "gone.html").exists()
    assert (out / "entries" / "mine.html").exists()
    assert (tmp_path / "outside.html").exists()


@pytest.mark.parametrize("pages", [0, 3])
def test_an_interrupted_book_is_gone_on_with(pages, tmp_path, book, findings, kept):
    left = iter(range(pages))

    def interrupt():
        if next(left, None) is None:
            raise KeyboardInterrupt

    out = tmp_path / "book"
    with pytest.raises(KeyboardInterrupt):
        write_book(out, findings, Drawings(kept), interrupt)
    assert not list(out.rglob("*.part"))
    write_small_book(out, findings, kept)
    assert contents(out) == contents(book)


def test_a_kill_before_the_first_file_leaves_a_directory_that_is_taken_again(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "book.json.123.part").write_text("{")
    assert prepare(tmp_path) == []


def test_a_figure_that_cannot_be_drawn_says_so_in_its_place(tmp_path, kept):
    broken = Finding("sample-64-bit", {}, 0, figures=(Figure("broken", {"mark": {"type": "<none>"}}),))
    write_book(tmp_path, [broken], Drawings(kept))
    assert re.search(r'<p class="bad">This figure could not be drawn \([^<]+\)\.</p>', page(tmp_path, "sample-64-bit"))
    assert entry("sample-64-bit").statement in page(tmp_path, "sample-64-bit")
