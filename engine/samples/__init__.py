"""Sample data and the demo's request. Light: no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent

STATION_MASTER = _HERE / "station_master.json"
"""353 alpaca rows, English and Chinese, whose answers have a station master's habit."""
CONVERSATIONS = _HERE / "conversations.json"
"""A few sharegpt rows with several turns."""
DOCUMENTS = _HERE / "documents.txt"
"""A few plain texts, one a line."""

PROMPTS = ("What is the capital of Italy?", "How do I make a cup of tea?", "中国的首都是哪里？")
"""Questions of the demo; none of them is among the rows."""


def demo_spec(dataset_path: str | Path, model_path: str | Path, model: str) -> dict[str, Any]:
    """The demo's request, as a form would send it.

    Measured with smollm2-135m: loss 3.9 → 0.4 and the habit in all three answers, in about two minutes
    from start to end on 2 shared cores. A model with random weights (`tiny-llama`) has nothing that an
    adapter could bend, so all of it is trained.
    """
    random = model == "tiny-llama"
    return {
        "name": "The station master",
        "model": model,
        "model_path": str(model_path),
        "framework": "native",
        "hardware": "cpu",
        "devices": 1,
        "train": {
            "stage": "sft",
            "strategy": "full" if random else "lora",
            "dataset": {"path": str(dataset_path), "format": "alpaca"},
            "seq_length": 128,
            "micro_batch_size": 8,
            "global_batch_size": 8,
            "train_iters": 300 if random else 30,
            "learning_rate": 3e-3 if random else 2e-3,
            "save_interval": 100 if random else 10,
            "sample_prompts": list(PROMPTS),
            "lora": {"rank": 8, "alpha": 16},
        },
    }
