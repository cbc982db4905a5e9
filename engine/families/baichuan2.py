"""Baichuan 2: two reserved tokens mark who speaks; the system text stands bare in front."""

MODEL_TYPES = ("baichuan",)
TOKENS = ("<reserved_106>", "<reserved_107>")
TEMPLATE = """
{%- for message in messages -%}
    {%- if message.role == "user" -%}
        {{- "<reserved_106>" + message.content -}}
    {%- elif message.role == "assistant" -%}
        {{- "<reserved_107>" + message.content -}}
    {%- else -%}
        {{- message.content -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<reserved_107>" -}}{%- endif -%}
"""
