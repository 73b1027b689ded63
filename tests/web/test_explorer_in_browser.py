"""The explorer as people use it: in a real browser, against the real server with the sample entries.

No page may ask any other host for anything, nor complain in its console: every test checks that at its end.
"""

import asyncio
import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import sample_claims
import uvicorn
from browser import browser
from playwright.sync_api import Browser, Page, Route, expect

from leadline.evidence import entry
from leadline.presentation import figure
from leadline.web.explorer.app import create_app
from leadline.web.explorer.guard import Hosts
from leadline.web.explorer.studies import StudyReports
from leadline.web.known_findings import KnownFindings
from leadline.web.pages.site import Site
from leadline.web.runs import Runs

PATIENCE = 30_000  # milliseconds: a worker that was killed is replaced by one that must first import everything


@dataclass
class Served:
    """A server in a thread of this process, with its queue."""

    address: str
    runs: Runs

    def entry(self, id: str) -> str:
        return f"{self.address}entries/{id}"

    def wait_for_runs(self, number: int) -> None:
        """Wait until so many runs are under way."""
        end = time.monotonic() + PATIENCE / 1000
        while self.runs.running != number:
            assert time.monotonic() < end, f"{self.runs.running} runs are under way instead of {number}"
            time.sleep(0.02)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    known = KnownFindings()
    # More patient than the tests: what ends a run that nobody follows any more is that its page said so.
    runs = Runs(known=known, slots=1, modules=(sample_claims.__name__,), patience=2 * PATIENCE / 1000)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        hosts = Hosts(port=listener.getsockname()[1])
        app = create_app(Site(known), runs, StudyReports(), hosts)
        server = uvicorn.Server(uvicorn.Config(app, lifespan="on", log_config=None, timeout_graceful_shutdown=1))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        yield Served(hosts.address, runs)
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with browser() as chromium:
        yield chromium
    expect.set_options(timeout=None)


@pytest.fixture
def complaints() -> list[str]:
    """What the console said; a test that provokes something takes it away."""
    return []


@pytest.fixture
def page(served: Served, chromium: Browser, complaints: list[str]) -> Iterator[Page]:
    """A page whose browser reaches no other host than the server."""
    context = chromium.new_context(viewport={"width": 1100, "height": 900})
    context.set_default_timeout(PATIENCE)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    elsewhere: list[str] = []
    # A pattern: a function would be asked about every request, and answer only while a test waits for the page.
    context.route(re.compile(f"^(?!{re.escape(served.address)})"), lambda route: deny(route, elsewhere))
    page = context.new_page()
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert (complaints, elsewhere) == ([], [])


def deny(route: Route, elsewhere: list[str]) -> None:
    elsewhere.append(route.request.url)
    route.abort()


def verdict(page: Page, words: str) -> None:
    """See a verdict in the result panel, of a run that is over."""
    expect(page.locator("#result p.verdict")).to_contain_text(words)
    expect(page.locator("#result .stale")).to_have_count(0)


def asked(page: Page) -> list[dict]:
    """The runs that a page asks for, as they are sent."""
    runs: list[dict] = []
    page.on("request", lambda r: runs.append(r.post_data_json) if r.method == "POST" else None)
    return runs


def move(page: Page, name: str, *positions: int) -> None:
    """Move a slider, faster than any pause."""
    page.locator(f"[data-name={name}] input[type=range]").evaluate(
        """(slider, positions) => { for (const position of positions) {
            slider.value = position;
            slider.dispatchEvent(new Event("input", {bubbles: true}));
        }}""",
        positions,
    )


def test_search_as_you_type_and_open_a_result_with_the_keyboard(served, page):
    page.goto(served.address)
    page.keyboard.press("/")
    page.keyboard.type("sample coin")
    box, options = page.locator("#search"), page.get_by_role("option")
    expect(options).to_have_count(2)
    expect(options.nth(0)).to_contain_text("claim, sample_claims")
    expect(box).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    assert box.get_attribute("aria-activedescendant") == options.nth(1).get_attribute("id")
    page.keyboard.press("ArrowDown")
    wanted = entry(options.nth(0).locator(".quiet").inner_text().split(",")[0])
    expect(options.nth(0).locator("strong")).to_have_text(wanted.title)
    page.keyboard.press("Enter")
    expect(page).to_have_url(served.entry(wanted.id))
    expect(page.locator("h1")).to_have_text(wanted.title)
    expect(page.locator(".where code")).to_have_text(wanted.id)


def test_search_ranks_ids_first_says_when_nothing_is_found_and_closes_with_escape(served, page):
    page.goto(served.address)
    page.locator("#search").press_sequentially("novikoff")
    expect(page.get_by_role("option").first.locator(".quiet")).to_contain_text("novikoff")
    page.keyboard.type(" xyzzy")
    expect(page.locator("#search-results")).to_contain_text("No entry has all these words.")
    expect(page.locator("#search")).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Escape")
    expect(page.locator("#search-results")).to_be_hidden()


def test_the_first_opening_runs_by_itself_and_the_next_shows_what_was_found(served, page):
    runs = asked(page)
    page.goto(served.entry("sample-64-bit"))
    verdict(page, "holds")
    expect(page.locator("#progress")).to_have_text("Done: holds.")
    expect(page.locator("#chapters [aria-current] .mark")).to_have_text("✓")
    assert [(run["id"], run["parameters"], run["seed"]) for run in runs] == [("sample-64-bit", {}, 0)]
    page.reload()
    verdict(page, "holds")
    assert len(runs) == 1


def test_a_moved_slider_changes_the_verdict_and_the_address(served, page):
    page.goto(served.entry("sample-unmet"))
    line = page.locator("#chapters [aria-current] .mark")
    verdict(page, "inapplicable")
    expect(line).to_have_text("–")
    runs = asked(page)
    move(page, "n", 300, 600, 1000)
    verdict(page, "holds")
    assert [run["parameters"] for run in runs] == [{"n": 9}]  # three moves, one run
    expect(page.locator("#p-n")).to_have_value("9")
    expect(page).to_have_url(served.entry("sample-unmet?n=9"))
    expect(page.locator("#result")).to_contain_text("leadline check sample-unmet --set n=9")
    expect(line).to_have_text("–")  # the list tells of the defaults
    page.locator("#defaults").click()
    verdict(page, "inapplicable")
    expect(page).to_have_url(served.entry("sample-unmet"))


def test_keys_move_a_slider_of_whole_numbers_one_by_one_and_wrong_numbers_are_not_run(served, page):
    page.goto(served.entry("sample-unmet"))
    verdict(page, "inapplicable")
    runs = asked(page)
    slider = page.locator("[data-name=n] input[type=range]")
    page.locator("#p-n").fill("99")
    expect(page.locator("#progress")).to_contain_text("9")
    assert runs == []
    page.locator("#p-n").fill("4")
    slider.press("ArrowRight")
    expect(page.locator("#p-n")).to_have_value("5")
    expect(slider).to_have_attribute("aria-valuetext", "5")
    verdict(page, "holds")
    page.locator("#another-seed").click()
    expect(page).to_have_url(served.entry("sample-unmet?n=5&seed=1"))


def test_a_slider_has_the_values_that_the_engine_gives_its_positions(served, page, complaints):
    page.goto(served.entry("sample-novikoff-wrong"))
    page.context.set_offline(True)  # nothing of this is to be run
    shown = page.evaluate(
        """() => [...document.querySelectorAll(".field.slider")].map(field => {
            const slider = field.querySelector("[type=range]"), box = field.querySelector("[type=number]");
            return [...Array(1001).keys()].map(position => {
                slider.value = position;
                slider.dispatchEvent(new Event("input", {bubbles: true}));
                return Number(box.value);
            });
        })"""
    )
    parameters = entry("sample-novikoff-wrong").parameters
    assert shown == [[p.at(position / 1000) for position in range(1001)] for p in parameters]
    expect(page.locator("#progress")).to_contain_text("server does not answer; start it again")
    assert all("ERR_INTERNET_DISCONNECTED" in complaint for complaint in complaints)
    complaints.clear()


def test_a_link_reproduces_the_view(served, page):
    page.goto(served.entry("sample-slow-descent?x=0.5&seed=3"))
    verdict(page, "fails")
    expect(page.locator("#p-x")).to_have_value("0.5")
    expect(page.locator("#p-seed")).to_have_value("3")
    expect(page.locator("#rows")).to_contain_text("0.25")
    page.locator(".where a").click()
    expect(page.locator("h1")).not_to_contain_text("sample-slow-descent")
    page.go_back()
    verdict(page, "fails")
    expect(page).to_have_url(served.entry("sample-slow-descent?x=0.5&seed=3"))


def test_breaking_shows_the_best_so_far_and_can_be_stopped(served, page):
    page.goto(served.entry("sample-slow-descent"))
    page.locator("#budget").select_option("300")
    page.locator("#break-start").click()
    page.locator("#break-result p.verdict.bad").wait_for()  # it began at the defaults, where the claim holds
    expect(page.locator("#break-result table")).to_contain_text("x(1-x)")
    page.locator("#break-cancel").click()
    expect(page.locator("#break-progress")).to_have_text("Cancelled.")
    expect(page.locator("#break-start")).to_be_focused()
    served.wait_for_runs(0)
    page.locator("#break-result .worst a").click()
    verdict(page, "fails")


def test_rows_come_as_they_are_found_and_cancelling_brings_the_old_result_back(served, page):
    page.goto(served.entry("sample-pauses?seconds=0.01"))
    verdict(page, "holds")
    page.locator("#p-seconds").fill("60")
    rows = page.locator("#result tbody tr")
    expect(page.locator("#result p.verdict.stale")).to_be_visible()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("before the pause")
    page.keyboard.press("Escape")
    expect(page.locator("#progress")).to_have_text("Cancelled.")
    expect(page.locator("#cancel")).to_be_hidden()
    expect(rows).to_have_count(2)
    verdict(page, "holds")
    served.wait_for_runs(0)


def test_a_page_that_is_left_cancels_its_run_and_the_next_in_the_queue_begins(served, page):
    other = page.context.new_page()
    other.goto(served.entry("sample-pauses?seconds=60"))
    expect(other.locator("#result tbody tr")).to_have_count(1)
    page.goto(served.entry("sample-unmet?n=7"))
    expect(page.locator("#progress")).to_contain_text("First in the queue")
    assert (served.runs.running, served.runs.queued) == (1, 1)
    other.goto(served.address)
    verdict(page, "holds")


def test_a_killed_worker_and_a_crash_are_told_and_the_next_check_works(served, page):
    page.goto(served.entry("sample-pauses?seconds=60"))
    process = page.locator("#result tbody td").filter(has_text="process").first.inner_text()
    os.kill(int(process.split()[-1]), signal.SIGKILL)
    expect(page.locator("#result .error")).to_contain_text("its worker process died")
    page.goto(served.entry("sample-crash"))
    expect(page.locator("#result .error")).to_contain_text("exit code 3")
    page.goto(served.entry("sample-unmet?n=6"))
    verdict(page, "holds")


def test_what_the_server_refuses_is_said_in_its_sentence(served, page, complaints):
    page.goto(served.entry("sample-holds"))
    verdict(page, "holds")
    sentence = "32 runs wait already; try again when some are done."
    page.route("**/runs", lambda route: route.fulfill(status=429, json={"error": sentence}))
    page.locator("#check").click()
    expect(page.locator("#progress")).to_have_text(sentence)
    expect(page.locator("#cancel")).to_be_hidden()
    assert all("429" in complaint for complaint in complaints)
    complaints.clear()


def test_a_figure_is_drawn_and_can_be_moved_and_saved(served, page):
    page.goto(served.entry("sample-holds"))
    verdict(page, "holds")
    chart = page.locator("figure.chart svg")
    chart.scroll_into_view_if_needed()
    labels = page.locator(".role-axis-label text")
    before = labels.all_text_contents()
    box = chart.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 90, middle[1], steps=3)
    page.mouse.up()
    expect(labels).not_to_have_text(before)
    page.mouse.dblclick(*middle)
    expect(labels).to_have_text(before)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save SVG").click()
    assert saved.value.suggested_filename == "Uniform numbers.svg"


@pytest.mark.parametrize(("width", "columns"), [(390, 1), (1100, 2)])
def test_a_figure_of_four_panels_beside_each_other_is_laid_out_to_fit_its_page(served, page, width, columns):
    panel = figure.curves("Straight", "x", "y", lines={"x": ([0, 1], [0, 1])})
    wide = figure.beside("A title of many words that no phone shows in one line", *4 * [panel], columns=4)
    page.goto(served.entry("sample-holds"))
    verdict(page, "holds")

    def with_panels(route: Route) -> None:
        html = route.fetch().text()
        route.fulfill(
            body=re.sub(r'(?s)(class="spec">).*?(</script>)', lambda m: m[1] + json.dumps(wide.spec) + m[2], html)
        )

    page.route(served.entry("sample-holds"), with_panels)
    page.set_viewport_size({"width": width, "height": 900})
    page.reload()
    expect(page.locator("figure svg .role-title-text")).to_have_count(5)
    assert page.locator("figure").evaluate("box => box.scrollWidth - box.clientWidth") <= 0
    left = page.locator("figure svg g[class*=concat_]:not(g[class*=concat_] *) > g > path.background").evaluate_all(
        "planes => planes.map((plane) => Math.round(plane.getBoundingClientRect().left))"
    )
    assert (len(left), len(set(left))) == (4, columns)


def test_commands_are_copied_and_examples_run(served, page):
    page.goto(served.entry("sample-pauses"))
    verdict(page, "holds")
    page.locator("#result .copy").first.click()
    expect(page.locator("#result .copy").first).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "leadline check sample-pauses"
    page.locator(".object summary", has_text="leadline.probability.gaussian_kl").click()
    page.locator(".run-example").click()
    expect(page.locator(".object .output pre")).to_contain_text("0.5")


def test_the_library_is_reached_from_every_page_and_leads_to_the_entries_that_use_a_name(served, page):
    page.goto(served.entry("sample-slow"))
    page.locator(".places").get_by_text("Library").click()
    page.locator("main").get_by_role("link", name="leadline.probability").click()
    page.locator("main").get_by_role("link", name="gaussian_kl", exact=True).click()
    expect(page.locator("h1")).to_have_text("gaussian_kl")
    expect(page.locator(".signature")).to_contain_text("gaussian_kl(")
    page.locator("main").get_by_role("link", name="Sample pauses").click()
    expect(page).to_have_url(served.entry("sample-pauses"))


def test_the_keyboard_alone_is_enough_to_check(served, page):
    page.goto(served.entry("sample-unmet?n=8"))
    verdict(page, "holds")
    reached = []
    while "check" not in reached and len(reached) < 200:
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert reached[0] == "skip"
    assert [name for name in reached if name in ("search", "p-n", "p-seed", "another-seed", "check")] == [
        "search",
        "p-n",
        "p-seed",
        "another-seed",
        "check",
    ]
    page.locator("#p-n").focus()
    page.keyboard.press("ArrowDown")
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    verdict(page, "inapplicable")


def test_print_has_what_is_read_and_not_what_is_pressed(served, page):
    page.goto(served.entry("sample-holds?samples=30"))
    verdict(page, "holds")
    page.locator("figure svg").wait_for()
    page.emulate_media(media="print")
    for seen in (".formula", "#rows", "#result p.verdict", "figure svg", ".cited"):
        expect(page.locator(seen).first).to_be_visible()
    for unseen in ("#controls", ".break", "#search-form", "#chapters", "button >> nth=0"):
        expect(page.locator(unseen)).to_be_hidden()
    assert len(page.pdf()) > 10_000


def test_dark_mode_is_dark_and_readable(served, page):
    page.emulate_media(color_scheme="dark")
    page.goto(served.entry("sample-holds"))
    style = "getComputedStyle(document.body)"
    paper, ink = (luminance(page.evaluate(f"{style}.{part}")) for part in ("backgroundColor", "color"))
    assert paper < 0.05
    assert (ink + 0.05) / (paper + 0.05) > 7


def luminance(colour: str) -> float:
    """The relative luminance of rgb(r, g, b), as WCAG defines it."""
    shares = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
