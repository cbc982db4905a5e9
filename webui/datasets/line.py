"""The short line about the chosen dataset beside the form of a new job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jobs.assets import absolute
from jobs.datasets.inspections import newest_done
from jobs.datasets.versions import current_version
from jobs.models import Dataset, Team
from webui.datasets.listing import short_line


class DataLine(NamedTuple):
    dataset: Dataset
    words: str
    """Empty: there is no report about what lies there now."""


def data_line(inputs: Mapping[str, Any], team: Team | None) -> DataLine | None:
    """None when the path is not a dataset of this team."""
    path = str(inputs.get("train.dataset.path") or "").strip()
    if team is None or not path or "\0" in path:
        return None
    dataset = Dataset.objects.filter(team=team, path=absolute(path)).first()
    if dataset is None:
        return None
    report = newest_done(current_version(dataset))
    length = str(inputs.get("train.seq_length") or "").strip()
    asked = int(length) if length.isdecimal() and len(length) < 10 else None
    return DataLine(dataset, short_line(report.summary, asked) if report else "")
