"""MindSpeed-LLM (Megatron on Ascend). This release answers for it from the tables; it does not start it."""

from engine.frameworks import Description

DESCRIPTION = Description(
    name="mindspeed-llm",
    hardware=("snt9b", "snt9b23"),
    formats=("alpaca", "sharegpt", "moss", "text"),
    launchable=False,
    table=True,
    splits_models=True,
)
