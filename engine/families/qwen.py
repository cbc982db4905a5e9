"""Qwen 1.5 to 3: ChatML; where there is no system text, the one that Qwen 1.5 and 2 were taught."""

from engine.families.chatml import TOKENS as TOKENS
from engine.families.chatml import TURNS

MODEL_TYPES = ("qwen", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe")
TEMPLATE = (
    """
{%- if messages[0].role != "system" -%}
    {{- "<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n" -}}
{%- endif -%}
"""
    + TURNS
)
