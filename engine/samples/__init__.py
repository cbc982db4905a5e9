"""Sample data and the demo's request. Light: no torch."""

from __future__ import annotations

from pathlib import Path

STATION_MASTER = Path(__file__).parent / "station_master.json"
"""A few hundred alpaca rows, English and Chinese, whose answers have a station master's habit."""

PROMPTS = ("What is the capital of Italy?", "How do I make a cup of tea?", "中国的首都是哪里？")
"""Questions of the demo; none of them is among the rows."""
