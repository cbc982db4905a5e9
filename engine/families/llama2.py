"""Llama 2: `[INST] … [/INST]`, the system text inside the first question; each pair of turns is a document."""

MODEL_TYPES = ("llama",)
TOKENS = ()
TEMPLATE = """
{%- set start = 0 -%}
{%- if messages[0].role == "system" -%}{%- set start = 1 -%}{%- endif -%}
{%- for message in messages[start:] -%}
    {%- if message.role == "user" -%}
        {{- bos_token + "[INST] " -}}
        {%- if loop.first and start -%}{{- "<<SYS>>\\n" + messages[0].content + "\\n<</SYS>>\\n\\n" -}}{%- endif -%}
        {{- message.content | trim + " [/INST]" -}}
    {%- else -%}
        {{- " " + message.content | trim + " " + eos_token -}}
    {%- endif -%}
{%- endfor -%}
"""
