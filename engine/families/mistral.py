"""Mistral and Mixtral, versions 0.1 and 0.2: `[INST] … [/INST]` within one document; the system text opens the first
question, since the models know no system turn."""

MODEL_TYPES = ("mistral", "mixtral")
TOKENS = ()
TEMPLATE = """
{{- bos_token -}}
{%- set start = 0 -%}
{%- if messages[0].role == "system" -%}{%- set start = 1 -%}{%- endif -%}
{%- for message in messages[start:] -%}
    {%- if message.role == "user" -%}
        {{- "[INST] " -}}
        {%- if loop.first and start -%}{{- messages[0].content + "\\n\\n" -}}{%- endif -%}
        {{- message.content + " [/INST]" -}}
    {%- else -%}
        {{- " " + message.content + eos_token -}}
    {%- endif -%}
{%- endfor -%}
"""
