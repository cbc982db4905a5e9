"""What became of a row when it was rendered and tokenized."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Learnt = NDArray[np.bool_]
"""Of each token of a row: does it enter the loss? [length]; the first one never does."""


@dataclass(frozen=True)
class Encoded:
    """ids: int32 [length]; learnt: bool [length]."""

    ids: NDArray[np.int32]
    learnt: Learnt

    @property
    def trained(self) -> int:
        """Tokens that enter the loss."""
        return int(np.count_nonzero(self.learnt))


@dataclass(frozen=True)
class Refused:
    """reason: code of a text."""

    reason: str
