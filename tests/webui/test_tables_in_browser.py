"""The resource tables' back office in a browser: an import with its preview, changes by keyboard, every page to axe."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from jobs.models import MinDevices
from tests.webui.tables_in_admin import as_csv, changed
from tests.webui.test_job_form_in_browser import AXE, browser

__all__ = ("browser",)
LIST = "/admin/jobs/mindevices/"
HTML = "<script>alert(1)</script><b>bold</b> " + "a long note, " * 800 + "and its end"
NewPage = Callable[..., Page]


@pytest.fixture
def new_page(
    browser: Browser, live_server: LiveServer, tables: None, as_user: Callable[[User], Client]
) -> Iterator[NewPage]:
    """Makes pages of the chief, each in a profile of its own; what the console complains of fails the test."""
    session = as_user(User.objects.create_superuser("chief")).cookies["sessionid"].value
    faults: list[str] = []
    contexts = []

    def make(locale: str = "en-US", theme: str = "light", *, watched: bool = True) -> Page:
        dark = "dark" if theme == "dark" else "light"
        context = browser.new_context(locale=locale, base_url=live_server.url, color_scheme=dark)  # type: ignore[arg-type]
        context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        contexts.append(context)
        page = context.new_page()
        if watched:
            page.on("console", lambda one: faults.append(one.text) if "Content Security" in one.text else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        return page

    yield make
    for context in contexts:
        context.close()
    assert faults == []


def cell() -> MinDevices:
    return MinDevices.objects.get(
        model="llama3.1-8b", strategy="full", seq_length=4096, framework="mindspeed-llm", hardware="snt9b"
    )


def preview(page: Page, data: bytes) -> None:
    page.goto(f"{LIST}import/")
    page.locator("#id_import_file").set_input_files({"name": "cards.csv", "mimeType": "text/csv", "buffer": data})
    expect(page.locator("#id_format")).to_have_value("0")
    page.locator(".submit-row input").click()
    expect(page.locator("#totals")).to_be_visible()


def findings(page: Page) -> list[object]:
    """What axe finds, and whether the page is wider than the window."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    wide = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    return [*[(fault["id"], [node["html"] for node in fault["nodes"]][:3]) for fault in found], *["wide"] * wide]


def test_an_import_back_and_forth_and_a_double_press_is_carried_out_once(new_page: NewPage) -> None:
    page = new_page()
    preview(page, as_csv(changed(devices="8", note=HTML)))
    expect(page.locator(".import-preview .update ins").first).to_have_text("8")
    assert page.locator(".import-preview b").count() == 0
    page.go_back()
    expect(page.locator("#id_import_file")).to_be_visible()
    preview(page, as_csv(changed(devices="16", note=HTML)))
    page.locator("input[name=confirm]").dblclick()
    page.wait_for_url(re.compile(rf"{LIST}$"))
    expect(page.locator(".messagelist")).to_be_visible()
    row = cell()
    assert (row.devices, row.note) == (16, HTML)
    assert [entry.history_change_reason for entry in row.history.all()] == ["import: cards.csv", "load_tables"]


def test_of_two_people_who_import_at_once_the_second_is_told(new_page: NewPage) -> None:
    first, second = new_page(), new_page()
    preview(first, as_csv(changed(devices="8")))
    preview(second, as_csv(changed(devices="16")))
    first.locator("input[name=confirm]").click()
    expect(first.locator(".messagelist .success")).to_be_visible()
    second.locator("input[name=confirm]").click()
    expect(second.locator(".messagelist .error")).to_contain_text("the tables have changed meanwhile")
    assert cell().devices == 8


def test_rows_are_narrowed_changed_deleted_and_brought_back_by_keyboard_alone(new_page: NewPage) -> None:
    page = new_page()
    page.goto(LIST)
    page.locator("#searchbar").focus()
    page.keyboard.type("llama3.1-8b")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=llama3.1-8b**")
    page.locator("input.action-select").first.focus()
    page.keyboard.press("Space")
    page.locator("select[name=action]").focus()
    page.keyboard.type("Change a column")
    page.locator("button[name=index]").focus()
    page.keyboard.press("Enter")
    page.locator("select[name=column]").focus()
    page.keyboard.type("note")
    page.keyboard.press("Tab")
    page.keyboard.type("typed")
    page.keyboard.press("Enter")
    expect(page.locator(".messagelist .success")).to_contain_text("1 row was changed.")
    row = MinDevices.objects.get(note="typed")
    page.goto(f"{LIST}{row.pk}/delete/")
    page.locator("input[type=submit]").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{LIST}")
    page.goto(f"{LIST}deleted/")
    page.locator("#deleted button").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".messagelist .success")).to_contain_text("is back.")
    assert MinDevices.objects.filter(pk=row.pk, note="typed").exists()


@pytest.mark.parametrize(("locale", "theme"), [("en-US", "light"), ("zh-CN", "dark")])
def test_axe_finds_nothing_and_no_page_is_too_wide(new_page: NewPage, locale: str, theme: str) -> None:
    row = cell()
    row.note = HTML + "x" * 300
    row.save_edited()
    MinDevices.objects.filter(model="llama3.1-70b")[0].delete()
    page = new_page(locale, theme, watched=False)  # axe itself tries styles that the policy forbids
    shown = {name: f"{LIST}{name}" for name in ("?q=llama3.1-8b", "import/", "deleted/")}
    shown |= {"row": f"{LIST}{row.pk}/change/", "history": f"{LIST}{row.pk}/history/"}
    found = {}
    for name, address in shown.items():
        page.goto(address)
        found[name] = findings(page)
    preview(page, as_csv(changed(devices="8", note=HTML)))
    found["preview"] = findings(page)
    assert found == {name: [] for name in found}
