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
        assert seen.page.locator("article.card").count() == len(SAMPLES) - 1, "what does not apply is one list"
        assert seen.page.locator("article.card figure").count() == 3
        assert seen.complaints == []
        assert seen.requests == [page.as_uri()]


def test_the_summary_leads_to_the_cards_and_tells_what_to_do(chromium, report, tmp_path):
    with reading(chromium, report.save(tmp_path).as_uri()) as seen:
        first = seen.page.locator(".findings li").first
        assert "Theory fails here." in first.inner_text()
        told = seen.page.locator(".todo li").first.inner_text()
        assert "Look at it." in told
        assert "Because of loud: error, bound <b>of theory</b>: measured 2, predicted ≤ 1 fails." in " ".join(
            told.split()
        )
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
        broken = seen.page.locator("#broken").inner_text()
        assert "FloatingPointError: the sum is not finite" in broken
        assert "please report the line above, the command leadline study small --only broken" in broken
        assert "1 of 5 instruments failed: broken" in seen.page.locator("#summary").inner_text()
        assert "the inputs are not images" in seen.page.locator("#idle").inner_text()
        assert "bound <b>of theory</b>" in seen.page.locator("#loud").inner_text()


def test_a_card_with_nothing_to_tell_is_one_line_that_a_link_or_a_key_opens(chromium, report, tmp_path):
    with reading(chromium, report.save(tmp_path).as_uri()) as seen:
        card, inside = seen.page.locator("article.brief"), seen.page.locator("#calm")
        assert card.count() == 1
        assert "calm ✓ theory holds What does calm say? All is as it should be." in " ".join(card.inner_text().split())
        assert card.bounding_box()["height"] < 60
        assert not inside.is_visible()
        seen.page.locator("nav a[href='#calm']").click()
        assert inside.locator("table").is_visible()
        card.locator("summary").first.focus()
        seen.page.keyboard.press("Enter")
        assert not inside.is_visible()


def test_a_figure_is_one_image_with_a_label_and_has_the_width_of_a_phone(chromium, report, tmp_path):
    page = report.save(tmp_path)
    for width, shown in ((1100, 0), (360, 1)):
        with reading(chromium, page.as_uri(), width=width) as seen:
            drawings = seen.page.locator("#plain figure svg")
            assert [drawings.nth(i).is_visible() for i in (0, 1)] == [shown == 0, shown == 1]
            box, figure = drawings.nth(shown).bounding_box(), seen.page.locator("#plain figure")
            assert 0 <= box["x"] <= box["x"] + box["width"] <= width
            image = figure.get_by_role("img", name="Five numbers rise to 4. value over index; lines: predicted; points")
            assert image.count() == 1
            letters = (
                drawings.nth(shown)
                .locator("text")
                .first.evaluate("e => e.getScreenCTM().d * parseFloat(getComputedStyle(e).fontSize)")
            )
            assert letters > 10, "letters in pixels as the reader sees them"


@pytest.mark.parametrize("width", [360, 1100])
def test_nothing_is_wider_than_the_screen(chromium, report, tmp_path, width):
    with reading(chromium, report.save(tmp_path).as_uri(), width=width) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        seen.page.screenshot(path=tmp_path / f"{width}.png", full_page=True)


def test_a_report_prints_with_its_formulas(chromium, report, tmp_path):
    with reading(chromium, report.save(tmp_path).as_uri()) as seen:
        seen.page.emulate_media(media="print", color_scheme="dark")
        assert seen.page.locator("#plain math").is_visible()
        assert not seen.page.locator("#calm math").is_visible()
        style = "e => [getComputedStyle(e).breakInside, getComputedStyle(e).backgroundColor]"
        assert seen.page.locator("#plain").evaluate(style)[0] == "avoid"
        assert seen.page.locator("#plain figure").evaluate(style)[0] == "avoid"
        assert seen.page.locator("body").evaluate(style)[1] == "rgb(255, 255, 255)"
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
    assert record["summary"]["verdicts"] == report.verdicts()
    assert record["summary"]["skipped"] == {"idle": "the inputs are not images"}
    assert record["summary"]["failed"] == {"broken": "FloatingPointError: the sum is not finite"}
    assert record["summary"]["findings"][0] == {"instrument": "loud", "sentence": "Theory fails here."}
