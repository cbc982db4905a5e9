"""The new-job form as a person meets it: checks while typing, findings at their fields, settings filled in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from jobs.models import Dataset, Job, Team, Weights
from tests import browsers

AXE = Path(__file__).parent.parent / "browser" / "axe" / "axe.min.js"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's loop lives in this thread; the rows are only touched between its calls.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        chromium = playwright.chromium.launch(executable_path=browsers.install(), args=list(browsers.FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def page(
    browser: Browser,
    live_server: LiveServer,
    as_user: Callable[[User], Client],
    alice: User,
    team: Team,
    inputs: dict[str, str],
) -> Iterator[Page]:
    """Alice at the form of a new job, with a registered dataset and registered weights."""
    Dataset.objects.create(team=team, name="Greetings", path=inputs["train.dataset.path"], format="alpaca")
    Weights.objects.create(team=team, name="Sample", path=inputs["model_path"], model=inputs["model"])
    session = as_user(alice).cookies["sessionid"].value
    context = browser.new_context(locale="en-US", base_url=live_server.url)
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if "Content Security" in message.text else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto("/jobs/new/")
    expect(page.locator(".verdict-sentence")).to_be_visible()
    yield page
    context.close()
    assert faults == []


def _field(page: Page, path: str) -> Locator:
    return page.locator(f"[id='id_{path}']")


def _accessible(page: Page) -> None:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    assert [(fault["id"], [node["html"] for node in fault["nodes"]]) for fault in found] == []


def test_a_fresh_form_scolds_nobody_and_becomes_a_job(page: Page) -> None:
    expect(page.locator(".field-problem")).to_have_count(0)
    expect(page.locator(".finding-error")).to_have_count(0)
    _field(page, "name").fill("")
    expect(page.locator(".finding-error")).to_have_count(1)
    _field(page, "name").press_sequentially("Night shift", delay=20)
    expect(page.locator(".verdict-status")).to_have_text("This fits and can start.")
    expect(page.locator("#verdict-status")).to_have_text(re.compile("Native on CPU runs in 1 process.* can start"))
    expect(page.locator(".commands").first).to_contain_text("engine.preprocess")
    _accessible(page)
    page.locator("#submit").click()
    page.wait_for_url(re.compile(r"/jobs/\d+/$"))
    assert Job.objects.get().name == "Night shift"


def test_the_name_follows_the_choices_until_a_person_gives_one(page: Page, inputs: dict[str, str]) -> None:
    name, strategy = _field(page, "name"), _field(page, "train.strategy")
    expect(name).to_have_value(f"{inputs['model']} sft full")
    strategy.select_option("lora")
    expect(name).to_have_value(f"{inputs['model']} sft lora")
    name.fill("Night shift")
    strategy.select_option("full")
    expect(name).to_have_value("Night shift")


def test_another_language_keeps_what_was_entered(page: Page) -> None:
    _field(page, "name").fill("夜班")
    _field(page, "train.strategy").select_option("lora")
    _field(page, "train.lora.rank").fill("many")
    page.get_by_role("button", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", re.compile("zh"))
    expect(_field(page, "name")).to_have_value("夜班")
    expect(_field(page, "train.lora.rank")).to_have_value("many")
    expect(page.locator(".finding[data-field='train.lora.rank']")).to_be_visible()


def test_a_finding_stands_at_its_field_and_its_button_cures_it(page: Page) -> None:
    length = _field(page, "train.seq_length")
    length.fill("99999")
    expect(length).to_have_attribute("aria-invalid", "true")
    expect(length).to_have_accessible_description(re.compile("99999"))
    _accessible(page)
    page.locator(".finding[data-field='train.seq_length'] button.apply").click()
    expect(length).to_have_value("8192")
    expect(length).to_be_focused()
    expect(length).not_to_have_attribute("aria-invalid", "true")


def test_a_refused_form_keeps_everything_and_leads_to_the_first_problem(page: Page) -> None:
    _field(page, "name").fill("Night shift")
    _field(page, "devices").fill("eight")
    _field(page, "train.lora.rank").evaluate("input => { input.value = 'x' }")
    page.locator("#submit").click()
    expect(_field(page, "devices")).to_be_focused()
    expect(_field(page, "devices")).to_have_value("eight")
    expect(_field(page, "name")).to_have_value("Night shift")
    expect(_field(page, "train.lora.rank")).to_have_attribute("aria-invalid", "true")
    assert not Job.objects.exists()


def test_a_link_in_the_panel_opens_the_folded_field(page: Page) -> None:
    seed = _field(page, "train.seed")
    expect(seed).to_be_hidden()
    seed.evaluate("input => { input.value = '-1'; input.dispatchEvent(new Event('input', { bubbles: true })) }")
    page.locator(".finding[data-field='train.seed'] a").click()
    expect(seed).to_be_focused()


def test_lora_options_appear_with_the_strategy(page: Page) -> None:
    expect(_field(page, "train.lora.rank")).to_be_hidden()
    _field(page, "train.strategy").select_option("lora")
    expect(_field(page, "train.lora.rank")).to_be_visible()
    expect(_field(page, "train.learning_rate")).to_have_value("1e-4")
    _field(page, "train.learning_rate").fill("3e-4")
    _field(page, "train.strategy").select_option("full")
    expect(_field(page, "train.learning_rate")).to_have_value("3e-4")


def test_a_lost_check_is_said_and_heals(page: Page) -> None:
    page.route("**/jobs/check/", lambda route: route.fulfill(status=500, body="<h1>boom</h1>"))
    _field(page, "name").fill("a")
    expect(page.locator("#verdict-lost")).to_be_visible()
    expect(page.get_by_text("boom")).to_have_count(0)
    page.unroute("**/jobs/check/")
    _field(page, "name").fill("ab")
    expect(page.locator("#verdict-lost")).to_be_hidden()


CELL = "MindSpeed-LLM, Snt9B, full, 8192: 64 cards by the table; memory needs 32 cards; 64 cards recommended"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_cell_of_what_fits_opens_a_form_with_its_plan(page: Page, theme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=theme)
    page.goto("/fits/?hardware=snt9b&devices=32")
    _accessible(page)
    page.get_by_role("link", name="llama3.1-70b", exact=True).click()
    _accessible(page)
    page.get_by_role("link", name=CELL).click()
    expect(_field(page, "devices")).to_have_value("64")
    expect(page.locator(".verdict-sentence")).to_have_text(re.compile("fits on 64 cards; the table asks for 64"))
    bar = page.locator(".plan .memory")
    expect(bar.locator("figcaption")).to_contain_text("in each card")
    expect(bar.locator(".memory-legend li")).to_have_text([re.compile(r"Weights\s+2\.\d")] + [re.compile(".")] * 5)
    painted = bar.locator("rect.memory-activations").evaluate("part => getComputedStyle(part).fill")
    assert painted != "rgb(0, 0, 0)"
    _accessible(page)


def test_too_few_devices_are_said_with_what_would_fit(page: Page) -> None:
    page.goto("/jobs/new/?model=llama3.1-70b&framework=mindspeed-llm&hardware=snt9b&devices=8&train.seq_length=8192")
    expect(page.locator(".verdict-sentence")).to_contain_text("needs 64 cards; you chose 8.")
    expect(page.locator(".verdict .memory-bad rect.memory-limit")).to_be_visible()
    _accessible(page)
    _field(page, "devices").fill("64")
    expect(page.locator(".verdict-sentence")).to_contain_text("fits on 64 cards")
    expect(page.locator(".memory-bad")).to_have_count(0)


@pytest.mark.parametrize("query", ["model=llama3.1-70b", "hardware=snt9b&devices=8", ""])
def test_what_fits_has_room_on_a_phone(page: Page, query: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"/fits/?{query}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    expect(page.locator(".fits tbody th[scope='row']").first).to_be_visible()
    _accessible(page)


def test_the_theme_is_remembered_without_a_flash(page: Page) -> None:
    toggle = page.locator("#theme-toggle")
    for word in ("light", "dark"):
        toggle.click()
        expect(toggle).to_have_accessible_name(f"Theme: {word}")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")
    _accessible(page)


def test_a_registered_dataset_brings_how_it_is_read(page: Page, team: Team, inputs: dict[str, str]) -> None:
    talk = Path(inputs["train.dataset.path"]).with_name("talk.json")
    talk.write_text('[{"talk": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}]')
    options = {"train.dataset.columns.messages": "talk", "train.dataset.train_on": "last_answer"}
    Dataset.objects.create(team=team, name="Talk", path=str(talk), format="sharegpt", options=options)
    page.reload()
    _field(page, "train.dataset.path").fill(str(talk))
    expect(_field(page, "train.dataset.format")).to_have_value("sharegpt")
    expect(_field(page, "train.dataset.columns.messages")).to_have_value("talk")
    expect(_field(page, "train.dataset.train_on")).to_have_value("last_answer")
    expect(page.locator(".data-line")).to_contain_text("nobody has looked at this data yet")
    _field(page, "train.dataset.path").fill(inputs["train.dataset.path"])
    expect(_field(page, "train.dataset.columns.messages")).to_have_value("")
    expect(_field(page, "train.dataset.train_on")).to_have_value("every_answer")
