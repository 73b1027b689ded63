"""A real headless browser for tests that read pages as people do."""

import contextlib
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Reading(NamedTuple):
    """A page, with what went wrong on it and every address it asked for."""

    page: Page
    complaints: list[str]
    requests: list[str]


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Chromium, as the system has it."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    assert found, "These tests need Chromium; install the package `chromium` (.ci/run does it)."
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@contextlib.contextmanager
def reading(chromium: Browser, address: str, width: int = 1100, height: int = 900) -> Iterator[Reading]:
    """Open an address; console errors, exceptions and requests are written down."""
    page = chromium.new_page(viewport={"width": width, "height": height})
    complaints: list[str] = []
    requests: list[str] = []
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    yield Reading(page, complaints, requests)
    page.close()
