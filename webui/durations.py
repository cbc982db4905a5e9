"""Lengths of time in words."""

from __future__ import annotations

from django.utils.translation import gettext as _

MINUTE, HOUR, DAY = 60, 3600, 86400


def duration(seconds: float) -> str:
    """Two units at most: `45 s`, `12 min`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < MINUTE:
        return _("%(seconds)d s") % {"seconds": max(1, round(seconds))}
    minutes = round(seconds / MINUTE)
    if minutes * MINUTE < HOUR:
        return _("%(minutes)d min") % {"minutes": minutes}
    if seconds < DAY:
        hours, rest = divmod(minutes, 60)
        words = _("%(hours)d h") % {"hours": hours}
        return words if not rest else _("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": rest}
    days, hours = divmod(round(seconds / HOUR), 24)
    words = _("%(days)d d") % {"days": days}
    return words if not hours else _("%(days)d d %(hours)d h") % {"days": days, "hours": hours}


def span(low: float, high: float) -> str:
    """A range, never a single number where the ends differ."""
    first, last = duration(low), duration(high)
    return first if first == last else _("%(low)s to %(high)s") % {"low": first, "high": last}
