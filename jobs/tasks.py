"""Celery tasks. Each is short; a message that is lost or delivered twice does no harm."""

from __future__ import annotations

from uuid import UUID

from jobs.celery import app


@app.task(name="jobs.dispatch")
def dispatch() -> None:
    """Place queued runs on free devices."""
    from jobs.dispatcher import dispatch as place_queued_runs

    place_queued_runs()


@app.task(name="jobs.start_run")
def start_run(run_id: int, token: str) -> None:
    """Start this node's run, or let it be taken over if its supervisor has died."""
    from jobs.start import start

    start(run_id, UUID(token))
