import json
import os

import pytest

from leadline.evidence import BadInput
from leadline.web.explorer import studies
from leadline.web.explorer.studies import StudyReports


def report(directory, name="digits", page=b"<p>report</p>", **about):
    directory.mkdir(parents=True)
    (directory / "report.html").write_bytes(page)
    record = {"name": name, "about": about, "summary": {"verdicts": {"a": "holds", "b": "holds", "c": "vacuous"}}}
    (directory / "report.json").write_text(json.dumps(record))
    return directory


def test_reports_are_found_up_to_two_levels_down(tmp_path):
    for place in ("one", "pair/first", "pair/second", "too/far/down"):
        report(tmp_path / place)
    (tmp_path / "pair" / "against.html").write_text("side by side")
    found = {s.name: s for s in StudyReports([tmp_path]).studies()}
    assert sorted(found) == ["one", "pair", "pair--first", "pair--second"]
    assert found["pair"].about == "Two reports side by side."
    assert StudyReports([tmp_path]).page("pair") == b"side by side"
    assert [s.name for s in StudyReports([tmp_path / "one"]).studies()] == ["one"]


def test_a_report_is_listed_with_what_it_is_of_and_its_verdicts(tmp_path):
    report(tmp_path / "one", network="MLP", parameters=8970, data="digits")
    report(tmp_path / "two", name="other")
    os.utime(tmp_path / "one" / "report.html", (0, 0))
    newest, oldest = StudyReports([tmp_path]).studies()
    assert newest.about == "Report: holds 2, vacuous 1."
    assert newest.title == "other"
    assert oldest.about == "MLP, 8970 parameters, digits: holds 2, vacuous 1."
    assert oldest.when[:2] in ("19", "20")


@pytest.mark.parametrize("text", ["", "null", "[]", "{", '{"summary": 3}', "[" * 100_000, "\x00"])
def test_a_damaged_record_is_said_and_the_page_can_be_read(tmp_path, text):
    report(tmp_path / "one")
    (tmp_path / "one" / "report.json").write_text(text)
    (study,) = StudyReports([tmp_path]).studies()
    assert study.about == "Its report.json cannot be read."
    assert study.title == "one"
    assert StudyReports([tmp_path]).page("one") == b"<p>report</p>"


def test_a_report_that_is_written_anew_is_read_anew(tmp_path):
    place = report(tmp_path / "one")
    reports = StudyReports([tmp_path])
    assert reports.studies()[0].title == "digits"
    (place / "report.json").write_text((place / "report.json").read_text().replace("digits", "fashion"))
    os.utime(place / "report.html", (1, 1))
    assert reports.studies()[0].title == "fashion"


def test_names_that_are_no_text_can_be_shown(tmp_path):
    report(tmp_path / os.fsdecode(b"a\xff"), name="\ud800")
    (study,) = StudyReports([tmp_path]).studies()
    assert (study.name, study.title) == ("a?", "?")
    assert StudyReports([tmp_path]).page("a?") == b"<p>report</p>"


def test_reports_of_the_same_name_in_two_directories_are_told_apart(tmp_path):
    for place in ("a", "b"):
        report(tmp_path / place / "digits", page=place.encode())
    reports = StudyReports([tmp_path / "a", tmp_path / "b"])
    assert (reports.page("digits"), reports.page("digits-2"), reports.page("digits-3")) == (b"a", b"b", None)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../secret", "one/../../secret", "/etc/passwd", "one/report.html", "one\x00", "..\\secret"]
)
def test_a_name_is_never_a_path(tmp_path, name):
    report(tmp_path / "reports" / "one")
    report(tmp_path / "secret")
    assert StudyReports([tmp_path / "reports"]).page(name) is None


def test_links_that_lead_out_are_not_followed(tmp_path):
    secret = report(tmp_path / "secret", page=b"secret")
    reports = tmp_path / "reports"
    report(reports / "one")
    (reports / "linked").symlink_to(secret)
    (reports / "file").mkdir()
    (reports / "file" / "report.html").symlink_to(secret / "report.html")
    (reports / "loop").mkdir()
    (reports / "loop" / "report.html").symlink_to(reports / "loop" / "report.html")
    (reports / "one" / "report.json").unlink()
    (reports / "one" / "report.json").symlink_to(secret / "report.json")
    (study,) = StudyReports([reports]).studies()
    assert (study.name, study.title, study.about) == ("one", "one", "Its report.json cannot be read.")


def test_a_link_to_the_chosen_directory_itself_is_followed(tmp_path):
    report(tmp_path / "real" / "one")
    (tmp_path / "reports").symlink_to(tmp_path / "real")
    assert StudyReports([tmp_path / "reports"]).page("one") == b"<p>report</p>"


def test_a_link_made_between_listing_and_reading_is_not_followed(tmp_path):
    secret = report(tmp_path / "secret", page=b"secret")
    page = report(tmp_path / "reports" / "one") / "report.html"
    reports = StudyReports([tmp_path / "reports"])
    assert len(reports.studies()) == 1
    page.unlink()
    page.symlink_to(secret / "report.html")
    assert reports.page("one") is None


def test_what_is_too_large_or_no_file_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "LARGEST", 300)
    report(tmp_path / "large", page=b"x" * 301)
    report(tmp_path / "small", page=b"x" * 300)
    (tmp_path / "folder" / "report.html").mkdir(parents=True)
    assert [s.name for s in StudyReports([tmp_path]).studies()] == ["small"]


def test_a_directory_that_is_not_there_is_a_mistake_of_the_user(tmp_path):
    with pytest.raises(BadInput, match="There is no directory"):
        StudyReports([tmp_path / "nothing"])
