"""Fifty pages open, eight checks at once: pages are answered while checks wait, and the queue drains in order."""

import contextlib
import json
import threading
import time

import pytest
from browser import browser
from web.explorer_process import Explorer

pytestmark = pytest.mark.slow

PAGES, CHECKS, AT_ONCE = 50, 8, 2
ADDRESSES = ("/", "/chapters/neurons", "/entries/novikoff-bound", "/search?q=margin", "/errata", "/sources")
COSTLY = "margin-controls-updates"


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    started = Explorer(tmp_path_factory.mktemp("explorer"), "--jobs", str(AT_ONCE))
    yield started
    started.stop()


def get(explorer: Explorer, address: str) -> float:
    """Fetch a page whole; when it was there."""
    status, page = explorer.ask("GET", address)
    assert (status, bool(page)) == (200, True), address
    return time.monotonic()


def ask(explorer: Explorer, seed: int) -> str:
    wanted = {"kind": "check", "id": COSTLY, "parameters": {}, "seed": seed, "page": f"page-{seed}"}
    status, answer = explorer.ask("POST", "/runs", json.dumps(wanted))
    assert status == 202, answer
    return json.loads(answer)["events"]


def follow(explorer: Explorer, events: str, told: list) -> None:
    """Read a run's events as a browser does, connecting again after each end of the stream, until it is done."""
    while not any(name in ("done", "ended") for name, _, _ in told):
        with contextlib.closing(explorer.connect()) as connection:
            connection.request("GET", events, headers={"Accept": "text/event-stream"})
            answer = connection.getresponse()
            assert answer.status == 200
            name = ""
            for line in answer:
                field, _, value = line.decode().strip().partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    told.append((name, json.loads(value), time.monotonic()))
        time.sleep(0.3)


def test_pages_are_answered_while_the_queue_drains_in_order(explorer):
    for address in ADDRESSES:  # templates and assets are made once
        get(explorer, address)
    streams = [ask(explorer, seed) for seed in range(1, CHECKS + 1)]
    told: list[list] = [[] for _ in streams]
    followers = [
        threading.Thread(target=follow, args=(explorer, events, heard), daemon=True)
        for events, heard in zip(streams, told, strict=True)
    ]
    for thread in followers:
        thread.start()
    answered: list[float] = []
    drained = threading.Event()

    def visit(page: int) -> None:
        while not drained.is_set():
            answered.append(get(explorer, ADDRESSES[page % len(ADDRESSES)]))
            drained.wait(1.0)

    visitors = [threading.Thread(target=visit, args=(page,)) for page in range(PAGES)]
    for thread in visitors:
        thread.start()
    for thread in followers:
        thread.join(300)
    drained.set()
    for thread in visitors:
        thread.join(30)
    assert [heard[-1][0] for heard in told] == ["done"] * CHECKS
    last = max(heard[-1][2] for heard in told)
    assert sum(when < last for when in answered) >= PAGES
    begun = [next(at for name, _, at in heard if name in ("running", "comparison", "done")) for heard in told]
    # Those that run at a time may begin in one moment; who comes after them waits until one of them has ended.
    assert all(before < after for before, after in zip(begun, begun[AT_ONCE:], strict=False))
    positions = [next((value["position"] for name, value, _ in heard if name == "queued"), 0) for heard in told]
    assert positions == sorted(positions)
    assert positions[-1] >= CHECKS - 3
    assert "queue" in next(value["sentence"] for name, value, _ in told[-1] if name == "queued")


def test_a_browser_with_eight_checks_under_way_still_opens_pages(explorer):
    with browser() as chromium:
        context = chromium.new_context()
        asking = [context.new_page() for _ in range(CHECKS)]
        for number, page in enumerate(asking):
            page.goto(f"http://127.0.0.1:{explorer.port}/entries/{COSTLY}?seed={100 + number}")
        reader = context.new_page()
        for address in ADDRESSES:
            reader.goto(f"http://127.0.0.1:{explorer.port}{address}", wait_until="domcontentloaded")
        done = sum(page.locator("#result .verdict.good").count() for page in asking)
        assert done < CHECKS  # so that pages did not wait for the connections of those that follow a check
        for page in asking:
            page.locator("#result .verdict.good").wait_for(timeout=120_000)
