"""ChatML without a system text of its own: SmolLM2 and many others."""

MODEL_TYPES = ("llama", "mistral", "gpt2", "stablelm", "internlm2", "phi3", "olmo", "olmo2", "smollm3", "starcoder2")
TOKENS = ("<|im_start|>", "<|im_end|>")
TURNS = """
{%- for message in messages -%}
    {{- "<|im_start|>" + message.role + "\\n" + message.content + "<|im_end|>\\n" -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<|im_start|>assistant\\n" -}}{%- endif -%}
"""
TEMPLATE = TURNS
