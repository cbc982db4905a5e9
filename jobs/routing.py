"""Addresses of the WebSockets."""

from __future__ import annotations

from typing import Any

from django.urls import path, re_path

from jobs.consumers import JobsConsumer, NowhereConsumer, RunConsumer

# Any: `path` is typed for views of pages, and channels routes by it as well.
_run: Any = RunConsumer.as_asgi()
_jobs: Any = JobsConsumer.as_asgi()
_nowhere: Any = NowhereConsumer.as_asgi()

websocket_urlpatterns = [
    path("ws/runs/<int:run_id>/", _run),
    path("ws/jobs/", _jobs),
    re_path("", _nowhere),
]
