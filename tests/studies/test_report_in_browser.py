"""A reader in a real browser: opens reports from disk, follows links, opens details, prints, and finds no error."""

import json

import pytest
from browser import browser, reading
from studies.sample_instruments import SAMPLES
from studies.small_subjects import linear_subject

from leadline.studies import Report, comparison_html, report as reports, run_study
from leadline.studies.report import describe_subject


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@pytest.fixture
def report(monkeypatch):
    monkeypatch.setattr(reports, "instruments", lambda: SAMPLES)
    subject = linear_subject()
    made = Report("a <small> network", describe_subject(subject), command="leadline study small")
    made.cards.update({card.name: card for card in run_study(subject, command="leadline study small")})
    return made


def test_a_report_opens_from_disk_without_any_request_or_complaint(chromium, report, tmp_path):
    page = report.save(tmp_path)
    with reading(chromium, page.as_uri()) as seen:
        assert seen.page.title() == "Leadline: study of a <small> network"
        assert seen.page.locator("article.card").count() == len(SAMPLES)
        assert seen.page.locator("article.card svg").count() == 2
        assert seen.complaints == []
        assert seen.requests == [page.as_uri()]


def test_the_summary_leads_to_the_cards_and_tells_what_to_do(chromium, report, tmp_path):
    with reading(chromium, report.save(tmp_path).as_uri()) as seen:
        first = seen.page.locator(".findings li").first
        assert "Theory fails here." in first.inner_text()
        assert "Look at it." in seen.page.locator(".todo").inner_text()
        for name in SAMPLES:
            seen.page.locator(f"nav a[href='#{name}']").click()
            assert seen.page.url.endswith(f"#{name}")
            top = seen.page.locator(f"#{name}").bounding_box()["y"]
            assert -5 < top < 900, f"the card {name} is not on the screen after a click on its link"


def test_a_card_shows_formula_and_command_when_opened(chromium, report, tmp_path):
    with reading(chromium, report.save(tmp_path).as_uri()) as seen:
        card = seen.page.locator("#plain")
        assert not card.locator("math").is_visible()
        card.locator("summary").click()
        assert card.locator("math").is_visible()
        assert "leadline study small --only plain" in card.inner_text()
        assert "needs that the first parameters are known" in card.inner_text()


def test_failures_and_refusals_are_told_on_their_cards_and_text_is_not_markup(chromium, report, tmp_path):
    with reading(chromium, report.save(tmp_path).as_uri()) as seen:
        assert "FloatingPointError: the sum is not finite" in seen.page.locator("#broken").inner_text()
        assert "the inputs are not images" in seen.page.locator("#idle").inner_text()
        assert "bound <b>of theory</b>" in seen.page.locator("#loud").inner_text()


@pytest.mark.parametrize("width", [380, 1100])
def test_nothing_is_wider_than_the_screen(chromium, report, tmp_path, width):
    with reading(chromium, report.save(tmp_path).as_uri(), width=width) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        seen.page.screenshot(path=tmp_path / f"{width}.png", full_page=True)


def test_a_report_prints_with_its_formulas(chromium, report, tmp_path):
    with reading(chromium, report.save(tmp_path).as_uri()) as seen:
        seen.page.emulate_media(media="print")
        assert seen.page.locator("#plain math").is_visible()
        assert len(seen.page.pdf()) > 10_000


def test_two_reports_stand_side_by_side(chromium, report, tmp_path):
    page = tmp_path / "against.html"
    page.write_text(comparison_html(report, report), encoding="utf-8")
    with reading(chromium, page.as_uri(), width=1400) as seen:
        left, right = (seen.page.locator(f"#plain-{i}").bounding_box() for i in (1, 2))
        assert left["y"] == right["y"]
        assert left["x"] + left["width"] <= right["x"]
        assert seen.complaints == []
        assert seen.requests == [page.as_uri()]


def test_the_json_beside_the_page_says_the_same(report, tmp_path):
    report.save(tmp_path)
    record = json.loads((tmp_path / "report.json").read_text())
    assert record["summary"]["verdicts"] == {"plain": "holds", "loud": "fails", "broken": "error", "idle": "skipped"}
    assert record["summary"]["findings"][0] == {"instrument": "loud", "sentence": "Theory fails here."}
