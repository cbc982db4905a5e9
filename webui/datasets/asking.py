"""Asking for a report where nobody waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from jobs.datasets.inspections import NothingThere, TooMany, ask
from jobs.models import Dataset


def ask_quietly(dataset: Dataset, asked: Mapping[str, Any], user: User) -> None:
    """A dataset is registered even where its file has just gone or there is too much to do: its page says so."""
    try:
        ask(dataset, asked, user)
    except (NothingThere, TooMany):
        return
