"""DeepSeek V3 and R1: one token for each side, an end token behind every answer, the system text bare in front."""

MODEL_TYPES = ("deepseek_v3", "deepseek_v2")
TOKENS = ("<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>")
TEMPLATE = """
{{- bos_token -}}
{%- for message in messages -%}
    {%- if message.role == "user" -%}
        {{- "<｜User｜>" + message.content -}}
    {%- elif message.role == "assistant" -%}
        {{- "<｜Assistant｜>" + message.content + eos_token -}}
    {%- else -%}
        {{- message.content -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<｜Assistant｜>" -}}{%- endif -%}
"""
