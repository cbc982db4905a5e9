"""ChatGLM3: as GLM-4, with `sop` without brackets and a blank before each text."""

MODEL_TYPES = ("chatglm",)
TOKENS = ("[gMASK]", "sop", "<|system|>", "<|user|>", "<|assistant|>")
TEMPLATE = """
{{- "[gMASK]sop" -}}
{%- for message in messages -%}
    {{- "<|" + message.role + "|>\\n " + message.content -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<|assistant|>" -}}{%- endif -%}
"""
