"""GLM-4: a turn ends where the next one's role begins; the model is to begin its answer with the line break."""

MODEL_TYPES = ("chatglm", "glm", "glm4")
TOKENS = ("[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>")
TEMPLATE = """
{{- "[gMASK]<sop>" -}}
{%- for message in messages -%}
    {{- "<|" + message.role + "|>\\n" + message.content -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<|assistant|>" -}}{%- endif -%}
"""
