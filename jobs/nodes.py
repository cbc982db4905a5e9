"""Which nodes are there, and what they can take."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from jobs.models import Node

SEEN_WITHIN = timedelta(seconds=60)
"""A node that has been silent for longer gets no new run."""
KNOWN_FOR = timedelta(days=7)
"""A node that has been silent for longer is no longer part of the site."""
INSTALLING = "installing"
"""Stands in place of a framework's version while its packages are being installed."""


def alive() -> QuerySet[Node]:
    return Node.objects.filter(last_seen__gte=timezone.now() - SEEN_WITHIN)


def known() -> QuerySet[Node]:
    """Nodes that a request may be made for: a worker that is being restarted is still there."""
    return Node.objects.filter(last_seen__gte=timezone.now() - KNOWN_FOR)


def is_alive(node: Node) -> bool:
    return node.last_seen >= timezone.now() - SEEN_WITHIN


def has(node: Node, framework: str) -> bool:
    """Whether the node can start this framework now."""
    return bool(node.frameworks.get(framework, INSTALLING) != INSTALLING)


def installs(node: Node, framework: str) -> bool:
    return bool(node.frameworks.get(framework) == INSTALLING)
