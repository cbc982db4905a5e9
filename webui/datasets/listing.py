"""A person's datasets, with what their last reports say, in one query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.datasets.summary import cut_at
from jobs.models import Dataset, DatasetVersion, Inspection, InspectionState
from webui.reader import language


def listed(user: User) -> list[Dataset]:
    """Each with `line`, the short line of its last report, and `version`, the number of its newest version."""
    done = Inspection.objects.filter(version__dataset=OuterRef("pk"), state=InspectionState.DONE)
    versions = DatasetVersion.objects.filter(dataset=OuterRef("pk")).order_by("-number")
    found = list(
        Dataset.objects.visible_to(user)
        .select_related("team")
        .annotate(summary=Subquery(done.values("summary")[:1]), version=Subquery(versions.values("number")[:1]))
    )
    for dataset in found:
        dataset.line = short_line(dataset.summary or {})  # type: ignore[attr-defined]
    return found


def short_line(summary: Mapping[str, Any], seq_length: int | None = None) -> str:
    """`51,200 rows; 3 dropped; at 4096 12 % are cut`; empty without a report."""
    if not summary:
        return ""
    rows = summary.get("read", 0)
    parts = [ngettext("%(count)s row", "%(count)s rows", rows) % {"count": f"{rows:,}"}]
    if summary.get("dropped"):
        parts.append(_("%(count)s dropped") % {"count": f"{summary['dropped']:,}"})
    found = cut_at(summary, seq_length)
    if found is not None and rows > summary.get("dropped", 0):
        at = {"length": found.seq_length, "share": _share(found.cut)}
        words = _("at %(length)s %(share)s are cut") if found.cut else _("at %(length)s nothing is cut")
        parts.append(words % at)
        if found.dropped:
            parts.append(_("%(share)s lose the whole answer") % {"share": _share(found.dropped)})
    return ("；" if language() == "zh-hans" else "; ").join(parts)


def _share(share: float) -> str:
    percent = 100 * share
    digits = 0 if percent >= 10 or percent == 0 else 1
    return f"< 0.1{_percent()}" if 0 < percent < 0.1 else f"{percent:.{digits}f}{_percent()}"


def _percent() -> str:
    return "%" if language() == "zh-hans" else " %"
