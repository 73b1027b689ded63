"""`leadline book`: takes what was found, runs what is missing, and tells where the book is."""

import dataclasses

import pytest
from web.small_book import only_sample_entries

from leadline import claims
from leadline.evidence import Finding, RunDirectory, Task, at_most, entries, entry, registry, runner, versions


@pytest.fixture(scope="module", autouse=True)
def small_registry():
    with only_sample_entries():
        yield


def found(task, **changes) -> Finding:
    known = {"comparisons": (at_most(1, 2, "one"),), "versions": versions()}
    return Finding(task.entry.id, task.parameters, task.seed, **(known | changes))


def tasks() -> list[Task]:
    return [Task.of(e) for e in entries()]


@pytest.fixture
def ran(monkeypatch):
    """The ids that are given to workers, which here find that all holds, but for one that crashes."""
    asked = []

    def run_all(self, left, *_):
        for task in left:
            asked.append(task.entry.id)
            yield found(task, error="died") if task.entry.id == "sample-crash" else found(task)

    monkeypatch.setattr(runner.Workers, "run_all", run_all)
    monkeypatch.setattr(claims, "load", lambda: None)
    return asked


@pytest.fixture
def checked(tmp_path):
    """A directory as `leadline check` leaves it, without the first and the second entry, the slow one and a crash."""
    run = RunDirectory(tmp_path / "checked")
    _, second, *others = [t for t in tasks() if not t.entry.slow and t.entry.id != "sample-crash"]
    with run.open():
        run.append(found(second, versions={"leadline": "0.0"}))
        for task in others:
            run.append(found(task))
    return run


def test_what_is_missing_or_of_another_version_is_run_and_kept_for_the_next_book(leadline, tmp_path, ran, checked):
    words = ("book", "--out", tmp_path / "book", "--findings", checked.path)
    code, out, err = leadline(*words)
    assert (code, ran) == (0, ["sample-holds", "sample-64-bit", "sample-crash"])
    assert f"{len(tasks()) - 4} findings taken from an earlier run" in err
    assert f"Book of {len(tasks())} entries (1 not run): {tmp_path / 'book' / 'index.html'}" in out
    assert f"{len(tasks()) - 2} hold, 1 did not end" in out
    assert "died" in (tmp_path / "book" / "entries" / "sample-crash.html").read_text()
    ran.clear()
    assert leadline(*words).code == 0
    assert ran == ["sample-crash"]  # what did not end is tried again


def test_slow_entries_are_run_when_asked_for(leadline, tmp_path, ran, checked):
    words = ("book", "--out", tmp_path / "book", "--findings", checked.path)
    assert "(1 not run)" not in leadline(*words, "--slow").out
    assert "sample-slow" in ran


def test_with_a_chapter_nothing_else_is_run_and_pages_show_what_is_known(leadline, tmp_path, ran, checked, monkeypatch):
    other = dataclasses.replace(entry("sample-holds"), id="elsewhere", chapter="another")
    monkeypatch.setitem(registry._ENTRIES, other.id, other)
    words = ("book", "--out", tmp_path / "book", "--findings", checked.path, "--chapter", "another")
    code, out, _ = leadline(*words)
    assert (code, ran) == (0, ["elsewhere"])
    assert "(4 not run)" in out
    assert "not run yet" in (tmp_path / "book" / "entries" / "sample-64-bit.html").read_text()


def test_damaged_lines_are_told_and_what_they_held_is_run(leadline, tmp_path, ran, checked):
    *kept, last = checked.file.read_bytes().splitlines(keepends=True)
    checked.file.write_bytes(b"".join(kept) + last[: len(last) // 2] + b"\n\xff{}\n")
    code, _, err = leadline("book", "--out", tmp_path / "book", "--findings", checked.path)
    assert code == 0
    assert "2 damaged lines in" in err
    assert ran[-1] == tasks()[-1].entry.id


def test_findings_of_other_versions_do_not_pile_up(leadline, tmp_path, ran):
    run = RunDirectory(tmp_path / "cache" / "book")
    with run.open():
        run.append(found(tasks()[0], versions={"leadline": "0.0"}))
    assert leadline("book", "--out", tmp_path / "book").code == 0
    assert all(f.versions == versions() for f in run.findings())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--out", "{tmp}/mine"], "has other files in it"),
        (["--out", "{tmp}/mine/thesis.tex"], "choose another --out"),
        (["--out", "{tmp}/book", "--findings", "{tmp}/nowhere"], "There is no findings.jsonl in"),
        (["--out", "{tmp}/book", "--chapter", "nowhere"], "nowhere"),
        ([], "--out"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_run(leadline, tmp_path, ran, words, sentence):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    code, out, err = leadline("book", *(word.format(tmp=tmp_path) for word in words))
    assert (code, out, ran) == (2, "", [])
    assert sentence in err
    assert err.count("\n") == 1
    assert not (tmp_path / "book" / "index.html").exists()
