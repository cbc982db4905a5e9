"""Template tags of every page."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django import template
from django.conf import settings
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from engine.events import LM_LOSS
from jobs.models import Run
from jobs.states import RunState
from webui.views.site import engine_state

register = template.Library()


@register.simple_tag
@lru_cache
def icon(name: str) -> SafeString:
    """One of the vendored icons, inline so that it takes the colour of the text; hidden from screen readers."""
    svg = (settings.BASE_DIR / "static" / "vendor" / "bootstrap-icons" / f"{name}.svg").read_text(encoding="utf-8")
    return mark_safe(svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1))


@register.inclusion_tag("webui/engine_banner.html")
def engine_banner() -> dict[str, Any]:
    return {**engine_state(), "just_finished": False}


@register.filter
def progress_share(run: Run | None) -> int | None:
    """Percent of the present stage that is done, 100 of a run that succeeded; None when its length is not known."""
    if run is not None and run.state == RunState.SUCCEEDED:
        return 100
    if run is None or not run.progress.get("total") or run.progress.get("unit") == "stages":  # as older rows have it
        return None
    return min(100, int(100 * (run.progress.get("done") or 0) / run.progress["total"]))


@register.filter
def last_loss(run: Run | None) -> str:
    """The last lm_loss, to four digits; spelled-out NaN and Infinity stay as they are."""
    value = None if run is None else run.metrics.get(LM_LOSS)
    return f"{value:.4f}" if isinstance(value, (int, float)) else (value or "")


@register.filter
def duration(run: Run | None) -> str:
    """Time from the start of a run until its end, or until now: `1:02:03`."""
    if run is None or run.started_at is None:
        return ""
    seconds = int(((run.finished_at or timezone.now()) - run.started_at).total_seconds())
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
