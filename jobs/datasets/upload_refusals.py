"""Why a piece of an upload, or a whole one, is not taken."""

from __future__ import annotations

from typing import Any

from django.utils.functional import Promise


class UploadRefused(Exception):
    """status: of the HTTP answer. more: what else the browser needs, such as the offset to go on from."""

    def __init__(self, status: int, words: str | Promise, **more: Any) -> None:
        super().__init__(str(words))
        self.status = status
        self.words = words
        self.more = more
