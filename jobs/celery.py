"""The Celery application. Celery only carries short messages to nodes; the database decides what runs.

    celery -A jobs.celery worker

A worker listens to the site's queue and to its own node's, so no `-Q` is needed.
"""

from __future__ import annotations

import os

from celery import Celery
from kombu import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webui.settings")

DEFAULT_QUEUE = "default"


def node_queue(node: str) -> str:
    """The queue that only the worker of this node listens to."""
    return f"node.{node}"


def _configured() -> Celery:
    from django.conf import settings

    celery = Celery("trainyard")
    celery.config_from_object("django.conf:settings", namespace="CELERY")
    celery.conf.task_default_queue = DEFAULT_QUEUE
    # Each with an exchange of its own: queues that share one all get what is meant for any of them.
    celery.conf.task_queues = [Queue(name, Exchange(name), name) for name in (DEFAULT_QUEUE, node_queue(settings.NODE))]
    celery.conf.imports = ("jobs.tasks", "jobs.worker_signals")
    return celery


app = _configured()
