"""Yi chat models: ChatML without a system text of its own, in a vocabulary that begins with `<|startoftext|>`."""

from engine.families.chatml import TURNS

MODEL_TYPES = ("llama", "yi", "Yi")
TOKENS = ("<|im_start|>", "<|im_end|>", "<|startoftext|>")
TEMPLATE = TURNS
