"""What a person does and sees on the pages."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

AXE = Path(__file__).parent / "axe" / "axe.min.js"
MINUTE = 60_000.0


def log_in(page: Page, user: str, password: str) -> None:
    page.goto("/login/")
    page.locator("#id_username").fill(user)
    page.locator("#id_password").fill(password)
    page.locator(".login-card button.btn-primary").click()
    page.wait_for_url("**/jobs/")


def field(page: Page, path: str) -> Locator:
    return page.locator(f"[id='id_{path}']")


def submit_job(page: Page, name: str, **train: object) -> int:
    """Fill in the form for the tiny model, wait for the check to agree, start; returns the job's number.

    train: fields of `train`, such as `train_iters=100`.
    """
    page.goto("/jobs/new/")
    values: dict[str, object] = {"seq_length": 128, "global_batch_size": 8, "learning_rate": "3e-3", "epochs": ""}
    field(page, "name").fill(name)
    for key, value in (values | train).items():
        one = field(page, f"train.{key}")
        if not one.is_visible():
            page.locator("details.fold", has=one).locator("summary").click()
        one.fill(str(value))
    expect(page.locator(".verdict-good, .verdict-warn")).to_be_visible()
    expect(page.locator(".plan .stages")).to_contain_text("engine.training")
    page.locator("#submit").click()
    page.wait_for_url(re.compile(r"/jobs/\d+/$"))
    return int(page.url.rstrip("/").rsplit("/", 1)[1])


def state(page: Page) -> Locator:
    return page.locator(".job-head [data-state]")


def wait_for_state(page: Page, name: str, minutes: float = 4) -> None:
    expect(page.locator(f".job-head [data-state='{name}']")).to_be_visible(timeout=minutes * MINUTE)


def iteration(page: Page) -> int:
    """The number that the page shows now; 0 before the first one."""
    text = page.locator("[data-number='iteration']").inner_text().split("/")[0]
    digits = re.sub(r"\D", "", text)
    return int(digits) if digits else 0


def wait_for_iteration(page: Page, number: int, minutes: float = 2) -> None:
    """Until the page shows at least that iteration. Polls: the page's CSP forbids evaluated conditions."""
    for _ in range(int(minutes * 600)):
        if iteration(page) >= number:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"iteration {number} is not shown after {minutes} minutes, but {iteration(page)}")


def shown_log(page: Page) -> list[str]:
    """Every line of the log view. It only draws what is visible, so it is made as high as it is long."""
    page.locator("#log-view").evaluate("view => { view.style.maxHeight = 'none'; view.style.height = '40000px'; }")
    page.wait_for_timeout(300)  # two frames: it draws after the resize
    return page.locator("#log-view .log-rows > div").all_inner_texts()


def chart_points(page: Page, key: str) -> int:
    """Number of iterations that a chart has drawn, as the page's own object says."""
    code = """async ([key]) => {
        const source = document.querySelector("script[type=module][src*='job/page']").src;
        const { charts } = await import(source);
        return charts.find((chart) => chart.key === key).data[0].length;
    }"""
    return int(page.evaluate(code, [key]))


def axe_findings(page: Page) -> list[tuple[str, list[str]]]:
    """What axe-core finds on the page as it stands."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [(fault["id"], [node["html"] for node in fault["nodes"]]) for fault in found]
