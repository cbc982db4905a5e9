"""A device's attention under transformers' `AttentionInterface`.

Packed samples are told apart by their positions, as transformers does it: a position that does not follow the one
before it begins another sequence. Where they end is asked of the device once per batch, not once per layer; a caller
that gives `cu_seq_lens_q` on the CPU (transformers' own word: 0, then every end, row by row) spares it that too.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

from engine.devices.operators import Operators
from engine.devices.plain import causal

NAME = "trainyard"
"""The attention implementation's name in transformers; without "flash" in it, which would be taken for a library's."""

Ends = tuple[int, ...]
Attend = Callable[..., tuple[torch.Tensor, None]]


def register(operators: Operators) -> str:
    """Make the operators' attention known to transformers; returns the name for `set_attn_implementation`."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import flash_attention_mask

    AttentionInterface.register(NAME, interface(operators))
    # no mask of S x S is made: none at all, or which positions are padding
    AttentionMaskInterface.register(NAME, flash_attention_mask)
    return NAME


def interface(operators: Operators) -> Attend:
    """An attention function as transformers calls it: query [B, N, S, D] → [B, S, N, D]."""
    sequences = Sequences()

    def attend(
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        scaling: float | None = None,
        dropout: float = 0.0,
        sliding_window: int | None = None,
        **more: Any,
    ) -> tuple[torch.Tensor, None]:
        result = operators.attention(
            query,
            key,
            value,
            scale=query.shape[-1] ** -0.5 if scaling is None else scaling,
            allowed=_allowed(query, key, attention_mask, sliding_window),
            ends=_ends(sequences, query, key, more),
            dropout=dropout,
        )
        return result.transpose(1, 2).contiguous(), None

    return attend


def _allowed(
    query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None, window: int | None
) -> torch.Tensor | None:
    """bool [B or 1, 1, S, T], or None where the causal mask is all there is. mask: [B, T], false at padding."""
    queries, keys = query.shape[2], key.shape[2]
    narrow = window is not None and window < keys
    if mask is None and not narrow:
        return None
    allowed = causal(queries, keys, query.device)
    if narrow:
        assert window is not None
        allowed = allowed & ~torch.ones_like(allowed).tril(keys - queries - window)
    if mask is not None:
        # a query that may see nothing at all has no softmax: padding sees itself
        itself = torch.eye(keys, dtype=torch.bool, device=query.device)[keys - queries :]
        allowed = allowed & mask[:, None, None, :].bool() | itself
    return allowed


def _ends(sequences: Sequences, query: torch.Tensor, key: torch.Tensor, more: dict[str, Any]) -> Ends | None:
    rows, length = query.shape[0], query.shape[2]
    if length != key.shape[2] or length == 1:
        return None  # goes on from a cache: one sequence a row
    given = more.get("cu_seq_lens_q")
    if given is not None:
        return tuple(given[1:].tolist())
    positions = more.get("position_ids")
    return None if positions is None else sequences.ends(positions, rows)


class Sequences:
    """The ends of packed sequences, remembered for the batch at hand: every layer brings the same positions."""

    def __init__(self) -> None:
        self._seen: weakref.ref[torch.Tensor] | None = None
        self._version = -1
        self._found: Ends | None = None

    def ends(self, positions: torch.Tensor, rows: int) -> Ends | None:
        """Of position_ids [rows or 1, S]; None where each row is one sequence."""
        if self._seen is None or self._seen() is not positions or self._version != positions._version:
            self._found = _found(positions, rows)
            self._seen, self._version = weakref.ref(positions), positions._version
        return self._found


def _found(positions: torch.Tensor, rows: int) -> Ends | None:
    own = positions.expand(rows, -1)
    starts = torch.ones_like(own, dtype=torch.bool)
    starts[:, 1:] = own.diff(dim=1) != 1
    places: list[int] = starts.flatten().nonzero().flatten().tolist()
    return None if len(places) == rows else (*places[1:], own.numel())
