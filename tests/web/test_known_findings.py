import json
import threading
from dataclasses import replace

import pytest
import sample_claims  # noqa: F401  (registers the entries)

from leadline.evidence import BadInput, Finding, Task, at_most, entry, versions
from leadline.presentation import figure
from leadline.web.known_findings import KnownFindings, State

HOLDS = entry("sample-holds")


def found(id="sample-holds", *, seed=0, slack=1.0, error="", **given):
    task = Task.of(entry(id), given, seed)
    comparisons = () if error else (at_most(0.0, slack, "largest number"),)
    figures = (figure.histogram("Numbers", x="u", samples={"drawn": [0.1, 0.2, 0.3]}),)
    return Finding(id, task.parameters, seed, comparisons, figures, error, 0.1, versions())


def directory_of(tmp_path, *lines):
    tmp_path.mkdir(parents=True, exist_ok=True)
    text = [line.dumps() if isinstance(line, Finding) else line for line in lines]
    (tmp_path / "findings.jsonl").write_bytes(
        b"".join((t if isinstance(t, bytes) else t.encode()) + b"\n" for t in text)
    )
    return tmp_path


def test_nothing_is_known_at_first(tmp_path):
    known = KnownFindings(None, tmp_path / "own.jsonl")
    assert known.find(Task.of(HOLDS)) is None
    assert known.state("sample-holds") is None
    assert list(known.findings()) == []


def test_findings_of_a_directory_are_given_whole(tmp_path):
    kept = [found(), found(samples=7), found("sample-unmet", slack=-1.0)]
    known = KnownFindings(directory_of(tmp_path, *kept))
    assert known.find(Task.of(HOLDS)) == kept[0]
    assert known.find(Task.of(HOLDS, {"samples": 7})) == kept[1]
    assert known.find(Task.of(HOLDS, {"samples": 8})) is None
    assert [f.id for f in known.findings()] == ["sample-holds", "sample-unmet"]
    assert known.state("sample-holds") == State("holds", "✓", "good")
    assert known.state("sample-unmet") == State("fails", "✗", "bad")


def test_only_findings_of_the_present_version_count(tmp_path):
    old = replace(found(), versions=versions() | {"source": "another"})
    known = KnownFindings(directory_of(tmp_path, old))
    assert known.find(Task.of(HOLDS)) is None
    assert known.state("sample-holds") is None


def test_damaged_lines_are_skipped_and_the_file_is_not_changed(tmp_path):
    whole = found().dumps()
    deep = "[" * 100_000
    unhashable = json.loads(whole) | {"parameters": {"samples": [1]}}
    lines = ["", "null", "[1]", whole[:100], b"\xff\xfe", deep, json.dumps(unhashable), whole.replace("20", "21")]
    directory = directory_of(tmp_path, *lines, whole)
    with (directory / "findings.jsonl").open("a") as file:
        file.write(found(samples=5).dumps()[:-20])  # torn by a kill
    before = (directory / "findings.jsonl").read_bytes()
    known = KnownFindings(directory)
    known.keep(found(seed=3))
    assert [f.id for f in known.findings()] == ["sample-holds"]
    assert (directory / "findings.jsonl").read_bytes() == before


def test_a_directory_without_findings_is_a_mistake_of_the_user(tmp_path):
    with pytest.raises(BadInput, match=r"There is no findings\.jsonl in"):
        KnownFindings(tmp_path)


def test_the_last_finding_counts_but_an_error_does_not_replace_a_result(tmp_path):
    known = KnownFindings(directory_of(tmp_path, found(slack=-1.0), found(slack=2.0), found(error="stopped")))
    assert known.state("sample-holds").verdict == "holds"
    assert known.find(Task.of(HOLDS)).slack > 0
    known.keep(found(error="stopped"))
    assert known.state("sample-holds").verdict == "holds"


def test_an_error_is_known_where_nothing_better_is(tmp_path):
    known = KnownFindings(directory_of(tmp_path, found(error="stopped")))
    assert known.state("sample-holds") == State("error", "!", "bad")
    known.keep(found())
    assert known.state("sample-holds") == State("holds", "✓", "good")
    assert known.find(Task.of(HOLDS)).error == ""


def test_a_finding_at_the_defaults_outlives_the_session_and_others_do_not(tmp_path):
    own = tmp_path / "explorer" / "findings.jsonl"
    known = KnownFindings(None, own)
    kept = [found(), found(seed=1), found(samples=3), found("sample-unmet", error="stopped")]
    for finding in kept:
        known.keep(finding)
    assert [known.find(Task.of(entry(f.id), f.parameters, f.seed)) for f in kept] == kept
    later = KnownFindings(None, own)
    assert [f.key for f in later.findings()] == [kept[0].key]
    assert later.find(Task.of(HOLDS, {}, 1)) is None


def test_a_line_torn_by_a_kill_does_not_harm_the_next(tmp_path):
    own = tmp_path / "findings.jsonl"
    own.write_text(found().dumps()[:50])
    known = KnownFindings(None, own)
    known.keep(found("sample-unmet"))
    assert known.find(Task.of(entry("sample-unmet"))) == found("sample-unmet")
    assert [f.id for f in KnownFindings(None, own).findings()] == ["sample-unmet"]


def test_only_so_many_other_findings_are_kept_the_last_used_longest():
    known = KnownFindings()
    for seed in range(64):
        known.keep(found(seed=seed))
    assert known.find(Task.of(HOLDS)) is not None
    known.keep(found(seed=64))
    assert known.find(Task.of(HOLDS, {}, 0)) is not None
    assert known.find(Task.of(HOLDS, {}, 1)) is None
    assert known.find(Task.of(HOLDS, {}, 64)) is not None


def test_what_other_versions_left_is_dropped_once_it_is_much(tmp_path, monkeypatch):
    own = tmp_path / "findings.jsonl"
    old = replace(found(), versions={"source": "another"})
    directory_of(tmp_path, old, old, found(), old)
    KnownFindings(None, own)
    assert own.read_text().count("\n") == 4
    monkeypatch.setattr("leadline.web.known_findings._WASTE", 100)
    known = KnownFindings(None, own)
    assert own.read_text() == found().dumps() + "\n"
    assert known.find(Task.of(HOLDS)) == found()


def test_a_disk_that_cannot_be_written_to_is_said_and_the_session_goes_on(tmp_path, caplog):
    taken = tmp_path / "taken"
    taken.write_text("a file, where a directory should be")
    known = KnownFindings(None, taken / "findings.jsonl")
    assert "not kept on the disk" in caplog.text
    known.keep(found())
    assert known.find(Task.of(HOLDS)) == found()


def test_a_file_that_was_changed_meanwhile_gives_no_wrong_finding(tmp_path):
    directory = directory_of(tmp_path, found(), found(samples=7))
    known = KnownFindings(directory)
    directory_of(tmp_path, found(samples=7), found())
    assert known.find(Task.of(HOLDS)) in (None, found())
    (directory / "findings.jsonl").unlink()
    assert known.find(Task.of(HOLDS)) is None


def test_threads_may_keep_and_find_at_once(tmp_path):
    known = KnownFindings(None, tmp_path / "findings.jsonl")
    failures = []

    def work(seed):
        finding = found(seed=seed)
        known.keep(finding)
        known.keep(found())
        if known.find(Task.of(HOLDS, {}, seed)) != finding or known.find(Task.of(HOLDS)) != found():
            failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 17)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [f.key for f in KnownFindings(None, tmp_path / "findings.jsonl").findings()] == [found().key]
