"""Whatever dies, the training goes on and the page misses nothing."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.conftest import Faults
from tests.browser.pages import (
    chart_points,
    iteration,
    shown_log,
    submit_job,
    wait_for_iteration,
    wait_for_state,
)
from tests.site import Site

ITERATIONS = 600
LOG = "logs/train.0.log"


def test_web_worker_and_redis_are_killed_and_every_line_arrives_once_and_in_order(
    page: Page, site: Site, faults: Faults
) -> None:
    job = submit_job(page, "Survivor", train_iters=ITERATIONS)
    wait_for_iteration(page, 5)
    for part in ("web", "worker", "redis"):
        old = site.kill_part(part)
        site.wait_for_new(part, old)
        seen = iteration(page)
        wait_for_iteration(page, min(seen + 5, ITERATIONS))
    assert iteration(page) < ITERATIONS, "the run ended before everything had been killed: make it longer"
    wait_for_state(page, "succeeded")
    assert page.locator("#log-file").input_value() in (LOG, "logs/export.0.log")
    page.locator("#log-file").select_option(LOG)
    _has_the_whole_log(page, site, job)
    assert chart_points(page, "lm_loss") == ITERATIONS
    _story_is_whole(site, job)
    faults[:] = [fault for fault in faults if not _is_a_lost_connection(fault)]


def test_a_browser_that_comes_back_finds_a_complete_page(new_page: Callable[..., Page], site: Site) -> None:
    first = new_page()
    job = submit_job(first, "Left alone", train_iters=150)
    wait_for_iteration(first, 3)
    first.context.close()
    second = new_page(user="lin")  # another member of the team
    second.goto(f"/jobs/{job}/")
    wait_for_iteration(second, 4)
    page_log = second.locator("#log-file")
    expect(page_log).to_have_value(LOG)
    wait_for_state(second, "succeeded")
    page_log.select_option(LOG)
    _has_the_whole_log(second, site, job)
    assert iteration(second) == 150
    assert chart_points(second, "lm_loss") == 150


def _has_the_whole_log(page: Page, site: Site, job: int) -> None:
    lines = (site.data_dir / "runs" / str(job) / LOG).read_text(encoding="utf-8").splitlines()
    expect(page.locator("#log-count")).to_contain_text(f"{len(lines)}")
    assert shown_log(page) == lines


def _story_is_whole(site: Site, job: int) -> None:
    events = site.events(job)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    starts = [event["stage"] for event in events if event["kind"] == "started" and event["stage"]]
    assert starts == ["preprocess", "train", "export"]


def _is_a_lost_connection(fault: str) -> bool:
    signs = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "WebSocket connection")
    return any(sign in fault for sign in signs)
