"""The run directory: readable after any interruption, never half-written."""

import errno
import os

import pytest
import sample_claims  # noqa: F401 - declares the entries
from hypothesis import given, settings, strategies as st

from leadline.evidence import BadInput, Figure, Finding, RunDirectory, Task, at_most, entry, run_entry, versions


def finding(seed=0, **changes):
    record = {"id": "sample-holds", "parameters": {"samples": 3}, "seed": seed, "versions": versions()}
    return Finding(comparisons=(at_most(1, 2, "x"),), **(record | changes))


def test_findings_come_back_as_they_were_written(tmp_path):
    run = RunDirectory(tmp_path)
    written = [run_entry(entry("sample-holds"), seed=s) for s in range(3)]
    for f in written:
        run.append(f)
    assert run.findings() == written
    assert isinstance(run.findings()[0].figures[0], Figure)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_file_cut_anywhere_keeps_every_whole_line_and_takes_new_ones(tmp_path_factory, data):
    run = RunDirectory(tmp_path_factory.mktemp("run"))
    for seed in range(3):
        run.append(finding(seed))
    content = run.file.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    run.file.write_bytes(content[:cut])
    whole = content[:cut].count(b"\n")
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    readable = sum(cut >= end - 1 for end in ends)  # a line without its newline is still whole
    assert [f.seed for f in run.findings()] == list(range(readable))
    assert run.damaged == (0 if cut in (0, *ends) or readable > whole else 1)
    run.append(finding(9))
    assert [f.seed for f in run.findings()] == [*range(readable), 9]


def test_damaged_lines_are_skipped_and_counted(tmp_path):
    run = RunDirectory(tmp_path)
    run.append(finding(0))
    with run.file.open("ab") as file:
        file.write(b'{"id": "x"}\n[]\n\xff\xfe\n{"id": 3, "comp')
    run.append(finding(1))
    assert [f.seed for f in run.findings()] == [0, 1]
    assert run.damaged == 4


def test_only_findings_without_error_and_of_these_versions_are_done(tmp_path):
    run = RunDirectory(tmp_path)
    tasks = [Task.of(entry("sample-holds"), {"samples": 3}, seed) for seed in range(4)]
    run.append(finding(0))
    run.append(finding(1, error="died"))
    run.append(finding(2, versions={"leadline": "0"}))
    assert list(run.done(tasks)) == [tasks[0].key]


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    run = RunDirectory(tmp_path)
    run.append(finding(0))
    before = run.file.read_bytes()
    write = os.write

    def half_then_full(descriptor, content):
        write(descriptor, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", half_then_full)
    with pytest.raises(BadInput, match=r"No space left on device.*make room"):
        run.append(finding(1))
    monkeypatch.undo()
    assert run.file.read_bytes() == before


def test_a_short_write_counts_as_a_full_disk(tmp_path, monkeypatch):
    run = RunDirectory(tmp_path)
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:10]))
    with pytest.raises(BadInput, match="No space left"):
        run.append(finding(0))
    monkeypatch.undo()
    assert run.findings() == []
    assert run.damaged == 0


def test_a_second_run_in_the_same_directory_is_kept_out(tmp_path):
    with RunDirectory(tmp_path).open(), pytest.raises(BadInput, match="Another run"), RunDirectory(tmp_path).open():
        pass
    with RunDirectory(tmp_path).open():
        pass


def test_a_directory_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="choose another directory"), RunDirectory(tmp_path / "file" / "run").open():
        pass
