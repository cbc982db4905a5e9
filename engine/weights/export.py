"""From a checkpoint to a folder that transformers loads.

Weights are written in fp32, the type they were trained in, so that the exported model answers as the
trained one did. Tokenizer files are copied as they are.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from engine.failures import Failure
from engine.spec import TrainOptions
from engine.weights import checkpoint
from engine.weights.adapter import save_adapter
from engine.weights.folder import whole_folder
from engine.weights.lora import add_adapters, merge_adapters

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TOKENIZER_FILES = (
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template*",
    "vocab.*",
    "merges.txt",
    "*.model",
    "*.tiktoken",
)


def newest_checkpoint(checkpoints: Path) -> Path:
    """The newest whole checkpoint. Raises Failure `checkpoint.missing`."""
    found = checkpoint.newest(checkpoints)
    if found is None:
        raise Failure("checkpoint.missing", "", "software", path=str(checkpoints))
    return found


def export(model: PreTrainedModel, source: Path, base: Path, train: TrainOptions, output: Path) -> None:
    """Write `output/model`, and for lora `output/adapter`.

    model: the base model as loaded, changed in place; source: the checkpoint; base: the folder that the
    model came from.
    """
    if train.strategy == "lora":
        add_adapters(model, train.lora)
    checkpoint.require_fit(source, model)
    checkpoint.load_weights(source, model)
    if train.strategy == "lora":
        with whole_folder(output / "adapter") as folder:
            save_adapter(folder, checkpoint.trained_parameters(model), train.lora, str(base))
        merge_adapters(model)
    with whole_folder(output / "model") as folder:
        model.save_pretrained(str(folder), max_shard_size="50GB")
        copy_tokenizer(base, folder)


def copy_tokenizer(source: Path, destination: Path) -> None:
    for pattern in TOKENIZER_FILES:
        for file in source.glob(pattern):
            if file.is_file():
                shutil.copyfile(file, destination / file.name)
