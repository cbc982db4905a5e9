"""Which of Megatron's layers carry adapters, for the names that Hugging Face gives to layers.

Megatron has one matrix for queries, keys and values, and one for gate and up: adapters sit on the whole of it.
"""

from __future__ import annotations

from collections.abc import Iterable

ALL_MODULES = ("linear_qkv", "linear_proj", "linear_fc1", "linear_fc2")
PARTS: dict[str, frozenset[str]] = {
    "linear_qkv": frozenset({"q_proj", "k_proj", "v_proj"}),
    "linear_fc1": frozenset({"gate_proj", "up_proj"}),
}
"""Megatron's layer → the Hugging Face layers that are one in it."""
MEGATRON: dict[str, str] = {
    **{name: name for name in ALL_MODULES},
    **{part: whole for whole, parts in PARTS.items() for part in parts},
    "o_proj": "linear_proj",
    "down_proj": "linear_fc2",
    "query_key_value": "linear_qkv",
    "dense": "linear_proj",
    "dense_h_to_4h": "linear_fc1",
    "dense_4h_to_h": "linear_fc2",
    "W_pack": "linear_qkv",
    "c_attn": "linear_qkv",
}


def modules(names: Iterable[str]) -> tuple[str, ...]:
    """Megatron's layers for these, in Megatron's order. Raises KeyError for a name that is no layer of a block."""
    wanted = {MEGATRON[name] for name in names}
    return tuple(name for name in ALL_MODULES if name in wanted)


def unknown(names: Iterable[str]) -> list[str]:
    return [name for name in names if name not in MEGATRON]


def widened(names: Iterable[str]) -> list[str]:
    """Layers that get adapters although they were not named, because they are one with another."""
    asked = set(names)
    return sorted(part for parts in PARTS.values() if parts & asked for part in parts - asked)
