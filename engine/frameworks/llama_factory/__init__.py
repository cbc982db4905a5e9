"""LLaMA-Factory (Hugging Face Trainer and DeepSpeed). This release answers for it from the tables only.

It has no moss format; plain text is its stage pt with the column `text`.
"""

from engine.frameworks import Description

DESCRIPTION = Description(
    name="llama-factory",
    hardware=("snt9b", "snt9b23", "cuda"),
    formats=("alpaca", "sharegpt", "text"),
    launchable=False,
    table=True,
    splits_models=False,
)
