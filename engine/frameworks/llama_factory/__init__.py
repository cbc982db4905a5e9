"""LLaMA-Factory (Hugging Face Trainer and DeepSpeed), installed beside us and started as it is.

Conversations of every format reach it as its sharegpt (`rows.py`); plain text is its stage pt with the column `text`.
On a CPU it is the same code in fp32 with gloo, without DeepSpeed: for trying things out, and for tests of the real
thing.
"""

from engine.frameworks import Description

DESCRIPTION = Description(
    name="llama-factory",
    hardware=("snt9b", "snt9b23", "cuda", "cpu"),
    formats=("alpaca", "sharegpt", "moss", "openai", "text"),
    table=True,
    splits_models=False,
)
TESTED = "0.9.5"
"""The release whose keys and behaviour are known; another one is started all the same."""
