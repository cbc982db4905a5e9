"""A browser on a whole site of real processes: uvicorn, worker, reconciler and Redis under the demo's supervisor."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests import browsers
from tests.browser.pages import log_in
from tests.servers import wait_until
from tests.site import Site

# Playwright's loop lives in the thread for as long as it is started: these fixtures end with this folder.


@pytest.fixture(scope="package")
def site() -> Iterator[Site]:
    """A site with the tiny model, and the demo's own job on it (run 1)."""
    made = Site("--model", "tiny")
    try:
        made.start()
        wait_until(lambda: "has been submitted" in made.output(), 120, "the demo's job")
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = browsers.find()
    if path is None:
        pytest.fail("no Chromium: `make test` installs one, or name one in TRAINYARD_CHROMIUM")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=list(browsers.FLAGS))
        yield chromium
        chromium.close()


class Faults(list[str]):
    """What the browser has complained about: errors on the console (CSP among them) and uncaught exceptions."""

    def watch(self, page: Page) -> None:
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.append(str(error)))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.append(f"{message.text} ({message.location['url']})")


@pytest.fixture
def faults() -> Iterator[Faults]:
    """Must be empty at the end of a test; a test that takes the server away removes what that explains."""
    found = Faults()
    yield found
    assert found == []


NewContext = Callable[..., BrowserContext]


@pytest.fixture
def new_page(site: Site, browser: Browser, faults: Faults) -> Iterator[Callable[..., Page]]:
    """Makes pages, each in a browser profile of its own; with `user`, logged in."""
    contexts: list[BrowserContext] = []

    def make(*, user: str | None = "ada", language: str = "en", theme: str = "light") -> Page:
        context = browser.new_context(
            base_url=site.address,
            locale="zh-CN" if language == "zh-hans" else "en-US",
            color_scheme="dark" if theme == "dark" else "light",
            viewport={"width": 1280, "height": 900},
        )
        contexts.append(context)
        page = context.new_page()
        faults.watch(page)
        if user is not None:
            log_in(page, user, site.passwords()[user])
        return page

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page()
