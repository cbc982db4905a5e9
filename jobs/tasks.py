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


@app.task(name="jobs.inspect")
def inspect(inspection_id: int) -> None:
    """Start the report about a dataset that somebody has asked for."""
    from jobs.datasets.inspections import start

    start(inspection_id)


@app.task(name="jobs.view_row")
def view_row(inspection_id: int, row: int, first_token: int) -> None:
    """Start the view of one row of a dataset."""
    from jobs.datasets.rows import start

    start(inspection_id, row, first_token)
