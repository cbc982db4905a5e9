"""`Problem`: one finding about a request, on its field, with its reason and its remedy.

The texts are in `engine/problem_texts.py`, by code, in every language of `LANGUAGES`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Severity = Literal["error", "warning", "note"]
Fault = Literal["user", "site", "software"]
Value = str | int | float | bool | None
LANGUAGES = ("en", "zh-hans")


class Problem(BaseModel):
    """A finding. Only an `error` keeps a job from starting."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    """Key of the texts, such as `devices.too_few`."""
    field: str
    """Dotted path in the spec, such as `train.seq_length`; empty when it is about the whole."""
    severity: Severity = "error"
    parameters: dict[str, Value] = {}
    """Values that the texts name."""
    fault: Fault = "user"
    """Who can mend it: the person, the site's administrator, or us."""
    nearest: dict[str, Value] = {}
    """The smallest change of the spec that cures this finding, by dotted path; empty if none is known."""
