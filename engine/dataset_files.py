"""Names of tokenised data on disk, as MindSpeed-LLM has them: `<prefix>_<key>_document.{bin,idx}`.

Pretraining is one pair of files. Fine-tuning is three, and their names say `packed` whether several samples share
a sequence or not: that, too, is MindSpeed-LLM's way, whose trainer looks for `<prefix>_packed_*_document*`.
"""

from __future__ import annotations

from engine.spec import TrainStage

PREFIX = "dataset"
"""Of a run's own data, in its folder `data/`."""
TEXT = "text"
INPUT_IDS, ATTENTION_MASK, LABELS = "packed_input_ids", "packed_attention_mask", "packed_labels"
KEYS: dict[TrainStage, tuple[str, ...]] = {"pretrain": (TEXT,), "sft": (INPUT_IDS, ATTENTION_MASK, LABELS)}


def stem(key: str) -> str:
    """What follows `<prefix>_`, without the ending."""
    return f"{key}_document"


def file_names(stage: TrainStage) -> tuple[str, ...]:
    """What follows `<prefix>_` in the name of each file of a set."""
    return tuple(f"{stem(key)}.{ending}" for key in KEYS[stage] for ending in ("bin", "idx"))
