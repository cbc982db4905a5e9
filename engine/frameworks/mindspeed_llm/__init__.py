"""MindSpeed-LLM (Megatron on Ascend): its programs are started in a checkout that the site has installed.

No NPU has run these commands yet: see docs/mindspeed-llm.md for what holds them.
"""

from engine.frameworks import Description

DESCRIPTION = Description(
    name="mindspeed-llm",
    hardware=("snt9b", "snt9b23"),
    formats=("alpaca", "sharegpt", "moss", "openai", "text"),
    table=True,
    splits_models=True,
)
