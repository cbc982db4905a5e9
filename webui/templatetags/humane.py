"""Counts and shares for people."""

from __future__ import annotations

from django import template
from django.utils.translation import get_language

register = template.Library()


@register.filter
def count(number: float | None) -> str:
    """A whole number with separators; empty for None."""
    return "" if number is None else f"{number:,.0f}"


@register.filter
def percent(share: float) -> str:
    """A share from 0 to 1."""
    value = 100 * share
    sign = "%" if (get_language() or "").startswith("zh") else " %"
    if 0 < value < 0.1:
        return f"< 0.1{sign}"
    return f"{value:.0f}{sign}" if value >= 10 or value == 0 else f"{value:.1f}{sign}"


@register.filter
def of(part: float, whole: float) -> str:
    """The share that a part is of a whole; empty when there is nothing."""
    return percent(part / whole) if whole else ""
