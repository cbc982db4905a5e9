"""Llama 3 to 3.3: each turn under a header with its role, closed by `<|eot_id|>`."""

MODEL_TYPES = ("llama",)
TOKENS = ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
TEMPLATE = """
{{- bos_token -}}
{%- for message in messages -%}
    {{- "<|start_header_id|>" + message.role + "<|end_header_id|>\\n\\n" + message.content | trim + "<|eot_id|>" -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<|start_header_id|>assistant<|end_header_id|>\\n\\n" -}}{%- endif -%}
"""
