"""From the form to trained weights, as a person goes."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.pages import (
    chart_points,
    field,
    iteration,
    shown_log,
    submit_job,
    wait_for_iteration,
    wait_for_state,
)
from tests.site import Site


def test_a_wrong_password_is_refused(new_page: Callable[..., Page]) -> None:
    page = new_page(user=None)
    page.goto("/login/")
    page.locator("#id_username").fill("ada")
    page.locator("#id_password").fill("wrong")
    page.locator(".login-card button.btn-primary").click()
    expect(page.get_by_role("alert")).to_be_visible()


def test_a_mistake_is_told_while_typing_and_its_cure_is_one_click(page: Page) -> None:
    page.goto("/jobs/new/")
    field(page, "name").fill("too long")
    field(page, "train.seq_length").fill("9000")
    finding = page.locator(".finding-error[data-field='train.seq_length']")
    expect(finding).to_be_visible()
    finding.locator("button.apply").click()
    expect(page.locator(".finding-error")).to_have_count(0)
    assert field(page, "train.seq_length").input_value() == "2048"


def test_a_job_from_the_form_is_watched_live_to_its_end(page: Page, site: Site) -> None:
    job = submit_job(page, "Watched", train_iters=60, sample_prompts="What is the capital of Italy?")
    wait_for_iteration(page, 2)
    expect(page.locator("[data-chart='lm_loss'] canvas")).to_be_visible()
    expect(page.locator("[data-chart='elapsed_ms_per_iteration'] canvas")).to_be_visible()
    seen = iteration(page)
    wait_for_iteration(page, seen + 1)  # without a reload
    wait_for_state(page, "succeeded")
    assert iteration(page) == 60
    assert chart_points(page, "lm_loss") == 60
    expect(page.locator("[data-part='result']")).to_contain_text("output/model")
    expect(page.locator(".sample-after")).to_be_visible()
    page.locator("#log-file").select_option("logs/train.0.log")
    expect(page.locator("#log-count")).not_to_be_empty()
    lines = (site.data_dir / "runs" / str(job) / "logs" / "train.0.log").read_text(encoding="utf-8").splitlines()
    assert shown_log(page) == lines
    page.goto("/jobs/")
    expect(page.get_by_role("link", name="Watched")).to_be_visible()


def test_a_running_job_is_stopped_by_its_button(page: Page) -> None:
    submit_job(page, "Stopped early", train_iters=5000)
    wait_for_iteration(page, 2)
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator(".job-actions .btn-outline-danger").click()
    wait_for_state(page, "stopped")


def test_the_language_is_a_matter_of_one_click(page: Page) -> None:
    page.goto("/jobs/")
    page.get_by_role("button", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(page.locator(".site-nav")).to_contain_text("作业")
