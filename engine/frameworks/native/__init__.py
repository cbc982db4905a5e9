"""Our own engine: Hugging Face weights in, Hugging Face weights out, without a conversion step."""

from engine.frameworks import Description

DESCRIPTION = Description(
    name="native",
    hardware=("cpu",),
    formats=("alpaca", "sharegpt", "moss", "openai", "text"),
    table=False,
    splits_models=True,
)
