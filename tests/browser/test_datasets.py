"""A dataset from the browser to the form of a job: uploaded over a break, proven, reported, looked at row by row."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Faults
from tests.browser.pages import MINUTE, axe_findings, field
from tests.site import Site

PIECE = 8 * 1024 * 1024
NARROW = {"width": 360, "height": 740}
Pages = Callable[..., Page]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A little more than two pieces; row 3 is broken, row 4 wants to be markup."""
    file = tmp_path_factory.mktemp("upload") / "站 <b>rows.jsonl"
    filler = "x" * 9000
    rows = [{"instruction": f"Question {number}", "output": f"Answer {number} {filler}"} for number in range(2000)]
    rows[3] = {
        "instruction": "<script>document.title = 'taken over'</script>",
        "output": "<img src=x onerror=alert(1)>",
    }
    lines = [json.dumps(row) for row in rows]
    lines[2] = '{"instruction": "no answer"}'
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert 2 * PIECE < file.stat().st_size < 3 * PIECE
    return file


def choose(page: Page, file: Path) -> None:
    panel = page.locator("#upload-panel")
    if not page.locator("#upload-file").is_visible():
        panel.locator("summary").first.click()
    page.locator("#upload-file").set_input_files(file)
    page.locator("#upload-start").click()


@pytest.fixture(scope="module")
def uploaded() -> dict[str, str]:
    """Filled by the first test: the address of the dataset."""
    return {}


def test_an_upload_that_was_broken_off_goes_on_and_becomes_a_job(
    page: Page, site: Site, file: Path, faults: Faults, uploaded: dict[str, str]
) -> None:
    sent: list[int] = []
    broken = True

    def carry(route: Route) -> None:
        start = int(route.request.headers.get("upload-offset", "-1"))
        if broken and start == 2 * PIECE:
            route.abort()
            return
        sent.append(start)
        route.continue_()

    page.route("**/uploads/*/", carry)
    page.goto("/datasets/")
    choose(page, file)
    expect(page.locator("#upload-words")).to_contain_text("The connection is lost", timeout=MINUTE)
    assert sent == [0, PIECE]
    page.reload()
    expect(page.locator(".unfinished")).to_contain_text("站_b_rows")
    broken = False
    faults.clear()  # the browser has complained of the broken connection
    choose(page, file)
    page.wait_for_url(re.compile(r"/datasets/\d+/$"), timeout=MINUTE)
    assert sent == [0, PIECE, 2 * PIECE]
    uploaded["url"] = page.url
    expect(page.locator(".facts").first).to_contain_text(hashlib.sha256(file.read_bytes()).hexdigest())
    assert [one.read_bytes() for one in (site.data_dir / "datasets" / "uploads").glob("*/*.jsonl")] == [
        file.read_bytes()
    ]

    expect(page.locator("[data-fact=read]")).to_have_text("2,000", timeout=3 * MINUTE)
    expect(page.locator("[data-fact=dropped]")).to_have_text("1")
    expect(page.locator(".histogram canvas")).to_be_visible()
    page.locator("#drops-title ~ .group a").click()
    expect(page.locator(".alert-danger")).to_contain_text("This row is dropped.", timeout=MINUTE)
    expect(page.locator(".raw")).to_have_text('{"instruction": "no answer"}')

    page.wait_for_load_state()  # the page's script listens
    page.keyboard.press("ArrowRight")
    expect(page.locator("h1")).to_contain_text("Row 4")
    trained = page.locator(".tokens .token.trained")
    expect(trained.first).to_be_visible(timeout=MINUTE)
    assert "<img src=x onerror=alert(1)>" in "".join(trained.all_inner_texts())
    assert "taken over" not in page.title()
    assert page.locator(".tokens img, .raw script").count() == 0
    assert trained.first.evaluate("one => getComputedStyle(one).borderBottomStyle") == "solid"
    page.wait_for_load_state()
    page.keyboard.press("g")
    page.keyboard.type("1999")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/rows/1999/"))
    expect(page.locator(".raw")).to_contain_text("Question 1998", timeout=MINUTE)

    page.goto(uploaded["url"])
    page.locator("#train-with").click()
    page.wait_for_url(re.compile(r"/jobs/new/"))
    assert "站_b_rows" in field(page, "train.dataset.path").input_value()
    expect(field(page, "train.dataset.format")).to_have_value("alpaca")
    expect(page.locator(".data-line")).to_contain_text("2,000 rows; 1 dropped")
    expect(page.locator(".plan .stages")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_pages_are_for_everybody_and_fit_a_telephone(
    new_page: Pages, uploaded: dict[str, str], language: str, theme: str
) -> None:
    for path in ("/datasets/", uploaded["url"], f"{uploaded['url']}rows/4/", f"{uploaded['url']}rows/3/"):
        page = new_page(language=language, theme=theme)
        page.goto(path)
        for fold in page.locator("main details > summary").all():
            if fold.is_visible():
                fold.click()
        if "/rows/" in path:
            expect(page.locator(".beside")).to_be_visible(timeout=MINUTE)
        assert axe_findings(page) == []
        page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], path
        page.context.close()
