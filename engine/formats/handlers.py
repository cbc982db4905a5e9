"""MindSpeed-LLM's names of handlers, for scripts that were written for it."""

from __future__ import annotations

HANDLERS = {
    "AlpacaStyleInstructionHandler": "alpaca",
    "SharegptStyleInstructionHandler": "sharegpt",
    "OpenAIInstructionHandler": "openai",
    "GeneralInstructionHandler": "alpaca",
    "MOSSMultiTurnHandler": "moss",
    "MOSSInstructionHandler": "moss",
    "GeneralPretrainHandler": "text",
    "AlpacaPretrainHandler": "alpaca",
    "SharegptPretrainHandler": "sharegpt",
}
"""Handler → the format that reads its rows. The last two are for pretraining on the rows' texts."""
