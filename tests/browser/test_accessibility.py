"""axe-core finds nothing on any page, in either theme and either language."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import axe_findings, wait_for_iteration

PAGES = {
    "login": "/login/",
    "new job": "/jobs/new/",
    "job": "/jobs/1/",
    "history": "/jobs/",
    "datasets": "/datasets/",
    "fits": "/fits/",
    "tables": "/tables/",
    "models": "/tables/trainablemodel/",
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_axe_finds_nothing(new_page: Callable[..., Page], language: str, theme: str) -> None:
    findings = {}
    for name, path in PAGES.items():
        page = new_page(user=None if name == "login" else "ada", language=language, theme=theme)
        page.goto(path)
        expect(page.locator("html")).to_have_attribute("data-bs-theme", theme)
        expect(page.locator("html")).to_have_attribute("lang", language)
        if name == "new job":
            expect(page.locator(".verdict-sentence")).to_be_visible()
        if name == "job":
            wait_for_iteration(page, 1)
        findings[name] = axe_findings(page)
        page.context.close()
    assert findings == {name: [] for name in PAGES}
